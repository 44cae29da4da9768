//! A session as a story: prompts, steps, failures and results.

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::records;
use remora_app::story::{self, Part};
use remora_core::event::Body;
use remora_core::ids::SessionId;
use remora_store::{EventRow, ObservationRow, SessionQuery, SessionRow};
use serde::Deserialize;

use super::judged::{Injection, Judge, injection};
use super::look::{When, count, dollars, excerpt, line, markdown, sentence, thousands, title};
use super::{Frame, Number, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Sessions per page of the list.
const EACH: u32 = 40;
/// Turns per page of a story.
const TURNS: u32 = 10;
/// Maximum number of steps listed per turn; the rest is counted. Failed steps have a limit of their own.
const MAX_STEPS: usize = 20;
const MAX_FAILED: usize = 10;
/// Longer prompts and closing messages are cut, in bytes.
const MAX_LEN: usize = 12_000;
/// Lines shown per injection.
const LINES: usize = 4;

pub(super) fn router() -> Routes {
    Routes::default().get("/sessions", list).get("/sessions/{id}", page)
}

#[derive(Debug, Deserialize)]
struct SessionParameters {
    project: Option<i64>,
    #[serde(default)]
    offset: u32,
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionList {
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
    private: i64,
    when: When,
}

async fn list(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<SessionParameters>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Sessions", "sessions", asked.project).await?;
    let project = frame.project.map(remora_core::ids::ProjectId);
    let offset = asked.offset;
    let projects = project.map(|project| vec![project]);
    let query = SessionQuery { projects, offset, ..SessionQuery::latest(EACH) };
    let page = http.read(move |rt| records::sessions(rt, query)).await?;
    let shown = i64::from(offset) + i64::from(EACH);
    let at = |offset: u32| frame.link(&format!("/sessions?offset={offset}"));
    let (older, newer) = (
        (page.total > shown).then(|| at(offset + EACH)),
        (offset > 0).then(|| at(offset.saturating_sub(EACH))),
    );
    let sessions = page.items.into_iter().map(listed).collect();
    show(&SessionList { frame, sessions, older, newer })
}

fn listed(row: SessionRow) -> Listed {
    Listed {
        id: row.id.0,
        title: title(row.title.as_deref().unwrap_or("No prompt"), 140),
        project: row.project,
        host: row.host,
        status: row.status,
        turns: count(row.prompts, "turn"),
        private: row.private_turns,
        when: When::new(row.last_activity_at),
    }
}

#[derive(Debug, Deserialize)]
struct WhichTurns {
    project: Option<i64>,
    /// The first turn to show.
    #[serde(default)]
    turn: i64,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: Frame,
    head: Listed,
    /// The first sentence of the first prompt, which is shown in full below.
    heading: Safe<String>,
    started: When,
    lasted: String,
    costs: String,
    summary: Option<Summed>,
    given_at_start: Vec<Injection>,
    without_prompt: Vec<LearnedInTurn>,
    turns: Vec<Turn>,
    earlier: Option<String>,
    next: Option<String>,
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
    given: Vec<Injection>,
    steps: Vec<TurnStep>,
    all_steps: String,
    more_steps: usize,
    failed: Vec<TurnStep>,
    broke_off: &'static str,
    learned: Vec<LearnedInTurn>,
}

struct TurnStep {
    tool: String,
    what: String,
    files: Vec<String>,
    outcome: String,
    is_bad: bool,
    by: String,
}

struct LearnedInTurn {
    id: i64,
    kind: &'static str,
    title: Safe<String>,
    body: Safe<String>,
    judge: Judge,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    Number(id): Number,
    PageQuery(asked): PageQuery<WhichTurns>,
) -> Result<Response, ApiError> {
    let part = Part { from: asked.turn.max(1), most: TURNS };
    let found = http
        .read(move |rt| {
            let Some(story) = story::story(rt, SessionId(id), part)? else { return Ok(None) };
            let mut given_at_start = Vec::new();
            for one in &story.given_at_start {
                given_at_start.push(injection(rt.store(), one, LINES)?);
            }
            let mut turns = Vec::new();
            for one in &story.turns {
                let mut given = Vec::new();
                for injected in &one.given {
                    given.push(injection(rt.store(), injected, LINES)?);
                }
                turns.push(turn(one, given));
            }
            Ok(Some((story, given_at_start, turns)))
        })
        .await?;
    let (story, given_at_start, turns) =
        found.ok_or_else(|| ApiError::NotFound(format!("there is no session {id}")))?;
    let name = line(story.session.title.as_deref().unwrap_or("A session"), 80);
    let frame = Frame::new(&http, &visitor, &name, "sessions", asked.project).await?;
    let summary = story.summary.as_ref().map(|row| Summed {
        request: line(&row.summary.request, 300),
        completed: markdown(&excerpt(&row.summary.completed, MAX_LEN)),
        learned: markdown(&excerpt(&row.summary.learned, MAX_LEN)),
        next_steps: markdown(&excerpt(&row.summary.next_steps, MAX_LEN)),
    });
    let at = |turn: i64| frame.link(&format!("/sessions/{id}?turn={turn}"));
    show(&SessionPage {
        started: When::new(story.session.started_at),
        lasted: lasted(&story.session),
        costs: costs(&story),
        summary,
        given_at_start,
        without_prompt: story.without_prompt.iter().map(learned).collect(),
        turns,
        earlier: story.earlier.map(at),
        next: story.next.map(at),
        heading: title(sentence(story.session.title.as_deref().unwrap_or("A session")), 100),
        head: listed(story.session),
        frame,
    })
}

fn lasted(session: &SessionRow) -> String {
    let minutes = session.last_activity_at.since(session.started_at).as_secs() / 60;
    match minutes {
        0 => "under a minute".to_owned(),
        1..120 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// The cost of the session: tokens of the observer's model, and injected tokens.
fn costs(story: &story::Story) -> String {
    let spent = &story.spent;
    let writer = |(provider, model): &(String, String)| match (line(provider, 40), line(model, 80)) {
        (provider, model) if model.is_empty() => provider,
        (provider, model) => format!("{provider} ({model})"),
    };
    let observed = match spent.calls {
        // Imported, or the calls are no longer in the log.
        0 if !story.writers.is_empty() => {
            let writers: Vec<String> = story.writers.iter().map(writer).collect();
            format!("Written by {}", writers.join(", "))
        }
        0 => "Observed without a model, at no cost".to_owned(),
        calls => format!(
            "Observed with {} and {} tokens{}",
            count(i64::try_from(calls).unwrap_or(i64::MAX), "request"),
            thousands(spent.tokens),
            if spent.usd > 0.0 { format!(", {}", dollars(spent.usd)) } else { String::new() }
        ),
    };
    match story.injections {
        0 => format!("{observed}. Nothing was injected."),
        times => format!(
            "{observed}. Memory was injected {} ({} tokens).",
            count(i64::try_from(times).unwrap_or(i64::MAX), "time"),
            thousands(story.injected_tokens)
        ),
    }
}

fn turn(one: &story::Turn, given: Vec<Injection>) -> Turn {
    let is_bad = |event: &&EventRow| event.outcome.as_deref().is_some_and(|outcome| outcome != "ok");
    Turn {
        number: one.prompt.prompt_number,
        prompt: markdown(&excerpt(&one.prompt.text, MAX_LEN)),
        closing: markdown(&excerpt(one.prompt.closing_message.as_deref().unwrap_or_default(), MAX_LEN)),
        when: When::new(one.prompt.created_at),
        given,
        steps: one.steps.iter().take(MAX_STEPS).map(step).collect(),
        all_steps: count(i64::try_from(one.steps.len()).unwrap_or(i64::MAX), "step"),
        more_steps: one.steps.len().saturating_sub(MAX_STEPS),
        failed: one.steps.iter().filter(is_bad).take(MAX_FAILED).map(step).collect(),
        broke_off: match one.broke_off {
            Some("failed") => "This turn ended with an error.",
            Some(_) => "This turn was interrupted.",
            None => "",
        },
        learned: one.observations.iter().map(learned).collect(),
    }
}

fn learned(row: &ObservationRow) -> LearnedInTurn {
    LearnedInTurn {
        id: row.id.0,
        kind: row.observation.kind.name(),
        title: title(&row.observation.title, 200),
        body: markdown(&excerpt(&row.observation.narrative, 1_200)),
        judge: Judge::of(row),
    }
}

/// A tool call. Its details were redacted at capture; all of them exist only as long as the payload is
/// queued.
fn step(event: &EventRow) -> TurnStep {
    let mut what = event.subject.clone().unwrap_or_default();
    let mut error = "";
    if let Some(Body::ToolUsed(tool)) = &event.payload {
        // A file is shown below.
        if event.files.is_empty() {
            tool.call.subject().clone_into(&mut what);
        }
        error = tool.error().unwrap_or_default();
    }
    let outcome = event.outcome.as_deref().unwrap_or("ok");
    TurnStep {
        tool: line(event.tool.as_deref().unwrap_or(&event.kind), 60),
        what: line(&what, 160),
        files: event.files.iter().take(3).map(|file| line(file, 80)).collect(),
        outcome: match (outcome, error) {
            ("ok" | "failed", "") => String::new(),
            (outcome, "") => outcome.to_owned(),
            (_, error) => line(error, 200),
        },
        is_bad: outcome != "ok",
        by: event.agent_id.as_deref().map(|agent| line(agent, 40)).unwrap_or_default(),
    }
}
