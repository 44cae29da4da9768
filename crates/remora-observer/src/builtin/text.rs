//! Helpers to build sentences and lists.

use remora_core::text::one_line;

/// Polite beginnings of requests. Whole words, in lower case.
#[rustfmt::skip]
const POLITE_PREFIXES: &[&str] = &[
    "can we also", "can we", "can you also", "can you please", "can you", "could you please", "could you", "could we",
    "would you", "please", "ok", "okay", "now", "also", "let's", "lets", "i want you to", "i'd like you to", "and",
    "kannst du bitte", "kannst du", "bitte", "peux-tu", "pouvez-vous", "s'il te plaît", "puedes", "podrías", "por favor",
];

/// A request without its polite beginning.
pub(super) fn without_politeness(request: &str) -> &str {
    let mut rest = request.trim();
    while let Some(next) = POLITE_PREFIXES.iter().find_map(|lead| {
        let (beginning, next) = rest.split_at_checked(lead.len())?;
        let next = next.strip_prefix([' ', ','])?;
        (beginning.to_lowercase() == *lead).then_some(next.trim_start_matches([' ', ',']))
    }) {
        rest = next;
    }
    rest
}

pub(super) fn ended(text: &str) -> String {
    let text = text.trim().trim_end_matches([':', '：']);
    if text.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
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
