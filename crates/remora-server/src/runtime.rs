//! Runs use cases on the daemon's store threads.
//!
//! Each thread has a connection of its own: use cases that read run beside those that write, and those that search beside
//! both, with the model and the vectors. SQLite refuses changes on the connections of those two.

use std::cell::RefCell;
use std::sync::Arc;

use remora_app::recall::prompt::{self, Explained, PromptRequest};
use remora_app::search::{self, SearchRequest};
use remora_app::{AppError, Runtime, SearchBackend};
use remora_core::settings::Settings;
use remora_search::{Results, Searcher};
use remora_store::{Store, StoreError};

use crate::finder::ToEmbed;
use crate::shared::Shared;

/// A use case's view of the thread that it runs on.
struct OnThread<'a, 'b> {
    store: &'a Store,
    settings: &'a Settings,
    backend: RefCell<SearchBackend<'b>>,
    has_changed: bool,
}

impl Runtime for OnThread<'_, '_> {
    fn store(&self) -> &Store {
        self.store
    }

    fn settings(&self) -> &Settings {
        self.settings
    }

    fn search(&self, request: &SearchRequest) -> Result<Results, AppError> {
        let now = self.store.dir().now();
        search::search(self.store, self.backend.borrow_mut().reborrow(), request, &self.settings.search, now)
    }

    fn explain(&self, request: &PromptRequest) -> Result<Explained, AppError> {
        let now = self.store.dir().now();
        Ok(prompt::recall(self.store, self.backend.borrow_mut().reborrow(), request, self.settings, now)?)
    }

    fn after_change(&mut self) {
        self.has_changed = true;
    }
}

/// Runs a use case that reads. Without the model, it searches by words.
fn read<T>(
    store: &Store,
    settings: &Settings,
    backend: SearchBackend<'_>,
    ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError>,
) -> Result<T, AppError> {
    ask(&OnThread { store, settings, backend: RefCell::new(backend), has_changed: false })
}

/// Runs a use case that writes. Says also whether memory has changed.
fn write<T>(
    store: &Store,
    settings: &Settings,
    work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError>,
) -> (Result<T, AppError>, bool) {
    let searcher = Searcher::new();
    let backend = RefCell::new(SearchBackend { searcher: &searcher, embedder: None });
    let mut rt = OnThread { store, settings, backend, has_changed: false };
    let done = work(&mut rt);
    (done, rt.has_changed)
}

impl Shared {
    /// Runs a use case that only reads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        let settings = self.current_settings().await;
        let ask = move |store: &Store| {
            let backend = SearchBackend { searcher: &Searcher::new(), embedder: None };
            Ok(read(store, &settings, backend, ask))
        };
        self.noticed(self.reader.call(ask).await?)
    }

    /// Runs a use case that searches, with the model and the vectors. `question` is the text that it will embed: an embedder
    /// over the network answers before the thread gets the work, so that no other search waits for it.
    pub(crate) async fn find<T: Send + 'static>(
        &self,
        question: ToEmbed,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.find_with(self.current_settings().await, question, ask).await
    }

    /// The same with other settings, to try them.
    pub(crate) async fn find_with<T: Send + 'static>(
        &self,
        settings: Arc<Settings>,
        question: ToEmbed,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        let embedding = self.finder.prepare(question, &settings).await;
        let ask = move |store: &Store, backend: SearchBackend<'_>| read(store, &settings, backend, ask);
        self.noticed(self.finder.find(embedding, ask).await)
    }

    /// Runs a use case that writes. If it changes memory, wakes those who follow: context files, vectors, pages, the eraser.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        let settings = self.current_settings().await;
        let (done, has_changed) = self.writer.call(move |store| Ok(write(store, &settings, work))).await?;
        self.announced(done, has_changed)
    }

    /// The same for a use case that aparts files for seconds. It does not run on a store thread, because those have to
    /// answer hooks and pages in the meantime.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        let (settings, dir) = (self.current_settings().await, self.dir.clone());
        let work = move || match Store::open_caught_up(&dir) {
            Ok(store) => write(&store, &settings, work),
            Err(error) => (Err(error.into()), false),
        };
        // The thread panicked; the log names the location.
        let closed = |_| (Err(AppError::Store(StoreError::Closed)), false);
        let (done, has_changed) = tokio::task::spawn_blocking(work).await.unwrap_or_else(closed);
        self.announced(done, has_changed)
    }

    pub(crate) async fn current_settings(&self) -> Arc<Settings> {
        self.refresh_settings().await;
        self.settings()
    }

    fn announced<T>(&self, done: Result<T, AppError>, has_changed: bool) -> Result<T, AppError> {
        if has_changed {
            self.announce();
        }
        self.noticed(done)
    }

    /// Lets the daemon restore a database that a use case found damaged.
    fn noticed<T>(&self, done: Result<T, AppError>) -> Result<T, AppError> {
        if matches!(done, Err(AppError::Store(StoreError::Damaged { .. }))) {
            self.alarm.notify_one();
        }
        done
    }
}
