//! Words as the full-text index sees them: letters and digits, lower case, without accents, by their stem.

use remora_core::text::is_unspaced;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::stem::stem;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its byte range.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) stem: String,
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    spans(text).map(|(start, end)| Word { start, end, stem: stem(&fold(&text[start..end])) }).collect()
}

/// The byte ranges of the words in a text.
pub(crate) fn spans(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = next(text, at, true)?;
        let end = next(text, start, false).unwrap_or(text.len());
        at = end;
        Some((start, end))
    })
}

/// The next character that belongs to a word, or that does not. Most text is ASCII, so characters are decoded only
/// where they have to be.
fn next(text: &str, from: usize, in_word: bool) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = text.as_bytes().get(at) {
        let (belongs, length) = if byte.is_ascii() {
            (byte.is_ascii_alphanumeric(), 1)
        } else {
            let character = text[at..].chars().next()?;
            (belongs(character), character.len_utf8())
        };
        if belongs == in_word {
            return Some(at);
        }
        at += length;
    }
    None
}

/// Splits a run of letters into parts of scripts without spaces and of others. `修复docker` has two.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_unspaced(c) != is_unspaced(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

fn belongs(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

/// Converts to lower case and removes accents.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().filter(|character| !is_combining_mark(*character)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_case_and_endings_are_ignored() {
        let stems = |text: &str| words(text).into_iter().map(|word| word.stem).collect::<Vec<_>>();
        assert_eq!(stems("Déployé, naïve—RUNNING tests!"), ["deploy", "naiv", "run", "test"]);
        assert_eq!(stems("naïve cafe\u{301}"), ["naiv", "cafe"]);
        let word = &words("¡árbol!")[0];
        assert_eq!((word.start, word.end), (2, 8));
    }
}
