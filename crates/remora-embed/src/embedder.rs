//! The forward pass.

use crate::elementwise::{Gelu, Normalise, Rounded, softmax, sum};
use crate::matrix::{Columns, Left, multiply, strip};
use crate::tokenizer::tokenize;
use crate::weights::{BLOCK, INNER, Linear, PANEL, POSITIONS, Weights};
use crate::wide::{Kernel, widest};
use crate::{DIMENSIONS, MAX_TOKENS, Vector};

const HEADS: usize = 12;
const HEAD: usize = DIMENSIONS / HEADS;
const ATTENTION: usize = 3 * DIMENSIONS;

/// Turns texts into vectors. Creating one costs almost nothing. Once used, it holds buffers for up to 256 tokens
/// (about 5 MB) until it is dropped.
#[derive(Debug)]
pub struct Embedder {
    weights: Weights,
    /// One row per token, for all texts of a pass.
    states: Vec<f32>,
    attention: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
    scores: Vec<f32>,
    rounded: Rounded,
}

impl Default for Embedder {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedder {
    pub fn new() -> Self {
        let [states, attention, mixed, inner, scores] = [const { Vec::new() }; 5];
        Self {
            weights: Weights::embedded(),
            states,
            attention,
            mixed,
            inner,
            scores,
            rounded: Rounded::default(),
        }
    }

    /// The vector of a text, of length 1. Reads the first `max_tokens` tokens, at most [`MAX_TOKENS`]; two of them
    /// are always the start and the end token. A text without words also has a vector: it is far from all others, but
    /// near those of other empty texts.
    pub fn embed(&mut self, text: &str, max_tokens: usize) -> Vector {
        self.pass(&[tokenize(text, max_tokens.min(MAX_TOKENS))])[0]
    }

    /// The vectors of many texts. Short texts go through the model together, which is faster because the weights are
    /// unpacked only once for all of them. Each vector is equal to that of [`Self::embed`].
    pub fn embed_batch(&mut self, texts: &[&str], max_tokens: usize) -> Vec<Vector> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut waiting: Vec<Vec<u16>> = Vec::new();
        for text in texts {
            let tokens = tokenize(text, max_tokens.min(MAX_TOKENS));
            if waiting.iter().map(Vec::len).sum::<usize>() + tokens.len() > POSITIONS {
                vectors.extend(self.pass(&waiting));
                waiting.clear();
            }
            waiting.push(tokens);
        }
        vectors.extend(self.pass(&waiting));
        vectors
    }

    /// One pass over texts with at most 256 tokens in total.
    fn pass(&mut self, texts: &[Vec<u16>]) -> Vec<Vector> {
        let Self { weights, states, attention, mixed, inner, scores, rounded } = self;
        states.clear();
        for text in texts {
            for (position, token) in text.iter().enumerate() {
                let start = states.len();
                states.resize(start + DIMENSIONS, 0.0);
                weights.words.add(usize::from(*token), &mut states[start..]);
                weights.positions.add(position, &mut states[start..]);
            }
        }
        widest(Normalise { rows: states, norm: &weights.norm });
        for layer in &weights.layers {
            linear(states, &layer.attention, rounded, attention);
            mixed.clear();
            mixed.resize(states.len(), 0.0);
            let mut first = 0;
            for text in texts {
                let rows = first..first + text.len();
                let attention = &attention[rows.start * ATTENTION..rows.end * ATTENTION];
                let mixed = &mut mixed[rows.start * DIMENSIONS..rows.end * DIMENSIONS];
                widest(Attend { attention, scores, mixed });
                first = rows.end;
            }
            add_linear(mixed, &layer.projection, rounded, states);
            widest(Normalise { rows: states, norm: &layer.attention_norm });
            linear(states, &layer.expansion, rounded, inner);
            widest(Gelu(inner));
            add_linear(inner, &layer.contraction, rounded, states);
            widest(Normalise { rows: states, norm: &layer.output_norm });
        }
        let mut rows = states.as_chunks::<DIMENSIONS>().0;
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let (own, rest) = rows.split_at(text.len());
            vectors.push(mean_direction(own));
            rows = rest;
        }
        vectors
    }
}

/// `out = inputs · matrix + bias`.
fn linear(inputs: &[f32], linear: &Linear, rounded: &mut Rounded, out: &mut Vec<f32>) {
    out.clear();
    for _ in 0..inputs.len() / linear.matrix.inputs {
        out.extend_from_slice(&linear.bias);
    }
    multiply(inputs, linear.matrix, rounded, out);
}

/// `states += inputs · matrix + bias`.
fn add_linear(inputs: &[f32], linear: &Linear, rounded: &mut Rounded, states: &mut [f32]) {
    for row in states.chunks_exact_mut(linear.matrix.outputs) {
        for (state, bias) in row.iter_mut().zip(&linear.bias) {
            *state += bias;
        }
    }
    multiply(inputs, linear.matrix, rounded, states);
}

/// The mean of the rows, scaled to length 1.
fn mean_direction(rows: &[Vector]) -> Vector {
    let mut total = [0.0; DIMENSIONS];
    for row in rows {
        for (total, value) in total.iter_mut().zip(row) {
            *total += value;
        }
    }
    let length = sum(&total, |value| value * value).sqrt();
    total.map(|value| value / length)
}

/// Attention within one text: each token attends to all tokens.
struct Attend<'a> {
    /// Rows of queries, keys and values.
    attention: &'a [f32],
    scores: &'a mut Vec<f32>,
    mixed: &'a mut [f32],
}

impl Kernel for Attend<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "a head has 32 values")]
    fn run<const FUSED: bool>(self) {
        let Self { attention, scores, mixed } = self;
        let rows = attention.len() / ATTENTION;
        // The product with the values takes the scores in blocks; they are zero after the last token.
        let width = rows.next_multiple_of(BLOCK);
        let mut panel: Columns<BLOCK> = [[0.0; PANEL]; BLOCK];
        for head in 0..HEADS {
            scores.clear();
            scores.resize(rows * width, 0.0);
            let queries = Left { values: attention, stride: ATTENTION, start: head * HEAD, rows };
            for first in (0..rows).step_by(PANEL) {
                for j in 0..PANEL {
                    let key = (first + j).min(rows - 1) * ATTENTION + DIMENSIONS + head * HEAD;
                    for (slot, value) in panel.iter_mut().zip(&attention[key..key + HEAD]) {
                        slot[j] = *value;
                    }
                }
                strip::<FUSED, HEAD>(queries, &panel, scores, width, first);
            }
            for row in scores.chunks_exact_mut(width) {
                let (seen, beyond) = row.split_at_mut(rows);
                softmax::<FUSED>(seen, 1.0 / (HEAD as f32).sqrt());
                beyond.fill(0.0);
            }
            for first in (0..rows).step_by(BLOCK) {
                let shares = Left { values: scores, stride: width, start: first, rows };
                for column in (head * HEAD..(head + 1) * HEAD).step_by(PANEL) {
                    for (row, slot) in (first..).zip(&mut panel) {
                        let value = row.min(rows - 1) * ATTENTION + 2 * DIMENSIONS + column;
                        slot.copy_from_slice(&attention[value..value + PANEL]);
                    }
                    strip::<FUSED, BLOCK>(shares, &panel, mixed, DIMENSIONS, column);
                }
            }
        }
    }
}

const _: () = assert!(HEAD == BLOCK && HEAD.is_multiple_of(PANEL) && INNER.is_multiple_of(PANEL));
