//! How well a memory fits a question, on a scale that means the same whatever else is stored.
//!
//! Ranks and BM25 only compare answers with each other: the best of a bad lot looks like the best of a good one.
//! Cosine, and the question's words that are there, need nobody to compare with.

use crate::lexical::Weighed;

/// So much proof by words leaves half of the doubt, where there is nothing else to go by.
const HALF: f64 = 0.8;
/// Beside meaning they prove less: what has the words and is far all the same uses them for something else.
const HALF_BESIDE_MEANING: f64 = 2.0;

/// Which of the question's words are there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Words {
    /// Their share, rare ones counting more.
    pub(crate) coverage: f64,
    /// How many they are, a rare one counting as one and a common one as little.
    rare: f64,
}

impl Words {
    pub(crate) fn of(matched: &[&Weighed], weighed: &[Weighed]) -> Self {
        let all: f64 = weighed.iter().map(Weighed::weight).sum();
        if all <= 0.0 {
            return Self::default();
        }
        let there: f64 = matched.iter().map(|term| term.weight()).sum();
        let rare = matched.iter().map(|term| term.rarity * term.term.share()).sum();
        Self { coverage: there / all, rare }
    }

    /// One word is soon all of a short question, and three are soon among many: it takes both, share and number.
    fn proof(self) -> f64 {
        self.rare * self.coverage.max(0.0).sqrt()
    }
}

/// From 0 to 1; from about 0.5 on a memory is worth telling. `meaning` says how near it is, from 0 to 1 as well.
pub(crate) fn calibrated(meaning: Option<f64>, words: Words) -> f64 {
    let half = if meaning.is_some() { HALF_BESIDE_MEANING } else { HALF };
    let meaning = meaning.unwrap_or_default();
    // Either may be proof enough; both together are more than each.
    1.0 - (1.0 - meaning) * (-words.proof() / half).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_words(coverage: f64, rare: f64) -> f64 {
        calibrated(None, Words { coverage, rare })
    }

    #[test]
    fn words_prove_by_their_share_and_by_their_number() {
        assert!(by_words(0.0, 0.0).abs() < f64::EPSILON);
        assert!(by_words(1.0, 0.6) < 0.5, "one common word, though it is all of the question");
        assert!(by_words(0.1, 2.0) < 0.5, "two rare words of very many");
        assert!(by_words(0.5, 2.0) > 0.5);
        assert!(by_words(1.0, 3.0) > 0.9);
    }

    #[test]
    fn meaning_and_words_are_more_together_and_words_count_less_where_meaning_is_far() {
        let words = Words { coverage: 0.5, rare: 1.5 };
        let both = calibrated(Some(0.5), words);
        assert!(both > calibrated(Some(0.5), Words::default()));
        assert!(both > calibrated(None, words));
        assert!(calibrated(Some(0.0), words) < calibrated(None, words));
        assert!(calibrated(Some(1.0), Words::default()) >= 1.0);
    }
}
