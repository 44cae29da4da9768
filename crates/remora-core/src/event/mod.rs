//! What happened in a host, in Remora's own words.
//!
//! A host's adapter turns its wire format into an [`Event`]; everything behind that point knows only these
//! types. An event is not yet fit to be stored: see [`crate::privacy::clean`].

mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::Host;

pub use tool::{Change, How, Outcome, Question, ToolCall, ToolUse};

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub session: SessionRef,
    /// The directory the agent worked in at that moment.
    pub cwd: String,
    #[serde(default)]
    pub origin: Origin,
    /// The subagent inside which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    pub body: Body,
}

/// A session as its host names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionRef {
    pub host: Host,
    pub id: String,
}

/// Where an event comes from, as its host says. The ids tell two events apart; a replayed event carries the same.
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
    /// The most specific id there is.
    pub fn id(&self) -> Option<&str> {
        self.call.as_deref().or(self.turn.as_deref()).or(self.timestamp.as_deref())
    }
}

/// An agent is about to read or change a file. No event: nothing has happened yet, and nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAhead {
    pub session: SessionRef,
    /// The subagent that opens it.
    pub agent: Option<Agent>,
    pub cwd: String,
    pub origin: Origin,
    /// As the host gives it.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    SessionStarted {
        /// `startup`, `resume`, `clear`, `compact` or what else the host says.
        source: String,
    },
    PromptSubmitted {
        text: String,
    },
    /// A prompt of which nothing may be kept; only that there was one.
    PromptWithheld,
    ToolUsed(ToolUse),
    TurnEnded {
        /// The agent's closing message: the best free summary there is.
        message: String,
        /// Why the turn broke off, if it did.
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
    /// The name the database and people see.
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

    /// `ok`, `failed` or `interrupted`, for events that can be so.
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

    /// Shows `visitor` every piece of free text.
    pub fn visit(&mut self, visitor: &mut impl TextVisitor) {
        match self {
            Body::PromptWithheld => {}
            Body::SessionStarted { source: text }
            | Body::PromptSubmitted { text }
            | Body::SessionEnded { reason: text } => visitor.prose(text),
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

/// Sees and may change every free text of an event.
pub trait TextVisitor {
    /// What a person or the agent wrote.
    fn prose(&mut self, text: &mut String);
    /// What a program printed.
    fn output(&mut self, text: &mut String);
    /// Input or result of a tool whose fields are unknown.
    fn value(&mut self, value: &mut Value);
}
