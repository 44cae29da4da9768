//! Claude Code, as recorded from version 2.1.325.

use remora_core::event::{Agent, Body, Event, FileAhead, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::tools::{Does, Raw, Tools};
use crate::wire::Wire;

pub(crate) const TOOLS: Tools = Tools {
    table: &[
        ("Bash", Does::Run),
        ("BashOutput", Does::Run),
        ("Edit", Does::Edit),
        ("MultiEdit", Does::Edit),
        ("Write", Does::Edit),
        ("NotebookEdit", Does::Edit),
        ("Read", Does::Read),
        ("Grep", Does::Search),
        ("Glob", Does::Search),
        ("WebSearch", Does::Search),
        ("ToolSearch", Does::Search),
        ("WebFetch", Does::Fetch),
        ("AskUserQuestion", Does::Ask),
        ("Agent", Does::Delegate),
        ("Task", Does::Delegate),
        ("TaskOutput", Does::Delegate),
    ],
    otherwise: None,
    reports_failures: true,
};

/// How prompts begin that Claude Code submits to itself.
pub(crate) const SYNTHETIC: &[&str] =
    &["<task-notification>", "<local-command-stdout>", "<local-command-stderr>"];

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    let Some(mut wire) = Wire::new(document) else {
        return Reading::Malformed("the message is not a JSON object");
    };
    let name = event.map_or_else(|| wire.text("hook_event_name"), str::to_owned);
    let body = match name.as_str() {
        "SessionStart" => Body::SessionStarted { source: wire.text("source") },
        "UserPromptSubmit" => match prompt(&mut wire) {
            Some(body) => body,
            None => return synthetic(&mut wire),
        },
        "PreToolUse" => return file_ahead(&mut wire),
        "PostToolUse" | "PostToolUseFailure" => match Raw::read(&mut wire) {
            Some(raw) => Body::ToolUsed(TOOLS.translate(raw)),
            None => return Reading::Malformed("a tool call without the tool's name"),
        },
        "Stop" => Body::TurnEnded { message: wire.text("last_assistant_message"), error: None },
        "StopFailure" => {
            Body::TurnEnded { error: Some(wire.text("error")), message: wire.text("last_assistant_message") }
        }
        "SubagentStop" => {
            let agent_type = wire.text("agent_type");
            // `/compact` runs as a subagent without a type; its result is in the transcript.
            if agent_type.is_empty() {
                return Reading::Nothing;
            }
            Body::SubagentEnded { agent_type, message: wire.text("last_assistant_message") }
        }
        "PostCompact" => {
            Body::Compacted { trigger: wire.text("trigger"), summary: wire.text("compact_summary") }
        }
        "SessionEnd" => Body::SessionEnded { reason: wire.text("reason") },
        _ => return Reading::Nothing,
    };
    let Some(session) = session(&mut wire) else {
        return Reading::Malformed("an event without session_id");
    };
    let agent = agent(&mut wire);
    let origin = origin(&mut wire);
    Reading::Event(Box::new(Event { session, cwd: wire.text("cwd"), origin, agent, body }))
}

fn prompt(wire: &mut Wire) -> Option<Body> {
    match wire.prompt("prompt") {
        Body::PromptSubmitted { text }
            if SYNTHETIC.iter().any(|beginning| text.trim_start().starts_with(beginning)) =>
        {
            None
        }
        body => Some(body),
    }
}

/// A call that is still to come is worth a word only where it is about a file.
fn file_ahead(wire: &mut Wire) -> Reading {
    let (Some(path), Some(session)) = (TOOLS.file_ahead(wire), session(wire)) else {
        return Reading::Nothing;
    };
    let (agent, origin) = (agent(wire), origin(wire));
    Reading::FileAhead(Box::new(FileAhead { session, agent, cwd: wire.text("cwd"), origin, path }))
}

/// The subagent in which something happens.
fn agent(wire: &mut Wire) -> Option<Agent> {
    wire.id("agent_id").map(|id| Agent { id, kind: wire.text("agent_type") })
}

fn synthetic(wire: &mut Wire) -> Reading {
    match session(wire) {
        Some(session) => Reading::Synthetic { session, origin: origin(wire) },
        None => Reading::Nothing,
    }
}

fn session(wire: &mut Wire) -> Option<SessionRef> {
    wire.id("session_id").map(|id| SessionRef { host: Host::ClaudeCode, id })
}

fn origin(wire: &mut Wire) -> Origin {
    Origin {
        call: wire.id("tool_use_id"),
        turn: wire.id("prompt_id"),
        timestamp: None,
        transcript: wire.path("transcript_path"),
    }
}
