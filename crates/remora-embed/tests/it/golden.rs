//! Sixty texts with their tokens and vectors from the original model.

use std::sync::LazyLock;

use remora_embed::{Embedder, MAX_TOKENS, Vector, tokens};
use serde_json::Value;

pub(crate) struct Case {
    pub(crate) text: String,
    tokens: Vec<u32>,
    pub(crate) vector: Vector,
}

pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let file: Value = serde_json::from_str(include_str!("../fixtures/minilm-reference.json")).unwrap();
    file["cases"].as_array().unwrap().iter().map(Case::read).collect()
});

impl Case {
    fn read(case: &Value) -> Self {
        let vector: Vec<f32> = serde_json::from_value(case["embedding"].clone()).unwrap();
        Self {
            text: case["text"].as_str().unwrap().to_owned(),
            tokens: serde_json::from_value(case["token_ids"].clone()).unwrap(),
            vector: vector.try_into().unwrap(),
        }
    }
}

pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let product =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

/// The ten nearest other texts for each text.
fn neighbours(vectors: &[Vector]) -> Vec<Vec<usize>> {
    let near = |of: usize| {
        let mut others: Vec<_> = (0..vectors.len()).filter(|other| *other != of).collect();
        others.sort_by(|a, b| {
            cosine(&vectors[of], &vectors[*b]).total_cmp(&cosine(&vectors[of], &vectors[*a]))
        });
        others.truncate(10);
        others
    };
    (0..vectors.len()).map(near).collect()
}

#[test]
fn every_text_has_the_tokens_of_the_reference() {
    for case in CASES.iter() {
        let mut found = tokens(&case.text);
        if found.len() > MAX_TOKENS {
            let end = found.pop().unwrap();
            found.truncate(MAX_TOKENS - 1);
            found.push(end);
        }
        assert_eq!(found, case.tokens, "{:?}", case.text);
    }
}

#[test]
fn every_vector_points_where_the_reference_does() {
    let mut embedder = Embedder::new();
    for case in CASES.iter() {
        let cosine = cosine(&embedder.embed(&case.text, MAX_TOKENS), &case.vector);
        assert!(cosine >= 0.999, "{cosine} for {:?}", case.text);
    }
}

#[test]
fn the_nearest_texts_are_those_of_the_reference() {
    let texts: Vec<_> = CASES.iter().map(|case| case.text.as_str()).collect();
    let ours = neighbours(&Embedder::new().embed_batch(&texts, MAX_TOKENS));
    let reference = neighbours(&CASES.iter().map(|case| case.vector).collect::<Vec<_>>());
    let pairs = || ours.iter().zip(&reference);
    assert!(pairs().all(|(ours, reference)| reference[..2].contains(&ours[0])), "the very nearest");
    let common: usize = pairs().map(|(a, b)| a.iter().filter(|index| b.contains(index)).count()).sum();
    assert!(common * 100 >= CASES.len() * 10 * 96, "{common} of {}", CASES.len() * 10);
}

#[test]
fn a_text_has_the_same_vector_alone_and_among_others() {
    let texts: Vec<_> = CASES.iter().map(|case| case.text.as_str()).collect();
    let mut embedder = Embedder::new();
    for max_tokens in [8, 48, MAX_TOKENS] {
        let together = embedder.embed_batch(&texts, max_tokens);
        assert_eq!(together.len(), texts.len());
        for (text, vector) in texts.iter().zip(together) {
            assert_eq!(embedder.embed(text, max_tokens), vector, "{text:?}");
        }
    }
    assert!(embedder.embed_batch(&[], MAX_TOKENS).is_empty());
}
