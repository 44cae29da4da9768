//! The queue: every event becomes memory exactly once.
//!
//! `claim` hands out one turn of one session, in order. `confirm` stores its memory and removes the payloads in one
//! transaction. `release` returns it. A claim whose owner died is reclaimed. Failed events are never thrown away:
//! after its last attempt an event stays, marked failed, with the reason.
//!
//! Payloads outlive their memory in three cases: a model is still to be called (`asking.rs`), the rest of the turn is
//! not observed yet, or the turn may go on after a silence (`kept.rs`). Such events are marked `observed`, with the
//! records made of them, which later memory of the turn revises.

mod asking;
mod backlog;
mod claim;
mod failed;
mod kept;
mod recovery;
mod settle;
pub(crate) mod usage;

pub use backlog::{Backlog, BacklogOf, QueuedEvents};
pub(crate) use claim::Due;
pub(crate) use failed::give_up;
pub use failed::{FailedAction, Which};
pub use kept::Ended;
pub use recovery::Requeue;
pub(crate) use settle::MAX_SUBJECT_LEN;

use std::time::Duration;

use remora_core::event::Body;
use remora_core::ids::{EventId, SessionId};
use remora_core::time::Time;

use crate::transcripts::{ReadTo, TranscriptText};

/// Bad answers to a batch before its events count as failed: the first, and three retries.
const MAX_ATTEMPTS: i64 = 4;
/// Crashes of the owner before a batch is halved, to find the event that causes them.
const CRASHES_PER_HALVING: i64 = 10;
/// A claim without a heartbeat for this long is void.
const CLAIM_LIFETIME: Duration = Duration::from_mins(1);

/// A turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRef {
    pub session: SessionId,
    /// The number of its prompt.
    pub number: i64,
}

/// Events of one turn of a session, claimed by one owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub session: SessionId,
    pub prompt_number: i64,
    pub owner: String,
    pub events: Vec<Queued>,
    /// Events of the same turn that were observed before and still have payloads. They are not claimed.
    pub earlier: Vec<Queued>,
    /// Text of the turn that was read from the host's transcript.
    pub heard: TranscriptText,
    /// Whether nothing had ended the turn when it was claimed.
    pub may_go_on: bool,
    /// Whether the turn was imported.
    pub is_past: bool,
    /// The position up to which the transcript was read for this batch, if it was. Stored with the memory.
    pub transcript: Option<ReadTo>,
}

impl Batch {
    pub fn turn(&self) -> TurnRef {
        TurnRef { session: self.session, number: self.prompt_number }
    }

    /// All known events of the turn, in order.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> + Clone {
        self.earlier.iter().chain(&self.events).map(|event| &event.body)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    pub id: EventId,
    pub at: Time,
    pub body: Body,
}

/// Why a batch is released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The answer was unusable. Counts as an attempt.
    BadAnswer(String),
    /// There was no answer: an outage, a limit, a missing login. Does not count as an attempt.
    NoAnswer { reason: String, retry_after: Duration },
}
