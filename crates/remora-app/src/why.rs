//! The latest injections, and which of their records can be marked wrong.

use remora_core::document::RecordId;
use remora_core::ids::SessionId;
use remora_core::text::one_line;
use remora_store::Store;
use remora_store::retrievals::{Item, RetrievalRow, WhichRetrievals};
use serde::Serialize;

use crate::records::{self, Record, record};
use crate::{AppError, Whose, project, session};

/// Longest text shown of a record, in characters.
const LONGEST: usize = 160;

/// Selects injections.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyRequest {
    Project(Whose),
    /// A session by the beginning of its id.
    Session(String),
    /// Injections that this record was part of.
    Record(RecordId),
}

/// One injection with its records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    #[serde(flatten)]
    pub row: RetrievalRow,
    pub lines: Vec<Line>,
}

/// One record that was injected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    #[serde(flatten)]
    pub item: Item,
    /// Its text as stored now; `None` if it was removed.
    pub says: Option<String>,
    /// The record that a verdict applies to: the record itself or, for a turn or a summary, an observation of the same
    /// turn. `None` for notes: they are changed in the vault.
    pub judged_by: Option<RecordId>,
}

/// The latest injections, newest first.
pub fn why(store: &Store, request: &WhyRequest, most: u32) -> Result<Vec<Why>, AppError> {
    let which = match request {
        WhyRequest::Project(Whose::All) => WhichRetrievals::All,
        WhyRequest::Project(whose) => WhichRetrievals::OfProject(project(store, whose)?),
        WhyRequest::Session(beginning) => WhichRetrievals::OfSession(session(store, beginning)?.id),
        WhyRequest::Record(record) => WhichRetrievals::OfRecord(*record),
    };
    let rows = store.retrievals(which, most)?;
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
        Some(found) => judged_by(store, found, records::record_id(&item.id))?,
        None => None,
    };
    Ok(Line { item: item.clone(), says: found.as_ref().map(says), judged_by })
}

fn judged_by(store: &Store, found: &Record, own: Option<RecordId>) -> Result<Option<RecordId>, AppError> {
    Ok(match found {
        Record::Observation(_) | Record::Fact(_) => own,
        Record::Turn(row) => of_turn(store, row.session_id, row.prompt_number)?,
        Record::Summary(row) => of_turn(store, row.session_id, row.prompt_number)?,
        Record::Note(_) | Record::Event(_) | Record::Session(_) => None,
    })
}

fn of_turn(store: &Store, session: SessionId, prompt_number: i64) -> Result<Option<RecordId>, AppError> {
    let rows = store.session_observations(session)?;
    let of_turn = rows.iter().find(|row| row.prompt_number == prompt_number);
    Ok(of_turn.and_then(|row| records::record_id(&row.id.to_string())))
}

fn says(record: &Record) -> String {
    let text = match record {
        Record::Fact(row) => return one_line(&row.fact.statement(), LONGEST),
        Record::Observation(row) => &row.observation.title,
        Record::Summary(row) => &row.summary.request,
        Record::Turn(row) => &row.text,
        Record::Note(row) => &row.title,
        Record::Event(row) => &row.kind,
        Record::Session(whole) => &whole.session.content_session_id,
    };
    one_line(text, LONGEST)
}
