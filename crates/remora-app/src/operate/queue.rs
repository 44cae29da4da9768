//! The event queue: events that wait for the observer, and events that failed.

use std::time::Duration;

use remora_core::ids::EventId;
use remora_core::settings::Capture;
use remora_observer::{Drained, Observer};
use remora_store::{EventRow, FailedAction, QueuedEvents, StoreError, Which};
use serde::Serialize;

use crate::present::{self, EventJson};
use crate::{AppError, Runtime, files, records};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queue {
    pub pending: i64,
    pub processing: i64,
    pub awaiting_model: i64,
    pub failed: i64,
    pub total: i64,
    /// Oldest first, up to the requested limit.
    #[serde(serialize_with = "present::list::<EventJson, _, _>")]
    pub events: Vec<EventRow>,
}

/// The queue for a page: failed events first, because they need a decision, then waiting ones.
pub fn overview(rt: &dyn Runtime, limit: u32) -> Result<Queue, AppError> {
    let store = rt.store();
    let mut queue = list(rt, limit)?;
    let failed = store.queue().events(QueuedEvents::Failed, limit)?;
    queue.events.retain(|event| event.status != "failed");
    queue.events.splice(0..0, failed);
    for event in &mut queue.events {
        let root = store
            .sessions()
            .origin(event.session_id)?
            .ok_or(StoreError::UnknownSession(event.session_id))?
            .root;
        files::shorten(&root, std::slice::from_mut(event));
    }
    queue.events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(queue)
}

pub fn list(rt: &dyn Runtime, limit: u32) -> Result<Queue, AppError> {
    let store = rt.store();
    let counts = store.counts()?;
    Ok(Queue {
        pending: counts.pending,
        processing: counts.processing,
        awaiting_model: counts.awaiting_model,
        failed: counts.failed,
        total: counts.pending + counts.processing + counts.awaiting_model + counts.failed,
        events: store.queue().events(QueuedEvents::All, limit)?,
    })
}

/// Which turns are observed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Turns that have ended. A turn without an end event ends after this much silence.
    Ended(Duration),
    /// Also turns that may still be running.
    All,
}

#[derive(Debug)]
pub struct DrainReport {
    pub drained: Drained,
    /// Events of turns that may still be running.
    pub pending: i64,
}

/// Observes queued events with the built-in observer, in this process. `capture` says which transcripts it may read.
pub fn drain(
    rt: &mut dyn Runtime,
    owner: &str,
    turns: Turns,
    capture: &Capture,
) -> Result<DrainReport, AppError> {
    let silence = match turns {
        Turns::Ended(silence) => silence,
        Turns::All => Duration::ZERO,
    };
    let observer = Observer::builtin(owner, silence).with_transcripts(capture);
    let drained = rt.change(|store| observer.drain(store))?;
    let pending = rt.store().counts()?.pending;
    Ok(DrainReport { drained, pending })
}

/// Failed events, by name or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailedEvents {
    All,
    Named(Vec<String>),
}

/// Tries failed events again. Returns how many.
pub fn retry(rt: &mut dyn Runtime, failed: &FailedEvents) -> Result<usize, AppError> {
    rt.change(|store| with(failed, |which| Ok(store.queue().resolve_failed(which, FailedAction::Retry)?)))
}

/// Drops failed events. Returns how many.
pub fn give_up(rt: &mut dyn Runtime, failed: &FailedEvents) -> Result<usize, AppError> {
    rt.change(|store| with(failed, |which| Ok(store.queue().resolve_failed(which, FailedAction::Drop)?)))
}

fn with(
    failed: &FailedEvents,
    change: impl FnOnce(Which<'_>) -> Result<usize, AppError>,
) -> Result<usize, AppError> {
    match failed {
        FailedEvents::All => change(Which::All),
        FailedEvents::Named(names) => {
            let ids: Vec<EventId> = names.iter().map(|name| event_id(name)).collect::<Result<_, _>>()?;
            change(Which::Events(&ids))
        }
    }
}

/// `e12`, or its number alone.
fn event_id(name: &str) -> Result<EventId, AppError> {
    let number = name.parse().ok().or_else(|| {
        records::record_id(name)
            .filter(|id| id.kind == remora_core::document::RecordKind::Event)
            .map(|id| id.number)
    });
    number.map(EventId).ok_or_else(|| AppError::NotAnEvent(name.to_owned()))
}
