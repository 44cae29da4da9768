//! What belongs together, or says the same.

use std::collections::HashSet;
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
    let mut kept: Vec<(Shown, HashSet<u64>)> = Vec::with_capacity(before);
    for shown in hits.drain(..) {
        let beginning = remora_core::text::prefix(&shown.text, MOST_BYTES);
        let own: HashSet<u64> =
            spans(beginning).map(|(start, end)| hash(&beginning.as_bytes()[start..end])).collect();
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

fn hash(word: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.to_ascii_lowercase().hash(&mut hasher);
    hasher.finish()
}

#[expect(clippy::cast_precision_loss, reason = "words of a text")]
fn are_same(a: &HashSet<u64>, b: &HashSet<u64>) -> bool {
    if a.len().min(b.len()) < LEAST_WORDS {
        return false;
    }
    let shared = a.intersection(b).count();
    shared as f64 >= SAME * (a.len() + b.len() - shared) as f64
}
