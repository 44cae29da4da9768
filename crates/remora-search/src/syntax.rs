//! Parses a query into words and, if it has any, operators.

use remora_core::text::is_unspaced;

use crate::language::{Language, Root, content};
use crate::operators::Operators;
use crate::words::{fold, runs, words};

/// Longer queries are cut here.
const MAX_WORDS: usize = 48;
/// Limit for pairs of characters in a script without spaces. Each pair is one bit while documents are scanned.
pub(crate) const MAX_PAIRS: usize = 64;

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Question {
    pub(crate) language: Language,
    /// The distinct meaningful words, in order.
    pub(crate) terms: Vec<Term>,
    /// Names of several words, searched as phrases: `src/auth.rs` is `src auth rs`.
    pub(crate) names: Vec<String>,
    /// Strings to search inside words: scripts without spaces, names, parts of paths.
    pub(crate) pieces: Vec<String>,
    pub(crate) operators: Option<Operators>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    /// As it was written, folded.
    pub(crate) word: String,
    pub(crate) form: Form,
}

/// How a term is recognized in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    /// By the stem that the index uses, or by the root that all forms of the word share in its language.
    Word { stem: String, root: Option<Root> },
    /// Two adjacent characters of a script without spaces.
    Pair {
        /// The part of a word it counts as: four characters are three pairs, but mostly two words.
        share: f64,
    },
    /// A call, such as `access(`. Without the parenthesis, the same letters are an ordinary word.
    Call,
}

impl Term {
    /// The part of a word it counts as.
    pub(crate) fn share(&self) -> f64 {
        if let Form::Pair { share } = self.form { share } else { 1.0 }
    }

    pub(crate) fn is_pair(&self) -> bool {
        matches!(self.form, Form::Pair { .. })
    }
}

impl Question {
    /// Ignores operators: a prompt says NOT to an agent, not to an index.
    pub(crate) fn prose(text: &str) -> Self {
        Self::of(text, None)
    }

    pub(crate) fn read(text: &str) -> Self {
        Self::of(text, Operators::read(text))
    }

    fn of(text: &str, operators: Option<Operators>) -> Self {
        let plain = operators.as_ref().map_or_else(|| text.to_owned(), Operators::wanted_words);
        let language = Language::of(&plain);
        let mut question = Self { language, operators, ..Self::default() };
        for chunk in plain.split_whitespace().take(MAX_WORDS) {
            question.add(chunk);
        }
        let is_stop_word =
            |term: &Term| matches!(term.form, Form::Word { .. }) && language.is_stop_word(&term.word);
        if !question.terms.iter().all(is_stop_word) {
            question.terms.retain(|term| !is_stop_word(term));
        }
        question
    }

    /// Whether there is nothing to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.pieces.is_empty()
    }

    fn add(&mut self, chunk: &str) {
        let chunk = chunk.trim_end_matches("'s").trim_end_matches("’s");
        let found = words(chunk);
        for word in &found {
            let written = &chunk[word.start..word.end];
            if !written.contains(is_unspaced) {
                self.add_word(written, word.stem.clone());
                continue;
            }
            // The index stores such a run as one word, so its parts are searched inside words.
            push_once(&mut self.pieces, written.to_owned());
            for run in runs(written) {
                if run.starts_with(is_unspaced) {
                    self.add_pairs(run);
                } else {
                    push_once(&mut self.pieces, run.to_owned());
                    self.add_word(run, words(run).remove(0).stem);
                }
            }
        }
        if let Some(name) = called(chunk) {
            let call = Term { word: format!("{}(", fold(name)), form: Form::Call };
            if !self.terms.contains(&call) {
                self.terms.push(call);
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

    fn add_word(&mut self, written: &str, stem: String) {
        let mut terms = self.terms.iter();
        let is_known =
            terms.any(|term| matches!(&term.form, Form::Word { stem: known, .. } if *known == stem));
        // A lone accent has no stem and is not a word.
        if !stem.is_empty() && !is_known {
            let word = fold(written);
            let root = self.language.root(&word);
            self.terms.push(Term { word, form: Form::Word { stem, root } });
        }
    }

    /// Adds the pairs of a script without spaces. Word boundaries are unknown there, and most words have two
    /// characters.
    fn add_pairs(&mut self, run: &str) {
        for piece in content(run) {
            let letters: Vec<char> = piece.chars().collect();
            // The square root, because a pair across two words is rarely found and must not count against those that
            // are.
            #[expect(clippy::cast_precision_loss, reason = "letters of a prompt")]
            let share = (letters.len() as f64 / (2.0 * (letters.len().max(2) - 1) as f64)).sqrt();
            for pair in letters.windows(2) {
                let word: String = pair.iter().collect();
                let pairs = self.terms.iter().filter(|term| term.is_pair());
                if pairs.count() < MAX_PAIRS && self.terms.iter().all(|known| known.word != word) {
                    self.terms.push(Term { word, form: Form::Pair { share } });
                }
            }
        }
    }
}

/// The name in a call: `access` in `access()` and in `` `fs.access(path)` ``.
fn called(chunk: &str) -> Option<&str> {
    let (before, after) = chunk.split_once('(')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = &before[before.trim_end_matches(is_name).len()..];
    (name.len() >= 3 && name.contains(|c: char| c.is_ascii_alphabetic()) && after.contains(')'))
        .then_some(name)
}

fn push_once(list: &mut Vec<String>, text: String) {
    if !text.is_empty() && !list.contains(&text) && list.len() < 8 {
        list.push(text);
    }
}

/// Whether it is a name such as `getUserById`, `user_id`, `src/auth` or `E0432`, which people search for by parts.
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
    fn words_names_and_pieces_are_distinguished() {
        let question = Question::read("Where does getUserById in src/auth.rs fail with 認証エラー?");
        let terms: Vec<&str> = question.terms.iter().map(|term| term.word.as_str()).collect();
        assert_eq!(terms, ["getuserbyid", "src", "auth", "rs", "fail", "認証", "証エ", "エラ", "ラー"]);
        assert_eq!(question.pieces, ["getUserById", "src/auth.rs", "認証エラー"]);
        assert_eq!(question.names, ["src/auth.rs"]);
        assert_eq!(Question::read("the who").terms.len(), 2, "nothing but stop words is better than nothing");
        assert!(Question::read(" !?* ").is_empty());
    }
    fn terms(text: &str) -> Vec<String> {
        Question::prose(text).terms.into_iter().map(|term| term.word).collect()
    }

    #[test]
    fn stop_words_follow_the_language_of_the_prompt() {
        assert_eq!(
            terms("pourquoi le cache garde-t-il les anciennes valeurs ?"),
            ["cache", "garde", "anciennes", "valeurs"]
        );
        assert_eq!(terms("warum war die Sitzung nach dem Update weg"), ["sitzung", "update"]);
        assert_eq!(terms("add a comment about the war and the hat"), ["add", "comment", "war", "hat"]);
        assert_eq!(terms("为什么docker构建的缓存失效"), ["docker", "构建", "缓存", "存失", "失效"]);
    }

    #[test]
    fn a_call_is_a_term_of_its_own() {
        assert_eq!(terms("Why does access() always grant?"), ["access", "access(", "grant"]);
        assert_eq!(
            terms("why does `fs.open(path)` fail (sometimes)"),
            ["fs", "open", "path", "open(", "fail", "sometimes"]
        );
    }
}
