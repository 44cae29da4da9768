//! The home page: what was learned, what was injected, whether anything is wrong, and a live feed of
//! everything.

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use remora_app::Runtime;
use remora_app::doctor::{self, Report};
use remora_app::feed::{self, Cursor, FEED_TOP, FeedRow, Stretch};
use remora_app::why::{self, WhyRequest};
use remora_core::ids::{ProjectId, SessionId};
use remora_store::{Counts, EventRow, ObservationRow, PromptRow, RunningTurn, Store, StoreError, SummaryRow};
use serde::Deserialize;

use super::health::{self, Check};
use super::judged::{Injection, Judge, injection};
use super::look::{When, count, excerpt, line, markdown, title};
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;
use crate::http::stream::StreamPlace;

/// Injections in the overview, and lines of each.
const GIVEN: u32 = 3;
const LINES: usize = 4;
const LEARNED: u32 = 4;
/// Entries in one part of the feed.
const FEED: u32 = 20;
const PREVIEW: usize = 400;

pub(super) fn router() -> Routes {
    Routes::default().get("/", home).get("/feed", earlier).get("/feed/{id}", entry)
}

#[derive(Debug, Deserialize)]
pub(super) struct Scope {
    pub(super) project: Option<i64>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    learned: Vec<Learned>,
    given: Vec<Injection>,
    state: HomeState,
    running: Vec<Running>,
    feed: HomeFeed,
}

#[derive(Template)]
#[template(path = "earlier.html")]
struct Earlier {
    frame: Frame,
    feed: HomeFeed,
}

struct HomeFeed {
    groups: Vec<Group>,
    older: Option<String>,
}

struct Learned {
    id: String,
    kind: &'static str,
    title: Safe<String>,
    when: When,
}

/// A turn in progress.
struct Running {
    session: i64,
    turn: i64,
    project: String,
    prompt: Safe<String>,
    tools: i64,
    steps: Vec<Step>,
}

struct Step {
    tool: String,
    what: String,
    is_bad: bool,
}

/// What the doctor found that is not in order, and what is stored.
struct HomeState {
    heading: &'static str,
    checks: Vec<Check>,
    lines: Vec<String>,
}

/// Consecutive entries of one session.
struct Group {
    session: String,
    project: String,
    entries: Vec<Entry>,
}

struct Entry {
    id: String,
    kind: String,
    title: Safe<String>,
    body: Safe<String>,
    files: Vec<String>,
    when: When,
    judge: Option<Judge>,
    link: String,
    session: SessionId,
    project: String,
}

#[derive(Template)]
#[template(path = "entry.html")]
struct OneEntry {
    entry: Entry,
}

async fn home(
    (axum::extract::State(http), axum::Extension(visitor)): Seen,
    PageQuery(scope): PageQuery<Scope>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Home", "home", scope.project).await?;
    let project = frame.project.map(ProjectId);
    let selector = frame.scope_of();
    let report = health::report(&http).await?;
    let (learned, given, counts, running, (rows, next)) = http
        .read(move |rt| {
            let stretch = entries(rt.store(), feed::before(rt, project, FEED_TOP, FEED)?)?;
            let learned = learned(rt, project)?;
            let mut given = Vec::new();
            for one in why::why(rt, &WhyRequest::Project(selector), GIVEN)? {
                given.push(injection(rt.store(), &one, LINES)?);
            }
            let running = feed::running(rt, project)?;
            Ok((learned, given, rt.store().counts()?, running, stretch))
        })
        .await?;
    show(&Home {
        learned,
        given,
        state: state(&report, &counts),
        running: running.iter().map(running_of).collect(),
        feed: feed_of(&frame, rows, next),
        frame,
    })
}

#[derive(Debug, Deserialize)]
struct HomeParameters {
    project: Option<i64>,
    /// The position where the previous page ended.
    before: Option<String>,
}

/// An older part of the feed.
async fn earlier(
    (axum::extract::State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<HomeParameters>,
) -> Result<Response, ApiError> {
    let cursor = match asked.before {
        Some(place) => place.parse::<StreamPlace>()?.0,
        None => FEED_TOP,
    };
    let frame = Frame::new(&http, &visitor, "Earlier", "home", asked.project).await?;
    let project = frame.project.map(ProjectId);
    let read = http.read(move |rt| entries(rt.store(), feed::before(rt, project, cursor, FEED)?));
    let (rows, next) = read.await?;
    let feed = feed_of(&frame, rows, next);
    show(&Earlier { frame, feed })
}

fn feed_of(frame: &Frame, entries: Vec<Entry>, next: Option<Cursor>) -> HomeFeed {
    // A kind with no rows shown yet is at `i64::MAX`, which does not fit into the address.
    let at = |id: i64| if id == i64::MAX { i64::from(u32::MAX) } else { id };
    let older = next.map(|next| {
        let place = StreamPlace(Cursor {
            observation: at(next.observation),
            summary: at(next.summary),
            prompt: at(next.prompt),
            event: 0,
        });
        frame.link(&format!("/feed?before={place}"))
    });
    HomeFeed { groups: grouped(entries), older }
}

fn learned(rt: &dyn Runtime, project: Option<ProjectId>) -> Result<Vec<Learned>, remora_app::AppError> {
    let latest = feed::latest_observations(rt, project, LEARNED)?;
    let learned = latest.iter().map(|row| Learned {
        id: row.id.0.to_string(),
        kind: row.observation.kind.name(),
        title: title(&row.observation.title, 160),
        when: When::new(row.created_at),
    });
    Ok(learned.collect())
}

fn running_of(turn: &RunningTurn) -> Running {
    Running {
        session: turn.session.0,
        turn: turn.prompt_number,
        project: turn.project.clone(),
        prompt: title(&turn.prompt, 200),
        tools: turn.tools,
        steps: turn.events.iter().map(step).collect(),
    }
}

fn step(event: &EventRow) -> Step {
    Step {
        tool: line(event.tool.as_deref().unwrap_or(&event.kind), 60),
        what: line(event.subject.as_deref().unwrap_or(&event.files.join(", ")), 120),
        is_bad: event.outcome.as_deref().is_some_and(|outcome| outcome != "ok"),
    }
}

fn state(report: &Report, counts: &Counts) -> HomeState {
    let found = |state| report.checks.iter().filter(move |finding| finding.state == state).map(Check::of);
    let waiting = counts.pending + counts.processing;
    let queue = match (waiting, counts.failed) {
        (0, 0) => Some("The queue is empty".to_owned()),
        // Failed events are in the queue, too, and have a finding of their own.
        (0, _) => None,
        (waiting, _) => Some(format!("{} waiting to be observed", count(waiting, "event"))),
    };
    let known = format!(
        "{}, {}, {}",
        count(counts.observations, "observation"),
        count(counts.facts, "fact"),
        count(counts.sessions, "session")
    );
    HomeState {
        heading: match (report.ok, report.number(doctor::State::Note)) {
            (false, _) => "Needs attention",
            (true, 0) => "All good",
            (true, _) => "Worth knowing",
        },
        checks: found(doctor::State::Wrong).chain(found(doctor::State::Note)).collect(),
        lines: queue.into_iter().chain([known]).collect(),
    }
}

/// Converts rows to entries, with the names of their projects.
fn entries(store: &Store, stretch: Stretch) -> Result<(Vec<Entry>, Option<Cursor>), remora_app::AppError> {
    let mut entries = Vec::new();
    for row in stretch.rows {
        entries.push(match row {
            FeedRow::Observation(row) => of_observation(&row),
            FeedRow::Summary(row) => of_summary(&row),
            FeedRow::Prompt(row) => of_prompt(
                &row,
                store
                    .sessions()
                    .origin(row.session_id)?
                    .ok_or(StoreError::UnknownSession(row.session_id))?
                    .project,
            ),
        });
    }
    Ok((entries, stretch.next))
}

fn of_observation(row: &ObservationRow) -> Entry {
    let id = row.id.0.to_string();
    Entry {
        link: format!("/observations/{id}"),
        id,
        kind: row.observation.kind.name().to_owned(),
        title: title(&row.observation.title, 200),
        body: markdown(&excerpt(&row.observation.narrative, PREVIEW)),
        files: row.observation.files_modified.iter().take(4).map(|file| line(file, 80)).collect(),
        when: When::new(row.created_at),
        judge: Some(Judge::of(row)),
        session: row.session_id,
        project: row.project.clone(),
    }
}

fn of_summary(row: &SummaryRow) -> Entry {
    let summary = &row.summary;
    let parts = [&summary.completed, &summary.learned].into_iter().find(|part| !part.trim().is_empty());
    Entry {
        id: format!("s{}", row.id.0),
        kind: "summary".to_owned(),
        title: title(&summary.request, 200),
        body: markdown(&excerpt(parts.map_or("", String::as_str), PREVIEW)),
        files: Vec::new(),
        when: When::new(row.created_at),
        judge: None,
        link: format!("/sessions/{}", row.session_id.0),
        session: row.session_id,
        project: row.project.clone(),
    }
}

fn of_prompt(row: &PromptRow, project: String) -> Entry {
    Entry {
        id: format!("t{}", row.id.0),
        kind: "prompt".to_owned(),
        title: title(&row.text, 240),
        body: Safe(String::new()),
        files: Vec::new(),
        when: When::new(row.created_at),
        judge: None,
        link: format!("/sessions/{}?turn={}", row.session_id.0, row.prompt_number),
        session: row.session_id,
        project,
    }
}

fn grouped(entries: Vec<Entry>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for entry in entries {
        let session = entry.session.0.to_string();
        match groups.last_mut().filter(|group| group.session == session) {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group { session, project: entry.project.clone(), entries: vec![entry] }),
        }
    }
    groups
}

/// One entry of the feed, fetched by an open page when it arrives.
async fn entry(
    (axum::extract::State(http), _): Seen,
    axum::extract::Path(id): axum::extract::Path<String>,
) -> Result<Response, ApiError> {
    let wanted = id.clone();
    let found = http.read(move |rt| of_id(rt.store(), &wanted)).await?;
    let entry = found.ok_or_else(|| ApiError::NotFound(format!("nothing is known as `{id}`")))?;
    show(&OneEntry { entry })
}

fn of_id(store: &Store, id: &str) -> Result<Option<Entry>, remora_app::AppError> {
    use remora_app::records::{Record, record};
    Ok(match record(store, id)? {
        Record::Observation(row) => Some(of_observation(&row)),
        Record::Summary(row) => Some(of_summary(&row)),
        Record::Turn(row) => Some(of_prompt(
            &row,
            store
                .sessions()
                .origin(row.session_id)?
                .ok_or(StoreError::UnknownSession(row.session_id))?
                .project,
        )),
        _ => None,
    })
}
