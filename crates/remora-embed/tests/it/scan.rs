//! Search among stored vectors.

use proptest::prelude::*;
use remora_embed::{DIMENSIONS, Hit, Query, Scan, StoredVector, dot, stride};

use crate::golden::{CASES, cosine};

fn vector(seed: u64, dimensions: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(i16::try_from(state >> 49).unwrap()) - 16_383.5
    };
    let vector: Vec<f32> = (0..dimensions).map(|_| next()).collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}

fn unpacked(stored: &StoredVector) -> Vec<f32> {
    stored.values.iter().map(|value| f32::from(*value) * stored.scale).collect()
}

/// The vectors one after the other, padded.
fn packed(stored: &[StoredVector], dimensions: usize) -> (Vec<i8>, Vec<f32>) {
    let mut values = Vec::new();
    for vector in stored {
        values.extend(&vector.values);
        values.resize(values.len() + stride(dimensions) - dimensions, 0);
    }
    (values, stored.iter().map(|stored| stored.scale).collect())
}

#[test]
fn a_stored_vector_of_a_text_moves_by_less_than_a_degree() {
    for case in CASES.iter() {
        let stored = StoredVector::new(&case.vector);
        let degrees = cosine(&unpacked(&stored), &case.vector).acos().to_degrees();
        assert!(degrees < 1.0, "{degrees} for {:?}", case.text);
    }
}

#[test]
fn a_zero_vector_is_stored_as_zero() {
    let stored = StoredVector::new(&[0.0; DIMENSIONS]);
    assert_eq!(stored, StoredVector { scale: 0.0, values: vec![0; DIMENSIONS] });
    assert!(dot(&vector(1, DIMENSIONS), &stored).abs() < f32::EPSILON);
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    for (dimensions, tolerance) in [(1, 0.1), (384, 1.0), (1_024, 10.0), (8_192, 600.0)] {
        let (query, width) = (Query::new(&vec![1.0; dimensions]), stride(dimensions));
        let values = [vec![127; width], vec![-128; width]].concat();
        let scan = Scan { query: &query, values: &values, scales: &[1.0, 1.0], count: 2, threads: 1 };
        let scores: Vec<f32> = scan.best(|_| true).iter().map(|hit| hit.score).collect();
        let expected = f32::from(i16::try_from(dimensions).unwrap());
        for (score, expected) in scores.iter().zip([127.0 * expected, -128.0 * expected]) {
            assert!((score - expected).abs() < tolerance, "{scores:?} of {dimensions}");
        }
    }
}

#[test]
fn vectors_of_the_built_in_model_need_no_padding() {
    assert_eq!(stride(DIMENSIONS), DIMENSIONS);
}

proptest! {
    #[test]
    fn a_scan_finds_the_same_as_comparing_one_by_one(
        seed: u64, size in 0_u64..300, count in 0_usize..20, threads in 0_usize..5, skipped in 1_usize..5,
        dimensions in prop_oneof![Just(DIMENSIONS), Just(1_024), 1_usize..2_000],
    ) {
        let query = vector(seed, dimensions);
        let stored: Vec<_> =
            (1..=size).map(|i| StoredVector::new(&vector(seed.wrapping_add(i), dimensions))).collect();
        let (values, scales) = packed(&stored, dimensions);
        let keep = |index: usize| skipped == 1 || !index.is_multiple_of(skipped);

        let mut naive: Vec<_> = stored.iter().map(|stored| dot(&query, stored)).enumerate().collect();
        naive.retain(|(index, _)| keep(*index));
        naive.sort_by(|a, b| b.1.total_cmp(&a.1));
        naive.truncate(count);

        let query = Query::new(&query);
        let found = Scan { query: &query, values: &values, scales: &scales, count, threads }.best(keep);
        prop_assert_eq!(found.len(), naive.len());
        for (Hit { index, score }, (_, expected)) in found.iter().zip(&naive) {
            // Vectors at the same distance may come in either order.
            prop_assert!((score - expected).abs() < 1e-4, "{} instead of {}", score, expected);
            prop_assert!(keep(*index));
            let vector = &values[index * stride(dimensions)..][..stride(dimensions)];
            prop_assert_eq!(query.score(vector, scales[*index]).to_bits(), score.to_bits());
        }
    }

    #[test]
    fn ties_go_to_the_lower_index(size in 1_usize..50, threads in 1_usize..4) {
        let stored = vec![StoredVector::new(&vector(3, DIMENSIONS)); size];
        let (values, scales) = packed(&stored, DIMENSIONS);
        let query = Query::new(&vector(4, DIMENSIONS));
        let found = Scan { query: &query, values: &values, scales: &scales, count: 5, threads }.best(|_| true);
        let indices: Vec<_> = found.iter().map(|hit| hit.index).collect();
        prop_assert_eq!(indices, (0..size.min(5)).collect::<Vec<_>>());
    }
}
