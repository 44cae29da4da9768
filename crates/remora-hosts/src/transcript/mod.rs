//! Reads one line of a host's session transcript.
//!
//! Hooks report tool calls and the agent's closing message. Its messages in between are only in the transcript, a file
//! of JSON lines. As with hooks, unknown lines and fields are not errors, and every line has passed
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

/// A line of the conversation between the user and the main agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub line: Line,
    /// The agent's working directory, if the host reports it.
    pub cwd: Option<String>,
    pub at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The user's prompt. It starts a new turn.
    Asked {
        text: String,
        /// The text is entirely private, so nothing of its turn may be stored.
        withheld: bool,
    },
    /// The agent's message to the user: no thinking, no tool call, no subagent.
    Said(String),
    /// The host's own summary, with which it replaced the conversation so far.
    Digest(String),
    /// The agent runs a command.
    Called { id: String, command: String },
    /// Calls that have returned, by their ids.
    Returned(Vec<String>),
}

/// Reads one line. Returns `None` if it is not relevant, or if the host's transcript format is unknown.
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

/// The tool calls in a line, by their ids. Questions and tools that wait for a permission are calls, too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    pub made: Vec<String>,
    pub returned: Vec<String>,
}

/// The tool calls that a line makes, and those that have returned.
pub fn calls(host: Host, document: &Document) -> Calls {
    let work = match host {
        Host::ClaudeCode => claude_code::work(document),
        Host::Codex => codex::work(document),
        Host::Copilot => return copilot::calls(document),
        _ => return Calls::default(),
    };
    Calls {
        made: work.calls.into_iter().map(|(id, _)| id).collect(),
        returned: work.results.into_iter().map(|(id, _)| id).collect(),
    }
}

/// Whether transcripts of this host can be read.
pub fn is_known(host: Host) -> bool {
    matches!(host, Host::ClaudeCode | Host::Codex | Host::Copilot)
}

/// Whether the closing message of a turn is only in the transcript, because the host's hooks do not report it.
pub fn alone_has_closing(host: Host) -> bool {
    matches!(host, Host::Copilot)
}

/// A prompt of the user. `text` is without private parts; a prompt with only an image is empty, too.
fn asked(document: &Document, member: &str, text: String) -> Line {
    let had_private = document.private_in.iter().any(|name| name == member);
    Line::Asked { withheld: had_private && text.trim().is_empty(), text }
}

fn said(text: String) -> Option<Line> {
    (!text.trim().is_empty()).then_some(Line::Said(text))
}

/// Joins the blocks of these kinds into one text. Some hosts write plain text instead of blocks.
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
