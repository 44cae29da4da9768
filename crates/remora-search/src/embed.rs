//! The embedder interface: text to vectors, by the built-in model or one over the network.

use std::time::Duration;

use remora_embed::{Embedder, MAX_TOKENS, MODEL};
use thiserror::Error;

use crate::closeness::Closeness;
use crate::language::Language;

/// Token limit for a query. The beginning of a long one says what it is about.
const QUESTION_TOKENS: usize = 48;

/// Words whose pieces have fewer letters on average are not words. Of 54 random strings 50 have fewer, of the words
/// of 40 real questions, typos included, two.
const MIN_LETTERS_OF_PIECE: f64 = 2.3;

/// The purpose of an embedding. Some models embed queries and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Question,
    Document,
}

/// Vectors, with the model that made them.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// Identifies the model and everything that changes its vectors, including the number of dimensions. Only vectors
    /// with the same name can be compared.
    pub model: String,
    pub closeness: Closeness,
    /// One unit vector for each text, all with the same number of dimensions.
    pub vectors: Vec<Vec<f32>>,
}

/// Makes vectors of texts.
pub trait Embed: Send {
    /// The name its vectors will have. An embedder that learns it from its first vector requests one.
    fn model(&mut self) -> Result<String, EmbedError>;

    /// Whether its cosines are meaningful for texts in a language.
    fn knows(&self, _: Language) -> bool {
        true
    }

    /// Whether a word means something to it. A random string is near to whatever has the same letters.
    fn knows_word(&self, _: &str) -> bool {
        true
    }

    /// Returns one vector for each text. The model decides how much of a long text it uses.
    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError>;
}

/// No vectors are available now. Search continues by words alone; indexing is retried later.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no vectors: {0}")]
pub struct EmbedError(pub String);

impl EmbedError {
    /// The error of an embedder that exceeded its time limit. The log of injections stores it.
    pub fn late(who: &str, limit: Duration) -> Self {
        Self(format!("{who}: {LATE} {} ms", limit.as_millis()))
    }

    /// Whether the reason for missing vectors is a timeout.
    pub fn is_late(reason: &str) -> bool {
        reason.contains(LATE)
    }
}

const LATE: &str = "it takes longer than";

impl Embed for Embedder {
    fn model(&mut self) -> Result<String, EmbedError> {
        Ok(MODEL.to_owned())
    }

    /// The model was trained on English only: two unrelated French texts have a cosine of 0.5.
    fn knows(&self, language: Language) -> bool {
        language == Language::English
    }

    /// A word of its vocabulary is one piece; a typo or a compound has a few long ones. Random letters fall into pairs.
    fn knows_word(&self, word: &str) -> bool {
        // Without the tokens for start and end.
        let pieces = remora_embed::tokens(word).len() - 2;
        let letters = word.chars().count();
        #[expect(clippy::cast_precision_loss, reason = "letters of a word")]
        let letters_each = letters as f64 / pieces.max(1) as f64;
        pieces == 1 || letters_each >= MIN_LETTERS_OF_PIECE
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

/// An embedding that was requested elsewhere, for a search that only uses it.
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
