//! The latest injections, and which of their records can be marked wrong.

use remora_core::document::RecordId;
use remora_core::ids::SessionId;
use remora_core::prose::{fingerprint, sentences};
use remora_core::text::one_line;
use remora_core::wrong::CalledWrong;
use remora_store::injections::{Item, RetrievalRow, WhichRetrievals};
use remora_store::{Selection, Store};
use serde::Serialize;

use crate::present::{self, ItemJson, RetrievalJson};
use crate::records::{self, Record, record};
use crate::{AppError, ProjectSelector, Runtime, project, session};

/// Longest text shown of a record, in characters.
const MAX_LEN: usize = 160;

/// Selects injections.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyRequest {
    Project(ProjectSelector),
    /// A session by the beginning of its id.
    Session(String),
    /// Injections that this record was part of.
    Record(RecordId),
}

/// One injection with its records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    #[serde(flatten, serialize_with = "present::one::<RetrievalJson, _, _>")]
    pub row: RetrievalRow,
    pub lines: Vec<Line>,
}

/// One record that was injected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    #[serde(flatten, serialize_with = "present::one::<ItemJson, _, _>")]
    pub item: Item,
    /// Its text as stored now; `None` if it was removed.
    pub says: Option<String>,
    /// The record that a verdict applies to: the record itself or, if the injected passages of a turn or a summary are
    /// from an observation, that observation. `None` for notes: they are changed in the vault.
    pub judged_by: Option<RecordId>,
    /// Session and turn of a turn or a summary.
    #[serde(skip)]
    pub turn: Option<(SessionId, i64)>,
}

/// The latest injections, newest first.
pub fn why(rt: &dyn Runtime, request: &WhyRequest, most: u32) -> Result<Vec<Why>, AppError> {
    let store = rt.store();
    let which = match request {
        WhyRequest::Project(ProjectSelector::All) => WhichRetrievals::All,
        WhyRequest::Project(selector) => WhichRetrievals::OfProject(project(store, selector)?),
        WhyRequest::Session(beginning) => WhichRetrievals::OfSession(session(store, beginning)?.id),
        WhyRequest::Record(record) => WhichRetrievals::OfRecord(*record),
    };
    let rows = store.injections().list(which, most)?;
    rows.into_iter()
        .map(|row| {
            let lines = row.retrieval.items.iter().map(|item| line(store, item)).collect::<Result<_, _>>()?;
            Ok(Why { row, lines })
        })
        .collect()
}

fn line(store: &Store, item: &Item) -> Result<Line, AppError> {
    let found = match record(store, &item.id) {
        Ok(found) => Some(found),
        Err(AppError::UnknownRecord(_)) => None,
        Err(error) => return Err(error),
    };
    let judged_by = match &found {
        Some(found) => judged_by(store, found, item)?,
        None => None,
    };
    let turn = match &found {
        Some(Record::Turn(row)) => Some((row.session_id, row.prompt_number)),
        Some(Record::Summary(row)) => Some((row.session_id, row.prompt_number)),
        _ => None,
    };
    Ok(Line { item: item.clone(), says: found.as_ref().map(says), judged_by, turn })
}

fn judged_by(store: &Store, found: &Record, item: &Item) -> Result<Option<RecordId>, AppError> {
    let own = records::record_id(&item.id);
    Ok(match found {
        Record::Observation(_) | Record::Fact(_) => own,
        Record::Turn(row) => {
            let said = [row.closing_message.as_deref().unwrap_or_default(), &row.text];
            of_passages(store, row.session_id, item, &said)?.or(own)
        }
        Record::Summary(row) => {
            let said = [&row.summary.learned, &row.summary.completed, &row.summary.next_steps];
            of_passages(store, row.session_id, item, &said.map(String::as_str))?.or(own)
        }
        Record::Note(_) | Record::Event(_) | Record::Session(_) => None,
    })
}

/// The observation of the session that says one of the injected passages, which are sentences of these texts.
fn of_passages(
    store: &Store,
    session: SessionId,
    item: &Item,
    said: &[&str],
) -> Result<Option<RecordId>, AppError> {
    if item.passages.is_empty() {
        return Ok(None);
    }
    let passages: Vec<String> = said
        .iter()
        .flat_map(|text| sentences(text))
        .map(|sentence| sentence.text)
        .filter(|text| item.passages.contains(&fingerprint(text)))
        .collect();
    for row in store.records().observations(&Selection::of_session(session))?.items {
        let observation = &row.observation;
        let mut stated = CalledWrong::default();
        stated.add_observation(&observation.title, &observation.narrative, &observation.facts);
        if passages.iter().any(|passage| stated.is_said_by(passage)) {
            return Ok(records::record_id(&row.id.to_string()));
        }
    }
    Ok(None)
}

fn says(record: &Record) -> String {
    let text = match record {
        Record::Fact(row) => return one_line(&row.fact.statement(), MAX_LEN),
        Record::Observation(row) => &row.observation.title,
        Record::Summary(row) => &row.summary.request,
        Record::Turn(row) => &row.text,
        Record::Note(row) => &row.title,
        Record::Event(row) => &row.kind,
        Record::Session(whole) => &whole.session.content_session_id,
    };
    one_line(text, MAX_LEN)
}
