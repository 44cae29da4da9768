//! Events in a host, in Remora's own terms.
//!
//! A host's adapter turns its wire format into an [`Event`]; all later code knows only these types. An event must not
//! be stored before it passed [`crate::privacy::clean`].

mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::Host;

pub use tool::{Change, How, Outcome, Question, ToolCall, ToolUse};

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub session: SessionRef,
    /// The agent's working directory at that moment.
    pub cwd: String,
    #[serde(default)]
    pub origin: Origin,
    /// The subagent in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    pub body: Body,
}

/// A session, identified as its host does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionRef {
    pub host: Host,
    pub id: String,
}

/// The host's ids for an event. They distinguish events; a replayed event carries the same ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The file in which the host records the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

impl Origin {
    /// The most specific id available.
    pub fn id(&self) -> Option<&str> {
        self.call.as_deref().or(self.turn.as_deref()).or(self.timestamp.as_deref())
    }
}

/// An agent is about to read or change a file. This is not an [`Event`]: nothing has happened yet, and nothing is
/// stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAhead {
    pub session: SessionRef,
    /// The subagent that opens it.
    pub agent: Option<Agent>,
    pub cwd: String,
    pub origin: Origin,
    /// As the host sent it.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// How a session started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum Start {
    /// With an empty context.
    New,
    /// The agent still has its context.
    Resumed,
    /// The user emptied the context.
    Cleared,
    /// The host replaced the context by a digest.
    Compacted,
}

impl Start {
    /// The word in the database and in output.
    pub fn name(self) -> &'static str {
        match self {
            Start::New => "startup",
            Start::Resumed => "resume",
            Start::Cleared => "clear",
            Start::Compacted => "compact",
        }
    }

    /// Whether the agent no longer has what was injected before.
    pub fn empties_context(self) -> bool {
        matches!(self, Start::Cleared | Start::Compacted)
    }
}

impl From<Start> for &'static str {
    fn from(start: Start) -> Self {
        start.name()
    }
}

/// Older payloads have any word of a host.
impl From<String> for Start {
    fn from(word: String) -> Self {
        let known = [Start::Resumed, Start::Cleared, Start::Compacted];
        known.into_iter().find(|start| start.name() == word).unwrap_or(Start::New)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    SessionStarted {
        source: Start,
    },
    PromptSubmitted {
        text: String,
    },
    /// A prompt that must not be kept. Only its existence is recorded.
    PromptWithheld,
    ToolUsed(ToolUse),
    TurnEnded {
        /// The agent's closing message: the best summary available for free.
        message: String,
        /// Why the turn was aborted, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    SubagentEnded {
        agent_type: String,
        message: String,
    },
    Compacted {
        trigger: String,
        /// The host's own digest of the session so far.
        summary: String,
    },
    SessionEnded {
        reason: String,
    },
}

impl Body {
    /// The name in the database and in output.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::SessionStarted { .. } => "session_started",
            Body::PromptSubmitted { .. } => "prompt_submitted",
            Body::PromptWithheld => "prompt_withheld",
            Body::ToolUsed(_) => "tool_used",
            Body::TurnEnded { .. } => "turn_ended",
            Body::SubagentEnded { .. } => "subagent_ended",
            Body::Compacted { .. } => "compacted",
            Body::SessionEnded { .. } => "session_ended",
        }
    }

    pub fn tool(&self) -> Option<&ToolUse> {
        match self {
            Body::ToolUsed(tool) => Some(tool),
            _ => None,
        }
    }

    /// `ok`, `failed` or `interrupted`, for events that have an outcome.
    pub fn outcome(&self) -> Option<&'static str> {
        match self {
            Body::ToolUsed(tool) => Some(match tool.outcome {
                Outcome::Ok => "ok",
                Outcome::Failed { .. } => "failed",
                Outcome::Interrupted { .. } => "interrupted",
            }),
            Body::TurnEnded { error, .. } => Some(if error.is_some() { "failed" } else { "ok" }),
            _ => None,
        }
    }

    /// Passes every free text to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl TextVisitor) {
        match self {
            Body::PromptWithheld | Body::SessionStarted { .. } => {}
            Body::PromptSubmitted { text } | Body::SessionEnded { reason: text } => visitor.prose(text),
            Body::TurnEnded { message, error } => {
                visitor.prose(message);
                if let Some(error) = error {
                    visitor.prose(error);
                }
            }
            Body::SubagentEnded { agent_type: label, message: text }
            | Body::Compacted { trigger: label, summary: text } => {
                visitor.prose(label);
                visitor.prose(text);
            }
            Body::ToolUsed(tool) => tool.visit(visitor),
        }
    }
}

/// Visits every free text of an event and may change it.
pub trait TextVisitor {
    /// Text that a person or the agent wrote.
    fn prose(&mut self, text: &mut String);
    /// Output of a program.
    fn output(&mut self, text: &mut String);
    /// Input or result of a tool whose fields are unknown.
    fn value(&mut self, value: &mut Value);
}
