//! What was learned before and after something.

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_search::Results;
use remora_store::{Anchor, Moment, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::search::SearchRequest;
use crate::{AppError, Whose, scope};

#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRequest {
    /// May be missing around a record, which says by itself which project is meant.
    pub whose: Option<Whose>,
    pub around: Around,
    pub before: u32,
    pub after: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    Now,
    Record(RecordId),
}

impl Around {
    /// Around the best of what [`best_of`] found.
    pub fn best(found: &Results, text: &str) -> Result<Self, AppError> {
        let best = found.hits.first().map(|hit| Self::Record(hit.id));
        best.ok_or_else(|| AppError::NothingFound(text.to_owned()))
    }
}

/// The search for the record a text means, among those that have a place in time. The caller has the engine for it.
pub fn best_of(request: &TimelineRequest, text: &str) -> Result<SearchRequest, AppError> {
    let mut search = SearchRequest::new(request.whose.clone().ok_or(AppError::NeedsOneProject)?);
    search.text = text.to_owned();
    search.kinds = vec![RecordKind::Observation, RecordKind::Summary, RecordKind::Turn];
    search.limit = 1;
    Ok(search)
}

/// Rows on each side where nobody says how many.
pub const DEFAULT_LENGTH: u32 = 10;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// The record it is around; nothing where that is now.
    pub anchor: Option<RecordId>,
    pub project_id: ProjectId,
    /// Oldest first.
    pub items: Vec<Moment>,
}

pub fn timeline(store: &Store, request: &TimelineRequest) -> Result<Timeline, AppError> {
    let record = match request.around {
        Around::Now => None,
        Around::Record(record) => Some(record),
    };
    let scope = match &request.whose {
        Some(whose) => scope(store, whose)?,
        None => ProjectScope::All,
    };
    let anchor = record.map(|record| moment(store, record, scope)).transpose()?;
    let project = match (&anchor, scope) {
        (Some(moment), _) => moment.project_id,
        (None, ProjectScope::One(project)) => project,
        (None, ProjectScope::All) => return Err(AppError::NeedsOneProject),
    };
    let around = anchor.as_ref().map_or(Anchor::Now, Anchor::Moment);
    let items = store.timeline(project, around, request.before, request.after)?;
    Ok(Timeline { anchor: record, project_id: project, items })
}

fn moment(store: &Store, record: RecordId, scope: ProjectScope) -> Result<Moment, AppError> {
    let belongs =
        |moment: &Moment| scope == ProjectScope::All || scope == ProjectScope::One(moment.project_id);
    store.moment(record)?.filter(belongs).ok_or(AppError::NotInTime(record))
}
