//! Converts a whole transcript into the events that hooks would have reported.
//!
//! A transcript contains what hooks would have reported: the prompts, each call with its result, and the agent's
//! closing message. Each event gets the time of its line. The agent's messages between calls are not included: the
//! observer reads them from the transcript, as it does for captured sessions.

use std::collections::HashMap;

use remora_core::event::{Body, Event, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::intake::Document;
use remora_core::time::Time;
use serde_json::Value;

use super::{Entry, Line, claude_code, codex, read};
use crate::dialect::with_absolute_paths;
use crate::tools::RawCall;

/// An event of a past session.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    pub event: Event,
    pub at: Time,
}

/// The parts of a line that are not conversation.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// New calls, by their ids.
    pub(super) calls: Vec<(String, Call)>,
    /// Calls that have returned.
    pub(super) results: Vec<(String, Returned)>,
    /// The host's id of the session.
    pub(super) session: Option<String>,
    /// Whether the whole transcript is a subagent's.
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
    /// Empty if there was no error.
    pub(super) error: String,
    pub(super) private: bool,
}

/// Reads a transcript line by line.
#[derive(Debug)]
pub struct Replay {
    session: SessionRef,
    path: String,
    cwd: String,
    /// Number of the open turn. Lines have no id that all versions write.
    turn: Option<u64>,
    turns: u64,
    calls: HashMap<String, Call>,
    /// The agent's last message, if no call followed it.
    said: String,
    last: Option<Time>,
    of_subagent: bool,
}

impl Replay {
    /// Reads the transcript at `path`. `id` is the session's id unless a line names another.
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

    /// The agent's working directory, as far as it is known.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Whether this is a subagent's own transcript. Its report is in the session that started it.
    pub fn is_of_subagent(&self) -> bool {
        self.of_subagent
    }

    /// Reads the next line and adds the events that it completes.
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
        if matches!(entry, Some(Entry { line: Line::Asked { .. }, .. })) {
            // The previous turn ended with its last line.
            self.end_turn(past);
        }
        self.last = at.or(self.last);
        match entry.map(|Entry { line, .. }| line) {
            Some(Line::Asked { text, withheld }) => {
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
        let raw = RawCall {
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

    /// Adds an event with the time of the last line. Events before the first time are dropped.
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
