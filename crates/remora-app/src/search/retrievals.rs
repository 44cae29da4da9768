//! Queries on the injection log.

use remora_core::document::{RecordId, RecordKind};
use remora_store::injections::{RetrievalRow, WhichRetrievals};
use schemars::JsonSchema;
use serde::Serialize;

use crate::present::{self, RetrievalJson};
use crate::{AppError, ProjectSelector, Runtime, project, session_id};

/// Selects injections.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalsRequest {
    pub selector: ProjectSelector,
    /// A session number, or the beginning of the id that its host gave it.
    pub session: Option<String>,
    pub limit: u32,
}

/// One injection with its totals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Retrieved {
    #[serde(flatten, serialize_with = "present::one::<RetrievalJson, _, _>")]
    #[schemars(with = "RetrievalJson")]
    pub row: RetrievalRow,
    /// The program it was injected into: a host, or a channel with a name of its own.
    pub channel: String,
    /// Records of memory, not counting notes.
    pub memories_injected: usize,
    pub obsidian_notes_injected: usize,
    pub total_tokens_added: u64,
}

/// The latest injections, newest first.
pub fn retrievals(rt: &dyn Runtime, request: &RetrievalsRequest) -> Result<Vec<Retrieved>, AppError> {
    let store = rt.store();
    let which = match (&request.session, &request.selector) {
        (Some(session), _) => WhichRetrievals::OfSession(session_id(store, session)?),
        (None, ProjectSelector::All) => WhichRetrievals::All,
        (None, selector) => WhichRetrievals::OfProject(project(store, selector)?),
    };
    Ok(store.injections().list(which, request.limit)?.into_iter().map(retrieved).collect())
}

fn retrieved(row: RetrievalRow) -> Retrieved {
    let items = &row.retrieval.items;
    let is_note = |id: &str| id.parse::<RecordId>().is_ok_and(|record| record.kind == RecordKind::Note);
    let notes = items.iter().filter(|item| is_note(&item.id)).count();
    Retrieved {
        channel: row.host.clone(),
        memories_injected: items.len() - notes,
        obsidian_notes_injected: notes,
        total_tokens_added: row.retrieval.tokens,
        row,
    }
}
