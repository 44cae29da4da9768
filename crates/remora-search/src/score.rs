//! Scores how well a record fits a query, on a scale that does not depend on other records.
//!
//! Ranks and BM25 only compare results with each other: the best of a bad set looks like the best of a good one. The
//! cosine, and the share of matching words, are absolute.

use crate::lexical::Weighed;

/// The amount of evidence by words that halves the remaining doubt, if there is no cosine.
const HALF: f64 = 0.8;
/// The same if there is a cosine. Words prove less then: a text that has the words but is far in meaning uses them
/// for something else.
const HALF_BESIDE_MEANING: f64 = 2.0;

/// How many of the query's words a record contains.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Words {
    /// Their share of the query, weighted by rarity.
    pub(crate) coverage: f64,
    /// Their number, weighted by rarity: a rare word counts as one, a common one much less.
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

    /// Combines share and number: one word can be all of a short query, and three can match by chance in a long one.
    fn proof(self) -> f64 {
        self.rare * self.coverage.max(0.0).sqrt()
    }
}

/// The score from 0 to 1; from about 0.5 on, a record is worth injecting. `meaning` is the closeness from 0 to 1.
pub(crate) fn calibrated(meaning: Option<f64>, words: Words) -> f64 {
    let half = if meaning.is_some() { HALF_BESIDE_MEANING } else { HALF };
    let meaning = meaning.unwrap_or_default();
    // Either can be enough; together they are more than each.
    1.0 - (1.0 - meaning) * (-words.proof() / half).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_words(coverage: f64, rare: f64) -> f64 {
        calibrated(None, Words { coverage, rare })
    }

    #[test]
    fn words_count_by_their_share_and_by_their_number() {
        assert!(by_words(0.0, 0.0).abs() < f64::EPSILON);
        assert!(by_words(1.0, 0.6) < 0.5, "one common word, though it is all of the question");
        assert!(by_words(0.1, 2.0) < 0.5, "two rare words of very many");
        assert!(by_words(0.5, 2.0) > 0.5);
        assert!(by_words(1.0, 3.0) > 0.9);
    }

    #[test]
    fn meaning_and_words_add_up_and_words_count_less_if_meaning_is_far() {
        let words = Words { coverage: 0.5, rare: 1.5 };
        let both = calibrated(Some(0.5), words);
        assert!(both > calibrated(Some(0.5), Words::default()));
        assert!(both > calibrated(None, words));
        assert!(calibrated(Some(0.0), words) < calibrated(None, words));
        assert!(calibrated(Some(1.0), Words::default()) >= 1.0);
    }
}
