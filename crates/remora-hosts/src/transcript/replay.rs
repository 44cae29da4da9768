//! A whole transcript as the events that hooks would have reported.
//!
//! Hooks were not there when it happened, but the host wrote down the same: what was asked, each call with its result, and what
//! the agent said last. Each event carries the time of its line. What the agent said between its calls is not here: the
//! observer reads it from the transcript, as it does for sessions that hooks report.

use std::collections::HashMap;

use remora_core::event::{Body, Event, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::intake::Document;
use remora_core::time::Time;
use serde_json::Value;

use super::{Entry, Line, claude_code, codex, read};
use crate::dialect::with_absolute_paths;
use crate::tools::Raw;

/// An event of the past.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    pub event: Event,
    pub at: Time,
}

/// What a line says beyond the conversation.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Calls that begin, by their ids.
    pub(super) calls: Vec<(String, Call)>,
    /// Calls that have returned.
    pub(super) results: Vec<(String, Returned)>,
    /// The host's name of the session.
    pub(super) session: Option<String>,
    /// All of the transcript is a subagent's.
    pub(super) of_subagent: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) private: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Returned {
    pub(super) output: Value,
    /// Empty if there was none.
    pub(super) error: String,
    pub(super) private: bool,
}

/// Reads a transcript line by line.
#[derive(Debug)]
pub struct Replay {
    session: SessionRef,
    path: String,
    cwd: String,
    /// The turn that is open, by its number: lines have no id that all versions write.
    turn: Option<u64>,
    turns: u64,
    calls: HashMap<String, Call>,
    /// What was said last, if nothing was done since.
    said: String,
    last: Option<Time>,
    of_subagent: bool,
}

impl Replay {
    /// For the transcript at `path`. `id` is the session's name unless the lines say another.
    pub fn new(host: Host, id: &str, path: &str) -> Self {
        Self {
            session: SessionRef { host, id: id.to_owned() },
            path: path.to_owned(),
            cwd: String::new(),
            turn: None,
            turns: 0,
            calls: HashMap::new(),
            said: String::new(),
            last: None,
            of_subagent: false,
        }
    }

    pub fn session(&self) -> &SessionRef {
        &self.session
    }

    /// The directory the agent worked in, as far as it was read.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Whether this is a subagent's own transcript. Its report is in the session that started it.
    pub fn is_of_subagent(&self) -> bool {
        self.of_subagent
    }

    /// Takes the next line and adds the events that it completes.
    pub fn push(&mut self, document: &Document, past: &mut Vec<Past>) {
        let line = &document.value;
        let work = match self.session.host {
            Host::ClaudeCode => claude_code::work(document),
            Host::Codex => codex::work(document),
            _ => Work::default(),
        };
        if let Some(session) = work.session {
            self.session.id = session;
        }
        self.of_subagent |= work.of_subagent;
        for place in [&line["cwd"], &line["payload"]["cwd"]] {
            if let Some(cwd) = place.as_str().filter(|cwd| cwd.starts_with('/')) {
                cwd.clone_into(&mut self.cwd);
            }
        }
        let entry = read(self.session.host, document);
        let at =
            line["timestamp"].as_str().and_then(Time::from_iso).or(entry.as_ref().and_then(|entry| entry.at));
        self.last = at.or(self.last);
        match entry.map(|Entry { line, .. }| line) {
            Some(Line::Asked { text, withheld }) => {
                self.end_turn(past);
                self.turns += 1;
                self.turn = Some(self.turns);
                let body = if withheld { Body::PromptWithheld } else { Body::PromptSubmitted { text } };
                self.add(past, None, body);
            }
            Some(Line::Said(text)) => self.said = text,
            _ => {}
        }
        for (id, call) in work.calls {
            self.said.clear();
            self.calls.insert(id, call);
        }
        for (id, returned) in work.results {
            self.said.clear();
            if let Some(call) = self.calls.remove(&id) {
                let body = self.used(call, returned);
                self.add(past, Some(id), body);
            }
        }
    }

    /// Ends the last turn and the session.
    pub fn finish(mut self, past: &mut Vec<Past>) {
        self.end_turn(past);
        if self.turns > 0 {
            self.add(past, None, Body::SessionEnded { reason: "import".to_owned() });
        }
    }

    fn used(&self, call: Call, returned: Returned) -> Body {
        let Call { tool, input, private } = call;
        let raw = Raw {
            tool,
            input,
            interrupted: returned.output["interrupted"] == Value::Bool(true),
            output: returned.output,
            error: returned.error,
            private: private || returned.private,
            duration_ms: None,
        };
        let tools = match self.session.host {
            Host::Codex => &crate::codex::TOOLS,
            _ => &crate::claude_code::TOOLS,
        };
        with_absolute_paths(Body::ToolUsed(tools.translate(raw)), &self.cwd)
    }

    fn end_turn(&mut self, past: &mut Vec<Past>) {
        if self.turn.is_some() {
            let message = std::mem::take(&mut self.said);
            self.add(past, None, Body::TurnEnded { message, error: None });
            self.turn = None;
        }
        self.calls.clear();
    }

    /// Nothing is dated that has no time of its own or before it.
    fn add(&self, past: &mut Vec<Past>, call: Option<String>, body: Body) {
        let Some(at) = self.last else { return };
        let origin = Origin {
            call,
            turn: self.turn.map(|turn| format!("past-{turn}")),
            timestamp: Some(at.iso()),
            transcript: Some(self.path.clone()),
        };
        let event = Event { session: self.session.clone(), cwd: self.cwd.clone(), origin, agent: None, body };
        past.push(Past { event, at });
    }
}
