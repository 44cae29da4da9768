//! What belongs together, or says the same.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use remora_core::document::RecordKind;

use crate::answer::{Ranked, Shown, is_of_turn};
use crate::words::spans;

/// Texts that share this much of their words say the same.
const SAME: f64 = 0.9;
/// Of very short texts that means nothing.
const LEAST_WORDS: usize = 5;
const MOST_BYTES: usize = 2 << 10;

/// A turn stands below the observation that was made of it: that says the same in fewer words. Where the turn was
/// found better, the observation takes its place.
pub(crate) fn turns_below_observations(ranking: &mut [Ranked]) {
    let mut at = 0;
    while at < ranking.len() {
        if ranking[at].outline.record.kind == RecordKind::Turn {
            let turn = ranking[at].outline;
            let below = ranking[at + 1..].iter().position(|ranked| is_of_turn(&ranked.outline, &turn));
            if let Some(distance) = below {
                let score = ranking[at].candidate.score;
                ranking[at..=at + 1 + distance].rotate_right(1);
                ranking[at].candidate.score = score;
            }
        }
        at += 1;
    }
}

/// Folds hits that say the same into the best of them. Says how many are gone.
pub(crate) fn duplicates(hits: &mut Vec<Shown>) -> usize {
    let before = hits.len();
    let mut kept: Vec<(Shown, Vec<u64>)> = Vec::with_capacity(before);
    for shown in hits.drain(..) {
        let own = words(&shown.text);
        let same = kept.iter_mut().find(|(other, others)| {
            other.hit.kind == shown.hit.kind
                && other.hit.project_id == shown.hit.project_id
                && are_same(others, &own)
        });
        match same {
            Some((other, _)) => other.hit.duplicates.push(shown.hit.id),
            None => kept.push((shown, own)),
        }
    }
    hits.extend(kept.into_iter().map(|(shown, _)| shown));
    before - hits.len()
}

/// Leaves out observations whose replacement was found, too: the newest says it. Says how many are gone.
pub(crate) fn superseded(hits: &mut Vec<Shown>) -> usize {
    let before = hits.len();
    let found: Vec<i64> = hits
        .iter()
        .filter(|shown| shown.hit.kind == RecordKind::Observation)
        .map(|shown| shown.hit.id.number)
        .collect();
    hits.retain(|shown| shown.hit.superseded_by.is_none_or(|by| !found.contains(&by.0)));
    before - hits.len()
}

/// Hashes of the words at the beginning of a text: each once, in order.
fn words(text: &str) -> Vec<u64> {
    let beginning = remora_core::text::prefix(text, MOST_BYTES);
    let spans = spans(beginning);
    let mut words: Vec<u64> = spans.map(|(start, end)| hash(&beginning.as_bytes()[start..end])).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn hash(word: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.to_ascii_lowercase().hash(&mut hasher);
    hasher.finish()
}

#[expect(clippy::cast_precision_loss, reason = "words of a text")]
fn are_same(a: &[u64], b: &[u64]) -> bool {
    let (shorter, longer) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if shorter.len() < LEAST_WORDS || (shorter.len() as f64) < SAME * longer.len() as f64 {
        return false;
    }
    let shared = shorter.iter().filter(|word| longer.binary_search(word).is_ok()).count();
    shared as f64 >= SAME * (a.len() + b.len() - shared) as f64
}
