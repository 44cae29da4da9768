//! The result of a session: its summary and its observations.

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{ObservationId, PromptId, SessionId, SummaryId};
use remora_store::{ObservationRow, Selection, SessionQuery, SessionRow, Store, SummaryRow};
use serde::Serialize;

use crate::records::record_id;
use crate::{AppError, ProjectSelector, project, session};

/// Selects a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichSummary {
    /// The latest session of a project that has a summary, or if none has one, the latest with observations. The
    /// session that asks rarely has one yet.
    Latest(ProjectSelector),
    /// The session of a record (`s12`, `t34`, `123`), or a session by the beginning of its id.
    Of(String),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionSummary {
    pub session: SessionRow,
    /// `None` before the first turn was observed.
    pub summary: Option<SummaryRow>,
    pub observations: Vec<ObservationRow>,
}

/// Returns `None` if no session of the project has a summary or observations yet.
pub fn session_summary(store: &Store, which: &WhichSummary) -> Result<Option<SessionSummary>, AppError> {
    let session = match which {
        WhichSummary::Latest(selector) => {
            let only =
                Selection { project: Some(project(store, selector)?), session: None, limit: 1, offset: 0 };
            match store.records().list_summaries(&only)?.items.first() {
                Some(latest) => row(store, latest.session_id)?,
                None => match store.records().list_observations(&only)?.items.first() {
                    Some(latest) => row(store, latest.session_id)?,
                    None => return Ok(None),
                },
            }
        }
        WhichSummary::Of(name) => match record_id(name) {
            Some(record) => match session_of(store, record)? {
                Some(session) => row(store, session)?,
                // A host may name its sessions as we do our records.
                None => Some(session(store, name)?),
            },
            None => Some(session(store, name)?),
        },
    };
    let Some(session) = session else { return Ok(None) };
    let summary = store.records().summaries_of(session.id)?.pop();
    let observations = store.records().of_session(session.id)?;
    Ok(Some(SessionSummary { session, summary, observations }))
}

fn session_of(store: &Store, RecordId { kind, number }: RecordId) -> Result<Option<SessionId>, AppError> {
    Ok(match kind {
        RecordKind::Observation => {
            store.records().observation(ObservationId(number))?.map(|row| row.session_id)
        }
        RecordKind::Summary => store.records().summary(SummaryId(number))?.map(|row| row.session_id),
        RecordKind::Turn => store.records().prompt(PromptId(number))?.map(|row| row.session_id),
        RecordKind::Fact | RecordKind::Note | RecordKind::Event => None,
    })
}

fn row(store: &Store, id: SessionId) -> Result<Option<SessionRow>, AppError> {
    Ok(store.sessions().list(&SessionQuery::one(id))?.pop())
}
