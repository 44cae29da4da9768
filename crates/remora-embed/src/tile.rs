//! The innermost loop: a few rows of activations by sixteen outputs of a matrix, in integers.
//!
//! Weights are bytes. Activations are 16-bit integers, precise enough not to affect the result. The sum over a block
//! of 32 inputs is exact and fits into 32 bits (32 * 127 * 32,767 is a sixteenth of the range); only then is it
//! multiplied by the block's scale. Both functions here give bit-identical results.

use crate::DIMENSIONS;
use crate::weights::{BLOCK, PANEL};

/// Number of inputs multiplied at a time: their part of a panel stays in the L1 cache.
pub(crate) const DEPTH: usize = DIMENSIONS;
const BLOCKS: usize = DEPTH / BLOCK;
const PAIRS: usize = BLOCK / 2;

/// A part of a row of activations, in blocks of pairs.
pub(crate) type Row = [[[i16; 2]; PAIRS]; BLOCKS];

/// One number for each of the 16 outputs of a panel, in halves that fit a register.
pub(crate) type Sums = [[f32; PANEL / 2]; 2];

/// The weights of 16 outputs for `DEPTH` inputs, in blocks of pairs of inputs.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) weights: [[[[i16; PANEL]; 2]; PAIRS]; BLOCKS],
    pub(crate) scales: [Sums; BLOCKS],
}

impl Panel {
    pub(crate) const EMPTY: Self =
        Self { weights: [[[[0; PANEL]; 2]; PAIRS]; BLOCKS], scales: [[[0.0; PANEL / 2]; 2]; BLOCKS] };
}

/// The 16 outputs for each row.
pub(crate) fn tile<const ROWS: usize>(rows: [&Row; ROWS], panel: &Panel) -> [Sums; ROWS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(
            unsafe_code,
            reason = "twice as fast as floating-point numbers, and the compiler does not find it"
        )]
        // SAFETY: the function requires only the feature that was just detected.
        return unsafe { avx2::tile(rows, panel) };
    }
    plain(rows, panel)
}

fn plain<const ROWS: usize>(rows: [&Row; ROWS], panel: &Panel) -> [Sums; ROWS] {
    let mut totals = [[[0.0; PANEL / 2]; 2]; ROWS];
    for (block, (weights, scales)) in panel.weights.iter().zip(&panel.scales).enumerate() {
        let weights = by_output(weights);
        for (row, totals) in rows.iter().zip(&mut totals) {
            let scaled = totals.as_flattened_mut().iter_mut().zip(scales.as_flattened());
            for ((total, scale), weights) in scaled.zip(&weights) {
                *total += product(&row[block], weights) * scale;
            }
        }
    }
    totals
}

/// Puts each output's weights side by side, because compilers vectorise such a product.
fn by_output(weights: &[[[i16; PANEL]; 2]; PAIRS]) -> [[[i16; 2]; PAIRS]; PANEL] {
    let mut outputs = [[[0; 2]; PAIRS]; PANEL];
    for (pair, weights) in weights.iter().enumerate() {
        for (output, weights) in outputs.iter_mut().zip(weights.as_flattened().as_chunks().0) {
            output[pair] = *weights;
        }
    }
    outputs
}

/// Never inlined: if the compiler sees the surrounding loops, it vectorises the wrong one.
#[inline(never)]
#[expect(clippy::cast_precision_loss, reason = "rounded as the vector instruction rounds")]
fn product(activations: &[[i16; 2]; PAIRS], weights: &[[i16; 2]; PAIRS]) -> f32 {
    let mut sum = 0;
    for (activation, weight) in activations.as_flattened().iter().zip(weights.as_flattened()) {
        sum += i32::from(*activation) * i32::from(*weight);
    }
    sum as f32
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! No pointers: arrays are split and joined in ways that the compiler turns into a single load or store.

    use std::arch::x86_64::{
        __m256, __m256i, _mm256_add_epi32, _mm256_add_ps, _mm256_castps_si256, _mm256_cvtepi32_ps,
        _mm256_extract_epi32, _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi32, _mm256_setr_epi64x,
        _mm256_setr_ps, _mm256_setzero_ps, _mm256_setzero_si256,
    };

    use super::{BLOCKS, PAIRS, Panel, Row, Sums};

    #[target_feature(enable = "avx2")]
    #[expect(
        clippy::needless_range_loop,
        reason = "rows and weights are walked side by side, two levels deep"
    )]
    pub(super) fn tile<const ROWS: usize>(rows: [&Row; ROWS], panel: &Panel) -> [Sums; ROWS] {
        let mut totals = [[_mm256_setzero_ps(); 2]; ROWS];
        for block in 0..BLOCKS {
            let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
            for pair in 0..PAIRS {
                let weights = panel.weights[block][pair].map(|half| sixteen(half));
                for i in 0..ROWS {
                    let activations = repeated(rows[i][block][pair]);
                    for half in 0..2 {
                        let products = _mm256_madd_epi16(activations, weights[half]);
                        sums[i][half] = _mm256_add_epi32(sums[i][half], products);
                    }
                }
            }
            let scales = panel.scales[block].map(|half| floats(half));
            for i in 0..ROWS {
                for half in 0..2 {
                    let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i][half]), scales[half]);
                    totals[i][half] = _mm256_add_ps(totals[i][half], scaled);
                }
            }
        }
        totals.map(|halves| halves.map(|half| array(half)))
    }

    /// Repeats one pair in every position.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn repeated([first, second]: [i16; 2]) -> __m256i {
        _mm256_set1_epi32(i32::from(first.cast_unsigned()) | i32::from(second) << 16)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sixteen(numbers: [i16; 16]) -> __m256i {
        let four = |at: usize| {
            let number = |i: usize| i64::from(numbers[at + i].cast_unsigned()) << (16 * i);
            number(0) | number(1) | number(2) | number(3)
        };
        _mm256_setr_epi64x(four(0), four(4), four(8), four(12))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn floats(floats: [f32; 8]) -> __m256 {
        let [first, second, third, fourth, fifth, sixth, seventh, eighth] = floats;
        _mm256_setr_ps(first, second, third, fourth, fifth, sixth, seventh, eighth)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn array(floats: __m256) -> [f32; 8] {
        let bits = _mm256_castps_si256(floats);
        let bits = [
            _mm256_extract_epi32::<0>(bits),
            _mm256_extract_epi32::<1>(bits),
            _mm256_extract_epi32::<2>(bits),
            _mm256_extract_epi32::<3>(bits),
            _mm256_extract_epi32::<4>(bits),
            _mm256_extract_epi32::<5>(bits),
            _mm256_extract_epi32::<6>(bits),
            _mm256_extract_epi32::<7>(bits),
        ];
        bits.map(|bits| f32::from_bits(bits.cast_unsigned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(seed: u64) -> impl FnMut() -> i16 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The extremes are as likely as all other values together.
            match state >> 62 {
                0 => i16::MAX,
                1 => -i16::MAX,
                _ => (state >> 40).to_le_bytes().first_chunk().copied().map_or(0, i16::from_le_bytes),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn vector_and_plain_code_give_the_same_result(seed: u64) {
            let mut next = numbers(seed);
            let rows: [Row; 6] = std::array::from_fn(|_| [(); BLOCKS].map(|()| [(); PAIRS].map(|()| [next(), next()])));
            let mut panel = Panel::EMPTY;
            for weight in panel.weights.as_flattened_mut().as_flattened_mut().as_flattened_mut() {
                *weight = next() / 258;
            }
            for scale in panel.scales.as_flattened_mut().as_flattened_mut() {
                *scale = f32::from(next()) * 1e-7;
            }
            let [a, b, c, d, e, f] = &rows;
            prop_assert_eq!(tile([a, b, c, d, e, f], &panel), plain([a, b, c, d, e, f], &panel));
            prop_assert_eq!(tile([a, b, c, d], &panel), plain([a, b, c, d], &panel));
            prop_assert_eq!(tile([a], &panel), plain([a], &panel));
        }
    }
}
