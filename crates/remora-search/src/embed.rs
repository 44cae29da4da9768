//! Whoever turns text into vectors: the model in the program, or, some day, one over the network.

use remora_embed::{Embedder, MAX_TOKENS, MODEL, Vector};
use thiserror::Error;

/// Makes vectors of texts. All vectors of one name can be compared with each other.
pub trait Embed: Send {
    /// Names the model and everything that changes its vectors.
    fn model(&self) -> &str;

    /// One vector a text, of length 1, made of at most `max_tokens` of it.
    fn embed(&mut self, texts: &[&str], max_tokens: usize) -> Result<Vec<Vector>, EmbedError>;
}

/// There are no vectors now. Search goes on by text alone, and indexing later.
#[derive(Debug, Error)]
#[error("no vectors: {0}")]
pub struct EmbedError(pub String);

impl Embed for Embedder {
    fn model(&self) -> &str {
        MODEL
    }

    fn embed(&mut self, texts: &[&str], max_tokens: usize) -> Result<Vec<Vector>, EmbedError> {
        Ok(self.embed_batch(texts, max_tokens.min(MAX_TOKENS)))
    }
}
