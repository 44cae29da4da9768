//! The daemon's embedder. Search and indexing share one, because it knows whether its service answers: a failure seen by
//! one of them holds for both.

use std::sync::{Mutex, PoisonError};

use remora_core::settings::Search;
use remora_core::time::Time;
pub(crate) use remora_embedders::Chosen;
use remora_net::{Health, Outage};
use remora_search::EmbedError;

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
