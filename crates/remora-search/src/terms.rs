//! The weighted terms of a prompt, for callers that examine the hits.

use crate::lexical::Weighed;
use crate::snippet::places;

/// The terms of a prompt. Rare words weigh more.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    pub(crate) weighed: Vec<Weighed>,
    pub(crate) pieces: Vec<String>,
}

impl Terms {
    /// The indexes of the terms that a text contains.
    pub fn within(&self, text: &str) -> Vec<usize> {
        places(&[text], &self.weighed, &self.pieces)
    }

    /// The total weight of these terms.
    pub fn weight(&self, terms: impl IntoIterator<Item = usize>) -> f64 {
        terms.into_iter().filter_map(|term| self.weighed.get(term)).map(Weighed::weight).sum()
    }

    /// The number of rare words these terms amount to: a word in every document counts 0, one in none counts 1.
    pub fn rare(&self, terms: impl IntoIterator<Item = usize>) -> f64 {
        let terms = terms.into_iter().filter_map(|term| self.weighed.get(term));
        terms.map(|term| term.rarity * term.term.share()).sum()
    }

    /// The indexes of all terms.
    pub fn all(&self) -> std::ops::Range<usize> {
        0..self.weighed.len()
    }
}
