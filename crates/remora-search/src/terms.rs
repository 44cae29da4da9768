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
        terms.into_iter().filter_map(|term| self.weighed.get(term)).map(|term| term.idf).sum()
    }

    /// How much the whole prompt says.
    pub fn total(&self) -> f64 {
        self.weight(0..self.weighed.len())
    }

    /// How rare a term is: from 0, in every document, to 1, in none.
    pub fn rarity(&self, term: usize) -> f64 {
        self.weighed.get(term).map_or(0.0, |term| term.rarity)
    }
}
