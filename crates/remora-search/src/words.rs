//! Words as the full-text index sees them: letters and digits, lower case, without accents, by their stem.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::stem::stem;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Where it stands, in bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) stem: String,
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    spans(text).map(|(start, end)| Word { start, end, stem: stem(&fold(&text[start..end])) }).collect()
}

/// Where the words of a text stand.
pub(crate) fn spans(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = text.char_indices().chain([(text.len(), ' ')]);
    std::iter::from_fn(move || {
        let (start, _) = rest.find(|(_, character)| belongs(*character))?;
        let (end, _) = rest.find(|(_, character)| !belongs(*character))?;
        Some((start, end))
    })
}

fn belongs(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric()
    } else {
        character.is_alphanumeric() || is_combining_mark(character)
    }
}

/// Lower case, without accents.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().filter(|character| !is_combining_mark(*character)).flat_map(char::to_lowercase).collect()
}

/// Whether a script writes its words without spaces, so that a run of letters is no word.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
}

/// Whether a word says nothing about what is looked for. Compared folded, before stemming.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "between", "both", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "done", "during",
    "each", "ever", "few", "for", "from", "further", "get", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "ll", "m", "many", "may", "me", "might",
    "more", "most", "much", "must", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other",
    "our", "ours", "out", "over", "own", "please", "re", "s", "same", "shall", "she", "should", "so", "some", "such", "t",
    "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to",
    "too", "under", "until", "up", "us", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_and_folded() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| fold(word) == *word));
    }

    #[test]
    fn accents_case_and_endings_make_no_difference() {
        let stems = |text: &str| words(text).into_iter().map(|word| word.stem).collect::<Vec<_>>();
        assert_eq!(stems("Déployé, naïve—RUNNING tests!"), ["deploy", "naiv", "run", "test"]);
        assert_eq!(stems("naïve cafe\u{301}"), ["naiv", "cafe"]);
        let word = &words("¡árbol!")[0];
        assert_eq!((word.start, word.end), (2, 8));
    }
}
