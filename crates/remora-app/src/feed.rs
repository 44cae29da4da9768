//! The feed: all records, newest first, page by page, and the running turns.

use remora_core::event::Body;
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_store::{Cursor, ObservationRow, PromptRow, RunningTurn, Store, StoreError, SummaryRow};

use crate::{AppError, files};

/// Tool calls shown for each running turn.
const EVENTS: u32 = 6;
/// Running turns shown.
const TURNS: u32 = 4;

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
    store: &Store,
    project: Option<ProjectId>,
    cursor: Cursor,
    most: u32,
) -> Result<Stretch, AppError> {
    let news = store.records().before(cursor, project, most)?;
    let mut rows: Vec<FeedRow> = Vec::new();
    rows.extend(news.prompts.into_iter().map(FeedRow::Prompt));
    rows.extend(news.observations.into_iter().map(|row| FeedRow::Observation(Box::new(row))));
    rows.extend(news.summaries.into_iter().map(|row| FeedRow::Summary(Box::new(row))));
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

/// Running turns with their latest tool calls.
pub fn running(store: &Store, project: Option<ProjectId>, now: Time) -> Result<Vec<RunningTurn>, AppError> {
    let mut turns = store.records().running_turns(project, TURNS, EVENTS, now)?;
    for turn in &mut turns {
        files::shorten(
            &store.sessions().origin(turn.session)?.ok_or(StoreError::UnknownSession(turn.session))?.root,
            &mut turn.events,
        );
        // The trace gets its subject only when the turn is observed. Until then the payload has it.
        for event in turn.events.iter_mut().filter(|event| event.files.is_empty()) {
            if let (None, Some(Body::ToolUsed(tool))) = (&event.subject, &event.payload) {
                event.subject = Some(tool.call.subject().to_owned()).filter(|subject| !subject.is_empty());
            }
        }
    }
    Ok(turns)
}

/// The latest observations of one project or of all, newest first. By time, because imported observations have new ids
/// and old times.
pub fn latest_observations(
    store: &Store,
    project: Option<ProjectId>,
    most: u32,
) -> Result<Vec<ObservationRow>, AppError> {
    Ok(store.records().latest_observations(project, most)?)
}
