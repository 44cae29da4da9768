//! The gate before storage: applies settings, pauses, private turns and redaction to every event.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use remora_core::capture::{self, LeftOut, Paths};
use remora_core::event::{Body, Event, FileAhead, Origin, Outcome, SessionRef, ToolCall, ToolUse};
use remora_core::privacy::{self, Captured};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::private_turns::{self, TurnPrivacy};
use remora_store::{DataDir, DataError, EventRecord, StoreError, pause};
use remora_sys::file::real_path;
use serde_json::Value;

use super::Decision;

/// Lets an event through, redacted and ready to be stored, or returns why not. If it is unknown whether the event is
/// private, this fails: nothing is captured on a guess.
pub(super) fn admit(
    dir: &DataDir,
    settings: &Settings,
    home: Option<&Path>,
    event: Event,
    at: Time,
) -> Result<Decision, StoreError> {
    if let Some(reason) = capture::left_out(&event, &settings.capture, Paths { home, real: real_path }) {
        return Ok(Decision::LeftOut(reason));
    }
    if pause::read(dir)?.covers(Path::new(&event.cwd)) {
        return Ok(Decision::LeftOut(LeftOut::Paused));
    }
    if is_private(dir, &event)? {
        return Ok(Decision::LeftOut(LeftOut::PrivateTurn));
    }
    let captured = cleaned(event, privacy::clean);
    // A prompt that consisted only of a reminder or of our own context is empty now.
    if matches!(&captured.event().body, Body::PromptSubmitted { text } if text.trim().is_empty()) {
        return Ok(Decision::LeftOut(LeftOut::EmptyPrompt));
    }
    Ok(Decision::Store(Box::new(EventRecord::new(captured, at))))
}

/// Redacts an event. If a rule panics, the event is stored without any text, so that a bug costs the text and not the
/// event.
fn cleaned(event: Event, clean: impl Fn(Event) -> Captured) -> Captured {
    let Event { session, cwd, origin, agent, body } = &event;
    let bare = Event {
        session: session.clone(),
        cwd: cwd.clone(),
        origin: origin.clone(),
        agent: agent.clone(),
        body: bare(body),
    };
    // The panic hook has logged it.
    panic::catch_unwind(AssertUnwindSafe(|| clean(event))).unwrap_or_else(|_| privacy::clean(bare))
}

/// The event without text: its kind and, for a tool, its name and outcome.
fn bare(body: &Body) -> Body {
    let none = String::new;
    match body {
        Body::SessionStarted { source } => Body::SessionStarted { source: *source },
        Body::PromptSubmitted { .. } | Body::PromptWithheld => Body::PromptWithheld,
        Body::ToolUsed(ToolUse { tool, outcome, duration_ms, .. }) => Body::ToolUsed(ToolUse {
            tool: tool.clone(),
            call: ToolCall::Other { input: Value::Null, output: Value::Null },
            outcome: match outcome {
                Outcome::Ok => Outcome::Ok,
                Outcome::Failed { .. } => Outcome::Failed { error: none() },
                Outcome::Interrupted { .. } => Outcome::Interrupted { error: none() },
            },
            duration_ms: *duration_ms,
        }),
        Body::TurnEnded { error, .. } => {
            Body::TurnEnded { message: none(), error: error.as_ref().map(|_| none()) }
        }
        Body::SubagentEnded { .. } => Body::SubagentEnded { agent_type: none(), message: none() },
        Body::Compacted { .. } => Body::Compacted { trigger: none(), summary: none() },
        Body::SessionEnded { .. } => Body::SessionEnded { reason: none() },
    }
}

/// Why nothing may be injected about a file. An injection is logged with the file's name, so the same rules apply as
/// for events.
pub(super) fn bars(
    dir: &DataDir,
    settings: &Settings,
    home: Option<&Path>,
    ahead: &FileAhead,
) -> Result<Option<LeftOut>, StoreError> {
    let cwd = Path::new(&ahead.cwd);
    if let Some(reason) = capture::excluded(cwd, &settings.capture, Paths { home, real: real_path }) {
        return Ok(Some(reason));
    }
    if pause::read(dir)?.covers(cwd) {
        return Ok(Some(LeftOut::Paused));
    }
    let is_private = private_turns::contains(dir, &ahead.session, &ahead.origin)?;
    Ok(is_private.then_some(LeftOut::PrivateTurn))
}

/// Records a prompt that the host generated: its turn is as private as the one before it.
pub(super) fn note_synthetic(dir: &DataDir, session: &SessionRef, origin: &Origin) -> Result<(), DataError> {
    private_turns::begin(dir, session, origin, TurnPrivacy::Continued)
}

fn is_private(dir: &DataDir, event: &Event) -> Result<bool, DataError> {
    let Event { session, origin, .. } = event;
    match event.body {
        Body::PromptWithheld => {
            private_turns::begin(dir, session, origin, TurnPrivacy::Private).map(|()| false)
        }
        Body::PromptSubmitted { .. } => {
            private_turns::begin(dir, session, origin, TurnPrivacy::Public).map(|()| false)
        }
        // These events contain no text. After everything was erased, a session stays unknown until its next prompt.
        Body::SessionStarted { .. } | Body::SessionEnded { .. } => private_turns::is_erased(dir, session),
        // A digest of the whole session includes its private turns.
        Body::Compacted { .. } => private_turns::had_any(dir, session),
        Body::ToolUsed(_) | Body::TurnEnded { .. } | Body::SubagentEnded { .. } => {
            private_turns::contains(dir, session, origin)
        }
    }
}

#[cfg(test)]
mod tests {
    use remora_core::host::Host;

    use super::*;

    #[test]
    fn a_panicking_rule_loses_the_text_but_not_the_event() {
        let session = SessionRef { host: Host::ClaudeCode, id: "s".into() };
        let call =
            ToolCall::Run { command: "deploy --key hunter2".into(), output: "hunter2".into(), exit: None };
        let outcome = Outcome::Failed { error: "hunter2".into() };
        let used = ToolUse { tool: "Bash".into(), call, outcome, duration_ms: Some(3) };
        for body in [
            Body::PromptSubmitted { text: "hunter2".into() },
            Body::ToolUsed(used),
            Body::TurnEnded { message: "hunter2".into(), error: Some("hunter2".into()) },
            Body::Compacted { trigger: "auto".into(), summary: "hunter2".into() },
        ] {
            let kind = body.kind();
            let event = Event {
                session: session.clone(),
                cwd: "/p".into(),
                origin: Origin::default(),
                agent: None,
                body,
            };
            let captured = cleaned(event, |_| panic!("a bug, on purpose"));
            assert!(!format!("{captured:?}").contains("hunter2"), "{captured:?}");
            let kept = captured.event().body.kind();
            assert_eq!(kept, if kind == "prompt_submitted" { "prompt_withheld" } else { kind });
        }
    }
}
