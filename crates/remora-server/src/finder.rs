//! Search in the daemon: a thread with its own connection, the model that embeds queries, and the vectors in
//! memory. Model and vectors are loaded with the first query that needs them and dropped when idle. An
//! embedder over the network is called before the thread gets the query, so that no other query waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use remora_app::recall::prompt::{Limits, is_trivial};
use remora_app::{AppError, SearchBackend};
use remora_core::settings::Settings;
use remora_embed::Embedder;
use remora_search::{EmbedError, Embeddings, Prepared, Searcher};
use remora_store::{Store, StoreError, Tuning};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::embedders::{Chosen, Embedders};
use crate::store_thread::StoreThread;

/// Timeout of an embedder over the network for a search.
const EMBED_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The longest pause of background work while a query is answered.
const MAX_YIELD: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct Finder {
    thread: StoreThread,
    embedders: Arc<Embedders>,
    state: Arc<FinderState>,
    /// Last use of the model; `None` if it is not loaded. Kept outside of the model's lock, which is held
    /// while it works.
    last_used: Mutex<Option<Instant>>,
    /// The number of queries being answered.
    answering: watch::Sender<usize>,
    /// Notified after a query: model and vectors are in memory and may be dropped later.
    pub(crate) used: Notify,
}

/// The text that a use case will embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToEmbed {
    Nothing,
    Search(String),
    /// A prompt, whose hook has a deadline.
    Prompt(String),
}

impl From<Option<String>> for ToEmbed {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Self::Search)
    }
}

/// The embedder of a query.
pub(crate) enum EmbeddedBy {
    Nobody,
    /// The built-in model, on the search thread.
    Here,
    /// An embedder over the network, with its answer or its error.
    Elsewhere(Result<Embeddings, EmbedError>),
}

/// The parts that take memory.
#[derive(Debug, Default)]
struct FinderState {
    searcher: Searcher,
    embedder: Mutex<Option<Embedder>>,
}

impl Finder {
    pub(crate) fn new(thread: StoreThread, embedders: Arc<Embedders>) -> Self {
        Self {
            thread,
            embedders,
            state: Arc::default(),
            last_used: Mutex::default(),
            answering: watch::Sender::default(),
            used: Notify::new(),
        }
    }

    /// Pauses background work while a query is being answered, for at most [`MAX_YIELD`]. With two processors,
    /// a search on one and other work on the other would slow each other down.
    pub(crate) async fn give_way(&self) {
        let _ = timeout(MAX_YIELD, self.answering.subscribe().wait_for(|count| *count == 0)).await;
    }

    /// Lets an embedder over the network embed a question, within its time limit.
    pub(crate) async fn prepare(&self, question: ToEmbed, settings: &Settings) -> EmbeddedBy {
        let (text, limit) = match question {
            ToEmbed::Nothing => return EmbeddedBy::Nobody,
            ToEmbed::Search(text) => (text, None),
            ToEmbed::Prompt(text) => (text, Some(Limits::of(&settings.memory).embedder)),
        };
        match (self.embedders.chosen(&settings.search), limit) {
            (Chosen::Remote(remote), None) => {
                EmbeddedBy::Elsewhere(remote.question(&text, EMBED_TIMEOUT).await)
            }
            (Chosen::Remote(remote), Some(limit)) if !is_trivial(&text) => {
                EmbeddedBy::Elsewhere(remote.quick_question(&text, limit).await)
            }
            (Chosen::Unusable(error, _), _) => EmbeddedBy::Elsewhere(Err(error)),
            (Chosen::Builtin, _) => EmbeddedBy::Here,
            (Chosen::Remote(_) | Chosen::Nobody, _) => EmbeddedBy::Nobody,
        }
    }

    /// Runs a search on the search thread.
    pub(crate) async fn find<T: Send + 'static>(
        &self,
        embedded_by: EmbeddedBy,
        find: impl FnOnce(&Store, SearchBackend<'_>) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        let _answering = Answering::new(&self.answering);
        let needs_memory = !matches!(embedded_by, EmbeddedBy::Nobody);
        if needs_memory {
            self.note_use(Some(Instant::now()));
        }
        let state = Arc::clone(&self.state);
        let found = self.thread.ask(move |store| {
            if needs_memory && state.searcher.resident_bytes() == 0 {
                store.tune(Tuning::WideCache)?;
            }
            let searcher = &state.searcher;
            Ok(match embedded_by {
                EmbeddedBy::Nobody => find(store, SearchBackend { searcher, embedder: None }),
                EmbeddedBy::Elsewhere(made) => {
                    find(store, SearchBackend { searcher, embedder: Some(&mut Prepared(made)) })
                }
                EmbeddedBy::Here => {
                    let mut embedder = state.embedder.lock().unwrap_or_else(PoisonError::into_inner);
                    let embedder = embedder.get_or_insert_with(Embedder::new);
                    find(store, SearchBackend { searcher, embedder: Some(embedder) })
                }
            })
        });
        let found = found.await;
        if needs_memory {
            self.used.notify_one();
        }
        found?
    }

    /// Time since the last use of the model; `None` if it is not loaded.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).map(|last| last.elapsed())
    }

    /// Drops the model and the vectors after the current query. The next query loads them again.
    pub(crate) async fn unload(&self) -> Result<(), StoreError> {
        self.note_use(None);
        let state = Arc::clone(&self.state);
        let unload = move |store: &Store| {
            *state.embedder.lock().unwrap_or_else(PoisonError::into_inner) = None;
            state.searcher.unload_idle(Duration::ZERO);
            store.tune(Tuning::EmptyCache)
        };
        self.thread.call(unload).await
    }

    fn note_use(&self, at: Option<Instant>) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

/// Counts as a query in progress until it is dropped.
struct Answering<'a>(&'a watch::Sender<usize>);

impl<'a> Answering<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use remora_app::ProjectSelector;
    use remora_app::search::{self, SearchRequest};
    use remora_core::memory::ObservationType;
    use remora_core::privacy::{Draft, SavedText};
    use remora_core::time::Time;
    use remora_search::{Mode, index_next};
    use remora_store::{DataDir, SaveFor, SavedBy, locate};

    use super::*;

    #[tokio::test]
    async fn model_and_vectors_load_with_a_query_and_can_be_unloaded() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let store = Store::open(&dir).unwrap();
        let draft = Draft {
            text: "Deploys happen on Tuesdays".to_owned(),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        let note = SavedText::new(&draft).unwrap();
        store
            .records()
            .save(&SaveFor::Directory(locate(temp.path())), &note, SavedBy::Person, Time::now())
            .unwrap();
        assert_eq!(index_next(&store, &mut Embedder::new(), true).unwrap(), 1);

        let (thread, _) = StoreThread::start(dir, "searcher", Store::open, Arc::default()).unwrap();
        let finder = Finder::new(thread, Arc::default());
        let settings = Settings::default();
        let mut question = SearchRequest::new(ProjectSelector::All);
        question.text = "when do we release".to_owned();
        let hits = async |question: &SearchRequest| {
            let embedded_by = finder.prepare(question.text_to_embed().into(), &settings).await;
            let (question, settings) = (question.clone(), settings.search.clone());
            let find = move |store: &Store, backend: SearchBackend<'_>| {
                search::search(store, backend, &question, &settings, store.dir().now())
            };
            finder.find(embedded_by, find).await.unwrap().hits.len()
        };
        question.mode = Mode::Text;
        hits(&question).await;
        assert_eq!((finder.idle_for(), finder.state.searcher.resident_bytes()), (None, 0));
        question.mode = Mode::Semantic;
        for _ in 0..2 {
            assert_eq!(hits(&question).await, 1);
            assert!(finder.idle_for().is_some() && finder.state.searcher.resident_bytes() > 0);
            finder.unload().await.unwrap();
            assert_eq!((finder.idle_for(), finder.state.searcher.resident_bytes()), (None, 0));
            assert!(finder.state.embedder.lock().unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn background_work_waits_for_a_query_but_not_forever() {
        let temp = tempfile::tempdir().unwrap();
        let (thread, _) = StoreThread::start(
            DataDir::new(temp.path().join("data")),
            "searcher",
            Store::open,
            Arc::default(),
        )
        .unwrap();
        let finder = Finder::new(thread, Arc::default());
        let (first, second) = (Answering::new(&finder.answering), Answering::new(&finder.answering));
        finder.give_way().await;
        let mut waiting = std::pin::pin!(finder.give_way());
        assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
        drop(first);
        assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
        drop(second);
        waiting.await;
    }
}
