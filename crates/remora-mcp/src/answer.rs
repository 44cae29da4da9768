//! The result of a tool: text for the model, and the same as data for programs.

use std::fmt;

use remora_core::context::{framed_short, safe_tokens, tokens};
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Value,
}

/// Describes the data, for hosts that show the model the data and not the text, as Claude Code does. Sorts before all
/// other members.
const ABOUT: &str = "_about";

impl Answer {
    /// Content of memory, in the frame that marks it as data. `heading` is our own text; `body` must already be safe.
    pub(crate) fn of_memory(heading: &str, body: &str, mut structured: Value) -> Self {
        let text = framed_short(&format!(" {heading}"), body);
        // The line after the opening tag of the frame.
        let about = text.lines().nth(1).unwrap_or(heading);
        if let Some(object) = structured.as_object_mut() {
            object.insert(ABOUT.to_owned(), about.into());
        }
        Self { text, structured }
    }

    /// A result in our own words.
    pub(crate) fn of_ours(text: impl Into<String>, mut structured: Value) -> Self {
        let text = text.into();
        if let Some(object) = structured.as_object_mut() {
            object.insert(ABOUT.to_owned(), text.clone().into());
        }
        Self { text, structured }
    }
}

/// A record in an index: what it is, its size, and enough to decide whether to read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) date: String,
    /// Tokens of the whole record.
    pub(crate) tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
    pub(crate) title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) snippet: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) remark: String,
}

/// Token limit of a line, as text and as data.
pub(crate) const MAX_LINE_TOKENS: u64 = 100;
/// Token limits of the texts in a line.
const MAX_TITLE_TOKENS: u64 = 32;
const MAX_SNIPPET_TOKENS: u64 = 32;
const MAX_NAME_TOKENS: u64 = 8;
/// If less than this follows the title, in bytes, the snippet is dropped.
const MIN_REST_LEN: usize = 20;
/// Explains the format once, above all lines.
pub(crate) const LEGEND: &str = "#id kind date ~tokens of the whole record: title";

impl Line {
    /// Makes stored texts safe and cuts them, so that the line stays within its limit.
    pub(crate) fn fitted(mut self) -> Self {
        self.title = safe_tokens(&self.title, MAX_TITLE_TOKENS);
        self.project = self.project.map(|name| safe_tokens(&name, MAX_NAME_TOKENS));
        self.snippet = safe_tokens(&self.snippet, MAX_SNIPPET_TOKENS);
        // A snippet often starts with the title, which the line already shows.
        if let Some(rest) = self.snippet.strip_prefix(self.title.trim_end_matches(['…', '.'])) {
            let rest = rest.trim_start_matches(['.', '…', ' ']);
            self.snippet = if rest.len() < MIN_REST_LEN { String::new() } else { rest.to_owned() };
        }
        if self.cost() > MAX_LINE_TOKENS {
            self.snippet.clear();
        }
        if self.cost() > MAX_LINE_TOKENS {
            self.title = safe_tokens(&self.title, MAX_TITLE_TOKENS / 2);
        }
        self
    }

    fn cost(&self) -> u64 {
        tokens(&self.to_string()).max(tokens(&json!(self).to_string()))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind, date, tokens, project, title, snippet, remark } = self;
        write!(f, "#{id} {kind} {date} ~{tokens}")?;
        if let Some(project) = project {
            write!(f, " [{project}]")?;
        }
        write!(f, ": {title}")?;
        if !remark.is_empty() {
            write!(f, " ({remark})")?;
        }
        if snippet.is_empty() { Ok(()) } else { write!(f, "\n  {snippet}") }
    }
}

/// Joins lines with line breaks.
pub(crate) fn lines(all: &[Line]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_stays_within_its_token_limit() {
        for text in ["\"\\".repeat(400), "漢字".repeat(300), "words and words ".repeat(50), "é".repeat(900)]
        {
            let line = Line {
                id: "s123456".to_owned(),
                kind: "observation",
                date: "2026-03-10".to_owned(),
                tokens: 12_345,
                project: Some(text.clone()),
                title: text.clone(),
                snippet: text.clone(),
                remark: "superseded by #123457; also #123458".to_owned(),
            };
            let line = line.fitted();
            assert!(line.cost() <= MAX_LINE_TOKENS, "{}: {line}", line.cost());
        }
    }
}
