//! One turn of a session: the request, the work, and how it ended.

use std::collections::BTreeSet;

use remora_core::event::{Body, Change, Outcome, Question, ToolCall, ToolUse};
use remora_core::ids::ObservationId;

/// Minimum bytes of text for a turn without any work to be worth a call: about four sentences.
const WORTH_READING: usize = 400;

/// A turn as an observer sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    pub prompt: String,
    /// Whether the prompt came with these events. A later batch of the same turn only repeats it.
    pub is_prompted: bool,
    /// The number of the prompt in its session, from 1; 0 if unknown.
    pub number: i64,
    /// Questions of the agent, with the user's answers.
    pub questions: Vec<Question>,
    /// Claims of earlier turns of the session, if this prompt objects to something.
    pub earlier: Vec<Claim>,
    /// The agent's closing messages, in order.
    pub closing: Vec<String>,
    /// The agent's messages between its tool calls, in order, from the host's transcript.
    pub said: Vec<String>,
    /// Reports of subagents.
    pub reports: Vec<String>,
    /// The host's own digest of the session, if it made one in this turn.
    pub digest: Option<String>,
    /// Why the turn was aborted, if it was.
    pub broke_off: Option<String>,
    /// Whether the user stopped the agent.
    pub interrupted: bool,
    pub changes: Vec<Change>,
    pub files_read: Vec<String>,
    pub runs: Vec<Run>,
    /// Estimated tokens of all tool inputs and outputs.
    pub tokens: u64,
}

/// A claim of an earlier turn of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub observation: ObservationId,
    /// 1 for the turn before this one.
    pub turns_back: i64,
    pub sentences: Vec<String>,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub command: String,
    pub failed: bool,
    /// `None` if the host does not report it, or if the command did not finish.
    pub exit: Option<i32>,
    /// Its output, or why it did not run.
    pub output: String,
    /// Number of changes before it ran.
    pub after_changes: usize,
}

impl Turn {
    /// Collects the events of a batch. Paths below `root` become relative to it.
    pub fn new<'a>(events: impl IntoIterator<Item = &'a Body>, root: &str) -> Self {
        let mut turn = Turn::default();
        for event in events {
            turn.add(event, root);
        }
        turn
    }

    fn add(&mut self, event: &Body, root: &str) {
        match event {
            Body::PromptSubmitted { text } => {
                self.prompt = text.trim().to_owned();
                self.is_prompted = true;
            }
            Body::ToolUsed(tool) => self.add_tool(tool, root),
            // The message of an aborted turn is from the host, not from the agent.
            Body::TurnEnded { message, error: Some(error) } => {
                self.broke_off = Some(if message.is_empty() { error } else { message }.clone());
            }
            Body::TurnEnded { message, error: None } => push_text(&mut self.closing, message),
            Body::SubagentEnded { message, .. } => push_text(&mut self.reports, message),
            Body::Compacted { summary, .. } => self.digest = Some(summary.clone()),
            Body::SessionStarted { .. } | Body::SessionEnded { .. } | Body::PromptWithheld => {}
        }
    }

    fn add_tool(&mut self, tool: &ToolUse, root: &str) {
        let payload = serde_json::to_string(tool).unwrap_or_default();
        self.tokens += payload.chars().count().div_ceil(4) as u64;
        for file in tool.files_read() {
            push_new(&mut self.files_read, below(root, file).to_owned());
        }
        for change in tool.changes() {
            self.changes.push(Change { path: below(root, &change.path).to_owned(), ..change.clone() });
        }
        if let ToolCall::Ask { questions } = &tool.call {
            self.questions.extend(questions.iter().cloned());
        }
        let interrupted = matches!(tool.outcome, Outcome::Interrupted { .. });
        self.interrupted |= interrupted;
        if let ToolCall::Run { command, output, exit } = &tool.call {
            let output = if output.is_empty() { tool.error().unwrap_or_default() } else { output };
            self.runs.push(Run {
                command: command.trim().to_owned(),
                failed: tool.outcome != Outcome::Ok,
                exit: exit.filter(|_| !interrupted),
                output: output.trim_end().to_owned(),
                after_changes: self.changes.len(),
            });
        }
    }

    /// Whether a model may find something in it: work was done, or much was explained. Reads without either are not
    /// worth the cost.
    pub fn is_worth_a_call(&self) -> bool {
        let explained: usize = self.closing.iter().chain(&self.reports).map(String::len).sum();
        let did = !self.changes.is_empty() || !self.runs.is_empty();
        did || explained >= WORTH_READING
    }

    /// Each changed file once.
    pub fn files_modified(&self) -> Vec<String> {
        let mut files = Vec::new();
        for change in &self.changes {
            push_new(&mut files, change.path.clone());
        }
        files
    }

    /// Files that were read but not changed.
    pub fn files_only_read(&self) -> Vec<String> {
        let changed: BTreeSet<&str> = self.changes.iter().map(|change| change.path.as_str()).collect();
        self.files_read.iter().filter(|file| !changed.contains(file.as_str())).cloned().collect()
    }
}

fn push_text(list: &mut Vec<String>, text: &str) {
    let text = text.trim();
    if !text.is_empty() {
        list.push(text.to_owned());
    }
}

fn push_new(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// A path relative to the project's root. A path elsewhere stays as it is.
pub(crate) fn below<'a>(root: &str, path: &'a str) -> &'a str {
    path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}
