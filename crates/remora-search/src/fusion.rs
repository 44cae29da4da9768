//! One ranking of what words and meaning found.
//!
//! Neither arm is better everywhere: names and numbers are found by words, paraphrases by meaning. Their scores cannot
//! be added as they are, so each is told in units of its own spread: how far a document stands out from those the
//! question has nothing to do with. The arm in which something stands out further has more to say, question by
//! question, without anybody choosing: by its units, and by how much they weigh. The rest is the places in both lists,
//! because what both put first is rarely wrong.

use remora_core::ids::DocumentId;

use crate::closeness::Closeness;
use crate::resident::Background;

/// What the first places in both lists are worth together, in units of spread, and the share of it that is the words'.
const PLACES: f64 = 15.0;
const PLACES_BY_WORDS: f64 = 0.4;
/// How slowly places lose their worth: small, so that the first few count and the rest do not.
const FLATTENING: f64 = 3.0;
/// What words weigh when the best of both arms stand out alike, and how much more when theirs does by the whole.
const WEIGHT: f64 = 0.4;
const LEANING: f64 = 1.5;

/// A document one of the arms found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) document: DocumentId,
    pub(crate) lexical: Option<f64>,
    pub(crate) lexical_rank: Option<usize>,
    pub(crate) cosine: Option<f32>,
    pub(crate) semantic_rank: Option<usize>,
    /// What use adds to its rank; 0 without any feedback.
    pub(crate) used: f64,
    pub(crate) score: f64,
}

impl Candidate {
    pub(crate) fn new(document: DocumentId) -> Self {
        Self {
            document,
            lexical: None,
            lexical_rank: None,
            cosine: None,
            semantic_rank: None,
            used: 0.0,
            score: 0.0,
        }
    }
}

/// Gives every candidate its score, from 0 to 1 between the worst and the best, and says how much words counted.
pub(crate) fn fuse(
    candidates: &mut [Candidate],
    background: Option<Background>,
    closeness: Closeness,
) -> f64 {
    let words = Spread::of_words(candidates);
    let meaning = background.map(|background| Spread::of_meaning(background, closeness));
    let has_words = candidates.iter().any(|candidate| candidate.lexical.is_some());
    let (weight, places_by_words) = match (has_words, meaning) {
        (_, None) => (1.0, 1.0),
        (false, _) => (0.0, 0.0),
        (true, Some(meaning)) => (weight_of_words(candidates, words, meaning), PLACES_BY_WORDS),
    };
    let lexical = places(candidates, |candidate| (candidate.lexical_rank, candidate.lexical));
    let semantic = places(candidates, |candidate| (candidate.semantic_rank, candidate.cosine.map(f64::from)));
    for (candidate, (lexical, semantic)) in candidates.iter_mut().zip(lexical.into_iter().zip(semantic)) {
        let by_words = words.units(candidate.lexical.unwrap_or_default());
        let by_meaning = meaning
            .and_then(|meaning| candidate.cosine.map(|cosine| meaning.units(f64::from(cosine))))
            .unwrap_or_default();
        let places = places_by_words * place(lexical) + (1.0 - places_by_words) * place(semantic);
        candidate.score = weight * by_words + (1.0 - weight) * by_meaning + PLACES * places;
    }
    to_unit_range(candidates);
    weight
}

/// More where the best that words found stands out further than the best by meaning.
fn weight_of_words(candidates: &[Candidate], words: Spread, meaning: Spread) -> f64 {
    let best =
        |units: &dyn Fn(&Candidate) -> Option<f64>| candidates.iter().filter_map(units).fold(0.0, f64::max);
    let by_words = best(&|candidate| candidate.lexical.map(|score| words.units(score)));
    let by_meaning = best(&|candidate| candidate.cosine.map(|cosine| meaning.units(f64::from(cosine))));
    let share = if by_words + by_meaning > 0.0 { by_words / (by_words + by_meaning) } else { 0.5 };
    (WEIGHT + LEANING * (share - 0.5)).clamp(0.05, 0.95)
}

/// The places in one list, as they are when use counts too. Between the first and the second lies more than use may add,
/// and which of two that fit alike is first is chance; so use has its say before places are worth anything.
fn places(
    candidates: &[Candidate],
    of: impl Fn(&Candidate) -> (Option<usize>, Option<f64>),
) -> Vec<Option<usize>> {
    let mut places: Vec<Option<usize>> = candidates.iter().map(|candidate| of(candidate).0).collect();
    if candidates.iter().all(|candidate| candidate.used.abs() < f64::EPSILON) {
        return places;
    }
    let mut ranked: Vec<(usize, usize, f64)> = (0..)
        .zip(candidates)
        .filter_map(|(number, candidate)| match of(candidate) {
            (Some(rank), Some(score)) => Some((rank, number, score * (1.0 + candidate.used))),
            _ => None,
        })
        .collect();
    ranked.sort_unstable_by_key(|(rank, ..)| *rank);
    let ranks: Vec<usize> = ranked.iter().map(|(rank, ..)| *rank).collect();
    // Stable: hits that fit alike and were used alike keep their order.
    ranked.sort_by(|(.., a), (.., b)| b.total_cmp(a));
    for (rank, (_, number, _)) in ranks.into_iter().zip(ranked) {
        places[number] = Some(rank);
    }
    places
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred")]
fn place(rank: Option<usize>) -> f64 {
    rank.map_or(0.0, |rank| 1.0 / (FLATTENING + rank as f64))
}

/// So that what adds to a score later adds to all alike.
fn to_unit_range(candidates: &mut [Candidate]) {
    let (least, most) = candidates.iter().fold((f64::MAX, f64::MIN), |(least, most), candidate| {
        (least.min(candidate.score), most.max(candidate.score))
    });
    let range = most - least;
    for candidate in candidates {
        // One alone is the best, and even the worst was found.
        candidate.score = if range > 0.0 { 0.05 + 0.95 * (candidate.score - least) / range } else { 1.0 };
    }
}

#[derive(Debug, Clone, Copy)]
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// Over what words found, and one document more that has none of them: so that a single find stands out, too.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    fn of_words(candidates: &[Candidate]) -> Self {
        let scores = || candidates.iter().filter_map(|candidate| candidate.lexical);
        let count = scores().count() as f64 + 1.0;
        let mean = scores().sum::<f64>() / count;
        let squares = scores().map(|score| (score - mean).powi(2)).sum::<f64>() + mean * mean;
        Self { mean, deviation: (squares / count).sqrt().max(f64::MIN_POSITIVE) }
    }

    /// Over all of the project's documents.
    fn of_meaning(background: Background, closeness: Closeness) -> Self {
        // In a small memory that is all about one thing, nothing is far from anything.
        let deviation = f64::from(background.deviation).max(closeness.least_deviation);
        Self { mean: f64::from(background.mean), deviation }
    }

    fn units(self, value: f64) -> f64 {
        (value - self.mean) / self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: i64, lexical: Option<f64>, cosine: Option<f32>) -> Candidate {
        Candidate { lexical, cosine, ..Candidate::new(DocumentId(id)) }
    }

    fn order(mut candidates: Vec<Candidate>, background: Option<Background>) -> Vec<i64> {
        fuse(&mut candidates, background, Closeness::BUILTIN);
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        assert!(candidates.iter().all(|candidate| (0.0..=1.0).contains(&candidate.score)));
        candidates.into_iter().map(|candidate| candidate.document.0).collect()
    }

    const USUAL: Background = Background { mean: 0.1, deviation: 0.08 };

    #[test]
    fn the_arm_in_which_something_stands_out_decides() {
        let by_name = vec![
            candidate(1, Some(12.0), Some(0.2)),
            candidate(2, Some(1.0), Some(0.3)),
            candidate(3, Some(1.1), Some(0.25)),
            candidate(4, Some(0.9), Some(0.1)),
            candidate(5, Some(1.0), Some(0.1)),
            candidate(6, Some(1.0), Some(0.1)),
        ];
        assert_eq!(order(by_name, Some(USUAL))[0], 1);
        let by_meaning = vec![
            candidate(1, Some(2.0), Some(0.1)),
            candidate(2, Some(1.9), Some(0.15)),
            candidate(3, None, Some(0.7)),
        ];
        assert_eq!(order(by_meaning, Some(USUAL))[0], 3);
    }

    #[test]
    fn one_arm_alone_keeps_its_order() {
        let words =
            vec![candidate(1, Some(1.0), None), candidate(2, Some(3.0), None), candidate(3, Some(2.0), None)];
        assert_eq!(order(words, None), [2, 3, 1]);
        let meaning = vec![candidate(1, None, Some(0.2)), candidate(2, None, Some(0.5))];
        assert_eq!(order(meaning, Some(USUAL)), [2, 1]);
        assert_eq!(order(vec![candidate(1, Some(1.0), None)], None), [1]);
        assert_eq!(order(vec![], None), [0_i64; 0]);
    }

    /// Fits as well as the others, and has these places among words and by meaning.
    fn placed(id: i64, lexical_rank: usize, semantic_rank: usize) -> Candidate {
        let alike = candidate(id, Some(2.0), Some(0.5));
        Candidate { lexical_rank: Some(lexical_rank), semantic_rank: Some(semantic_rank), ..alike }
    }

    #[test]
    fn among_equals_the_places_in_both_lists_decide() {
        let first_by_meaning = vec![placed(1, 1, 2), placed(2, 2, 1)];
        assert_eq!(order(first_by_meaning, Some(USUAL)), [2, 1], "places by meaning count more");
        let first_by_words = vec![placed(1, 5, 4), placed(2, 1, 5)];
        assert_eq!(order(first_by_words, Some(USUAL)), [2, 1], "places by words count, too");
        let good_in_both = vec![placed(1, 1, 8), placed(2, 3, 3)];
        assert_eq!(order(good_in_both, Some(USUAL)), [2, 1], "one first place is not everything");
    }

    #[test]
    fn words_weigh_more_the_further_their_best_stands_out() {
        // A single find by words is one unit above the mean.
        let weight_at = |units: f32| {
            let cosine = USUAL.mean + units * USUAL.deviation;
            fuse(&mut [candidate(1, Some(2.0), Some(cosine))], Some(USUAL), Closeness::BUILTIN)
        };
        let [less, alike, more] = [2.0, 1.0, 0.5].map(weight_at);
        assert!((0.3..0.5).contains(&alike), "meaning is ahead where both stand out alike: {alike}");
        assert!(less < alike - 0.1 && more > alike + 0.1, "{less} {alike} {more}");
    }
}
