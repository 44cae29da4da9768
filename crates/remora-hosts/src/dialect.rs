//! Hosts that use Claude Code's event names and mostly its members. A [`Dialect`] describes the differences.

use std::path::Path;

use remora_core::event::{Agent, Body, Event, FileAhead, Origin, SessionRef, ToolCall};
use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::tools::{RawCall, Tools};
use crate::wire::Wire;

/// Properties of one host.
pub(crate) struct Dialect {
    pub(crate) host: Host,
    pub(crate) tools: &'static Tools,
    /// Beginnings of prompts that the host submits itself.
    pub(crate) synthetic: &'static [&'static str],
    /// Member with the id of the turn.
    pub(crate) turn: &'static str,
    /// Maps the host's event name to Claude Code's.
    pub(crate) event: fn(&str) -> &str,
    /// Converts the members of an event to Claude Code's form. The argument is the host's event name.
    pub(crate) prepare: fn(&str, &mut Wire),
}

impl Dialect {
    pub(crate) fn read(&self, event: Option<&str>, document: Document) -> Reading {
        let Some(mut wire) = Wire::new(document) else {
            return Reading::malformed("the message is not a JSON object");
        };
        let name = event.map_or_else(|| wire.text("hook_event_name"), str::to_owned);
        (self.prepare)(&name, &mut wire);
        let name = (self.event)(&name);
        let cwd = wire.text("cwd");
        let body = match name {
            "SessionStart" => Body::SessionStarted { source: wire.text("source").into() },
            "UserPromptSubmit" => match self.prompt(&mut wire) {
                Some(body) => body,
                None => return self.synthetic(&wire),
            },
            "PreToolUse" => return self.file_ahead(&mut wire, cwd),
            "PostToolUse" | "PostToolUseFailure" => match RawCall::read(&mut wire) {
                Some(raw) => Body::ToolUsed(self.tools.translate(raw)),
                None => return Reading::malformed("a tool call without the tool's name"),
            },
            "Stop" => Body::TurnEnded { message: wire.text("last_assistant_message"), error: None },
            "StopFailure" => Body::TurnEnded {
                error: Some(wire.text("error")),
                message: wire.text("last_assistant_message"),
            },
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
        let Some(session) = self.session(&wire) else {
            return Reading::malformed("an event without session_id");
        };
        let agent = agent(&mut wire);
        let origin = self.origin(&wire);
        let body = with_absolute_paths(body, &cwd);
        Reading::Event(Box::new(Event { session, cwd, origin, agent, body }))
    }

    fn prompt(&self, wire: &mut Wire) -> Option<Body> {
        match wire.prompt("prompt") {
            Body::PromptSubmitted { text }
                if self.synthetic.iter().any(|beginning| text.trim_start().starts_with(beginning)) =>
            {
                None
            }
            body => Some(body),
        }
    }

    /// A call that has not run yet is relevant only if it names a file.
    fn file_ahead(&self, wire: &mut Wire, cwd: String) -> Reading {
        let (Some(path), Some(session)) = (self.tools.file_ahead(wire), self.session(wire)) else {
            return Reading::Nothing;
        };
        let (agent, origin) = (agent(wire), self.origin(wire));
        let path = absolute(path, &cwd);
        Reading::FileAhead(Box::new(FileAhead { session, agent, cwd, origin, path }))
    }

    fn synthetic(&self, wire: &Wire) -> Reading {
        match self.session(wire) {
            Some(session) => Reading::Synthetic { session, origin: self.origin(wire) },
            None => Reading::Nothing,
        }
    }

    fn session(&self, wire: &Wire) -> Option<SessionRef> {
        wire.id("session_id").map(|id| SessionRef { host: self.host, id })
    }

    fn origin(&self, wire: &Wire) -> Origin {
        Origin {
            call: wire.id("tool_use_id"),
            turn: wire.id(self.turn),
            timestamp: wire.id("timestamp"),
            transcript: wire.path("transcript_path"),
        }
    }
}

/// The subagent in which the event happened.
fn agent(wire: &mut Wire) -> Option<Agent> {
    wire.id("agent_id").map(|id| Agent { id, kind: wire.text("agent_type") })
}

/// Resolves relative paths: some hosts report files relative to the agent's working directory.
pub(crate) fn with_absolute_paths(mut body: Body, cwd: &str) -> Body {
    if let Body::ToolUsed(tool) = &mut body {
        match &mut tool.call {
            ToolCall::Edit { changes } => {
                for change in changes {
                    change.path = absolute(std::mem::take(&mut change.path), cwd);
                }
            }
            ToolCall::Read { file, .. } => *file = absolute(std::mem::take(file), cwd),
            _ => {}
        }
    }
    body
}

fn absolute(path: String, cwd: &str) -> String {
    if cwd.is_empty() || Path::new(&path).is_absolute() {
        return path;
    }
    Path::new(cwd).join(path).to_string_lossy().into_owned()
}
