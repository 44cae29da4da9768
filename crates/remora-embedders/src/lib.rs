//! The embedder that the settings name: the model in the program, a service over the network, or none.
//!
//! [`Chosen`] is that embedder, and [`open`] gives it to a synchronous caller, which is how commands embed without a
//! daemon. [`Remote`] is a service over the network: its wire format is in `api`, and what holds for every service
//! (redaction, limits, retries, the meaning of its cosines) in `remote`. This crate knows no index, no SQL and no
//! ranking; search knows no HTTP.

mod api;
mod remote;

use std::sync::Arc;

use remora_core::settings::{self, Search};
use remora_core::time::Time;
use remora_embed::Embedder;
use remora_search::{Embed, EmbedError, Embeddings, Prepared, Purpose};

pub use remote::Remote;

/// The embedder selected by the settings.
#[derive(Debug, Clone)]
pub enum Chosen {
    Nobody,
    Builtin,
    /// Shared by all callers, because it knows whether the service answers.
    Remote(Arc<Remote>),
    /// An embedder that cannot be called with the current settings.
    Unusable(EmbedError, Time),
}

impl Chosen {
    pub fn new(settings: &Search) -> Self {
        match (settings.embedder, Remote::new(settings)) {
            (_, Some(Ok(remote))) => Self::Remote(Arc::new(remote)),
            (_, Some(Err(error))) => Self::Unusable(error, Time::now()),
            (settings::Embedder::Off, None) => Self::Nobody,
            (_, None) => Self::Builtin,
        }
    }
}

/// Opens the embedder of these settings for a synchronous caller. `None` if the embedder is off.
pub fn open(settings: &Search) -> Option<Box<dyn Embed>> {
    match Chosen::new(settings) {
        Chosen::Nobody => None,
        Chosen::Builtin => Some(Box::new(Embedder::new())),
        Chosen::Unusable(error, _) => Some(Box::new(Prepared(Err(error)))),
        Chosen::Remote(remote) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            Some(match runtime {
                Ok(runtime) => Box::new(BlockingRemote { remote, runtime }),
                Err(error) => Box::new(Prepared(Err(EmbedError(error.to_string())))),
            })
        }
    }
}

/// An embedder over the network, called synchronously.
#[derive(Debug)]
struct BlockingRemote {
    remote: Arc<Remote>,
    runtime: tokio::runtime::Runtime,
}

impl Embed for BlockingRemote {
    fn model(&mut self) -> Result<String, EmbedError> {
        self.runtime.block_on(self.remote.vectors_name())
    }

    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError> {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        self.runtime.block_on(self.remote.embed(texts, purpose))
    }
}
