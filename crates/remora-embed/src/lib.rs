//! Text into vectors: texts that mean something similar point in similar directions.
//!
//! The model is all-MiniLM-L6-v2, part of the program: [`Embedder`] turns a text into 384 numbers. [`StoredVector`]
//! is how vectors are kept, [`Scan`] finds the nearest among many; both take any number of dimensions, because vectors
//! may come from elsewhere. Nothing of the model is read from the disk before it is used, and then only where it lies: a
//! command that embeds nothing does not pay for it. This crate knows no database, no network and no other model. It is a crate of its own because of 24 MB of weights that want to be
//! compiled rarely, and loops that want to be compiled with optimisation even for tests.
//!
//! Why the forward pass is written by hand: on two shared cores with AVX2, at 16, 64 and 256 tokens on one thread, it
//! takes 3.9, 14 and 66 ms at best (4.2, 14 and 68 in the median) and leaves the process at 19 MB. The same pass with
//! 32-bit floating-point activations took 5.8, 19 and 91 ms at best: weights are bytes, so 16-bit activations let a
//! processor do more at once, and in a simulation they moved no cosine by a millionth. An earlier comparison on such a
//! machine, not repeated with this code, has medians of 6, 20 and 95 ms, 150 MB and 22 crates for the best established
//! runtime, 4.4, 16 and 78 ms but other neighbours for its 8-bit mode, and 8.8, 25 and 102 ms for a general matrix
//! library. Without AVX2, 64 tokens take six times as long here.

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

/// How many numbers a vector of the model in the program has.
pub const DIMENSIONS: usize = 384;
/// Names the model and what was done to it: vectors of different models cannot be compared.
pub const MODEL: &str = "all-MiniLM-L6-v2/int8-32";
/// What the model was made for. The rest of a longer text is not read.
pub const MAX_TOKENS: usize = weights::POSITIONS;

/// A text's direction, of length 1.
pub type Vector = [f32; DIMENSIONS];

/// The numbers of a text's tokens in the model's vocabulary, with those that mark start and end.
pub fn tokens(text: &str) -> Vec<u32> {
    tokenizer::tokenize(text, usize::MAX).into_iter().map(u32::from).collect()
}
