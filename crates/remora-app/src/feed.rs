//! Everything as it comes, backwards page by page, and the turns that are under way.

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_store::{Cursor, ObservationRow, PromptRow, RunningTurn, Store, SummaryRow};

use crate::{AppError, files};

/// Tool calls of a running turn that are shown before more come.
const EVENTS: u32 = 6;
/// Turns under way that are shown.
const TURNS: u32 = 4;

/// One entry of the feed.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedRow {
    Observation(Box<ObservationRow>),
    Summary(Box<SummaryRow>),
    Prompt(PromptRow),
}

impl FeedRow {
    /// Time, then rank: what was made together is read backwards, the summary first.
    fn place(&self) -> (Time, u8, i64) {
        match self {
            Self::Prompt(row) => (row.created_at, 0, row.id.0),
            Self::Observation(row) => (row.created_at, 1, row.id.0),
            Self::Summary(row) => (row.created_at, 2, row.id.0),
        }
    }
}

/// A stretch of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// The latest first.
    pub rows: Vec<FeedRow>,
    /// Where the next stretch begins; `None` at the end.
    pub next: Option<Cursor>,
}

/// The end of the feed, where reading begins.
pub const NEWEST: Cursor =
    Cursor { observation: i64::MAX, summary: i64::MAX, prompt: i64::MAX, event: i64::MAX };

/// What came before `cursor`.
pub fn before(
    store: &Store,
    project: Option<ProjectId>,
    cursor: Cursor,
    most: u32,
) -> Result<Stretch, AppError> {
    let news = store.before(cursor, project, most)?;
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

/// Turns that are under way, with their last tool calls.
pub fn running(store: &Store, project: Option<ProjectId>, now: Time) -> Result<Vec<RunningTurn>, AppError> {
    let mut turns = store.running_turns(project, TURNS, EVENTS, now)?;
    for turn in &mut turns {
        files::shorten(&store.session_root(turn.session)?, &mut turn.events);
    }
    Ok(turns)
}

/// What was learned last in all projects, the latest first.
pub fn latest_observations(store: &Store, most: u32) -> Result<Vec<ObservationRow>, AppError> {
    Ok(store.before(NEWEST, None, most)?.observations)
}
