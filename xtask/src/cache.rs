//! Vectors of earlier runs, so that an experiment with ranking does not embed everything again.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use remora_embed::{DIMENSIONS, Embedder, MODEL};
use remora_search::{Closeness, Embed, EmbedError, Embeddings, Purpose};
use sha2::{Digest, Sha256};

type Key = [u8; 16];
const ENTRY: usize = 16 + 4 * DIMENSIONS;

/// An embedder with a cache in a file of the target directory.
pub(crate) struct Cached {
    embedder: Embedder,
    known: HashMap<Key, Vec<f32>>,
    file: PathBuf,
    changed: bool,
}

impl Cached {
    pub(crate) fn open() -> Self {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let file = target.join("eval-vectors.bin");
        let mut known = HashMap::new();
        for entry in fs::read(&file).unwrap_or_default().chunks_exact(ENTRY) {
            let (key, numbers) = entry.split_at(16);
            let vector = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            if let Ok(key) = key.try_into() {
                known.insert(key, vector);
            }
        }
        Self { embedder: Embedder::new(), known, file, changed: false }
    }

    pub(crate) fn save(&self) -> std::io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(self.known.len() * ENTRY);
        for (key, vector) in &self.known {
            bytes.extend_from_slice(key);
            bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        }
        fs::write(&self.file, bytes)
    }
}

fn key(text: &str, purpose: Purpose) -> Key {
    let hash = Sha256::digest(format!("{MODEL}\0{purpose:?}\0{text}"));
    let mut key = [0; 16];
    key.copy_from_slice(&hash[..16]);
    key
}

impl Embed for Cached {
    fn model(&mut self) -> Result<String, EmbedError> {
        Ok(MODEL.to_owned())
    }

    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError> {
        let keys: Vec<Key> = texts.iter().map(|text| key(text, purpose)).collect();
        let new: Vec<&str> = texts
            .iter()
            .zip(&keys)
            .filter(|(_, key)| !self.known.contains_key(*key))
            .map(|(text, _)| *text)
            .collect();
        if !new.is_empty() {
            let made = Embed::embed(&mut self.embedder, &new, purpose)?;
            self.known.extend(new.iter().map(|text| key(text, purpose)).zip(made.vectors));
            self.changed = true;
        }
        let vectors = keys.iter().map(|key| self.known[key].clone()).collect();
        Ok(Embeddings { model: MODEL.to_owned(), closeness: Closeness::BUILTIN, vectors })
    }
}
