//! One ranking of what words and meaning found.

use remora_core::ids::DocumentId;

use crate::resident::Background;

/// A document one of the arms found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) document: DocumentId,
    pub(crate) lexical: Option<f64>,
    pub(crate) lexical_rank: Option<usize>,
    pub(crate) cosine: Option<f32>,
    pub(crate) semantic_rank: Option<usize>,
    pub(crate) score: f64,
}

impl Candidate {
    pub(crate) fn new(document: DocumentId) -> Self {
        Self { document, lexical: None, lexical_rank: None, cosine: None, semantic_rank: None, score: 0.0 }
    }
}

/// Gives every candidate its score and says how much words counted.
pub(crate) fn fuse(candidates: &mut [Candidate], background: Option<Background>) -> f64 {
    let best = candidates.iter().filter_map(|candidate| candidate.lexical).fold(0.0, f64::max);
    let Some(background) = background else {
        for candidate in candidates.iter_mut() {
            candidate.score = candidate.lexical.map_or(0.0, |score| score / best.max(f64::MIN_POSITIVE));
        }
        return 1.0;
    };
    let _ = background;
    let weight = 0.5;
    let nearest = candidates.iter().filter_map(|candidate| candidate.cosine).fold(0.01, f32::max);
    for candidate in candidates.iter_mut() {
        let words = candidate.lexical.map_or(0.0, |score| score / best.max(f64::MIN_POSITIVE));
        let meaning = candidate.cosine.map_or(0.0, |cosine| f64::from(cosine / nearest).max(0.0));
        candidate.score = weight * words + (1.0 - weight) * meaning;
    }
    weight
}
