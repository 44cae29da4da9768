//! What belongs together, or says the same.

use std::collections::HashSet;

use remora_core::document::RecordKind;

use crate::answer::{Ranked, Shown, is_of_turn};
use crate::words::words;

/// Texts that share this much of their words say the same.
const SAME: f64 = 0.9;
/// Of very short texts that means nothing.
const LEAST_WORDS: usize = 5;
const MOST_BYTES: usize = 4 << 10;

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
    let mut kept: Vec<(Shown, HashSet<String>)> = Vec::with_capacity(before);
    for shown in hits.drain(..) {
        let stems: HashSet<String> = words(remora_core::text::prefix(&shown.text, MOST_BYTES))
            .into_iter()
            .map(|word| word.stem)
            .collect();
        let same = kept.iter_mut().find(|(other, other_stems)| {
            other.hit.kind == shown.hit.kind
                && other.hit.project_id == shown.hit.project_id
                && are_same(other_stems, &stems)
        });
        match same {
            Some((other, _)) => other.hit.duplicates.push(shown.hit.id),
            None => kept.push((shown, stems)),
        }
    }
    hits.extend(kept.into_iter().map(|(shown, _)| shown));
    before - hits.len()
}

#[expect(clippy::cast_precision_loss, reason = "words of a text")]
fn are_same(a: &HashSet<String>, b: &HashSet<String>) -> bool {
    if a.len().min(b.len()) < LEAST_WORDS {
        return false;
    }
    let shared = a.intersection(b).count();
    shared as f64 >= SAME * (a.len() + b.len() - shared) as f64
}
