//! Records by the id that search, sessions and the queue print.

use std::collections::{BTreeMap, HashSet};

use remora_core::context::tokens;
use remora_core::document::{RecordId, RecordKind};
use remora_core::host::Host;
use remora_core::ids::{EventId, FactId, NoteId, ObservationId, ProjectId, PromptId, SummaryId};
use remora_core::memory::Observation;
use remora_core::time::Time;
use remora_store::notes::NoteRow;
use remora_store::{
    EventRow, FactRow, ObservationRow, Page, PromptRow, Selection, SessionQuery, SessionRow, Store,
    SummaryRow,
};
use serde::{Serialize, Serializer};

use crate::{AppError, ProjectSelector, Reach, project, project_or_global, session};

/// A whole record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind_of_record", rename_all = "snake_case")]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WholeSession {
    #[serde(flatten)]
    pub session: SessionRow,
    pub turns: Vec<PromptRow>,
    /// Serialized without payloads, because each event can be fetched by its own id.
    #[serde(rename = "event_list", serialize_with = "without_payloads")]
    pub events: Vec<EventRow>,
}

fn without_payloads<S: Serializer>(events: &[EventRow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(events.iter().map(|event| EventRow { payload: None, ..event.clone() }))
}

/// Returns the records with these ids. A fetched observation counts as used.
pub fn records(store: &mut Store, ids: &[String], now: Time) -> Result<Vec<Record>, AppError> {
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
pub fn batch(store: &mut Store, ids: &[String], reach: &Reach, now: Time) -> Result<Batch, AppError> {
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
            Some(record) => whole(store, record)?,
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
pub fn costs(store: &Store, ids: &[RecordId]) -> Result<BTreeMap<RecordId, u64>, AppError> {
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

pub fn latest(store: &Store, project: ProjectId, most: u32) -> Result<Latest, AppError> {
    let selection = Selection { project: Some(project), session: None, limit: most, offset: 0 };
    let observations = store.records().list_observations(&selection)?.items;
    let sessions = store
        .sessions()
        .list(&SessionQuery { of_agents: true, ..SessionQuery::of_project(project, most) })?;
    Ok(Latest { observations, sessions })
}

/// Sessions of agents, captured or imported, latest first, of one agent program or channel or of all. The session that
/// holds saved texts is not one of an agent.
pub fn sessions(
    store: &Store,
    selection: &Selection,
    host: Option<Host>,
) -> Result<Page<SessionRow>, AppError> {
    let query = SessionQuery {
        id: selection.session,
        projects: selection.project.map(|project| vec![project]),
        host,
        of_agents: true,
        limit: selection.limit,
        offset: selection.offset,
        ..SessionQuery::default()
    };
    Ok(Page { items: store.sessions().list(&query)?, total: store.sessions().count(&query)? })
}

/// Returns one record by its id, or a session by the beginning of its id. Does not count as a use.
pub fn record(store: &Store, id: &str) -> Result<Record, AppError> {
    if let Some(id) = record_id(id)
        && let Some(found) = whole(store, id)?
    {
        return Ok(found);
    }
    let session = session(store, id).map_err(|error| match error {
        AppError::UnknownSession(id) => AppError::UnknownRecord(id),
        other => other,
    })?;
    let turns = store.records().prompts(session.id)?;
    let events = store.records().events_of(session.id)?;
    Ok(Record::Session(Box::new(WholeSession { session, turns, events })))
}

/// Returns the observations with these ids, restricted to the project `only` if given. Each counts as used.
pub fn observations(
    store: &mut Store,
    ids: &[ObservationId],
    only: Option<&ProjectSelector>,
    now: Time,
) -> Result<Vec<ObservationRow>, AppError> {
    let only = only.map(|selector| project(store, selector)).transpose()?;
    let mut found = store.records().observations(ids)?;
    found.retain(|row| only.is_none_or(|project| row.project_id == project));
    let fetched: Vec<ObservationId> = found.iter().map(|row| row.id).collect();
    store.records().count_fetched(&fetched, now);
    Ok(found)
}

/// A record with the observations that it replaces.
fn whole(store: &Store, id: RecordId) -> Result<Option<Record>, AppError> {
    let mut found = numbered(store, id)?;
    if let Some(Record::Observation(row)) = &mut found {
        row.replaces = store.records().replaced_by(row.id)?;
    }
    Ok(found)
}

fn numbered(store: &Store, RecordId { kind, number }: RecordId) -> Result<Option<Record>, AppError> {
    Ok(match kind {
        RecordKind::Observation => {
            store.records().observation(ObservationId(number))?.map(|row| Record::Observation(Box::new(row)))
        }
        RecordKind::Summary => {
            store.records().summary(SummaryId(number))?.map(|row| Record::Summary(Box::new(row)))
        }
        RecordKind::Turn => store.records().prompt(PromptId(number))?.map(Record::Turn),
        RecordKind::Fact => store.facts().get(FactId(number))?.map(Record::Fact),
        RecordKind::Note => store.notes().get(NoteId(number))?.map(Record::Note),
        RecordKind::Event => store.records().event(EventId(number))?.map(|row| Record::Event(Box::new(row))),
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
    let Some(moment) = store.records().timeline_entry(id)? else { return Ok(None) };
    let is_explicit = match selector {
        ProjectSelector::All => true,
        selector => project_or_global(store, selector)? == moment.project_id,
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
