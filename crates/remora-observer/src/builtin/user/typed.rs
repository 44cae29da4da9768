//! The part of a prompt that the user typed: without code, logs, quotations, wrappers and pasted documents.
//!
//! The decision is based on the form of the text alone, and prefers to lose a sentence. It cannot recognise pasted
//! prose that is short and has no heading, quote mark or fence.

use remora_core::prose::sentences;

/// Length limit for a typed paragraph, in characters. Longer ones are pasted.
const MAX_PARAGRAPH_LEN: usize = 700;
/// A text with more lines or more list items is a document.
const MAX_LINES: usize = 40;
const MAX_ITEMS: usize = 8;
/// A line of at least this many characters may continue on the next line.
const WRAPPED: usize = 60;
/// Minimum share of letters and spaces in a line of prose.
const PROSE_SHARE: (usize, usize) = (80, 100);

/// The sentences that the user typed, in order.
pub(super) fn typed(prompt: &str) -> Vec<String> {
    // Slash commands and text that a host wraps in tags are not sentences.
    if prompt.trim_start().starts_with('/') {
        return Vec::new();
    }
    let lines = prose_lines(prompt);
    let items = lines.iter().flatten().filter(|line| is_item(line)).count();
    if lines.iter().map(Vec::len).sum::<usize>() > MAX_LINES || items > MAX_ITEMS {
        return Vec::new();
    }
    let paragraphs = lines
        .into_iter()
        .filter(|lines| lines.iter().map(|line| line.chars().count()).sum::<usize>() <= MAX_PARAGRAPH_LEN);
    paragraphs.flat_map(|lines| joined(&lines)).flat_map(|line| split(&line)).collect()
}

fn split(line: &str) -> Vec<String> {
    sentences(line).into_iter().map(|sentence| sentence.text).collect()
}

/// Lines of prose, by paragraph.
fn prose_lines(prompt: &str) -> Vec<Vec<&str>> {
    let mut paragraphs = vec![Vec::new()];
    let mut fence = false;
    let mut element: Option<&str> = None;
    // Machine text extends to the next blank line, whatever its lines look like.
    let mut machine = false;
    for line in prompt.lines() {
        let text = line.trim();
        if text.starts_with("```") || text.starts_with("~~~") {
            fence = !fence;
            continue;
        }
        if let Some(name) = element {
            if text.contains(&format!("</{name}")) {
                element = None;
            }
            continue;
        }
        if fence {
            continue;
        }
        if text.is_empty() {
            machine = false;
            paragraphs.push(Vec::new());
            continue;
        }
        // Everything from a heading on is a document.
        if text.starts_with('#') && text.trim_start_matches('#').starts_with(' ') {
            break;
        }
        if let Some(name) = tag(text) {
            element = (!text.contains(&format!("</{name}")) && !text.ends_with("/>")).then_some(name);
            continue;
        }
        machine |= is_machine(line);
        if !machine && let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push(text);
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// The name of the tag at the start of a line.
fn tag(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('<')?;
    let end =
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(rest.len());
    (rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest[end..].starts_with(['>', ' ', '/']))
        .then(|| &rest[..end])
}

/// Whether a program wrote the line: a log, a stack frame, a diff, a table, a shell prompt, a quotation.
fn is_machine(line: &str) -> bool {
    let text = line.trim();
    let marks = ["[", "{", "}", "|", "$ ", "❯", ">", "+", "--", "@@", "//", "at ", "File \"", "#!"];
    let first = text.split([' ', '\t']).next().unwrap_or_default();
    // `error:`, `fatal:`, `src/a.rs:12:`, `Error[E0308]:`.
    let is_label = first.len() > 1
        && first.ends_with(':')
        && (first.contains(['/', '[', '.', '(']) || PROGRAM_LABELS.contains(&&*first.to_ascii_lowercase()));
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    let is_stamped = first.chars().filter(char::is_ascii_digit).count() >= 4;
    marks.iter().any(|mark| text.starts_with(mark))
        || is_label
        || is_indented
        || is_stamped
        || !is_prose(text)
}

const PROGRAM_LABELS: &[&str] = &[
    "error:",
    "fatal:",
    "warning:",
    "warn:",
    "info:",
    "debug:",
    "trace:",
    "note:",
    "hint:",
    "remote:",
    "stderr:",
    "stdout:",
    "traceback:",
    "exception:",
    "caused:",
    "panic:",
    "author:",
    "date:",
];

/// Whether a line is mostly letters and spaces. Names in code do not count against it.
fn is_prose(line: &str) -> bool {
    let mut in_code = false;
    let outside: Vec<char> = line
        .chars()
        .filter(|c| {
            in_code ^= *c == '`';
            !in_code && *c != '`'
        })
        .collect();
    let letters = outside.iter().filter(|c| c.is_alphabetic() || c.is_whitespace()).count();
    let (share, of) = PROSE_SHARE;
    letters * of >= outside.len() * share
}

fn is_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || (digits.len() < line.len() && digits.starts_with(['.', ')']))
}

/// Joins lines that an editor wrapped. In a chat, a line is a sentence.
fn joined(lines: &[&str]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut last_length = 0;
    for line in lines {
        let goes_on = last_length >= WRAPPED && line.starts_with(char::is_lowercase);
        match joined.last_mut().filter(|_| goes_on) {
            Some(sentence) if !sentence.ends_with(['.', '!', '?', ':']) => {
                sentence.push(' ');
                sentence.push_str(line);
            }
            _ => joined.push((*line).to_owned()),
        }
        last_length = line.chars().count();
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_typed_text_remains() {
        let prompt = "always use tabs\nand never push\n\n```\nalways rm\n```\n> never quoted\n\n    never indented\n\n\
            [12:00:01] always logged\nnever behind a log line\n\nfatal: never mind\n\n<command-args>\nalways wrapped\n\
            </command-args>\nBut this was typed. So was this!\n\n# Plan\n\nAlways pasted.";
        assert_eq!(
            typed(prompt),
            ["always use tabs", "and never push", "But this was typed.", "So was this!"]
        );
        assert_eq!(typed("/review always and never"), Vec::<String>::new());
        assert_eq!(typed("<task-notification>always</task-notification>\nRead it"), ["Read it"]);
    }

    #[test]
    fn a_long_text_is_a_document() {
        assert_eq!(typed(&"Never do that again, please. ".repeat(40)), Vec::<String>::new());
        assert_eq!(typed(&"- always do it\n".repeat(12)), Vec::<String>::new());
        assert_eq!(typed(&"always one line\n".repeat(60)), Vec::<String>::new());
        assert_eq!(typed("- always use tabs\n- never push").len(), 2, "a short list is typed");
    }

    #[test]
    fn a_wrapped_line_stays_one_sentence() {
        let wrapped =
            "From now on the tests of the whole payment service have to be run\nbefore every commit";
        assert_eq!(typed(wrapped), [wrapped.replace('\n', " ")]);
        let hostile = ["<", "</", "<a", "`", "> ", "\u{301}", "<é>", "-", "1."];
        for text in hostile {
            let _ = typed(text);
        }
    }
}
