//! A sentence of the user, split into words.

use super::words::{OPENERS, PLACES, STOP, TEMPORARY, THIS};

/// Replaces a quotation or a code span: a name, but not the user's words.
const NAME: &str = "`";
/// Shorter words are rarely a subject.
const MIN_WORD_LEN: usize = 3;

/// A sentence as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserSentence {
    pub(super) text: String,
    /// In lower case, without quotations and without the opening words.
    words: Vec<String>,
    /// The opening words: "please", "and".
    led_by: Vec<String>,
    pub(super) is_question: bool,
}

impl UserSentence {
    pub(super) fn new(sentence: &str) -> Self {
        let text = unwrapped(sentence);
        let mut words = words(&without_quotes(text));
        let is_question = text.trim_end_matches(['!', ')', '"', ' ']).ends_with('?');
        let mut led_by = Vec::new();
        while let Some(length) = OPENERS.iter().find_map(|opener| starts(&words, opener)) {
            led_by.extend(words.drain(..length));
        }
        Self { text: text.to_owned(), words, led_by, is_question }
    }

    /// The number of words in the first of these phrases that the sentence begins with.
    pub(super) fn begins(&self, phrases: &[&str]) -> Option<usize> {
        phrases.iter().find_map(|phrase| starts(&self.words, phrase))
    }

    pub(super) fn is_led_by(&self, words: &[&str]) -> bool {
        self.led_by.first().is_some_and(|word| words.contains(&word.as_str()))
    }

    /// Whether one of these is among the opening words: "ok, but …".
    pub(super) fn is_led_through(&self, words: &[&str]) -> bool {
        self.led_by.iter().any(|word| words.contains(&word.as_str()))
    }

    pub(super) fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.find(phrase).is_some())
    }

    /// The position of the phrase.
    pub(super) fn find(&self, phrase: &str) -> Option<usize> {
        (0..self.words.len()).find(|at| starts(&self.words[*at..], phrase).is_some())
    }

    pub(super) fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it is about this moment or this piece of work.
    pub(super) fn is_of_the_task(&self) -> bool {
        let is_temporary = self.has(TEMPORARY) && !self.has(super::words::FROM_NOW_ON);
        is_temporary || self.after_this().any(|next| !next.is_some_and(|next| PLACES.contains(&next)))
    }

    /// Whether it names the project as the place where it applies.
    pub(super) fn names_the_project(&self) -> bool {
        self.after_this().flatten().any(|next| PLACES.contains(&next))
    }

    /// The word after each "this"; `None` at the end of the sentence.
    fn after_this(&self) -> impl Iterator<Item = Option<&str>> {
        let this = (0..self.len()).filter(|at| THIS.contains(&self.words[*at].as_str()));
        this.map(|at| self.word(at + 1))
    }
}

/// The subject words of a text, each once, in order: without stop words, and in the singular.
pub(super) fn subjects(text: &str, leave_out: &[&[&str]]) -> Vec<String> {
    let mut subjects = Vec::new();
    let parts = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')));
    for word in parts.map(|word| word.replace('’', "'").to_lowercase()) {
        let word = word.trim_matches('\'');
        let is_left_out = STOP.contains(&word) || leave_out.iter().any(|list| list.contains(&word));
        if word.chars().count() < MIN_WORD_LEN || is_left_out {
            continue;
        }
        let word = singular(word).to_owned();
        if !subjects.contains(&word) {
            subjects.push(word);
        }
    }
    subjects
}

fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 2 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    }
}

/// The number of words in the phrase, if the list begins with it.
fn starts(words: &[String], phrase: &str) -> Option<usize> {
    let mut length = 0;
    for expected in phrase.split(' ').flat_map(pieces) {
        if words.get(length).is_none_or(|word| *word != expected) {
            return None;
        }
        length += 1;
    }
    Some(length)
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '`' | '-')));
    let parts = parts.map(|word| word.replace('’', "'").to_lowercase());
    let parts = parts.map(|word| word.trim_matches(['\'', '-']).to_owned()).filter(|word| !word.is_empty());
    parts.flat_map(|word| pieces(&word).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// `n'utilise` is two words; `don't` is one.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let end = word.find('\'').map(|at| at + 1).filter(|end| {
        let elided = &word[..*end];
        matches!(elided, "c'" | "d'" | "j'" | "l'" | "m'" | "n'" | "s'" | "t'" | "qu'")
            && word.len() > end + 1
    });
    let (first, rest) = word.split_at(end.unwrap_or(word.len()));
    [first, rest].into_iter().filter(|piece| !piece.is_empty())
}

/// The sentence without a list mark and without enclosing parentheses.
fn unwrapped(sentence: &str) -> &str {
    let text = sentence.trim();
    let item = ["- ", "* ", "•"].iter().find_map(|mark| text.strip_prefix(mark));
    let text = item.unwrap_or(text).trim_start();
    let inner = text.strip_prefix('(').and_then(|text| text.trim_end_matches('.').strip_suffix(')'));
    inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(text).trim()
}

/// The sentence with a name in place of each quotation and code span. A quote that is never closed is ordinary
/// punctuation.
fn without_quotes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, open)) = rest.char_indices().find(|(at, c)| is_opening(&rest[..*at], *c)) {
        let close = match open {
            '“' | '„' => ['”', '“'],
            '«' => ['»', '»'],
            other => [other, other],
        };
        let inside = &rest[at + open.len_utf8()..];
        let Some(length) = inside.find(close) else {
            plain.push_str(&rest[..at + open.len_utf8()].replace('`', " "));
            rest = inside;
            continue;
        };
        plain.push_str(&rest[..at]);
        plain.extend([" ", NAME, " "]);
        rest = &inside[length..];
        rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
    }
    plain.push_str(rest);
    plain
}

/// An apostrophe within a word does not open a quotation.
fn is_opening(before: &str, c: char) -> bool {
    match c {
        '"' | '“' | '„' | '«' | '`' => true,
        '\'' => before.is_empty() || before.ends_with([' ', '(']),
        _ => false,
    }
}
