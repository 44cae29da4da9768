//! The queue: waiting and failed events.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use remora_app::queue;
use remora_core::event::Body;
use remora_store::EventRow;

use super::home::Scope;
use super::look::{When, excerpt, line};
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const MAX_EVENTS: u32 = 100;
/// Longer payloads are cut, in characters.
const PAYLOAD: usize = 4_000;

pub(super) fn router() -> Routes {
    Routes::default().get("/queue", page)
}

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    frame: Frame,
    counts: Vec<(&'static str, i64)>,
    failed: Vec<WaitingEvent>,
    waiting: Vec<WaitingEvent>,
    more: i64,
}

struct WaitingEvent {
    id: i64,
    kind: String,
    status: String,
    what: String,
    error: String,
    attempts: i64,
    session: i64,
    turn: i64,
    when: When,
    payload: String,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(scope): PageQuery<Scope>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Queue", "queue", scope.project).await?;
    let queue = http.read(|rt| queue::overview(rt, MAX_EVENTS)).await?;
    let shown = i64::try_from(queue.events.len()).unwrap_or(i64::MAX);
    let (failed, waiting): (Vec<_>, Vec<_>) = queue.events.iter().partition(|event| event.status == "failed");
    show(&QueuePage {
        counts: vec![
            ("Pending", queue.pending),
            ("Processing", queue.processing),
            ("Waiting for a model", queue.awaiting_model),
            ("Failed", queue.failed),
        ],
        failed: failed.into_iter().map(event).collect(),
        waiting: waiting.into_iter().map(event).collect(),
        more: (queue.total - shown).max(0),
        frame,
    })
}

fn event(event: &EventRow) -> WaitingEvent {
    let what = match &event.payload {
        Some(Body::PromptSubmitted { text }) => text.clone(),
        Some(Body::TurnEnded { message, .. }) => message.clone(),
        Some(Body::ToolUsed(tool)) if event.files.is_empty() => tool.call.subject().to_owned(),
        _ => event.files.join(", "),
    };
    // Stored payloads are already redacted.
    let payload = event.payload.as_ref().and_then(|body| serde_json::to_string_pretty(body).ok());
    WaitingEvent {
        id: event.id.0,
        kind: event.tool.clone().unwrap_or_else(|| event.kind.replace('_', " ")),
        status: event.status.replace('_', " "),
        what: line(&what, 120),
        error: line(event.last_error.as_deref().unwrap_or_default(), 200),
        attempts: event.attempts,
        session: event.session_id.0,
        turn: event.prompt_number,
        when: When::new(event.created_at),
        payload: remora_core::text::visible(&excerpt(&payload.unwrap_or_default(), PAYLOAD)).into_owned(),
    }
}
