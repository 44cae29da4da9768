//! The gate between what happened and what may be stored: settings, pauses, private turns, redaction.

use std::path::Path;

use remora_core::capture::{self, LeftOut};
use remora_core::event::{Body, Event, FileAhead, Origin, SessionRef};
use remora_core::privacy;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::private_turns::{self, Turn};
use remora_store::{DataDir, Record, StoreError, pause};

/// What the gate makes of an event.
#[derive(Debug, PartialEq)]
pub(super) enum Admission {
    Admitted(Box<Record>),
    LeftOut(Reason),
}

/// Why an event is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    ExcludedProject,
    UnknownExclusions,
    SkippedTool,
    EmptyPrompt,
    Paused,
    PrivateTurn,
}

/// Lets an event through, clean and ready to be stored, or says why not. Not knowing whether an event is private is an
/// error: nothing is captured on a guess.
pub(super) fn admit(
    dir: &DataDir,
    settings: &Settings,
    home: Option<&Path>,
    event: Event,
    at: Time,
) -> Result<Admission, StoreError> {
    if let Some(reason) = capture::left_out(&event, &settings.capture, home) {
        return Ok(Admission::LeftOut(reason.into()));
    }
    if pause::read(dir)?.covers(Path::new(&event.cwd)) {
        return Ok(Admission::LeftOut(Reason::Paused));
    }
    if is_private(dir, &event)? {
        return Ok(Admission::LeftOut(Reason::PrivateTurn));
    }
    let captured = privacy::clean(event);
    // What was only a reminder or our own context is no prompt.
    if matches!(&captured.event().body, Body::PromptSubmitted { text } if text.trim().is_empty()) {
        return Ok(Admission::LeftOut(Reason::EmptyPrompt));
    }
    Ok(Admission::Admitted(Box::new(Record::new(captured, at))))
}

/// Why nothing may be injected about a file. An injection is logged with the file's name, so the same rules hold as for
/// events.
pub(super) fn bars(
    dir: &DataDir,
    settings: &Settings,
    home: Option<&Path>,
    ahead: &FileAhead,
) -> Result<Option<Reason>, StoreError> {
    let cwd = Path::new(&ahead.cwd);
    if let Some(reason) = capture::excluded(cwd, &settings.capture, home) {
        return Ok(Some(reason.into()));
    }
    if pause::read(dir)?.covers(cwd) {
        return Ok(Some(Reason::Paused));
    }
    let is_private = private_turns::contains(dir, &ahead.session, &ahead.origin)?;
    Ok(is_private.then_some(Reason::PrivateTurn))
}

/// Notes a prompt that nobody typed: its turn is as private as the one before it.
pub(super) fn note_synthetic(dir: &DataDir, session: &SessionRef, origin: &Origin) -> Result<(), StoreError> {
    private_turns::begin(dir, session, origin, Turn::Continued)
}

fn is_private(dir: &DataDir, event: &Event) -> Result<bool, StoreError> {
    let Event { session, origin, .. } = event;
    match event.body {
        Body::PromptWithheld => private_turns::begin(dir, session, origin, Turn::Private).map(|()| false),
        Body::PromptSubmitted { .. } => {
            private_turns::begin(dir, session, origin, Turn::Public).map(|()| false)
        }
        // They say nothing of what was said.
        Body::SessionStarted { .. } | Body::SessionEnded { .. } => Ok(false),
        // A digest of the whole session includes its private turns.
        Body::Compacted { .. } => private_turns::had_any(dir, session),
        Body::ToolUsed(_) | Body::TurnEnded { .. } | Body::SubagentEnded { .. } => {
            private_turns::contains(dir, session, origin)
        }
    }
}

impl From<LeftOut> for Reason {
    fn from(reason: LeftOut) -> Self {
        match reason {
            LeftOut::ExcludedProject => Self::ExcludedProject,
            LeftOut::UnknownExclusions => Self::UnknownExclusions,
            LeftOut::SkippedTool => Self::SkippedTool,
            LeftOut::EmptyPrompt => Self::EmptyPrompt,
        }
    }
}
