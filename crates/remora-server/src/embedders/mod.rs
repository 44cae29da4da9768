//! The embedder that the settings name: the model in the program, a service over the network, or none.
//!
//! Search and indexing share one [`Remote`], because it knows whether the service answers: a failure seen by one of them
//! holds for both.

mod api;
mod remote;

use std::sync::{Arc, Mutex, PoisonError};

use remora_core::settings::{self, Search};
use remora_core::time::Time;
use remora_embed::Embedder;
use remora_net::{Health, Outage};
use remora_search::{Embed, EmbedError, Embeddings, Prepared, Purpose};

pub use remote::Remote;

/// The embedder selected by the settings.
#[derive(Debug, Clone)]
pub(crate) enum Chosen {
    Nobody,
    Builtin,
    Remote(Arc<Remote>),
    /// An embedder that cannot be called with the current settings.
    Unusable(EmbedError, Time),
}

impl Chosen {
    fn new(settings: &Search) -> Self {
        match (settings.embedder, Remote::new(settings)) {
            (_, Some(Ok(remote))) => Self::Remote(Arc::new(remote)),
            (_, Some(Err(error))) => Self::Unusable(error, Time::now()),
            (settings::Embedder::Off, None) => Self::Nobody,
            (_, None) => Self::Builtin,
        }
    }
}

/// Caches the embedder until the settings select another.
#[derive(Debug, Default)]
pub(crate) struct Embedders {
    last: Mutex<Option<(Search, Chosen)>>,
}

impl Embedders {
    pub(crate) fn chosen(&self, settings: &Search) -> Chosen {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, chosen)) if is_same_choice(known, settings) => chosen.clone(),
            _ => last.insert((settings.clone(), Chosen::new(settings))).1.clone(),
        }
    }

    /// Health of an embedder over the network; `None` if none is used.
    pub(crate) fn health(&self, settings: &Search) -> Option<Health> {
        match self.chosen(settings) {
            Chosen::Nobody | Chosen::Builtin => None,
            Chosen::Remote(remote) => Some(remote.health()),
            Chosen::Unusable(error, since) => Some(unusable(settings, error, since)),
        }
    }
}

fn is_same_choice(known: &Search, wanted: &Search) -> bool {
    known.embedder == wanted.embedder
        && known.embedder_url == wanted.embedder_url
        && known.embedder_model == wanted.embedder_model
        && known.embedder_api_key == wanted.embedder_api_key
}

/// Health of an embedder with invalid settings. It is not tried again before they change.
fn unusable(settings: &Search, error: EmbedError, since: Time) -> Health {
    Health {
        provider: settings.embedder.as_str().to_owned(),
        model: settings.embedder_model.clone(),
        trouble: Some(Outage { reason: error.0, since, next_try: since }),
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
                Ok(runtime) => Box::new(Waited { remote, runtime }),
                Err(error) => Box::new(Prepared(Err(EmbedError(error.to_string())))),
            })
        }
    }
}

/// An embedder over the network, called synchronously.
#[derive(Debug)]
struct Waited {
    remote: Arc<Remote>,
    runtime: tokio::runtime::Runtime,
}

impl Embed for Waited {
    fn model(&mut self) -> Result<String, EmbedError> {
        self.runtime.block_on(self.remote.vectors_name())
    }

    fn embed(&mut self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError> {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        self.runtime.block_on(self.remote.embed(texts, purpose))
    }
}
