//! One line of the transcript a host keeps of a session.
//!
//! Hooks report what tools did, and what the agent said last. What it said in between is only in the transcript: a file
//! of JSON lines. As with hooks, a line or field we do not know is no error, and every line has passed
//! [`remora_core::intake`] first.

mod claude_code;
mod codex;
mod copilot;
mod replay;

pub use replay::{Past, Replay};

use remora_core::host::Host;
use remora_core::intake::Document;
use remora_core::time::Time;
use serde_json::Value;

/// A line that says something of the conversation between the user and the main agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub line: Line,
    /// The directory the agent worked in, if the host says it.
    pub cwd: Option<String>,
    pub at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// What the user asked. A new turn begins.
    Asked {
        text: String,
        /// Nothing of it may be kept, so nothing of its turn may.
        withheld: bool,
    },
    /// What the agent said to the user: no thinking, no tool call, no subagent.
    Said(String),
    /// The host's own digest of the session so far, with which it replaced the conversation.
    Digest(String),
    /// The agent runs a command.
    Called { id: String, command: String },
    /// Calls have returned, by their ids.
    Returned(Vec<String>),
}

/// Reads one line; `None` if it holds nothing of interest, or if the host's transcripts are unknown.
pub fn read(host: Host, document: &Document) -> Option<Entry> {
    let (line, at) = match host {
        Host::ClaudeCode => claude_code::read(document)?,
        Host::Codex => codex::read(document)?,
        Host::Copilot => copilot::read(document)?,
        Host::Gemini
        | Host::Qwen
        | Host::Opencode
        | Host::Cursor
        | Host::Windsurf
        | Host::Generic
        | Host::Channel(_) => {
            return None;
        }
    };
    let cwd = document.value["cwd"].as_str().map(str::to_owned);
    Some(Entry { line, cwd, at })
}

/// Whether transcripts of this host can be read at all.
pub fn is_known(host: Host) -> bool {
    matches!(host, Host::ClaudeCode | Host::Codex | Host::Copilot)
}

/// Whether the closing message of a turn is only in the transcript: the host's hooks do not report it.
pub fn alone_has_closing(host: Host) -> bool {
    matches!(host, Host::Copilot)
}

/// A user's line. `text` is what private tags left of it; an image alone leaves nothing either.
fn asked(document: &Document, member: &str, text: String) -> Line {
    let had_private = document.private_in.iter().any(|name| name == member);
    Line::Asked { withheld: had_private && text.trim().is_empty(), text }
}

fn said(text: String) -> Option<Line> {
    (!text.trim().is_empty()).then_some(Line::Said(text))
}

/// The blocks of these kinds, as one text. Some hosts write a text without blocks.
fn texts(content: &Value, kinds: &[&str]) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .filter(|block| block["type"].as_str().is_some_and(|kind| kinds.contains(&kind)));
            texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}

fn digest(text: &str) -> Option<Line> {
    let text = text.trim();
    (!text.is_empty()).then(|| Line::Digest(text.to_owned()))
}

fn timestamp(line: &Value) -> Option<Time> {
    line["timestamp"].as_str().and_then(Time::from_iso)
}
