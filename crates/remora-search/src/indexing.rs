//! Makes missing vectors, in the background.

use remora_embed::StoredVector;
use remora_store::search::{Embedded, ToEmbed, VectorsWanted};
use remora_store::{Store, StoreError};

use crate::embed::{Embed, EmbedError, Embeddings, Purpose};

/// Batch size for reading, embedding and storing. Nothing is locked while a batch is embedded.
const STEP: usize = 32;
/// A text is also embedded with the text before it if each of them has at most this many words.
const SHORT_WORDS: usize = 60;

/// Why no vectors could be made.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// A batch of documents that were read and not embedded yet.
///
/// There are three steps, so that a daemon can run the first and the last on the thread that owns the store, and the
/// slow one in between without holding anything. After a crash at any point, the next run starts with the same
/// documents.
#[derive(Debug)]
pub struct IndexBatch {
    waiting: Vec<ToEmbed>,
}

impl IndexBatch {
    /// Reads the next documents to embed. `None` if every document has its vector. Turns are included only if
    /// `with_turns` is set.
    pub fn next(store: &Store, model: &str, with_turns: bool) -> Result<Option<Self>, StoreError> {
        store.index().fill()?;
        let waiting = store.index().to_embed(VectorsWanted { model, of_turns: with_turns }, STEP)?;
        Ok((!waiting.is_empty()).then_some(Self { waiting }))
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The texts to embed, with [`Purpose::Document`].
    pub fn texts(&self) -> Vec<String> {
        self.waiting.iter().map(own_text).chain(self.waiting.iter().filter_map(with_before)).collect()
    }

    /// Assigns the vectors of [`Self::texts`] to their documents.
    pub fn take(self, vectors: Vec<Vec<f32>>) -> Result<Vec<Embedded>, EmbedError> {
        let talks: Vec<bool> = self.waiting.iter().map(|of| with_before(of).is_some()).collect();
        let wanted = self.waiting.len() + talks.iter().filter(|talk| **talk).count();
        if vectors.len() != wanted {
            return Err(EmbedError(format!("{} vectors came for {wanted} texts", vectors.len())));
        }
        let mut own = vectors;
        let mut in_talk = own.split_off(self.waiting.len()).into_iter();
        let mut made = Vec::with_capacity(self.waiting.len());
        for ((of, own), is_talk) in self.waiting.into_iter().zip(own).zip(talks) {
            let both = if is_talk { in_talk.next() } else { None };
            let vector = StoredVector::new(&both.map_or_else(|| own.clone(), |both| between(&own, &both)));
            let values = vector.values.iter().map(|value| value.cast_unsigned()).collect();
            made.push(Embedded { of, scale: vector.scale, values });
        }
        Ok(made)
    }

    /// Makes the vectors. This is slow and needs no store.
    pub fn embed(self, embedder: &mut dyn Embed) -> Result<(String, Vec<Embedded>), EmbedError> {
        let texts = self.texts();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let Embeddings { model, vectors, .. } = embedder.embed(&texts, Purpose::Document)?;
        Ok((model, self.take(vectors)?))
    }
}

/// Makes vectors for one batch of documents. Returns their number. For callers that may block.
pub fn index_next(store: &Store, embedder: &mut dyn Embed, with_turns: bool) -> Result<usize, IndexError> {
    let model = embedder.model()?;
    let Some(batch) = IndexBatch::next(store, &model, with_turns)? else { return Ok(0) };
    let (model, made) = batch.embed(embedder)?;
    store.index().put_vectors(&model, &made)?;
    Ok(made.len())
}

fn own_text(of: &ToEmbed) -> String {
    if of.title.is_empty() { of.body.clone() } else { format!("{}\n{}", of.title, of.body) }
}

/// A short answer says little without its question, so both together are embedded as well. An observation has a title
/// and does not need it.
fn with_before(of: &ToEmbed) -> Option<String> {
    let is_short = |text: &str| text.split_whitespace().nth(SHORT_WORDS).is_none();
    let counts = of.title.is_empty() && !of.before.is_empty() && is_short(&of.before) && is_short(&of.body);
    counts.then(|| format!("{}\n{}", of.before, of.body))
}

/// The normalized mean of two vectors.
fn between(a: &[f32], b: &[f32]) -> Vec<f32> {
    let sum: Vec<f32> = a.iter().zip(b).map(|(a, b)| a + b).collect();
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    sum.into_iter().map(|value| value / length).collect()
}
