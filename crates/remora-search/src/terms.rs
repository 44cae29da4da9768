//! The terms of a prompt, weighed, for those who look into what was found.

use crate::lexical::Weighed;
use crate::snippet::places;

/// What a prompt asks about, word by word. Rare words weigh more.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    pub(crate) weighed: Vec<Weighed>,
    pub(crate) pieces: Vec<String>,
}

impl Terms {
    /// Which terms are in a text, by their place.
    pub fn within(&self, text: &str) -> Vec<usize> {
        places(&[text], &self.weighed, &self.pieces)
    }

    /// How much these terms say, together.
    pub fn weight(&self, terms: impl IntoIterator<Item = usize>) -> f64 {
        terms.into_iter().filter_map(|term| self.weighed.get(term)).map(Weighed::weight).sum()
    }

    /// How many rare words these terms are, together: a word in every document counts 0, one in none counts 1.
    pub fn rare(&self, terms: impl IntoIterator<Item = usize>) -> f64 {
        let terms = terms.into_iter().filter_map(|term| self.weighed.get(term));
        terms.map(|term| term.rarity * term.term.share()).sum()
    }

    /// The places of all terms.
    pub fn all(&self) -> std::ops::Range<usize> {
        0..self.weighed.len()
    }
}
