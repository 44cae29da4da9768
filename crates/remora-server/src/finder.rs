//! Search in the daemon: a thread with a connection of its own, the model that questions are embedded with, and the
//! vectors in memory. Model and vectors come with the first question that needs them and go when none came for a while.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use remora_core::settings;
use remora_embed::Embedder;
use remora_search::{Embed, Mode, Results, SearchQuery, Searcher};
use remora_store::StoreError;
use tokio::sync::Notify;

use crate::store_thread::StoreThread;

#[derive(Debug)]
pub struct Finder {
    thread: StoreThread,
    state: Arc<State>,
    /// Somebody searched, and there is something to be given up later.
    pub(crate) used: Notify,
}

#[derive(Debug, Default)]
struct State {
    searcher: Searcher,
    loaded: Mutex<Option<Loaded>>,
}

/// What takes memory.
#[derive(Debug)]
struct Loaded {
    embedder: Embedder,
    last_used: Instant,
}

impl Finder {
    pub(crate) fn new(thread: StoreThread) -> Self {
        Self { thread, state: Arc::default(), used: Notify::new() }
    }

    /// Answers a question by these settings.
    pub async fn search(
        &self,
        mut query: SearchQuery,
        settings: &settings::Search,
    ) -> Result<Results, StoreError> {
        query.follow(settings);
        let wants_model = query.mode != Mode::Text && settings.embedder == settings::Embedder::Builtin;
        let state = Arc::clone(&self.state);
        let results = self.thread.call(move |store| {
            if !wants_model {
                return state.searcher.search(store, None, &query);
            }
            let mut loaded = state.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            let loaded =
                loaded.get_or_insert_with(|| Loaded { embedder: Embedder::new(), last_used: Instant::now() });
            loaded.last_used = Instant::now();
            let embedder: &mut dyn Embed = &mut loaded.embedder;
            state.searcher.search(store, Some(embedder), &query)
        });
        let results = results.await;
        self.used.notify_one();
        results
    }

    /// How long the model was not needed; `None` when it is not there.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let loaded = self.state.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.as_ref().map(|loaded| loaded.last_used.elapsed())
    }

    /// Gives the model and the vectors up; the next question brings them back.
    pub(crate) fn unload(&self) {
        *self.state.loaded.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.state.searcher.unload_idle(Duration::ZERO);
    }
}
