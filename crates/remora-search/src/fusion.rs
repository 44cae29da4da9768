//! Merges the results by words and by meaning into one ranking.
//!
//! Neither arm is better everywhere: names and numbers are found by words, paraphrases by meaning. Their scores have
//! different scales, so each is converted into units of its own standard deviation: how far a document stands out
//! from unrelated ones. The arm whose best document stands out further also gets more weight. The weights are computed for each query.
//! The ranks in both lists are added, because a document that both put first is rarely wrong.

use remora_core::ids::DocumentId;

use crate::closeness::Closeness;
use crate::resident::Background;

/// Weight of the ranks relative to units of deviation, and the share of it that ranks by words get.
const PLACES: f64 = 15.0;
const PLACES_BY_WORDS: f64 = 0.4;
/// How slowly a rank loses its value. Small, so that only the first few ranks count.
const FLATTENING: f64 = 3.0;
/// Weight of words if the best documents of both arms stand out equally, and how strongly it shifts towards the arm
/// that stands out further.
const WEIGHT: f64 = 0.4;
const LEANING: f64 = 1.5;
/// Weight of words for a query in a language that the model does not know.
const FOREIGN_WEIGHT: f64 = 0.95;

/// A document found by at least one arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) document: DocumentId,
    pub(crate) lexical: Option<f64>,
    pub(crate) lexical_rank: Option<usize>,
    pub(crate) cosine: Option<f32>,
    pub(crate) semantic_rank: Option<usize>,
    /// Bonus for past use; 0 without feedback.
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

/// Sets the score of every candidate, from 0.05 for the worst to 1 for the best. Returns the weight of words.
///
/// If the model does not know the query's language, its cosines only order documents among which words do not decide.
pub(crate) fn fuse(
    candidates: &mut [Candidate],
    background: Option<Background>,
    closeness: Closeness,
    knows_language: bool,
) -> f64 {
    let words = Spread::of_words(candidates);
    let meaning = background.map(|background| Spread::of_meaning(background, closeness));
    let has_words = candidates.iter().any(|candidate| candidate.lexical.is_some());
    let (weight, places_by_words) = match (has_words, meaning) {
        (_, None) => (1.0, 1.0),
        (false, _) => (0.0, 0.0),
        (true, Some(_)) if !knows_language => (FOREIGN_WEIGHT, 1.0),
        (true, Some(meaning)) => (weight_of_words(candidates, words, meaning), PLACES_BY_WORDS),
    };
    let lexical = places(candidates, |candidate| (candidate.lexical_rank, candidate.lexical));
    let semantic = places(candidates, |candidate| (candidate.semantic_rank, candidate.cosine.map(f64::from)));
    for (candidate, (lexical, semantic)) in candidates.iter_mut().zip(lexical.into_iter().zip(semantic)) {
        let by_words = words.units(candidate.lexical.unwrap_or_default());
        // A new record has no vector for a moment. Until then, its words also stand for its meaning.
        let (by_meaning, semantic) = match (meaning, candidate.cosine) {
            (Some(meaning), Some(cosine)) => (meaning.units(f64::from(cosine)), semantic),
            (Some(_), None) => (by_words, lexical),
            (None, _) => (0.0, None),
        };
        let places = places_by_words * place(lexical) + (1.0 - places_by_words) * place(semantic);
        candidate.score = weight * by_words + (1.0 - weight) * by_meaning + PLACES * places;
    }
    to_unit_range(candidates);
    weight
}

/// The weight of words: higher if their best document stands out further than the best by meaning.
fn weight_of_words(candidates: &[Candidate], words: Spread, meaning: Spread) -> f64 {
    let best =
        |units: &dyn Fn(&Candidate) -> Option<f64>| candidates.iter().filter_map(units).fold(0.0, f64::max);
    let by_words = best(&|candidate| candidate.lexical.map(|score| words.units(score)));
    let by_meaning = best(&|candidate| candidate.cosine.map(|cosine| meaning.units(f64::from(cosine))));
    let share = if by_words + by_meaning > 0.0 { by_words / (by_words + by_meaning) } else { 0.5 };
    (WEIGHT + LEANING * (share - 0.5)).clamp(0.05, 0.95)
}

/// The ranks in one list after past use is taken into account. The gap between the first two ranks is larger than the
/// bonus for use, and the order of two equal documents is arbitrary; so use reorders the list before ranks are
/// valued.
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

/// Scales all scores to one range, so that later factors have the same effect on every query.
fn to_unit_range(candidates: &mut [Candidate]) {
    let (least, most) = candidates.iter().fold((f64::MAX, f64::MIN), |(least, most), candidate| {
        (least.min(candidate.score), most.max(candidate.score))
    });
    let range = most - least;
    for candidate in candidates {
        // A single candidate is the best. The worst keeps a positive score: it was found, too.
        candidate.score = if range > 0.0 { 0.05 + 0.95 * (candidate.score - least) / range } else { 1.0 };
    }
}

#[derive(Debug, Clone, Copy)]
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// Over the documents that words found, plus one without any word, so that a single result stands out, too.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    fn of_words(candidates: &[Candidate]) -> Self {
        let scores: Vec<f64> = candidates.iter().filter_map(|candidate| candidate.lexical).collect();
        let count = scores.len() as f64 + 1.0;
        let mean = scores.iter().sum::<f64>() / count;
        let squares = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() + mean * mean;
        Self { mean, deviation: (squares / count).sqrt().max(f64::MIN_POSITIVE) }
    }

    /// Over a sample of all documents in scope.
    fn of_meaning(background: Background, closeness: Closeness) -> Self {
        // In a small memory about one topic, all cosines are similar.
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
        fuse(&mut candidates, background, Closeness::BUILTIN, true);
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        assert!(candidates.iter().all(|candidate| (0.0..=1.0).contains(&candidate.score)));
        candidates.into_iter().map(|candidate| candidate.document.0).collect()
    }

    const USUAL: Background = Background { mean: 0.1, deviation: 0.08 };

    #[test]
    fn the_arm_with_an_outstanding_document_decides() {
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
        let both_near = vec![candidate(1, Some(2.0), Some(0.42)), candidate(2, None, Some(0.5))];
        assert_eq!(order(both_near, Some(USUAL))[0], 2, "words count little if meaning stands out");
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

    /// A candidate that fits as well as the others, with these ranks by words and by meaning.
    fn placed(id: i64, lexical_rank: usize, semantic_rank: usize) -> Candidate {
        let alike = candidate(id, Some(2.0), Some(0.5));
        Candidate { lexical_rank: Some(lexical_rank), semantic_rank: Some(semantic_rank), ..alike }
    }

    #[test]
    fn among_equals_the_ranks_in_both_lists_decide() {
        let first_by_meaning = vec![placed(1, 1, 2), placed(2, 2, 1)];
        assert_eq!(order(first_by_meaning, Some(USUAL)), [2, 1], "ranks by meaning count more");
        let first_by_words = vec![placed(1, 5, 4), placed(2, 1, 5)];
        assert_eq!(order(first_by_words, Some(USUAL)), [2, 1], "ranks by words count, too");
        let good_in_both = vec![placed(1, 1, 8), placed(2, 3, 3)];
        assert_eq!(order(good_in_both, Some(USUAL)), [2, 1], "one first place is not everything");
    }

    #[test]
    fn a_better_rank_by_words_makes_up_for_less_than_one_unit_of_meaning() {
        // The first is the nearest by meaning, the second the first by words.
        let first = |units: f32| {
            let nearer = Candidate { cosine: Some(0.5 + units * USUAL.deviation), ..placed(1, 20, 1) };
            order(vec![nearer, placed(2, 1, 2)], Some(USUAL))[0]
        };
        assert_eq!((first(0.6), first(1.2)), (2, 1));
    }

    #[test]
    fn words_weigh_more_the_further_their_best_stands_out() {
        // A single result by words is one unit above the mean.
        let weight_at = |units: f32| {
            let cosine = USUAL.mean + units * USUAL.deviation;
            fuse(&mut [candidate(1, Some(2.0), Some(cosine))], Some(USUAL), Closeness::BUILTIN, true)
        };
        let [less, alike, more] = [2.0, 1.0, 0.5].map(weight_at);
        assert!((0.3..0.5).contains(&alike), "meaning weighs more if both stand out equally: {alike}");
        assert!((0.1..0.2).contains(&less), "{less}");
        assert!((0.6..0.7).contains(&more), "{more}");
        assert!(weight_at(50.0) > 0.01 && weight_at(0.01) < 0.99, "no arm decides alone");
    }

    #[test]
    fn cosines_that_are_all_alike_do_not_stand_out() {
        let one_topic = Background { mean: 0.4, deviation: 0.001 };
        let named = candidate(1, Some(9.0), Some(0.4));
        let near = candidate(2, Some(1.0), Some(0.41));
        assert_eq!(order(vec![near, named], Some(one_topic))[0], 1);
    }

    #[test]
    fn a_record_without_a_vector_is_judged_by_its_words() {
        let mut new = candidate(1, Some(9.0), None);
        new.lexical_rank = Some(1);
        let near =
            |id, rank, cosine| Candidate { semantic_rank: Some(rank), ..candidate(id, None, Some(cosine)) };
        assert_eq!(order(vec![near(2, 1, 0.3), near(3, 2, 0.28), new], Some(USUAL))[0], 1);
    }

    #[test]
    fn words_decide_if_the_model_does_not_know_the_language() {
        let named =
            Candidate { lexical_rank: Some(1), semantic_rank: Some(9), ..candidate(1, Some(9.0), Some(0.1)) };
        let near = Candidate { semantic_rank: Some(1), ..candidate(2, None, Some(0.6)) };
        let first = |knows_language| {
            let mut both = [near, named];
            fuse(&mut both, Some(USUAL), Closeness::BUILTIN, knows_language);
            both.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).map(|best| best.document.0)
        };
        assert_eq!((first(true), first(false)), (Some(2), Some(1)));
    }

    #[test]
    fn meaning_decides_in_an_unknown_language_only_among_those_that_fit_alike_by_words() {
        let first = |a: Candidate, b: Candidate| {
            let mut both = [a, b];
            fuse(&mut both, Some(USUAL), Closeness::BUILTIN, false);
            both.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).map(|best| best.document.0)
        };
        let ranked = |rank, candidate| Candidate { lexical_rank: Some(rank), ..candidate };
        let named = ranked(1, candidate(1, Some(9.0), Some(0.1)));
        let near = ranked(2, candidate(2, Some(1.0), Some(0.7)));
        let near = Candidate { semantic_rank: Some(1), ..near };
        assert_eq!(first(named, near), Some(1));
        let [far, near] =
            [(3, 0.1), (4, 0.7)].map(|(id, cosine)| ranked(1, candidate(id, Some(9.0), Some(cosine))));
        assert_eq!(first(near, far), Some(4));
    }
}
