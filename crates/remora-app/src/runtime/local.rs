use remora_core::settings::{self, Settings};
use remora_search::{Embed, Mode, Results, Searcher};
use remora_store::forget::NextStep;
use remora_store::{DataDir, Store, StoreError};

use super::Runtime;
use crate::context_files::{self, Marks, RefreshReport};
use crate::forget;
use crate::recall::prompt::{self, Explained, PromptRequest};
use crate::search::{self, SearchRequest};
use crate::{AppError, SearchBackend};

/// What a process finds outside of itself.
pub trait Outside {
    /// The daemon's results, which has model and vectors in memory. `None` if no daemon answers.
    fn search(&self, dir: &DataDir, request: &SearchRequest) -> Option<Results>;

    /// The same for the records that suit a prompt.
    fn explain(&self, dir: &DataDir, request: &PromptRequest) -> Option<Explained>;

    /// Opens the embedder that the settings name. `None` if they name none.
    fn embedder(&self, settings: &settings::Search) -> Option<Box<dyn Embed>>;

    /// Wakes or starts the daemon, which makes vectors, updates pages, and erases what was forgotten.
    fn wake(&self, dir: &DataDir, settings: &Settings);

    /// Whether this process erases from the files what was forgotten, because no daemon does.
    fn erases(&self, dir: &DataDir) -> bool;

    /// Shows a warning to the user, if there is one.
    fn warn(&self, message: &str);

    /// Reports context files that were updated, or could not be.
    fn refreshed(&self, report: &RefreshReport);
}

/// Nothing outside: no daemon, no embedder.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Outside for Alone {
    fn search(&self, _: &DataDir, _: &SearchRequest) -> Option<Results> {
        None
    }

    fn explain(&self, _: &DataDir, _: &PromptRequest) -> Option<Explained> {
        None
    }

    fn embedder(&self, _: &settings::Search) -> Option<Box<dyn Embed>> {
        None
    }

    fn wake(&self, _: &DataDir, _: &Settings) {}

    fn erases(&self, _: &DataDir) -> bool {
        false
    }

    fn warn(&self, _: &str) {}

    fn refreshed(&self, _: &RefreshReport) {}
}

/// Runs use cases in a process of its own, with its own connection.
#[expect(missing_debug_implementations, reason = "what lies outside is a trait object")]
pub struct Local {
    store: Store,
    settings: Settings,
    outside: &'static dyn Outside,
    /// The state of context files before a change.
    before: Option<Result<Marks, StoreError>>,
}

impl Local {
    pub fn new(store: Store, settings: Settings, outside: &'static dyn Outside) -> Self {
        Self { store, settings, outside, before: None }
    }

    /// Erases from the files what can no longer be undone, unless a daemon does that.
    pub fn finish_forgetting(&mut self) {
        let is_due = self.store.read_only().is_none()
            && matches!(self.store.forget().next_step(), Ok(Some(NextStep::Erase)));
        if !is_due || !self.outside.erases(self.store.dir()) {
            return;
        }
        if let Err(error) = forget::finish(self) {
            self.outside.warn(&format!("what was forgotten is still in some files: {error}"));
        }
    }
}

impl Runtime for Local {
    fn store(&self) -> &Store {
        &self.store
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn search(&self, request: &SearchRequest) -> Result<Results, AppError> {
        let selector = request.selector.clone().absolute_unless_known(&self.store)?;
        let request = SearchRequest { selector, ..request.clone() };
        if let Some(found) = self.outside.search(self.store.dir(), &request) {
            return Ok(found);
        }
        // Loading the model costs more than a keyword search, so it has to be requested by name.
        let wants_model = matches!(request.mode, Mode::Hybrid | Mode::Semantic);
        let mut embedder = if wants_model { self.outside.embedder(&self.settings.search) } else { None };
        let embedder = embedder.as_mut().map(|embedder| &mut **embedder as &mut dyn Embed);
        let backend = SearchBackend { searcher: &Searcher::new(), embedder };
        search::search(&self.store, backend, &request, &self.settings.search, self.store.dir().now())
    }

    fn explain(&self, request: &PromptRequest) -> Result<Explained, AppError> {
        if let Some(mut explained) = self.outside.explain(self.store.dir(), request) {
            explained.explanation.is_by_daemon = true;
            return Ok(explained);
        }
        let mut embedder = self.outside.embedder(&self.settings.search);
        let embedder = embedder.as_mut().map(|embedder| &mut **embedder as &mut dyn Embed);
        let backend = SearchBackend { searcher: &Searcher::new(), embedder };
        Ok(prompt::recall(&self.store, backend, request, &self.settings, self.store.dir().now())?)
    }

    fn before_change(&mut self) -> Result<(), StoreError> {
        self.store.catch_up()?;
        self.finish_forgetting();
        self.before = Some(context_files::marks(&self.store));
        Ok(())
    }

    fn after_change(&mut self) {
        let report = match self.before.take() {
            None => RefreshReport::default(),
            Some(Ok(before)) => context_files::refresh_changed(&self.store, &before),
            Some(Err(error)) => RefreshReport { problems: Vec::new(), error: Some(error) },
        };
        self.outside.refreshed(&report);
        self.outside.wake(self.store.dir(), &self.settings);
    }
}
