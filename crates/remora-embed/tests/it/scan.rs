//! Finding among stored vectors.

use proptest::prelude::*;
use remora_embed::{DIMENSIONS, Hit, Query, STORED_BYTES, Scan, StoredVector, Vector, dot};

use crate::golden::{CASES, cosine};

fn vector(seed: u64) -> Vector {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(i16::try_from(state >> 49).unwrap()) - 16_383.5
    };
    let vector: Vector = std::array::from_fn(|_| next());
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.map(|value| value / length)
}

fn unpacked(stored: &StoredVector) -> Vector {
    stored.values.map(|value| f32::from(value) * stored.scale)
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
fn a_stored_vector_comes_back_from_its_bytes() {
    let stored = StoredVector::new(&vector(7));
    let bytes = stored.to_bytes();
    assert_eq!(bytes.len(), STORED_BYTES);
    assert_eq!(StoredVector::from_bytes(&bytes), Some(stored));
    assert_eq!(StoredVector::from_bytes(&bytes[1..]), None);
    assert_eq!(StoredVector::from_bytes(&[]), None);
    assert_eq!(StoredVector::from_bytes(&[0xff; STORED_BYTES]), None, "a scale that is no number");
}

#[test]
fn nothing_is_stored_as_nothing() {
    let stored = StoredVector::new(&[0.0; DIMENSIONS]);
    assert_eq!(stored, StoredVector { scale: 0.0, values: [0; DIMENSIONS] });
    assert!(dot(&vector(1), &stored).abs() < f32::EPSILON);
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let query = Query::new(&[1.0; DIMENSIONS]);
    let scan = Scan {
        query: &query,
        values: &[[127; DIMENSIONS], [-128; DIMENSIONS]],
        scales: &[1.0, 1.0],
        count: 2,
        threads: 1,
    };
    let scores = scan.best(|_| true).iter().map(|hit| hit.score.round()).collect::<Vec<_>>();
    assert_eq!(scores, [127.0 * 384.0, -128.0 * 384.0]);
}

proptest! {
    #[test]
    fn a_scan_finds_what_comparing_one_by_one_finds(
        seed: u64, size in 0_u64..300, count in 0_usize..20, threads in 0_usize..5, skipped in 1_usize..5,
    ) {
        let query = vector(seed);
        let stored: Vec<_> = (1..=size).map(|i| StoredVector::new(&vector(seed.wrapping_add(i)))).collect();
        let values: Vec<_> = stored.iter().map(|stored| stored.values).collect();
        let scales: Vec<_> = stored.iter().map(|stored| stored.scale).collect();
        let keep = |index: usize| skipped == 1 || !index.is_multiple_of(skipped);

        let mut naive: Vec<_> = stored.iter().map(|stored| dot(&query, stored)).enumerate().collect();
        naive.retain(|(index, _)| keep(*index));
        naive.sort_by(|a, b| b.1.total_cmp(&a.1));
        naive.truncate(count);

        let query = Query::new(&query);
        let found = Scan { query: &query, values: &values, scales: &scales, count, threads }.best(keep);
        prop_assert_eq!(found.len(), naive.len());
        for (Hit { index, score }, (_, expected)) in found.iter().zip(&naive) {
            // Two that are equally near may come in either order.
            prop_assert!((score - expected).abs() < 1e-4, "{} instead of {}", score, expected);
            prop_assert!(keep(*index));
        }
    }

    #[test]
    fn of_equals_the_first_is_found(size in 1_usize..50, threads in 1_usize..4) {
        let stored = StoredVector::new(&vector(3));
        let values = vec![stored.values; size];
        let scales = vec![stored.scale; size];
        let query = Query::new(&vector(4));
        let found = Scan { query: &query, values: &values, scales: &scales, count: 5, threads }.best(|_| true);
        let indices: Vec<_> = found.iter().map(|hit| hit.index).collect();
        prop_assert_eq!(indices, (0..size.min(5)).collect::<Vec<_>>());
    }
}
