//! Selects the sentences of a turn to keep: those with the most knowledge, not the first ones.

use std::collections::HashSet;

use remora_core::prose::{Role, Sentence, fingerprint};
use remora_core::text::one_line;

use super::title::{self, is_name};

/// Limits in characters: the narrative, one statement, all statements besides the narrative, and all open ends.
const NARRATIVE: usize = 400;
const STATEMENT: usize = 280;
const STATEMENTS: usize = 200;
const OPEN_ENDS: usize = 220;
/// Limit for sentences from before the closing message.
const MAX_EARLIER_SENTENCES: usize = 4;
/// Shorter sentences rarely mean anything on their own.
const MIN_SENTENCE_LEN: usize = 25;
/// Minimum worth of a sentence from before the closing message: a cause with a name in it qualifies, a plain account
/// does not.
const MIN_EARLIER_WORTH: f64 = 0.9;

/// The sentences kept of a turn.
#[derive(Debug, Default)]
pub(super) struct Substance {
    /// From the closing message, in order.
    pub(super) narrative: Vec<Sentence>,
    /// Further statements, from the closing message and from earlier messages.
    pub(super) facts: Vec<Sentence>,
    /// Open items in the closing message.
    pub(super) open: Vec<Sentence>,
}

impl Substance {
    pub(super) fn of(closing: &[Sentence], earlier: &[Sentence]) -> Self {
        let open: Vec<&Sentence> = closing.iter().filter(|sentence| sentence.role == Role::Next).collect();
        let mut seen = HashSet::new();
        let closing = telling(closing, &mut seen);
        let earlier = telling(earlier, &mut seen);
        let (narrative, left) = best(&closing, NARRATIVE, usize::MAX, f64::MIN);
        let knowledge: Vec<&Sentence> =
            left.into_iter().filter(|sentence| sentence.role.is_knowledge()).collect();
        let (mut facts, _) = best(&knowledge, STATEMENTS, usize::MAX, f64::MIN);
        let used: usize = facts.iter().map(|sentence| sentence.text.chars().count()).sum();
        let room = STATEMENTS.saturating_sub(used);
        facts.extend(best(&earlier, room, MAX_EARLIER_SENTENCES, MIN_EARLIER_WORTH).0);
        let (open, _) = best(&open, OPEN_ENDS, usize::MAX, f64::MIN);
        Self { narrative: shortened(narrative), facts: shortened(facts), open: shortened(open) }
    }

    /// Removes a sentence that is identical to the title.
    pub(super) fn without(mut self, title: &str) -> Self {
        self.narrative.retain(|sentence| !is_title(sentence, title));
        self.facts.retain(|sentence| !is_title(sentence, title));
        self
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Sentence> {
        self.narrative.iter().chain(&self.facts)
    }

    /// Length in characters.
    pub(super) fn length(&self) -> usize {
        self.all().map(|sentence| sentence.text.chars().count()).sum()
    }
}

/// The sentences that say something, each once.
fn telling<'a>(sentences: &'a [Sentence], seen: &mut HashSet<u64>) -> Vec<&'a Sentence> {
    let telling = sentences.iter().filter(|sentence| is_telling(sentence));
    telling.filter(|sentence| seen.insert(fingerprint(&sentence.text))).collect()
}

fn is_title(sentence: &Sentence, title: &str) -> bool {
    title::of_sentence(&sentence.text).is_some_and(|own| own == title && !is_cut(sentence, title))
}

/// Whether a title leaves out part of its sentence.
fn is_cut(sentence: &Sentence, title: &str) -> bool {
    let whole = sentence.text.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '`');
    last_word(whole) != last_word(title)
}

fn last_word(text: &str) -> u64 {
    fingerprint(text.rsplit(' ').next().unwrap_or_default())
}

/// Whether a sentence says something that stays true after the turn.
fn is_telling(sentence: &Sentence) -> bool {
    !sentence.role.is_idle() && sentence.role != Role::Next
}

/// How much a sentence is worth keeping.
pub(super) fn worth(sentence: &Sentence) -> f64 {
    let by_role = match sentence.role {
        Role::Cause | Role::Decision => 1.0,
        Role::Caveat => 0.8,
        Role::Account => 0.4,
        _ => 0.0,
    };
    let names = sentence.text.split_whitespace().filter(|word| is_name(word)).count().min(4);
    let is_short = sentence.text.chars().count() < MIN_SENTENCE_LEN;
    #[expect(clippy::cast_precision_loss, reason = "at most four")]
    let by_names = 0.1 * names as f64;
    by_role + by_names - if is_short { 0.4 } else { 0.0 }
}

/// The most valuable sentences that fit, in order, and the rest.
fn best<'a>(
    sentences: &[&'a Sentence],
    limit: usize,
    most: usize,
    least: f64,
) -> (Vec<&'a Sentence>, Vec<&'a Sentence>) {
    let mut by_worth: Vec<usize> = (0..sentences.len()).collect();
    by_worth.sort_by(|a, b| worth(sentences[*b]).total_cmp(&worth(sentences[*a])).then(a.cmp(b)));
    let mut chosen = HashSet::new();
    let mut left = limit;
    for place in by_worth {
        let length = sentences[place].text.chars().count().min(STATEMENT) + 1;
        if length <= left && chosen.len() < most && worth(sentences[place]) >= least {
            left -= length;
            chosen.insert(place);
        }
    }
    let (mut kept, mut rest) = (Vec::new(), Vec::new());
    for (place, sentence) in sentences.iter().enumerate() {
        if chosen.contains(&place) { kept.push(*sentence) } else { rest.push(*sentence) }
    }
    (kept, rest)
}

fn shortened(sentences: Vec<&Sentence>) -> Vec<Sentence> {
    sentences
        .into_iter()
        .map(|sentence| Sentence { text: one_line(&sentence.text, STATEMENT), ..sentence.clone() })
        .collect()
}
