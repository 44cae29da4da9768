//! The embedder turns text into vectors: the model in the program, or one over the network.

use std::time::Duration;

use remora_embed::{Embedder, MAX_TOKENS, MODEL};
use thiserror::Error;

use crate::closeness::Closeness;
use crate::language::Language;

/// Of a long question, the beginning says what it is about.
const QUESTION_TOKENS: usize = 48;

/// What a text is embedded for. Some models look at a question and at what may answer it with different eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Question,
    Document,
}

/// Vectors, and who made them.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// Names the model and everything that changes its vectors, also how many numbers they have: vectors of one name
    /// can be compared with each other, and with no others.
    pub model: String,
    pub closeness: Closeness,
    /// One a text, of length 1, all of the same number of dimensions.
    pub vectors: Vec<Vec<f32>>,
}

/// Makes vectors of texts.
pub trait Embed: Send {
    /// The name its vectors will have. An embedder that does not know it before the first vector asks for one.
    fn model(&mut self) -> Result<String, EmbedError>;

    /// Whether its cosines mean something for texts of a language.
    fn knows(&self, _: Language) -> bool {
        true
    }

    /// One vector a text. How much of a long text counts is the model's affair.
    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError>;
}

/// There are no vectors now. Search goes on by text alone, and indexing later.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no vectors: {0}")]
pub struct EmbedError(pub String);

impl EmbedError {
    /// An embedder that did not answer in time says this, and the log of injections keeps it.
    pub fn late(who: &str, limit: Duration) -> Self {
        Self(format!("{who}: {LATE} {} ms", limit.as_millis()))
    }

    /// Whether a reason for missing vectors is that the embedder was late.
    pub fn is_late(reason: &str) -> bool {
        reason.contains(LATE)
    }
}

const LATE: &str = "it takes longer than";

impl Embed for Embedder {
    fn model(&mut self) -> Result<String, EmbedError> {
        Ok(MODEL.to_owned())
    }

    /// Trained on English alone: two unrelated French texts have a cosine of 0.5.
    fn knows(&self, language: Language) -> bool {
        language == Language::English
    }

    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError> {
        let most = match purpose {
            Purpose::Question => QUESTION_TOKENS,
            Purpose::Document => MAX_TOKENS,
        };
        let vectors = self.embed_batch(texts, most).into_iter().map(Vec::from).collect();
        Ok(Embeddings { model: MODEL.to_owned(), closeness: Closeness::BUILTIN, vectors })
    }
}

/// What somebody else was asked for already, for a search that takes it from here.
#[derive(Debug)]
pub struct Prepared(pub Result<Embeddings, EmbedError>);

impl Embed for Prepared {
    fn model(&mut self) -> Result<String, EmbedError> {
        self.0.as_ref().map(|made| made.model.clone()).map_err(EmbedError::clone)
    }

    fn embed(&mut self, _: &[&str], _: Purpose) -> Result<Embeddings, EmbedError> {
        self.0.clone()
    }
}
