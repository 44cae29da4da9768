//! How well a memory fits a question, on a scale that means the same whatever else is stored.
//!
//! Ranks and BM25 only compare answers with each other: the best of a bad lot looks like the best of a good one.
//! Cosine, and the share of the question's words that are there, need nobody to compare with.

use crate::closeness::Closeness;
use crate::lexical::Weighed;

/// All words together prove a little less than the same meaning: they may stand in other company.
const WORDS: f64 = 0.85;

/// From 0 to 1; from about 0.5 on a memory is worth telling.
pub(crate) fn calibrated(cosine: Option<f32>, closeness: Closeness, coverage: f64) -> f64 {
    let Closeness { far, near, .. } = closeness;
    let meaning = cosine.map_or(0.0, |cosine| ((f64::from(cosine) - far) / (near - far)).clamp(0.0, 1.0));
    // Either may be proof enough; both together are more than each.
    1.0 - (1.0 - meaning) * (1.0 - WORDS * coverage * coverage)
}

/// The share of the question's words that are there, rare ones counting more.
pub(crate) fn coverage(matched: &[&Weighed], weighed: &[Weighed]) -> f64 {
    let all: f64 = weighed.iter().map(|term| term.idf).sum();
    if all <= 0.0 {
        return 0.0;
    }
    matched.iter().map(|term| term.idf).sum::<f64>() / all
}
