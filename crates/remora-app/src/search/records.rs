//! Records by the id that search, sessions and the queue print.

use std::collections::{BTreeMap, HashSet};

use remora_core::context::tokens;
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{FactId, NoteId, ObservationId, ProjectId};
use remora_core::memory::Observation;
use remora_store::notes::NoteRow;
use remora_store::{
    EventRow, FactRow, ObservationRow, Page, PromptRow, Selection, SessionQuery, SessionRow, Store,
    SummaryRow,
};

use crate::{AppError, ProjectSelector, Reach, Runtime, project, project_or_global, session};

/// A whole record.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Observation(Box<ObservationRow>),
    Summary(Box<SummaryRow>),
    Turn(PromptRow),
    Fact(FactRow),
    Note(NoteRow),
    Event(Box<EventRow>),
    Session(Box<WholeSession>),
}

/// A session with everything that happened in it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeSession {
    pub session: SessionRow,
    pub turns: Vec<PromptRow>,
    pub events: Vec<EventRow>,
}

/// Returns the records with these ids. A fetched observation counts as used.
pub fn records(rt: &mut dyn Runtime, ids: &[String]) -> Result<Vec<Record>, AppError> {
    let now = rt.now();
    let store = rt.store();
    let found: Vec<Record> = ids.iter().map(|id| record(store, id)).collect::<Result<_, _>>()?;
    let fetched: Vec<ObservationId> = found.iter().filter_map(Record::observation).collect();
    store.records().count_fetched(&fetched, now);
    Ok(found)
}

/// Result of a request for several ids. An unknown id does not fail the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// In the requested order, without duplicates.
    pub found: Vec<Record>,
    pub unknown: Vec<String>,
}

/// Returns the records that exist for these ids, within reach. A fetched observation counts as used.
pub fn batch(rt: &mut dyn Runtime, ids: &[String], reach: &Reach) -> Result<Batch, AppError> {
    let now = rt.now();
    let store = rt.store();
    let mut batch = Batch::default();
    let mut asked = HashSet::new();
    for id in ids {
        let record = record_id(id);
        if !asked.insert(record.map_or_else(|| id.clone(), |record| record.to_string())) {
            continue;
        }
        let found = match record {
            _ if !reach.has_id(store, id)? => None,
            // An unused record number is not tried as the beginning of a session id.
            Some(record) => numbered(store, record)?,
            None => match self::record(store, id) {
                Ok(found) => Some(found),
                Err(AppError::UnknownRecord(_) | AppError::AmbiguousSession { .. }) => None,
                Err(error) => return Err(error),
            },
        };
        match found {
            Some(found) => batch.found.push(found),
            None => batch.unknown.push(id.clone()),
        }
    }
    let fetched: Vec<ObservationId> = batch.found.iter().filter_map(Record::observation).collect();
    store.records().count_fetched(&fetched, now);
    Ok(batch)
}

/// Tokens of each of these records in full. Unknown records are left out.
pub fn costs(rt: &dyn Runtime, ids: &[RecordId]) -> Result<BTreeMap<RecordId, u64>, AppError> {
    let store = rt.store();
    let mut costs = BTreeMap::new();
    for id in ids {
        if let Some(record) = numbered(store, *id)? {
            costs.insert(*id, record.tokens());
        }
    }
    Ok(costs)
}

/// The latest observations and sessions of a project, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest {
    pub observations: Vec<ObservationRow>,
    pub sessions: Vec<SessionRow>,
}

pub fn latest(rt: &dyn Runtime, project: ProjectId, most: u32) -> Result<Latest, AppError> {
    let observations = rt.store().records().observations(&Selection::of_project(project).limit(most))?.items;
    let sessions = sessions(rt, SessionQuery::of_project(project, most))?.items;
    Ok(Latest { observations, sessions })
}

/// Sessions of agents, captured or imported, latest first, of one agent program or channel or of all. The session that
/// holds saved texts is not one of an agent.
pub fn sessions(rt: &dyn Runtime, query: SessionQuery) -> Result<Page<SessionRow>, AppError> {
    let query = SessionQuery { of_agents: true, ..query };
    let sessions = rt.store().sessions();
    Ok(Page { items: sessions.list(&query)?, total: sessions.count(&query)? })
}

/// Returns one record by its id, or a session by the beginning of its id. Does not count as a use.
pub fn record(store: &Store, id: &str) -> Result<Record, AppError> {
    if let Some(id) = record_id(id)
        && let Some(found) = numbered(store, id)?
    {
        return Ok(found);
    }
    let session = session(store, id).map_err(|error| match error {
        AppError::UnknownSession(id) => AppError::UnknownRecord(id),
        other => other,
    })?;
    let all = Selection::of_session(session.id);
    let turns = store.records().prompts(&all)?.items;
    let events = store.records().events(&all)?.items;
    Ok(Record::Session(Box::new(WholeSession { session, turns, events })))
}

/// Returns the observations with these ids, restricted to the project `only` if given. Each counts as used.
pub fn observations(
    rt: &mut dyn Runtime,
    ids: &[ObservationId],
    only: Option<&ProjectSelector>,
) -> Result<Vec<ObservationRow>, AppError> {
    let now = rt.now();
    let store = rt.store();
    let only = only.map(|selector| project(store, selector)).transpose()?;
    let mut found = store.records().observations(&Selection::of_ids(ids.iter().copied()))?.items;
    found.retain(|row| only.is_none_or(|project| row.project_id == project));
    let fetched: Vec<ObservationId> = found.iter().map(|row| row.id).collect();
    store.records().count_fetched(&fetched, now);
    Ok(found)
}

/// A record by its number. An observation has those that it replaces.
pub(crate) fn numbered(
    store: &Store,
    RecordId { kind, number }: RecordId,
) -> Result<Option<Record>, AppError> {
    let one = Selection::of_ids([number]);
    Ok(match kind {
        RecordKind::Observation => {
            store.records().observation(ObservationId(number))?.map(|row| Record::Observation(Box::new(row)))
        }
        RecordKind::Summary => {
            store.records().summaries(&one)?.into_first().map(|row| Record::Summary(Box::new(row)))
        }
        RecordKind::Turn => store.records().prompts(&one)?.into_first().map(Record::Turn),
        RecordKind::Fact => store.facts().get(FactId(number))?.map(Record::Fact),
        RecordKind::Note => store.notes().get(NoteId(number))?.map(Record::Note),
        RecordKind::Event => {
            store.records().events(&one)?.into_first().map(|row| Record::Event(Box::new(row)))
        }
    })
}

impl Record {
    fn observation(&self) -> Option<ObservationId> {
        match self {
            Self::Observation(row) => Some(row.id),
            _ => None,
        }
    }

    /// Estimated tokens of all its texts.
    fn tokens(&self) -> u64 {
        let all = |texts: &[&str]| texts.iter().map(|text| tokens(text)).sum::<u64>();
        let list = |texts: &[String]| texts.iter().map(|text| tokens(text)).sum::<u64>();
        match self {
            Self::Observation(row) => tokens_of(&row.observation),
            Self::Summary(row) => {
                let s = &row.summary;
                all(&[&s.request, &s.investigated, &s.learned, &s.completed, &s.next_steps, &s.notes])
                    + list(&s.files_read)
                    + list(&s.files_edited)
            }
            Self::Turn(row) => all(&[&row.text, row.closing_message.as_deref().unwrap_or_default()]),
            Self::Fact(row) => all(&[&row.fact.key, &row.fact.value]),
            Self::Note(row) => all(&[&row.title, &row.text]),
            Self::Event(row) => row
                .payload
                .as_ref()
                .and_then(|body| serde_json::to_string(body).ok())
                .map_or(0, |text| tokens(&text)),
            Self::Session(whole) => whole.turns.iter().map(|turn| tokens(&turn.text)).sum(),
        }
    }
}

/// Estimated tokens of all texts of an observation.
pub fn tokens_of(observation: &Observation) -> u64 {
    let Observation { title, subtitle, narrative, facts, concepts, files_read, files_modified, .. } =
        observation;
    let lists = [facts, concepts, files_read, files_modified].into_iter().flatten();
    [title, subtitle, narrative].into_iter().chain(lists).map(|text| tokens(text)).sum()
}

/// The record of this project whose id a text is, among kinds that have a place in time. Other texts are searched for. A
/// directory without memory has none.
pub fn named(store: &Store, text: &str, selector: &ProjectSelector) -> Result<Option<RecordId>, AppError> {
    if text.split_whitespace().count() != 1 {
        return Ok(None);
    }
    let Some(id) = record_id(text) else { return Ok(None) };
    if !matches!(id.kind, RecordKind::Observation | RecordKind::Summary | RecordKind::Turn) {
        return Ok(None);
    }
    let Some(provenance) = store.records().provenance(id)? else { return Ok(None) };
    let is_explicit = match selector {
        ProjectSelector::All => true,
        selector => Some(project_or_global(store, selector)?) == provenance.project,
    };
    Ok(is_explicit.then_some(id))
}

/// Parses a record id as it is printed (`12`, `#12`, `s3`), or the id of a part: `obs_12_fact_2` is part of `12`.
pub fn record_id(id: &str) -> Option<RecordId> {
    let id = id.trim();
    if let Ok(record) = id.strip_prefix('#').unwrap_or(id).parse() {
        return Some(record);
    }
    let mut words = id.split('_');
    let kind = match words.next()? {
        "obs" | "observation" => RecordKind::Observation,
        "sum" | "summary" => RecordKind::Summary,
        "turn" | "prompt" => RecordKind::Turn,
        "fact" => RecordKind::Fact,
        "note" => RecordKind::Note,
        _ => return None,
    };
    words.next()?.parse().ok().map(|number| RecordId { kind, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_form_of_an_id_is_parsed() {
        for (name, id) in
            [("12", "12"), ("#12", "12"), (" s3 ", "s3"), ("obs_12_fact_2", "12"), ("turn_4", "t4")]
        {
            assert_eq!(record_id(name).map(|id| id.to_string()).as_deref(), Some(id), "{name}");
        }
        for name in ["", "#", "x7", "obs_", "3a36", "hello"] {
            assert_eq!(record_id(name), None, "{name}");
        }
    }
}
