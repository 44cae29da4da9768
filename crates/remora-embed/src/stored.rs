//! A document's vector as it is stored: one byte a number.

use crate::{DIMENSIONS, Vector};

/// How many bytes a stored vector takes.
pub const STORED_BYTES: usize = 4 + DIMENSIONS;

/// A vector in 388 bytes instead of 1,536: `values` times `scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredVector {
    pub scale: f32,
    pub values: [i8; DIMENSIONS],
}

impl StoredVector {
    /// Rounds to 127 steps to either side. The vector of a text moves by less than a degree.
    pub fn new(vector: &Vector) -> Self {
        let largest = vector.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        if largest == 0.0 {
            return Self { scale: 0.0, values: [0; DIMENSIONS] };
        }
        let scale = largest / f32::from(i8::MAX);
        Self { scale, values: vector.map(|value| step(value / scale)) }
    }

    pub fn to_bytes(&self) -> [u8; STORED_BYTES] {
        let mut bytes = [0; STORED_BYTES];
        let (scale, values) = bytes.split_at_mut(4);
        scale.copy_from_slice(&self.scale.to_le_bytes());
        for (byte, value) in values.iter_mut().zip(self.values) {
            *byte = value.cast_unsigned();
        }
        bytes
    }

    /// `None` for bytes that `to_bytes` never wrote: another length, or a scale that is no number.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk()?;
        let values: &[u8; DIMENSIONS] = values.try_into().ok()?;
        let scale = f32::from_le_bytes(*scale);
        (scale.is_finite() && scale >= 0.0).then(|| Self { scale, values: values.map(u8::cast_signed) })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it was divided by the largest")]
fn step(value: f32) -> i8 {
    value.round_ties_even() as i8
}

/// How alike a text and a stored one are: 1 for the same direction, 0 for none in common.
pub fn dot(query: &Vector, stored: &StoredVector) -> f32 {
    stored.scale * query.iter().zip(stored.values).map(|(query, value)| query * f32::from(value)).sum::<f32>()
}
