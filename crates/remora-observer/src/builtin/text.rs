//! Sentences and lists, put together.

use remora_core::text::one_line;

pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    let end = line.char_indices().find(|(at, c)| {
        matches!(c, '.' | '!' | '?') && line[at + 1..].chars().next().is_none_or(char::is_whitespace)
    });
    end.map_or(line, |(at, _)| &line[..=at])
}

pub(super) fn ended(text: &str) -> String {
    let text = text.trim().trim_end_matches(':');
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// Whole sentences up to a length.
pub(super) fn bounded(sentences: &[String], limit: usize) -> String {
    let mut text = String::new();
    for sentence in sentences {
        if text.len() + sentence.len() > limit && !text.is_empty() {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    one_line(&text, limit)
}

pub(super) fn names(files: &[String]) -> Vec<String> {
    files.iter().map(|file| file.rsplit('/').next().unwrap_or(file).to_owned()).collect()
}

/// `a`, `a and b`, `a, b and 3 more`.
pub(super) fn list(items: &[String], most: usize) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        _ if items.len() <= most => {
            format!("{} and {}", items[..items.len() - 1].join(", "), items[items.len() - 1])
        }
        _ => format!("{} and {} more", items[..most].join(", "), items.len() - most),
    }
}
