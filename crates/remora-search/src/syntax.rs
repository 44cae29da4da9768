//! What somebody typed, read as words and, where it has them, operators.

use crate::operators::Operators;
use crate::words::{fold, is_stop_word, is_unspaced, words};

/// More than this nobody means.
const MOST_WORDS: usize = 48;

/// A question, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Question {
    /// Words that mean something, each once, in order.
    pub(crate) terms: Vec<Term>,
    /// Names of several words, to be found as phrases: `src/auth.rs` is `src auth rs`.
    pub(crate) names: Vec<String>,
    /// Strings to look for inside words: scripts without spaces, names, parts of paths.
    pub(crate) pieces: Vec<String>,
    pub(crate) operators: Option<Operators>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// As it was written, folded.
    pub(crate) word: String,
    pub(crate) stem: String,
}

impl Question {
    /// Without operators, whatever it has of them: a prompt says NOT to an agent, not to an index.
    pub(crate) fn prose(text: &str) -> Self {
        Self::of(text, None)
    }

    pub(crate) fn read(text: &str) -> Self {
        Self::of(text, Operators::read(text))
    }

    fn of(text: &str, operators: Option<Operators>) -> Self {
        let plain = operators.as_ref().map_or_else(|| text.to_owned(), Operators::wanted_words);
        let mut question = Self { operators, ..Self::default() };
        for chunk in plain.split_whitespace().take(MOST_WORDS) {
            question.add(chunk);
        }
        let has_meaning = question.terms.iter().any(|term| !is_stop_word(&term.word));
        if has_meaning {
            question.terms.retain(|term| !is_stop_word(&term.word));
        }
        question
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.pieces.is_empty()
    }

    fn add(&mut self, chunk: &str) {
        let chunk = chunk.trim_end_matches("'s").trim_end_matches("’s");
        let found = words(chunk);
        for word in &found {
            let written = &chunk[word.start..word.end];
            // A run of such a script is no word of the index, unless somebody wrote exactly that run.
            if written.chars().any(is_unspaced) {
                push_once(&mut self.pieces, written.to_owned());
            }
            let term = Term { word: fold(written), stem: word.stem.clone() };
            if self.terms.iter().all(|known| known.stem != term.stem) {
                self.terms.push(term);
            }
        }
        if looks_like_name(chunk, found.len()) {
            let piece = chunk.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '.'));
            push_once(&mut self.pieces, piece.trim_end_matches('.').to_owned());
            if let ([first, .., last], true) = (found.as_slice(), found.len() <= 8) {
                push_once(&mut self.names, chunk[first.start..last.end].to_owned());
            }
        }
    }
}

fn push_once(list: &mut Vec<String>, text: String) {
    if !text.is_empty() && !list.contains(&text) && list.len() < 8 {
        list.push(text);
    }
}

/// `getUserById`, `user_id`, `src/auth`, `E0432`: what people search for by a part of it.
fn looks_like_name(chunk: &str, words: usize) -> bool {
    let inner = chunk.trim_matches(|c: char| !c.is_alphanumeric());
    let has_sign = words > 1 && inner.contains(['_', '/', '.', ':', '\\']);
    let has_hump =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let has_digit =
        inner.contains(|c: char| c.is_ascii_digit()) && inner.contains(|c: char| c.is_alphabetic());
    has_sign || has_hump || has_digit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_has_no_operators() {
        let prompt = Question::prose("fix the parser but do NOT touch \"total.rs\"");
        assert!(prompt.operators.is_none() && prompt.terms.iter().any(|term| term.word == "touch"));
    }

    #[test]
    fn words_names_and_pieces_are_told_apart() {
        let question = Question::read("Where does getUserById in src/auth.rs fail with 認証エラー?");
        let stems: Vec<&str> = question.terms.iter().map(|term| term.stem.as_str()).collect();
        assert_eq!(stems, ["getuserbyid", "src", "auth", "rs", "fail", "認証エラー"]);
        assert_eq!(question.pieces, ["getUserById", "src/auth.rs", "認証エラー"]);
        assert_eq!(question.names, ["src/auth.rs"]);
        assert_eq!(Question::read("the who").terms.len(), 2, "nothing but stop words is better than nothing");
        assert!(Question::read(" !?* ").is_empty());
    }
}
