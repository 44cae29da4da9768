//! The feed: all records, newest first, page by page; the running turns; and what was stored since a client looked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use remora_store::{
    EventRow, ObservationRow, Page, PromptRow, RunningTurn, Selection, Store, StoreError, SummaryRow,
};
use serde::Serialize;

use crate::{AppError, Runtime, files, present};

/// Tool calls shown for each running turn.
const EVENTS: u32 = 6;
/// Running turns shown.
const TURNS: u32 = 4;

/// The last rows that a client has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    pub observation: i64,
    pub summary: i64,
    pub prompt: i64,
    pub event: i64,
}

/// Rows after a cursor, each list in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    pub prompts: Vec<PromptRow>,
    pub observations: Vec<ObservationRow>,
    pub summaries: Vec<SummaryRow>,
    /// Tool calls, without their payloads.
    pub events: Vec<ToolEvent>,
}

/// A tool call, as shown while its turn is running.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolEvent {
    pub id: i64,
    pub session_id: SessionId,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    pub tool: String,
    /// Its subject, such as the command.
    pub subject: Option<String>,
    /// Relative to the project's root, or full paths if they are elsewhere.
    pub files: Vec<String>,
    pub outcome: Option<String>,
    #[serde(flatten, serialize_with = "present::created")]
    pub created_at: Time,
}

/// One entry of the feed.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedRow {
    Observation(Box<ObservationRow>),
    Summary(Box<SummaryRow>),
    Prompt(PromptRow),
}

impl FeedRow {
    /// Sort key: time, then kind. In reverse order, a turn's summary comes before its observations and its prompt.
    fn place(&self) -> (Time, u8, i64) {
        match self {
            Self::Prompt(row) => (row.created_at, 0, row.id.0),
            Self::Observation(row) => (row.created_at, 1, row.id.0),
            Self::Summary(row) => (row.created_at, 2, row.id.0),
        }
    }
}

/// One page of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Newest first.
    pub rows: Vec<FeedRow>,
    /// Cursor of the next page; `None` on the last one.
    pub next: Option<Cursor>,
}

/// Cursor for the first page.
pub const FEED_TOP: Cursor =
    Cursor { observation: i64::MAX, summary: i64::MAX, prompt: i64::MAX, event: i64::MAX };

/// Returns the page before `cursor`.
pub fn before(
    rt: &dyn Runtime,
    project: Option<ProjectId>,
    cursor: Cursor,
    most: u32,
) -> Result<Stretch, AppError> {
    let store = rt.store();
    let stored_before = |id: i64| Selection::of_project(project).stored_before(id).limit(most);
    let prompts = store.records().prompts(&stored_before(cursor.prompt))?.items;
    let observations = store.records().observations(&stored_before(cursor.observation))?.items;
    let summaries = store.records().summaries(&stored_before(cursor.summary).current())?.items;
    let mut rows: Vec<FeedRow> = Vec::new();
    rows.extend(prompts.into_iter().map(FeedRow::Prompt));
    rows.extend(observations.into_iter().map(|row| FeedRow::Observation(Box::new(row))));
    rows.extend(summaries.into_iter().map(|row| FeedRow::Summary(Box::new(row))));
    rows.sort_by_key(|row| std::cmp::Reverse(row.place()));
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let is_last = rows.len() <= most;
    rows.truncate(most);
    let mut next = cursor;
    for row in &rows {
        match row {
            FeedRow::Prompt(row) => next.prompt = next.prompt.min(row.id.0),
            FeedRow::Observation(row) => next.observation = next.observation.min(row.id.0),
            FeedRow::Summary(row) => next.summary = next.summary.min(row.id.0),
        }
    }
    Ok(Stretch { rows, next: (!is_last).then_some(next) })
}

/// The last rows in the database.
pub fn latest(store: &Store) -> Result<Cursor, StoreError> {
    let last = Selection::of_project(None).stored_before(i64::MAX).limit(1);
    let records = store.records();
    Ok(Cursor {
        observation: records.observations(&last)?.into_first().map_or(0, |row| row.id.0),
        summary: records.summaries(&last)?.into_first().map_or(0, |row| row.id.0),
        prompt: records.prompts(&last)?.into_first().map_or(0, |row| row.id.0),
        event: records.events(&last)?.into_first().map_or(0, |row| row.id.0),
    })
}

/// Rows after `cursor`, at most `most` of each kind.
pub fn after(store: &Store, cursor: Cursor, most: u32) -> Result<News, StoreError> {
    let stored_after = |id: i64| Selection::of_project(None).stored_after(id).limit(most);
    // Rows stored together are seen together.
    let _snapshot = store.snapshot()?;
    let records = store.records();
    Ok(News {
        prompts: records.prompts(&stored_after(cursor.prompt))?.items,
        observations: records.observations(&stored_after(cursor.observation))?.items,
        summaries: records.summaries(&stored_after(cursor.summary))?.items,
        events: tool_events(store, records.events(&stored_after(cursor.event).tool_calls())?)?,
    })
}

fn tool_events(store: &Store, page: Page<EventRow>) -> Result<Vec<ToolEvent>, StoreError> {
    let mut roots: HashMap<SessionId, String> = HashMap::new();
    let mut events = Vec::with_capacity(page.items.len());
    for mut row in page.items {
        let root = match roots.entry(row.session_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(root(store, row.session_id)?),
        };
        let subject = row.short_subject();
        files::shorten(root, std::slice::from_mut(&mut row));
        events.push(ToolEvent {
            id: row.id.0,
            session_id: row.session_id,
            project_id: row.project_id,
            prompt_number: row.prompt_number,
            tool: row.tool.unwrap_or_default(),
            subject,
            files: row.files,
            outcome: row.outcome,
            created_at: row.created_at,
        });
    }
    Ok(events)
}

/// The root of a session's project.
fn root(store: &Store, session: SessionId) -> Result<String, StoreError> {
    Ok(store.sessions().origin(session)?.ok_or(StoreError::UnknownSession(session))?.root)
}

/// Running turns with their latest tool calls.
pub fn running(rt: &dyn Runtime, project: Option<ProjectId>) -> Result<Vec<RunningTurn>, AppError> {
    let now = rt.now();
    let store = rt.store();
    let mut turns = store.records().running_turns(project, TURNS, EVENTS, now)?;
    for turn in &mut turns {
        files::shorten(&root(store, turn.session)?, &mut turn.events);
        for event in &mut turn.events {
            event.subject = event.short_subject();
        }
    }
    Ok(turns)
}

/// The latest observations of one project or of all, newest first. By time, because imported observations have new ids
/// and old times.
pub fn latest_observations(
    rt: &dyn Runtime,
    project: Option<ProjectId>,
    most: u32,
) -> Result<Vec<ObservationRow>, AppError> {
    Ok(rt.store().records().observations(&Selection::of_project(project).limit(most))?.items)
}
