//! A session as a story: what was asked, what was tried, what came of it.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use remora_core::ids::SessionId;
use remora_store::{EventRow, ObservationRow, PromptRow, Selection, SessionRow, SummaryRow, WhichSession};
use serde::Deserialize;

use super::home::Scope;
use super::look::{When, count, line, markdown, title};
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Sessions on a page of the list.
const EACH: u32 = 40;
/// Events of one turn that are listed; the rest is counted.
const MOST_EVENTS: usize = 60;

pub(super) fn router() -> Routes {
    Routes::default().get("/sessions", list).get("/sessions/{id}", story)
}

#[derive(Debug, Deserialize)]
struct Asked {
    project: Option<i64>,
    #[serde(default)]
    offset: u32,
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct List {
    frame: Frame,
    sessions: Vec<Listed>,
    older: Option<String>,
    newer: Option<String>,
}

struct Listed {
    id: i64,
    title: Safe<String>,
    project: String,
    host: String,
    status: String,
    turns: String,
    when: When,
}

async fn list(
    (State(http), axum::Extension(visitor)): Seen,
    Query(asked): Query<Asked>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Sessions", "sessions", asked.project).await?;
    let project = frame.project.map(remora_core::ids::ProjectId);
    let offset = asked.offset;
    let page = http
        .read(move |store| {
            Ok(store.list_sessions(&Selection { project, session: None, limit: EACH, offset })?)
        })
        .await?;
    let shown = i64::from(offset) + i64::from(EACH);
    let at = |offset: u32| frame.link(&format!("/sessions?offset={offset}"));
    let (older, newer) = (
        (page.total > shown).then(|| at(offset + EACH)),
        (offset > 0).then(|| at(offset.saturating_sub(EACH))),
    );
    let sessions = page.items.into_iter().filter(|session| session.events > 0).map(listed).collect();
    show(&List { frame, sessions, older, newer })
}

fn listed(row: SessionRow) -> Listed {
    Listed {
        id: row.id.0,
        title: title(row.title.as_deref().unwrap_or("No prompt"), 140),
        project: row.project,
        host: row.host,
        status: row.status,
        turns: count(row.prompts, "turn"),
        when: When::new(row.last_activity_at),
    }
}

#[derive(Template)]
#[template(path = "session.html")]
struct Story {
    frame: Frame,
    head: Listed,
    started: When,
    summary: Option<Summed>,
    turns: Vec<Turn>,
}

struct Summed {
    request: String,
    completed: Safe<String>,
    learned: Safe<String>,
    next_steps: Safe<String>,
}

struct Turn {
    number: i64,
    prompt: Safe<String>,
    closing: Safe<String>,
    when: When,
    steps: Vec<Step>,
    more_steps: usize,
    failed: usize,
    learned: Vec<Learned>,
}

struct Step {
    what: String,
    files: Vec<String>,
    is_bad: bool,
}

struct Learned {
    id: i64,
    kind: &'static str,
    title: Safe<String>,
    body: Safe<String>,
}

struct Parts {
    session: SessionRow,
    prompts: Vec<PromptRow>,
    events: Vec<EventRow>,
    observations: Vec<ObservationRow>,
    summaries: Vec<SummaryRow>,
}

async fn story(
    (State(http), axum::Extension(visitor)): Seen,
    Path(id): Path<i64>,
    Query(scope): Query<Scope>,
) -> Result<Response, ApiError> {
    let found = http
        .read(move |store| {
            let wanted = SessionId(id);
            let selection =
                Selection { project: None, session: Some(WhichSession::Row(wanted)), limit: 1, offset: 0 };
            let Some(session) = store.list_sessions(&selection)?.items.into_iter().next() else {
                return Ok(None);
            };
            Ok(Some(Parts {
                session,
                prompts: store.prompts(wanted)?,
                events: store.session_events(wanted)?,
                observations: store.session_observations(wanted)?,
                summaries: store.session_summaries(wanted)?,
            }))
        })
        .await?;
    let parts = found.ok_or_else(|| ApiError::NotFound(format!("there is no session {id}")))?;
    let name = line(parts.session.title.as_deref().unwrap_or("A session"), 80);
    let frame = Frame::new(&http, &visitor, &name, "sessions", scope.project).await?;
    let summary = parts.summaries.last().map(|row| Summed {
        request: line(&row.summary.request, 300),
        completed: markdown(&row.summary.completed),
        learned: markdown(&row.summary.learned),
        next_steps: markdown(&row.summary.next_steps),
    });
    let turns = parts.prompts.iter().map(|prompt| turn(prompt, &parts)).collect();
    let started = When::new(parts.session.started_at);
    show(&Story { frame, started, summary, turns, head: listed(parts.session) })
}

fn turn(prompt: &PromptRow, parts: &Parts) -> Turn {
    let number = prompt.prompt_number;
    let tools = || parts.events.iter().filter(|event| event.prompt_number == number && event.tool.is_some());
    let learned = parts.observations.iter().filter(|row| row.prompt_number == number);
    Turn {
        number,
        prompt: markdown(&prompt.text),
        closing: markdown(prompt.closing_message.as_deref().unwrap_or_default()),
        when: When::new(prompt.created_at),
        steps: tools().take(MOST_EVENTS).map(step).collect(),
        more_steps: tools().count().saturating_sub(MOST_EVENTS),
        failed: tools().filter(|event| event.outcome.as_deref() != Some("ok")).count(),
        learned: learned
            .map(|row| Learned {
                id: row.id.0,
                kind: row.observation.kind.name(),
                title: title(&row.observation.title, 200),
                body: markdown(&row.observation.narrative),
            })
            .collect(),
    }
}

fn step(event: &EventRow) -> Step {
    Step {
        what: line(event.tool.as_deref().unwrap_or(&event.kind), 60),
        files: event.files.iter().take(3).map(|file| line(file, 80)).collect(),
        is_bad: event.outcome.as_deref().is_some_and(|outcome| outcome != "ok"),
    }
}
