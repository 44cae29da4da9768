//! Finds the nearest of many stored vectors by comparing with all of them: exact, without an index to maintain, and
//! as fast as memory can be read.

use crate::wide::{Kernel, soon, widest};

/// Vectors in memory are padded to a multiple of this with zeros, so that the innermost loop has no remainder.
const LANES: usize = 32;
/// Prefetch distance in bytes: four vectors of the built-in model.
const AHEAD: usize = 1_536;

/// Bytes that a vector with this many dimensions takes in a [`Scan`].
pub const fn stride(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// A vector to compare others with, as 16-bit integers: exact to the fourth decimal for any other vector.
#[derive(Debug, Clone)]
pub struct Query {
    scale: f32,
    /// Padded like the vectors it is compared with.
    values: Vec<i16>,
}

impl Query {
    #[expect(clippy::cast_possible_truncation, reason = "it was divided by the largest")]
    pub fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let scale = largest / f32::from(largest_step(vector.len()));
        let mut values: Vec<i16> =
            vector.iter().map(|value| (value / scale).round_ties_even() as i16).collect();
        values.resize(stride(vector.len()), 0);
        Self { scale, values }
    }

    /// The score of one vector, as a [`Scan`] computes it: `values` are padded to the [`stride`] of the query.
    pub fn score(&self, values: &[i8], scale: f32) -> f32 {
        widest(One { query: self, values }) * self.scale * scale
    }
}

struct One<'a> {
    query: &'a Query,
    values: &'a [i8],
}

impl Kernel for One<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f32 {
        product(self.query.values.as_chunks().0, self.values.as_chunks().0)
    }
}

/// The largest quantised value: as fine as 16 bits allow, but the sum of all products with bytes stays below 2^31.
fn largest_step(dimensions: usize) -> i16 {
    let most = i32::MAX / 128 / i32::try_from(dimensions.max(1)).unwrap_or(i32::MAX);
    i16::try_from(most).unwrap_or(i16::MAX).max(1)
}

/// A vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub index: usize,
    /// The cosine if both vectors have length 1.
    pub score: f32,
}

/// A search for the vectors nearest to `query`. `values` and `scales` are those of [`crate::StoredVector`], one after
/// the other, each padded with zeros to the [`stride`] of the query.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    pub query: &'a Query,
    pub values: &'a [i8],
    pub scales: &'a [f32],
    /// Number of vectors to find.
    pub count: usize,
    pub threads: usize,
}

impl Scan<'_> {
    /// The best of the vectors accepted by `keep`, best first; ties go to the lower index.
    pub fn best(self, keep: impl Fn(usize) -> bool + Sync) -> Vec<Hit> {
        let stride = self.query.values.len().max(1);
        let share = self.scales.len().div_ceil(self.threads.max(1)).max(1);
        let parts = || self.values.chunks(share * stride).zip(self.scales.chunks(share)).enumerate();
        let part = |(number, (values, scales))| {
            widest(Part {
                query: self.query,
                values,
                scales,
                count: self.count,
                first: number * share,
                keep: &keep,
            })
        };
        let mut found = std::thread::scope(|scope| {
            // This thread processes the first part.
            let others: Vec<_> = parts().skip(1).map(|of| scope.spawn(move || part(of))).collect();
            let mut found = parts().next().map(part).unwrap_or_default();
            for other in others {
                found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            found
        });
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        found.truncate(self.count);
        found
    }
}

struct Part<'a, Keep> {
    query: &'a Query,
    values: &'a [i8],
    scales: &'a [f32],
    count: usize,
    first: usize,
    keep: &'a Keep,
}

impl<Keep: Fn(usize) -> bool> Kernel for Part<'_, Keep> {
    type Output = Vec<Hit>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Vec<Hit> {
        let mut best: Vec<Hit> = Vec::with_capacity(self.count + 1);
        let mut least = f32::NEG_INFINITY;
        let (query, _) = self.query.values.as_chunks::<LANES>();
        let (values, _) = self.values.as_chunks::<LANES>();
        let vectors = values.chunks_exact(query.len().max(1)).zip(self.scales);
        for (index, (values, scale)) in (self.first..).zip(vectors) {
            if !(self.keep)(index) {
                continue;
            }
            soon(values.as_flattened(), AHEAD);
            let score = product(query, values) * self.query.scale * scale;
            if score <= least {
                continue;
            }
            let place = best.partition_point(|hit| hit.score >= score);
            best.insert(place, Hit { index, score });
            if best.len() > self.count {
                best.pop();
            }
            if best.len() == self.count {
                least = best.last().map_or(f32::INFINITY, |hit| hit.score);
            }
        }
        best
    }
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "seven digits are enough for a score")]
fn product(query: &[[i16; LANES]], values: &[[i8; LANES]]) -> f32 {
    let (query, values) = (query.as_flattened(), values.as_flattened());
    let mut sum = 0;
    for (query, value) in query.iter().zip(values) {
        sum += i32::from(*query) * i32::from(*value);
    }
    sum as f32
}
