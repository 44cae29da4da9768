//! The storage format of a document's vector: one byte per dimension.

/// A vector at a quarter of its size: `values` times `scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredVector {
    pub scale: f32,
    pub values: Vec<i8>,
}

impl StoredVector {
    /// Rounds to 127 steps in each direction. The vector of a text moves by less than a degree.
    pub fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        if largest == 0.0 {
            return Self { scale: 0.0, values: vec![0; vector.len()] };
        }
        let scale = largest / f32::from(i8::MAX);
        Self { scale, values: vector.iter().map(|value| step(value / scale)).collect() }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it was divided by the largest")]
fn step(value: f32) -> i8 {
    value.round_ties_even() as i8
}

/// The similarity of a text and a stored one: 1 for the same direction, 0 for unrelated directions.
pub fn dot(query: &[f32], stored: &StoredVector) -> f32 {
    let products = query.iter().zip(&stored.values).map(|(query, value)| query * f32::from(*value));
    stored.scale * products.sum::<f32>()
}
