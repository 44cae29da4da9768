//! Text into vectors: texts that mean something similar point in similar directions.
//!
//! The model is all-MiniLM-L6-v2, part of the program: [`Embedder`] turns a text into 384 numbers, [`StoredVector`]
//! is how those are kept, [`Scan`] finds the nearest among many. Nothing of the model is read from the disk before it
//! is used, and then only where it lies: a command that embeds nothing does not pay for it. This crate knows no
//! database, no network and no other model. It is a crate of its own because of 24 MB of weights that want to be
//! compiled rarely, and loops that want to be compiled with optimisation even for tests.
//!
//! Why the forward pass is written by hand: measured on two shared cores with AVX2, at 16, 64 and 256 tokens on one
//! thread, it takes 4, 14 and 66 ms and leaves the process at 29 MB. The best established runtime took 6, 20 and
//! 95 ms, 150 MB, and 22 more crates; with 8-bit activations it was as fast as this but found other neighbours. The
//! same pass in floating point took 6, 19 and 91 ms here (9, 25 and 102 on a general matrix library): weights are
//! bytes, so 16-bit activations let a processor do twice as much at once, and lose nothing that could be measured.

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
pub use scan::{Hit, Query, Scan};
pub use stored::{STORED_BYTES, StoredVector, dot};

/// How many numbers a vector has.
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
