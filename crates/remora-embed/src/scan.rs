//! The nearest of many stored vectors, by comparing with every one of them: exact, without an index to maintain, and
//! as fast as memory is read.

use crate::wide::{Kernel, widest};
use crate::{DIMENSIONS, Vector};

/// A vector to compare others with, as 16-bit numbers: exact to the fourth decimal, whatever it is compared with.
#[derive(Debug, Clone)]
pub struct Query {
    scale: f32,
    values: [i16; DIMENSIONS],
}

impl Query {
    #[expect(clippy::cast_possible_truncation, reason = "it was divided by the largest")]
    pub fn new(vector: &Vector) -> Self {
        let largest = vector.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        // The sum of 384 products with bytes stays below 2^31.
        let scale = largest / f32::from(i16::MAX);
        Self { scale, values: vector.map(|value| (value / scale).round_ties_even() as i16) }
    }
}

/// A vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub index: usize,
    /// The cosine, when both vectors had length 1.
    pub score: f32,
}

/// What to compare with what. `values` and `scales` are those of [`crate::StoredVector`], one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    pub query: &'a Query,
    pub values: &'a [[i8; DIMENSIONS]],
    pub scales: &'a [f32],
    /// How many to find.
    pub count: usize,
    pub threads: usize,
}

impl Scan<'_> {
    /// The best of those that `keep` lets pass, best first; of equals the first.
    pub fn best(self, keep: impl Fn(usize) -> bool + Sync) -> Vec<Hit> {
        let share = self.values.len().div_ceil(self.threads.max(1)).max(1);
        let parts = || self.values.chunks(share).zip(self.scales.chunks(share)).enumerate();
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
            // The first part is this thread's own.
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
    values: &'a [[i8; DIMENSIONS]],
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
        for (index, (values, scale)) in (self.first..).zip(self.values.iter().zip(self.scales)) {
            if !(self.keep)(index) {
                continue;
            }
            let score = product(&self.query.values, values) * self.query.scale * scale;
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
fn product(query: &[i16; DIMENSIONS], values: &[i8; DIMENSIONS]) -> f32 {
    let mut sum = 0;
    for (query, value) in query.iter().zip(values) {
        sum += i32::from(*query) * i32::from(*value);
    }
    sum as f32
}
