//! Records before and after a point in time.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::memory::ObservationType;
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_store::{ObservationRow, PromptRow, Selection, Store, SummaryRow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::records::Record;
use crate::search::SearchRequest;
use crate::{AppError, ProjectSelector, Runtime, present, records, scope};

/// A record on a timeline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimelineEntry {
    pub id: RecordId,
    pub kind: RecordKind,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub observation_type: Option<ObservationType>,
    pub title: String,
    /// The record that replaces it: an observation, or a correction of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<RecordId>,
    pub project: String,
    pub project_id: ProjectId,
    pub session_id: SessionId,
    #[serde(flatten, serialize_with = "present::created")]
    #[schemars(with = "present::Created")]
    pub created_at: Time,
}

const MAX_TITLE_LEN: usize = 120;

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
    let place = place(anchor.as_ref(), request.around);
    let mut items = beside(store, project, place, Side::Before(request.before))?;
    items.extend(anchor);
    if place.is_some() {
        items.extend(beside(store, project, place, Side::After(request.after))?);
    }
    Ok(Timeline { anchor: record, project_id: project, items })
}

/// The `most` records of all projects before a point in time, oldest first.
pub fn everywhere(rt: &dyn Runtime, around: Around, most: u32) -> Result<Vec<TimelineEntry>, AppError> {
    let store = rt.store();
    let record = match around {
        Around::Record(record) => Some(moment(store, record, ProjectScope::All)?),
        Around::Now | Around::Time(_) => None,
    };
    beside(store, None, place(record.as_ref(), around), Side::Before(most))
}

/// A position on the timeline. At the same time, an observation sorts before the summary made with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TimelinePlace {
    at: Time,
    rank: u8,
    number: i64,
}

const OBSERVATION_RANK: u8 = 2;
const SUMMARY_RANK: u8 = 3;

impl TimelinePlace {
    /// The position among the records of one rank. They are all before or all after a record of the same time and of another
    /// rank.
    fn among(self, rank: u8) -> (Time, i64) {
        let number = match rank.cmp(&self.rank) {
            Ordering::Less => i64::MAX,
            Ordering::Equal => self.number,
            Ordering::Greater => i64::MIN,
        };
        (self.at, number)
    }
}

impl TimelineEntry {
    fn place(&self) -> TimelinePlace {
        let rank = match self.kind {
            RecordKind::Summary => SUMMARY_RANK,
            RecordKind::Observation => OBSERVATION_RANK,
            _ => 1,
        };
        TimelinePlace { at: self.created_at, rank, number: self.id.number }
    }

    fn of_record(record: Record) -> Option<Self> {
        match record {
            Record::Observation(row) => Some((*row).into()),
            Record::Summary(row) => Some((*row).into()),
            Record::Turn(row) => Some(row.into()),
            Record::Fact(_) | Record::Note(_) | Record::Event(_) | Record::Session(_) => None,
        }
    }
}

impl From<ObservationRow> for TimelineEntry {
    fn from(row: ObservationRow) -> Self {
        Self {
            id: row.id.into(),
            kind: RecordKind::Observation,
            observation_type: Some(row.observation.kind),
            title: one_line(&row.observation.title, MAX_TITLE_LEN),
            superseded_by: row.superseded_by,
            project: row.project,
            project_id: row.project_id,
            session_id: row.session_id,
            created_at: row.created_at,
        }
    }
}

impl From<SummaryRow> for TimelineEntry {
    fn from(row: SummaryRow) -> Self {
        Self {
            id: row.id.into(),
            kind: RecordKind::Summary,
            observation_type: None,
            title: one_line(&row.summary.request, MAX_TITLE_LEN),
            superseded_by: None,
            project: row.project,
            project_id: row.project_id,
            session_id: row.session_id,
            created_at: row.created_at,
        }
    }
}

impl From<PromptRow> for TimelineEntry {
    fn from(row: PromptRow) -> Self {
        Self {
            id: row.id.into(),
            kind: RecordKind::Turn,
            observation_type: None,
            title: one_line(&row.text, MAX_TITLE_LEN),
            superseded_by: None,
            project: row.project,
            project_id: row.project_id,
            session_id: row.session_id,
            created_at: row.created_at,
        }
    }
}

/// The position around which a timeline is read; `None` for its end.
fn place(anchor: Option<&TimelineEntry>, around: Around) -> Option<TimelinePlace> {
    match (anchor, around) {
        (Some(moment), _) => Some(moment.place()),
        (None, Around::Time(at)) => Some(TimelinePlace { at, rank: 0, number: i64::MIN }),
        (None, Around::Now | Around::Record(_)) => None,
    }
}

/// One side of a position, with the number of records to read.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before(u32),
    After(u32),
}

/// The nearest records on one side of a position, oldest first. Only the last summary of a session is one, not its
/// checkpoints.
fn beside(
    store: &Store,
    project: impl Into<Option<ProjectId>>,
    place: Option<TimelinePlace>,
    side: Side,
) -> Result<Vec<TimelineEntry>, AppError> {
    let of_project = Selection::of_project(project);
    let selection = |rank: u8| {
        let all = of_project.clone();
        match (place.map(|place| place.among(rank)), side) {
            (None, Side::Before(most) | Side::After(most)) => all.limit(most),
            (Some((at, number)), Side::Before(most)) => all.before(at, number).limit(most),
            (Some((at, number)), Side::After(most)) => all.after(at, number).limit(most),
        }
    };
    let observations = store.records().observations(&selection(OBSERVATION_RANK))?.items;
    let summaries = store.records().summaries(&selection(SUMMARY_RANK).current())?.items;
    let observations = observations.into_iter().map(TimelineEntry::from);
    let mut items: Vec<TimelineEntry> = observations.chain(summaries.into_iter().map(Into::into)).collect();
    items.sort_by_key(TimelineEntry::place);
    match side {
        Side::Before(most) => {
            let surplus = items.len().saturating_sub(most as usize);
            items.drain(..surplus);
        }
        Side::After(most) => items.truncate(most as usize),
    }
    Ok(items)
}

fn moment(store: &Store, record: RecordId, scope: ProjectScope) -> Result<TimelineEntry, AppError> {
    let found = records::numbered(store, record)?.and_then(TimelineEntry::of_record);
    let found = found.filter(|moment| includes(scope, moment));
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
    for (at, count) in store.projects().activity(project, first.start_of_day())? {
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
