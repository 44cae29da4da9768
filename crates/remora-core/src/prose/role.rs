//! What a sentence is for, by its words and by the heading above it.

use super::{Role, words};

/// What the heading above a sentence makes of it.
#[derive(Clone, Copy)]
pub(super) enum Section {
    None,
    Cause,
    Next,
    Caveat,
}

impl Section {
    pub(super) fn named(heading: &str) -> Self {
        let heading = heading.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
        if has(&["next", "remaining", "follow-up", "todo", "to do", "nächste", "offen", "prochaine", "suite"])
        {
            Self::Next
        } else if has(&[
            "cause",
            "why",
            "problem",
            "reason",
            "diagnos",
            "what went wrong",
            "ursache",
            "warum",
        ]) {
            Self::Cause
        } else if has(&["note", "caveat", "gotcha", "watch out", "limitation", "hinweis", "remarque"]) {
            Self::Caveat
        } else {
            Self::None
        }
    }

    pub(super) fn role(self, sentence: &str) -> Option<Role> {
        let own = role(sentence);
        if matches!(own, Role::Courtesy | Role::Offer) {
            return Some(own);
        }
        match self {
            Self::None => None,
            Self::Cause => Some(Role::Cause),
            Self::Next => Some(Role::Next),
            Self::Caveat => Some(Role::Caveat),
        }
    }
}

pub(super) fn role(sentence: &str) -> Role {
    let lower = format!(" {} ", sentence.to_lowercase());
    let starts = |words: &[&str]| words.iter().any(|word| lower[1..].starts_with(word));
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let words = sentence.split_whitespace().count();
    if has(words::OFFER) || (lower.trim_end().ends_with('?') && words < 14) {
        Role::Offer
    } else if (words <= 6 && starts(words::COURTESY)) || starts(&["sorry that", "sorry i "]) {
        Role::Courtesy
    } else if starts(words::DECISION_START) || has(words::DECISION) {
        Role::Decision
    } else if starts(words::NEXT_START) || has(words::NEXT) {
        Role::Next
    } else if has(words::CAUSE) {
        Role::Cause
    } else if starts(words::CAVEAT_START) || has(words::CAVEAT) {
        Role::Caveat
    } else {
        Role::Account
    }
}
