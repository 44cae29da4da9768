//! A tool call in Remora's own terms, the same for every host.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TextVisitor;

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct ToolUse {
    /// The host's name for the tool.
    pub tool: String,
    pub call: ToolCall,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What a tool does. Each host's adapter translates its own input and output into this; no other code reads them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ToolCall {
    Run {
        command: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// `None` if the host does not report it, or if the command did not finish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    },
    /// Edits files or writes new ones. After a failure, these are the attempted changes.
    Edit { changes: Vec<Change> },
    Read {
        file: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// Searches files or the web.
    Search {
        query: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        within: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        found: String,
    },
    Fetch {
        url: String,
        /// The question that the page was fetched to answer.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        question: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// Asks the user.
    Ask { questions: Vec<Question> },
    /// Hands a task to a subagent.
    Delegate {
        task: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prompt: String,
        /// Empty while the subagent still works in the background.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        report: String,
    },
    /// A tool missing from its host's table, unchanged.
    Other {
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        output: Value,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub question: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Empty if the user gave no answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Failed { error: String },
    Interrupted { error: String },
}

/// A tool's change to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub path: String,
    pub how: How,
    /// The changed lines as a unified diff, or a new file's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub patch: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Created,
    Edited,
}

impl ToolUse {
    /// The changes this call made; empty if it failed.
    pub fn changes(&self) -> &[Change] {
        match &self.call {
            ToolCall::Edit { changes } if self.outcome == Outcome::Ok => changes,
            _ => &[],
        }
    }

    /// Files that this call concerned but did not change. A failed edit counts.
    pub fn files_read(&self) -> Vec<&str> {
        match &self.call {
            ToolCall::Read { file, .. } => vec![file],
            ToolCall::Edit { changes } if self.outcome != Outcome::Ok => {
                changes.iter().map(|change| change.path.as_str()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Every file that this call concerned.
    pub fn files(&self) -> Vec<&str> {
        self.changes().iter().map(|change| change.path.as_str()).chain(self.files_read()).collect()
    }

    /// The error of a call that failed or was interrupted.
    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Ok => None,
            Outcome::Failed { error } | Outcome::Interrupted { error } => Some(error),
        }
    }

    pub(super) fn visit(&mut self, visitor: &mut impl TextVisitor) {
        visitor.prose(&mut self.tool);
        self.call.visit(visitor);
        if let Outcome::Failed { error } | Outcome::Interrupted { error } = &mut self.outcome {
            visitor.output(error);
        }
    }
}

impl ToolCall {
    /// The subject of the call, for lists: a command, a file, a question. Empty for an unknown tool.
    pub fn subject(&self) -> &str {
        match self {
            Self::Run { command, .. } => command,
            Self::Edit { changes } => changes.first().map_or("", |change| &change.path),
            Self::Read { file, .. } => file,
            Self::Search { query, .. } => query,
            Self::Fetch { url, .. } => url,
            Self::Ask { questions } => questions.first().map_or("", |asked| &asked.question),
            Self::Delegate { task, .. } => task,
            Self::Other { .. } => "",
        }
    }

    fn visit(&mut self, visitor: &mut impl TextVisitor) {
        match self {
            Self::Run { command, output, exit: _ } => {
                visitor.prose(command);
                visitor.output(output);
            }
            Self::Edit { changes } => {
                for Change { path, how: _, patch } in changes {
                    visitor.prose(path);
                    visitor.prose(patch);
                }
            }
            Self::Read { file, text } => {
                visitor.prose(file);
                visitor.output(text);
            }
            Self::Search { query, within, found } => {
                visitor.prose(query);
                visitor.prose(within);
                visitor.output(found);
            }
            Self::Fetch { url, question, text } => {
                visitor.prose(url);
                visitor.prose(question);
                visitor.output(text);
            }
            Self::Ask { questions } => {
                for Question { question, options, answer } in questions {
                    visitor.prose(question);
                    for option in options {
                        visitor.prose(option);
                    }
                    visitor.prose(answer);
                }
            }
            Self::Delegate { task, prompt, report } => {
                visitor.prose(task);
                visitor.prose(prompt);
                visitor.output(report);
            }
            Self::Other { input, output } => {
                visitor.value(input);
                visitor.value(output);
            }
        }
    }
}

/// A call as it is stored. Up to schema version 9 there was no `call`, only the host's own input and output; events
/// queued by those versions are still readable.
#[derive(Deserialize)]
struct Stored {
    tool: String,
    outcome: Outcome,
    #[serde(default)]
    duration_ms: Option<u64>,
    call: Option<ToolCall>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    output: Value,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    files_read: Vec<String>,
}

impl From<Stored> for ToolUse {
    fn from(stored: Stored) -> Self {
        let Stored { tool, outcome, duration_ms, call, input, output, changes, files_read } = stored;
        let call = call.unwrap_or_else(|| untyped(input, output, changes, files_read));
        Self { tool, call, outcome, duration_ms }
    }
}

fn untyped(input: Value, output: Value, changes: Vec<Change>, mut files_read: Vec<String>) -> ToolCall {
    if !changes.is_empty() {
        return ToolCall::Edit { changes };
    }
    if let Some(file) = files_read.pop() {
        return ToolCall::Read { file, text: printed(&output) };
    }
    match input["command"].as_str() {
        Some(command) => ToolCall::Run { command: command.to_owned(), output: printed(&output), exit: None },
        None => ToolCall::Other { input, output },
    }
}

fn printed(output: &Value) -> String {
    let streams = ["stdout", "stderr"].map(|name| output[name].as_str().unwrap_or_default());
    output.as_str().map_or_else(|| streams.join("\n").trim_end().to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// One call of every kind; each text in it is `text` plus a number.
    fn calls(text: &str) -> Vec<ToolCall> {
        let mut number = 0;
        let mut t = || {
            number += 1;
            format!("{text}{number}")
        };
        vec![
            ToolCall::Run { command: t(), output: t(), exit: Some(1) },
            ToolCall::Edit { changes: vec![Change { path: t(), how: How::Edited, patch: t() }] },
            ToolCall::Read { file: t(), text: t() },
            ToolCall::Search { query: t(), within: t(), found: t() },
            ToolCall::Fetch { url: t(), question: t(), text: t() },
            ToolCall::Ask { questions: vec![Question { question: t(), options: vec![t()], answer: t() }] },
            ToolCall::Delegate { task: t(), prompt: t(), report: t() },
            ToolCall::Other { input: json!({ "a": t() }), output: json!([t()]) },
        ]
    }

    struct Blank;

    impl TextVisitor for Blank {
        fn prose(&mut self, text: &mut String) {
            "-".clone_into(text);
        }

        fn output(&mut self, text: &mut String) {
            self.prose(text);
        }

        fn value(&mut self, value: &mut Value) {
            *value = json!("-");
        }
    }

    #[test]
    fn every_text_of_every_call_is_visited() {
        for call in calls("text") {
            for outcome in [Outcome::Ok, Outcome::Failed { error: "text".into() }] {
                let mut tool =
                    ToolUse { tool: "text".into(), call: call.clone(), outcome, duration_ms: None };
                tool.visit(&mut Blank);
                let stored = serde_json::to_string(&tool).unwrap();
                assert!(!stored.replace("\"text\":", "").contains("text"), "{stored}");
            }
        }
    }

    #[test]
    fn a_call_comes_back_as_it_was_stored() {
        for call in calls("text") {
            let outcome = Outcome::Interrupted { error: "e".into() };
            let tool = ToolUse { tool: "T".into(), call, outcome, duration_ms: Some(3) };
            let stored = serde_json::to_string(&tool).unwrap();
            assert_eq!(serde_json::from_str::<ToolUse>(&stored).unwrap(), tool);
        }
    }

    #[test]
    fn a_failed_edit_counts_as_a_read_of_its_file() {
        let changes = vec![Change { path: "a.rs".into(), how: How::Edited, patch: "+x".into() }];
        let call = ToolCall::Edit { changes };
        let mut tool = ToolUse { tool: "Edit".into(), call, outcome: Outcome::Ok, duration_ms: None };
        assert_eq!((tool.changes().len(), tool.files_read(), tool.files()), (1, vec![], vec!["a.rs"]));
        tool.outcome = Outcome::Failed { error: "not read yet".into() };
        assert_eq!((tool.changes().len(), tool.files_read(), tool.files()), (0, vec!["a.rs"], vec!["a.rs"]));
    }

    #[test]
    fn events_queued_by_version_9_are_read() {
        let call = |stored: Value| serde_json::from_value::<ToolUse>(stored).unwrap();
        let ok = json!({ "is": "ok" });
        let run = call(json!({ "tool": "Bash", "input": { "command": "make", "description": "build" },
            "output": { "stdout": "done", "stderr": "slow" }, "outcome": ok, "duration_ms": 7 }));
        let typed = ToolCall::Run { command: "make".into(), output: "done\nslow".into(), exit: None };
        assert_eq!((run.call, run.duration_ms), (typed, Some(7)));
        let error = "Exit code 2\nno rule";
        let failed = call(json!({ "tool": "Bash", "input": { "command": "make" },
            "outcome": { "is": "failed", "error": error } }));
        let typed = ToolCall::Run { command: "make".into(), output: String::new(), exit: None };
        assert_eq!((failed.call.clone(), failed.error()), (typed, Some(error)));
        let edit = call(json!({ "tool": "Write", "outcome": ok,
            "changes": [{ "path": "/p/a.rs", "how": "created", "patch": "fn a() {}" }] }));
        assert_eq!(edit.changes()[0].patch, "fn a() {}");
        let read = call(json!({ "tool": "Read", "input": { "file_path": "/p/a.rs" }, "output": "fn a() {}",
            "outcome": ok, "files_read": ["/p/a.rs"] }));
        assert_eq!(read.call, ToolCall::Read { file: "/p/a.rs".into(), text: "fn a() {}".into() });
        let failed_edit =
            call(json!({ "tool": "Edit", "input": { "file_path": "/p/a.rs", "old_string": "x" },
            "outcome": { "is": "failed", "error": "no match" }, "files_read": ["/p/a.rs"] }));
        assert_eq!((failed_edit.files_read(), failed_edit.changes().len()), (vec!["/p/a.rs"], 0));
        let (input, output) = (json!({ "to": "staging" }), json!([{ "type": "text", "text": "up" }]));
        let other = call(json!({ "tool": "deploy", "input": input, "output": output, "outcome": ok }));
        assert_eq!(other.call, ToolCall::Other { input, output });
    }
}
