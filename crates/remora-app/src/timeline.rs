//! Records before and after a point in time.

use std::collections::BTreeMap;
use std::time::Duration;

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_search::Results;
use remora_store::{Anchor, Store, TimelineEntry};
use schemars::JsonSchema;
use serde::Serialize;

use crate::search::SearchRequest;
use crate::{AppError, Whose, scope};

#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRequest {
    /// May be `None` around a record: its own project is used.
    pub whose: Option<Whose>,
    pub around: Around,
    pub before: u32,
    pub after: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    Now,
    Record(RecordId),
    /// Any moment, with or without a record.
    Time(Time),
}

impl Around {
    /// Uses the best hit of a [`best_of`] search.
    pub fn best(found: &Results, text: &str) -> Result<Self, AppError> {
        let best = found.hits.first().map(|hit| Self::Record(hit.id));
        best.ok_or_else(|| AppError::NothingFound(text.to_owned()))
    }
}

/// A search for the record that `text` describes, among kinds that have a place in time. The caller has the engine to
/// run it.
pub fn best_of(request: &TimelineRequest, text: &str) -> Result<SearchRequest, AppError> {
    let mut search = SearchRequest::new(request.whose.clone().ok_or(AppError::NeedsOneProject)?);
    search.text = text.to_owned();
    search.kinds = vec![RecordKind::Observation, RecordKind::Summary, RecordKind::Turn];
    search.limit = 1;
    Ok(search)
}

/// Default number of rows on each side.
pub const DEFAULT_LENGTH: u32 = 10;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// The record in the middle; `None` around a time or now.
    pub anchor: Option<RecordId>,
    pub project_id: ProjectId,
    /// Oldest first.
    pub items: Vec<TimelineEntry>,
}

pub fn timeline(store: &Store, request: &TimelineRequest) -> Result<Timeline, AppError> {
    let record = match request.around {
        Around::Now | Around::Time(_) => None,
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
    let around = match (&anchor, request.around) {
        (Some(moment), _) => Anchor::Entry(moment),
        (None, Around::Time(at)) => Anchor::Time(at),
        (None, _) => Anchor::Now,
    };
    let items = store.timeline(project, around, request.before, request.after)?;
    Ok(Timeline { anchor: record, project_id: project, items })
}

/// The `most` records of all projects before a point in time, oldest first.
pub fn everywhere(store: &Store, around: Around, most: u32) -> Result<Vec<TimelineEntry>, AppError> {
    let record = match around {
        Around::Record(record) => Some(moment(store, record, ProjectScope::All)?),
        Around::Now | Around::Time(_) => None,
    };
    let anchor = match (&record, around) {
        (Some(moment), _) => Anchor::Entry(moment),
        (None, Around::Time(at)) => Anchor::Time(at),
        (None, _) => Anchor::Now,
    };
    let mut items = Vec::new();
    // One by one, because the index that has them in order starts with the project.
    for project in store.projects()? {
        items.extend(store.timeline(project.id, anchor, most, 0)?);
    }
    items.retain(|item| record.as_ref().is_none_or(|record| record.id != item.id));
    items.sort_by_key(|item| (item.created_at, item.kind == RecordKind::Summary, item.id.number));
    let surplus = items.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
    items.drain(..surplus);
    Ok(items)
}

fn moment(store: &Store, record: RecordId, scope: ProjectScope) -> Result<TimelineEntry, AppError> {
    let belongs =
        |moment: &TimelineEntry| scope == ProjectScope::All || scope == ProjectScope::One(moment.project_id);
    let found = store.timeline_entry(record)?.filter(belongs);
    found.ok_or_else(|| match record.kind {
        RecordKind::Observation | RecordKind::Summary | RecordKind::Turn => {
            AppError::UnknownRecord(record.to_string())
        }
        RecordKind::Fact | RecordKind::Note | RecordKind::Event => AppError::NotInTime(record),
    })
}

/// Observations per day, in the user's time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Year {
    /// Every day, oldest first: its date as `2026-03-10`, its noon, and its count.
    pub days: Vec<(String, Time, i64)>,
    pub total: i64,
}

/// The last 53 weeks up to the day of `now`.
pub fn year(store: &Store, project: Option<ProjectId>, now: Time) -> Result<Year, AppError> {
    const DAYS: u32 = 53 * 7;
    const DAY: Duration = Duration::from_hours(24);
    // Steps of 24 hours from noon never skip or repeat a date, even if a day has 23 or 25 hours.
    let noon = now.start_of_day().after(DAY / 2);
    let first = noon.before(DAY * (DAYS - 1));
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for (at, count) in store.observations_by_quarter_hour(project, first.start_of_day())? {
        *counts.entry(at.date()).or_default() += count;
    }
    let days = (0..DAYS).map(|day| {
        let at = first.after(DAY * day);
        let date = at.date();
        let count = counts.get(&date).copied().unwrap_or_default();
        (date, at, count)
    });
    let days: Vec<_> = days.collect();
    Ok(Year { total: days.iter().map(|(.., count)| count).sum(), days })
}
