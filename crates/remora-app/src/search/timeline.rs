//! Records before and after a point in time.

use std::collections::BTreeMap;
use std::time::Duration;

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_store::{Anchor, Store, TimelineEntry};
use schemars::JsonSchema;
use serde::Serialize;

use crate::search::SearchRequest;
use crate::{AppError, ProjectSelector, Runtime, records, scope};

#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRequest {
    /// May be `None` around a record: its own project is used.
    pub selector: Option<ProjectSelector>,
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

/// A timeline as callers describe it: around a record's id, around the best hit for a text, or up to now.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineQuery {
    /// Only this project.
    pub only: Option<ProjectSelector>,
    /// The project of the caller, used if `only` is `None` and no id names a record of another project.
    pub here: Option<ProjectSelector>,
    pub anchor: Option<RecordId>,
    /// Without `anchor`: a record's id, or what to search for.
    pub text: Option<String>,
    pub before: u32,
    pub after: u32,
}

/// The search that finds the record in the middle, among kinds that have a place in time. `None` if it needs none.
fn best_of(store: &Store, query: &TimelineQuery) -> Result<Option<SearchRequest>, AppError> {
    let Some(text) = &query.text else { return Ok(None) };
    if named(store, query)?.is_some() {
        return Ok(None);
    }
    let selector = query.only.clone().or_else(|| query.here.clone());
    let mut search = SearchRequest::new(selector.ok_or(AppError::NeedsOneProject)?);
    search.text = text.clone();
    search.kinds = vec![RecordKind::Observation, RecordKind::Summary, RecordKind::Turn];
    search.limit = 1;
    Ok(Some(search))
}

/// The timeline of a query.
pub fn around(rt: &dyn Runtime, query: &TimelineQuery) -> Result<Timeline, AppError> {
    let store = rt.store();
    let found = best_of(store, query)?.map(|search| rt.search(&search)).transpose()?;
    let named = named(store, query)?;
    let around = match (named, &query.text) {
        (Some(record), _) => Around::Record(record),
        (None, None) => Around::Now,
        (None, Some(text)) => {
            let best = found.as_ref().and_then(|found| found.hits.first());
            Around::Record(best.ok_or_else(|| AppError::NothingFound(text.clone()))?.id)
        }
    };
    // An id implies its project.
    let here = query.here.as_ref().filter(|_| named.is_none());
    let selector = query.only.as_ref().or(here).cloned();
    timeline(rt, &TimelineRequest { selector, around, before: query.before, after: query.after })
}

/// The record whose id a query has. A text that is not the id of a record, or not of one in `only`, is searched for.
fn named(store: &Store, query: &TimelineQuery) -> Result<Option<RecordId>, AppError> {
    if query.anchor.is_some() {
        return Ok(query.anchor);
    }
    let Some(text) = &query.text else { return Ok(None) };
    records::named(store, text, query.only.as_ref().unwrap_or(&ProjectSelector::All))
}

fn includes(scope: ProjectScope, moment: &TimelineEntry) -> bool {
    scope == ProjectScope::All || scope == ProjectScope::One(moment.project_id)
}

/// Default number of rows on each side.
pub const DEFAULT_LENGTH: u32 = 10;
/// Upper limit for the rows on each side, for every caller. The timeline around its first or last record continues it.
pub const MAX_LEN: u32 = 100;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// The record in the middle; `None` around a time or now.
    pub anchor: Option<RecordId>,
    pub project_id: ProjectId,
    /// Oldest first.
    pub items: Vec<TimelineEntry>,
}

pub fn timeline(rt: &dyn Runtime, request: &TimelineRequest) -> Result<Timeline, AppError> {
    let store = rt.store();
    let record = match request.around {
        Around::Now | Around::Time(_) => None,
        Around::Record(record) => Some(record),
    };
    let scope = match &request.selector {
        Some(selector) => scope(store, selector)?,
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
    let items = store.records().timeline(project, around, request.before, request.after)?;
    Ok(Timeline { anchor: record, project_id: project, items })
}

/// The `most` records of all projects before a point in time, oldest first.
pub fn everywhere(rt: &dyn Runtime, around: Around, most: u32) -> Result<Vec<TimelineEntry>, AppError> {
    let store = rt.store();
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
    for project in store.projects().list()? {
        items.extend(store.records().timeline(project.id, anchor, most, 0)?);
    }
    items.retain(|item| record.as_ref().is_none_or(|record| record.id != item.id));
    items.sort_by_key(|item| (item.created_at, item.kind == RecordKind::Summary, item.id.number));
    let surplus = items.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
    items.drain(..surplus);
    Ok(items)
}

fn moment(store: &Store, record: RecordId, scope: ProjectScope) -> Result<TimelineEntry, AppError> {
    let found = store.records().timeline_entry(record)?.filter(|moment| includes(scope, moment));
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
pub fn year(rt: &dyn Runtime, project: Option<ProjectId>) -> Result<Year, AppError> {
    const DAYS: u32 = 53 * 7;
    const DAY: Duration = Duration::from_hours(24);
    let now = rt.now();
    let store = rt.store();
    // Steps of 24 hours from noon never skip or repeat a date, even if a day has 23 or 25 hours.
    let noon = now.start_of_day().after(DAY / 2);
    let first = noon.before(DAY * (DAYS - 1));
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for (at, count) in store.records().per_quarter_hour(project, first.start_of_day())? {
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
