//! What waits to become memory, and what failed.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use remora_core::event::Body;
use remora_store::EventRow;

use super::home::Scope;
use super::look::{When, line};
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const MOST: u32 = 200;

pub(super) fn router() -> Routes {
    Routes::default().get("/queue", page)
}

#[derive(Template)]
#[template(path = "queue.html")]
struct Page {
    frame: Frame,
    counts: Vec<(&'static str, i64)>,
    events: Vec<Waiting>,
}

struct Waiting {
    kind: String,
    status: String,
    what: String,
    error: String,
    attempts: i64,
    session: i64,
    when: When,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    Query(scope): Query<Scope>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Queue", "queue", scope.project).await?;
    let (counts, events) = http.read(|store| Ok((store.counts()?, store.queue(MOST)?))).await?;
    show(&Page {
        frame,
        counts: vec![
            ("pending", counts.pending),
            ("processing", counts.processing),
            ("waiting for a model", counts.awaiting_model),
            ("failed", counts.failed),
        ],
        events: events.iter().map(waiting).collect(),
    })
}

fn waiting(event: &EventRow) -> Waiting {
    let what = match &event.payload {
        Some(Body::PromptSubmitted { text }) => text.clone(),
        Some(Body::TurnEnded { message, .. }) => message.clone(),
        _ => event.files.join(", "),
    };
    Waiting {
        kind: event.tool.clone().unwrap_or_else(|| event.kind.replace('_', " ")),
        status: event.status.replace('_', " "),
        what: line(&what, 120),
        error: line(event.last_error.as_deref().unwrap_or_default(), 200),
        attempts: event.attempts,
        session: event.session_id.0,
        when: When::new(event.created_at),
    }
}
