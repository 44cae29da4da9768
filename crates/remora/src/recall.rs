//! What a session is told at its start.

use remora_core::context;
use remora_core::event::{Body, Event};
use remora_core::settings::Context;
use remora_core::time::Time;
use remora_hosts::response::{self, Moment};
use remora_store::{KnownSession, Recall, Store, StoreError};

/// The answer to a host whose session begins, or `None` when there is nothing to tell it.
pub(crate) fn at_start(
    store: &Store,
    event: &Event,
    settings: &Context,
    now: Time,
) -> Result<Option<String>, StoreError> {
    let Body::SessionStarted { source } = &event.body else { return Ok(None) };
    let host = event.session.host;
    let (Some(room), Some(session)) = (response::room(host), store.known_session(&event.session)?) else {
        return Ok(None);
    };
    let Some(recall) = recall(source, session) else { return Ok(None) };
    let material = store.material(session.project, recall, settings.summaries)?;
    let budget = u64::from(settings.tokens).min(room);
    let told = context::render(&material, budget, now);
    Ok(told.and_then(|told| response::with_context(host, Moment::SessionStart, &told.text)))
}

/// A session that goes on remembers itself, unless its host has just shortened it.
fn recall(source: &str, session: KnownSession) -> Option<Recall> {
    match source {
        "compact" => Some(Recall::OfSession(session.id)),
        "resume" => session.last_prompt_at.map(|at| Recall::Since { session: session.id, at }),
        _ => Some(Recall::Everything),
    }
}
