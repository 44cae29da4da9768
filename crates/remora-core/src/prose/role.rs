//! The purpose of a sentence, from its words and from the heading above it.

use super::normal::Normal;
use super::{Role, words};

/// The section of a sentence, set by the heading above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    None,
    Cause,
    Decision,
    Next,
    Caveat,
    /// Options for the user to choose from.
    Offer,
}

impl Section {
    pub(super) fn named(heading: &str) -> Self {
        let heading = Normal::new(heading);
        if heading.has(words::NEXT_HEADING) {
            Self::Next
        } else if heading.has(words::CAUSE_HEADING) {
            Self::Cause
        } else if heading.has(words::DECISION_HEADING) {
            Self::Decision
        } else if heading.has(words::CAVEAT_HEADING) {
            Self::Caveat
        } else {
            Self::None
        }
    }

    /// The section of a list, from the sentence that introduces it and the heading above.
    pub(super) fn introduced(self, intro: &str) -> Self {
        match (Self::named(intro), role(intro)) {
            (_, Role::Offer) => Self::Offer,
            (Self::None, _) => self,
            (named, _) => named,
        }
    }

    pub(super) fn role(self, sentence: &str) -> Role {
        let own = role(sentence);
        // An open item may be a question.
        if own.is_idle() && !(self == Self::Next && sentence.ends_with(['?', '？'])) {
            return own;
        }
        match self {
            Self::None => own,
            // A section named "Problem" may also contain decisions and open items.
            Self::Cause | Self::Decision | Self::Caveat if own != Role::Account => own,
            Self::Cause => Role::Cause,
            Self::Decision => Role::Decision,
            Self::Caveat => Role::Caveat,
            Self::Next => Role::Next,
            Self::Offer => Role::Offer,
        }
    }
}

pub(super) fn role(sentence: &str) -> Role {
    let normal = Normal::new(sentence);
    let ends = |mark: &[char]| sentence.trim_end_matches(['*', '`', '"', ')']).ends_with(mark);
    if normal.has(words::OFFER) || normal.starts(words::IMAGINED) || ends(&['?', '？']) {
        Role::Offer
    } else if normal.starts(words::POLITE_PHRASES) && normal.count() <= 6 {
        Role::Courtesy
    } else if ends(&[':', '：']) && normal.starts(words::LIST_INTROS) {
        Role::Lead
    } else if normal.starts(words::INTENT) {
        Role::Intent
    } else if is_without_subject(&normal) {
        if ends(&[':', '：']) { Role::Lead } else { Role::Status }
    } else if normal.starts(words::DECISION_START) || normal.has(words::DECISION) {
        Role::Decision
    } else if normal.starts(words::NEXT_START) || normal.has(words::NEXT) {
        Role::Next
    } else if normal.starts(words::CAVEAT_START) {
        Role::Caveat
    } else if normal.has(words::CAUSE) {
        Role::Cause
    } else if normal.has(words::CAVEAT) {
        Role::Caveat
    } else {
        Role::Account
    }
}

/// "All 1318 tests pass and lint is clean" has no subject, even if it names the command that passes.
fn is_without_subject(normal: &Normal) -> bool {
    let passes = normal.has(&["passes", "pass", "passed", "clean", "succeeds", "green"]);
    normal.words().all(|word| !is_subject(word) || (word == "`" && passes))
}

/// Whether a word is a subject, and neither a status word, a number nor a filler.
pub fn is_subject(word: &str) -> bool {
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    !is_number && !words::STATUS.contains(&word) && !words::FILLER.contains(&word)
}
