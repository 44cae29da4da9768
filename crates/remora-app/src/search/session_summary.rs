//! The result of a session: its summary and its observations.

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::SessionId;
use remora_store::{ObservationRow, Selection, SessionQuery, SessionRow, Store, SummaryRow};

use crate::records::record_id;
use crate::{AppError, ProjectSelector, Runtime, project, session};

/// Selects a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichSummary {
    /// The latest session of a project that has a summary, or if none has one, the latest with observations. The
    /// session that asks rarely has one yet.
    Latest(ProjectSelector),
    /// The session of a record (`s12`, `t34`, `123`), or a session by the beginning of its id.
    Of(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub session: SessionRow,
    /// `None` before the first turn was observed.
    pub summary: Option<SummaryRow>,
    pub observations: Vec<ObservationRow>,
}

/// Returns `None` if no session of the project has a summary or observations yet.
pub fn session_summary(rt: &dyn Runtime, which: &WhichSummary) -> Result<Option<SessionSummary>, AppError> {
    let store = rt.store();
    let session = match which {
        WhichSummary::Latest(selector) => {
            let newest = Selection::of_project(project(store, selector)?).limit(1);
            match store.records().summaries(&newest)?.into_first() {
                Some(latest) => row(store, latest.session_id)?,
                None => match store.records().observations(&newest)?.into_first() {
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
    let all = Selection::of_session(session.id);
    let summary = store.records().summaries(&all.clone().last_turn_first().limit(1))?.into_first();
    let observations = store.records().observations(&all)?.items;
    Ok(Some(SessionSummary { session, summary, observations }))
}

/// The session of an observation, a summary or a turn.
fn session_of(store: &Store, record: RecordId) -> Result<Option<SessionId>, AppError> {
    match record.kind {
        RecordKind::Observation | RecordKind::Summary | RecordKind::Turn => {
            Ok(store.records().provenance(record)?.and_then(|provenance| provenance.session))
        }
        RecordKind::Fact | RecordKind::Note | RecordKind::Event => Ok(None),
    }
}

fn row(store: &Store, id: SessionId) -> Result<Option<SessionRow>, AppError> {
    Ok(store.sessions().list(&SessionQuery::one(id))?.pop())
}
