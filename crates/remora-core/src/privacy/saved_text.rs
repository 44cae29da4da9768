//! Cleaning of text that a person saves.

use super::clean_text;
use crate::intake::public_text;
use crate::memory::{Observation, ObservationType};
use crate::text::{Excerpt, ExcerptLimit, one_line, prefix, suffix};

/// Length limit for a title in characters, so that it can be read at a glance.
pub const MAX_TITLE_LEN: usize = 80;
/// Length limits for the head and tail of a text, in bytes.
const TEXT: ExcerptLimit = ExcerptLimit { head: 32 << 10, tail: 16 << 10 };
const FACT: ExcerptLimit = ExcerptLimit { head: 2 << 10, tail: 1 << 10 };
const PATH: ExcerptLimit = ExcerptLimit { head: 1024, tail: 0 };
const MAX_FACTS: usize = 50;
const MAX_FILES: usize = 200;

/// A memory as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// `None` takes the first sentence of the text.
    pub title: Option<String>,
    pub kind: ObservationType,
    pub facts: Vec<String>,
    /// The files it is about.
    pub files: Vec<String>,
}

/// A memory that may be stored: without private parts and secrets, and bounded. Only [`SavedText::new`] creates one.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedText {
    observation: Observation,
    left_out: usize,
}

impl SavedText {
    /// `None` if nothing remains of the text: it was empty or private.
    pub fn new(draft: &Draft) -> Option<Self> {
        let mut left_out = 0;
        let narrative = bounded(&draft.text, TEXT, &mut left_out);
        if narrative.is_empty() {
            return None;
        }
        let facts = bounded_list(&draft.facts, MAX_FACTS, FACT, &mut left_out);
        let files_read = bounded_list(&draft.files, MAX_FILES, PATH, &mut left_out);
        let title = draft.title.as_deref().map(|title| clean(title, TEXT)).filter(|title| !title.is_empty());
        let title = title.as_deref().unwrap_or_else(|| first_sentence(&narrative));
        let observation = Observation {
            kind: draft.kind,
            title: one_line(title, MAX_TITLE_LEN),
            subtitle: String::new(),
            facts,
            concepts: Vec::new(),
            files_read,
            files_modified: Vec::new(),
            discovery_tokens: 0,
            tool_name: None,
            narrative,
        };
        Some(Self { observation, left_out })
    }

    pub fn observation(&self) -> &Observation {
        &self.observation
    }

    /// Bytes of the text, the facts and the files that exceed the limits and are not stored.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// Cleans a typed text for storage: removes private parts and secrets, and cuts it to the limit for memories.
pub fn typed_text(text: &str) -> String {
    clean(text, TEXT)
}

/// Cuts last, so that a cut cannot hide a secret from the rules.
fn clean(text: &str, limit: ExcerptLimit) -> String {
    Excerpt::shorten(&cleaned(text), limit)
}

/// Cleans and cuts a text, and adds the bytes that were cut to `left_out`.
fn bounded(text: &str, limit: ExcerptLimit, left_out: &mut usize) -> String {
    let text = cleaned(text);
    *left_out += missing(&text, limit);
    Excerpt::shorten(&text, limit)
}

/// The first `most` texts, each cleaned and cut.
fn bounded_list(texts: &[String], most: usize, limit: ExcerptLimit, left_out: &mut usize) -> Vec<String> {
    let (kept, rest) = texts.split_at(most.min(texts.len()));
    *left_out += rest.iter().map(String::len).sum::<usize>();
    kept.iter().map(|text| bounded(text, limit, left_out)).filter(|text| !text.is_empty()).collect()
}

fn cleaned(text: &str) -> String {
    clean_text(&Excerpt::whole(&public_text(text))).trim().to_owned()
}

/// Bytes that [`Excerpt::shorten`] leaves out.
fn missing(text: &str, ExcerptLimit { head, tail }: ExcerptLimit) -> usize {
    if text.len() <= head + tail {
        0
    } else {
        text.len() - prefix(text, head).len() - suffix(text, tail).len()
    }
}

/// The text up to the first full stop that ends a sentence, or to the end of the line.
pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(text).trim();
    for (at, character) in line.char_indices() {
        let end = at + character.len_utf8();
        let is_end = matches!(character, '。' | '！' | '？')
            || matches!(character, '.' | '!' | '?') && line[end..].starts_with(char::is_whitespace);
        if is_end {
            return line[..end].trim_end_matches('.');
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft {
            text: text.to_owned(),
            title: None,
            kind: ObservationType::Discovery,
            facts: Vec::new(),
            files: Vec::new(),
        }
    }

    fn title(text: &str) -> String {
        SavedText::new(&draft(text)).unwrap().observation().title.clone()
    }

    #[test]
    fn without_a_title_the_first_sentence_is_one() {
        assert_eq!(title("Use v1.2 of the API. The old one is gone."), "Use v1.2 of the API");
        assert_eq!(title("\n  One line\nand another"), "One line");
        assert_eq!(title("なぜ？それは"), "なぜ？");
        let long = title(&"word ".repeat(40));
        assert!(long.chars().count() <= MAX_TITLE_LEN && long.ends_with('…'), "{long}");
    }

    #[test]
    fn what_exceeds_the_limits_is_counted() {
        let mut typed = draft(&"é".repeat(30_000));
        assert_eq!(SavedText::new(&typed).unwrap().left_out(), 60_000 - (48 << 10));
        typed = draft("short");
        assert_eq!(SavedText::new(&typed).unwrap().left_out(), 0);
        typed.facts = vec!["fact".to_owned(); MAX_FACTS + 2];
        assert_eq!(SavedText::new(&typed).unwrap().left_out(), 8);
    }

    #[test]
    fn nothing_private_or_secret_is_left_anywhere() {
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let mut typed = draft(&format!("The <private>merger</private> key is {secret}"));
        typed.title = Some(format!("Key {secret} <private>merger</private>"));
        typed.facts = vec![secret.clone(), "<private>merger</private>".to_owned()];
        typed.files = vec![format!("src/{secret}.rs")];
        let saved = format!("{:?}", SavedText::new(&typed).unwrap());
        assert!(!saved.contains(&secret) && !saved.contains("merger"), "{saved}");
        for private in ["", "  ", "<private>all of it</private>", "end of it</private>"] {
            assert_eq!(SavedText::new(&draft(private)), None, "{private}");
        }
    }
}
