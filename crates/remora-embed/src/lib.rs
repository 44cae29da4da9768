//! Turns text into vectors: texts with similar meanings point in similar directions.
//!
//! The model is all-MiniLM-L6-v2, built into the program: [`Embedder`] turns a text into 384 numbers.
//! [`StoredVector`] is the storage format, and [`Scan`] finds the nearest among many vectors; both take any number of
//! dimensions, because vectors may come from other models. The model is read from disk only when it is used, and it
//! is used in place, so a command that embeds nothing does not pay for it. This crate knows no database, no network
//! and no other model. It is separate for two reasons: its 24 MB of weights should rarely be recompiled, and its
//! loops should be optimised even in tests.
//!
//! The forward pass is hand-written for speed. On two shared cores with AVX2, at 16, 64 and 256 tokens on one thread,
//! it takes 3.9, 14 and 66 ms at best (4.2, 14 and 68 in the median), and the process stays at 19 MB. The same pass
//! with 32-bit floating-point activations took 5.8, 19 and 91 ms at best: weights are bytes, so 16-bit activations
//! let a processor do more at once, and in a simulation no cosine changed by a millionth. An earlier comparison on a
//! similar machine, not repeated with this code, has medians of 6, 20 and 95 ms, 150 MB and 22 crates for the best
//! established runtime, 4.4, 16 and 78 ms but different neighbours for its 8-bit mode, and 8.8, 25 and 102 ms for a
//! general matrix library. Without AVX2, 64 tokens take six times as long here.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled for the oldest processor; see wide.rs"
)]

mod elementwise;
mod embedder;
mod matrix;
mod scan;
mod stored;
mod tile;
mod tokenizer;
mod vocabulary;
mod weights;
mod wide;

pub use embedder::Embedder;
pub use scan::{Hit, Query, Scan, stride};
pub use stored::{StoredVector, dot};

/// Number of dimensions of the built-in model's vectors.
pub const DIMENSIONS: usize = 384;
/// Identifies the model and its quantisation: vectors of different models cannot be compared.
pub const MODEL: &str = "all-MiniLM-L6-v2/int8-32";
/// Token limit of the model. The rest of a longer text is ignored.
pub const MAX_TOKENS: usize = weights::POSITIONS;

/// The direction of a text, of length 1.
pub type Vector = [f32; DIMENSIONS];

/// The token ids of a text in the model's vocabulary, including the start and end tokens.
pub fn tokens(text: &str) -> Vec<u32> {
    tokenizer::tokenize(text, usize::MAX).into_iter().map(u32::from).collect()
}
