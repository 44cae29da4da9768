//! Operations on single values and rows, between the matrix products.
//!
//! The functions of the math library take one value at a time; these are written so that the compiler computes eight
//! at once.

use crate::weights::Norm;
use crate::wide::{Kernel, multiply_add};

const LANES: usize = 16;
/// Adding this leaves the nearest integer in the lowest bits.
const SHIFT: f32 = 12_582_912.0;

/// GELU, in its exact form with the error function.
#[derive(Debug)]
pub(crate) struct Gelu<'a>(pub(crate) &'a mut [f32]);

impl Kernel for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for value in self.0 {
            *value = 0.5 * *value * (1.0 + erf::<FUSED>(*value * std::f32::consts::FRAC_1_SQRT_2));
        }
    }
}

/// Normalises each row to mean 0 and variance 1, then applies gain and bias.
#[derive(Debug)]
pub(crate) struct Normalise<'a> {
    pub(crate) rows: &'a mut [f32],
    pub(crate) norm: &'a Norm,
}

impl Kernel for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "a row has 384 values")]
    fn run<const FUSED: bool>(self) {
        let width = self.norm.gain.len();
        for row in self.rows.chunks_exact_mut(width) {
            let mean = sum(row, |value| value) / width as f32;
            let variance = sum(row, |value| (value - mean) * (value - mean)) / width as f32;
            let factor = 1.0 / (variance + 1e-12).sqrt();
            for ((value, gain), bias) in row.iter_mut().zip(&self.norm.gain).zip(&self.norm.bias) {
                *value = (*value - mean) * factor * gain + bias;
            }
        }
    }
}

/// Rows as 16-bit integers, with a scale for each row.
#[derive(Debug, Default)]
pub(crate) struct Rounded {
    pub(crate) values: Vec<i16>,
    pub(crate) scales: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Round<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) width: usize,
    pub(crate) rounded: &'a mut Rounded,
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
    fn run<const FUSED: bool>(self) {
        let Rounded { values, scales } = self.rounded;
        values.resize(self.rows.len(), 0);
        scales.clear();
        for (row, values) in self.rows.chunks_exact(self.width).zip(values.chunks_exact_mut(self.width)) {
            let largest = largest(row, f32::abs).max(f32::MIN_POSITIVE);
            scales.push(largest / f32::from(i16::MAX));
            let factor = f32::from(i16::MAX) / largest;
            for (value, rounded) in row.iter().zip(values) {
                *rounded = (value * factor + SHIFT).to_bits().cast_signed() as i16;
            }
        }
    }
}

/// Replaces each value by `exp(scale * value)`, normalised so that the row adds up to 1.
#[inline(always)]
pub(crate) fn softmax<const FUSED: bool>(row: &mut [f32], scale: f32) {
    let largest = largest(row, |value| value);
    for value in &mut *row {
        *value = exp::<FUSED>((*value - largest) * scale);
    }
    let factor = 1.0 / sum(row, |value| value);
    for value in row {
        *value *= factor;
    }
}

/// The sum of `of(value)` over all values. Computed in lanes, because a sequential sum cannot be vectorised.
#[inline(always)]
pub(crate) fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += of(*value);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|value| of(*value)).sum::<f32>()
}

/// The maximum of `of(value)` over all values.
#[inline(always)]
fn largest(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::MIN; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            let value = of(*value);
            *lane = if value > *lane { value } else { *lane };
        }
    }
    lanes.into_iter().chain(rest.iter().map(|value| of(*value))).fold(f32::MIN, f32::max)
}

/// Exponential function for `x` up to 0. The exponent bits give the integer power of two, and a Taylor series gives
/// the rest: within half of ln 2 to either side, eight terms are exact to the last bits.
#[inline(always)]
fn exp<const FUSED: bool>(x: f32) -> f32 {
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.max(-87.0);
    let shifted = multiply_add::<FUSED>(x, std::f32::consts::LOG2_E, SHIFT);
    let whole = shifted - SHIFT;
    let rest = multiply_add::<FUSED>(whole, -LN_2_HIGH, x);
    let rest = multiply_add::<FUSED>(whole, -LN_2_LOW, rest);
    let mut series = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = multiply_add::<FUSED>(series, rest, factor);
    }
    let exponent = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_add(127);
    series * f32::from_bits(exponent << 23)
}

/// The error function after Abramowitz and Stegun, 7.1.26, with an error of at most 1.5e-7.
#[inline(always)]
fn erf<const FUSED: bool>(x: f32) -> f32 {
    let distance = x.abs();
    let t = 1.0 / multiply_add::<FUSED>(0.327_591_1, distance, 1.0);
    let mut series = 1.061_405_4;
    for factor in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6, 0.0] {
        series = multiply_add::<FUSED>(series, t, factor);
    }
    (1.0 - series * exp::<FUSED>(-distance * distance)).copysign(x)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wide::{plain, widest};

    /// The error function as a power series, which converges fast enough for small values.
    fn slow_erf(x: f64) -> f64 {
        let mut term = x;
        let mut sum = x;
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn the_exponential_is_exact_to_the_last_bits() {
        for step in 0_u16..8700 {
            let x = -f32::from(step) / 100.0;
            let expected = f64::from(x).exp();
            for found in [exp::<true>(x), exp::<false>(x)] {
                assert!(
                    (f64::from(found) / expected - 1.0).abs() < 3e-7,
                    "exp({x}) is {expected}, not {found}"
                );
            }
        }
        assert!(exp::<true>(-1e30) < 1e-37);
    }

    #[test]
    fn the_error_function_is_exact_to_six_decimals() {
        for step in -400_i16..=400 {
            let x = f32::from(step) / 100.0;
            let expected = slow_erf(f64::from(x));
            for found in [erf::<true>(x), erf::<false>(x)] {
                assert!((f64::from(found) - expected).abs() < 5e-7, "erf({x}) is {expected}, not {found}");
            }
        }
    }

    fn near(a: &[f32], b: &[f32]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs().max(1.0))
    }

    proptest! {
        #[test]
        fn wide_and_plain_loops_give_the_same_result(rows in proptest::collection::vec(-20.0_f32..20.0, 2 * 48)) {
            let [mut wide, mut narrow] = [rows.clone(), rows.clone()];
            widest(Gelu(&mut wide));
            plain(Gelu(&mut narrow));
            prop_assert!(near(&wide, &narrow));

            let norm = Norm { gain: vec![1.5; 48], bias: vec![-0.25; 48] };
            let [mut wide, mut narrow] = [rows.clone(), rows.clone()];
            widest(Normalise { rows: &mut wide, norm: &norm });
            plain(Normalise { rows: &mut narrow, norm: &norm });
            prop_assert!(near(&wide, &narrow));

            let [mut wide, mut narrow] = [Rounded::default(), Rounded::default()];
            widest(Round { rows: &rows, width: 48, rounded: &mut wide });
            plain(Round { rows: &rows, width: 48, rounded: &mut narrow });
            prop_assert_eq!(&wide.values, &narrow.values);
            for (index, value) in rows.iter().enumerate() {
                prop_assert!((f32::from(wide.values[index]) * wide.scales[index / 48] - value).abs() < 1e-3);
            }
        }
    }
}
