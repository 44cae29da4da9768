//! Search in the daemon: a thread with a connection of its own, the model that questions are embedded with, and the
//! vectors in memory. Model and vectors come with the first question that needs them and go when none came for a while.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use remora_core::settings;
use remora_embed::Embedder;
use remora_search::{Embed, Mode, Prompted, Results, SearchQuery, Searcher, Telling};
use remora_store::{Store, StoreError};
use tokio::sync::Notify;

use crate::store_thread::StoreThread;

#[derive(Debug)]
pub struct Finder {
    thread: StoreThread,
    state: Arc<State>,
    /// When the model was needed last, while it is there. Apart from the model, which is held while it works.
    last_used: Mutex<Option<Instant>>,
    /// Somebody searched, and there is something to be given up later.
    pub(crate) used: Notify,
}

/// What takes memory.
#[derive(Debug, Default)]
struct State {
    searcher: Searcher,
    embedder: Mutex<Option<Embedder>>,
}

impl Finder {
    pub(crate) fn new(thread: StoreThread) -> Self {
        Self { thread, state: Arc::default(), last_used: Mutex::default(), used: Notify::new() }
    }

    /// Answers a question by these settings.
    pub async fn search(
        &self,
        mut query: SearchQuery,
        settings: &settings::Search,
    ) -> Result<Results, StoreError> {
        query.follow(settings);
        if query.mode == Mode::Text || settings.embedder == settings::Embedder::Off {
            let state = Arc::clone(&self.state);
            return self.thread.call(move |store| state.searcher.search(store, None, &query)).await;
        }
        self.note_use(Some(Instant::now()));
        let state = Arc::clone(&self.state);
        let results = self.thread.call(move |store| {
            let mut embedder = state.embedder.lock().unwrap_or_else(PoisonError::into_inner);
            let embedder: &mut dyn Embed = embedder.get_or_insert_with(Embedder::new);
            state.searcher.search(store, Some(embedder), &query)
        });
        let results = results.await;
        self.used.notify_one();
        results
    }

    /// What to tell with a prompt, by these settings.
    pub async fn recall(
        &self,
        prompted: Prompted,
        settings: &settings::Search,
    ) -> Result<Option<Telling>, StoreError> {
        let wants_model = settings.embedder != settings::Embedder::Off;
        if wants_model {
            self.note_use(Some(Instant::now()));
        }
        let state = Arc::clone(&self.state);
        let telling = self.thread.call(move |store| {
            let mut embedder = state.embedder.lock().unwrap_or_else(PoisonError::into_inner);
            let embedder = wants_model.then(|| embedder.get_or_insert_with(Embedder::new) as &mut dyn Embed);
            state.searcher.recall(store, embedder, &prompted)
        });
        let telling = telling.await;
        self.used.notify_one();
        telling
    }

    /// How long the model was not needed; `None` when it is not there.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).map(|last| last.elapsed())
    }

    /// Gives the model and the vectors up, after what is being answered; the next question brings them back.
    pub(crate) async fn unload(&self) -> Result<(), StoreError> {
        self.note_use(None);
        let state = Arc::clone(&self.state);
        let unload = move |_: &mut Store| {
            *state.embedder.lock().unwrap_or_else(PoisonError::into_inner) = None;
            state.searcher.unload_idle(Duration::ZERO);
            Ok(())
        };
        self.thread.call(unload).await
    }

    fn note_use(&self, at: Option<Instant>) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

#[cfg(test)]
mod tests {
    use remora_core::document::ProjectScope;
    use remora_core::memory::ObservationType;
    use remora_core::privacy::{Draft, Note};
    use remora_core::time::Time;
    use remora_search::index_next;
    use remora_store::{DataDir, SaveFor, locate};

    use super::*;

    #[tokio::test]
    async fn the_model_and_the_vectors_come_with_a_question_and_go_when_told() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let mut store = Store::open(&dir).unwrap();
        let draft = Draft {
            text: "Deploys happen on Tuesdays".to_owned(),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        let note = Note::new(&draft).unwrap();
        store.save(&SaveFor::Directory(locate(temp.path())), &note, Time::now()).unwrap();
        assert_eq!(index_next(&mut store, &mut Embedder::new()).unwrap(), 1);

        let (thread, _) = StoreThread::start(dir, "searcher").unwrap();
        let finder = Finder::new(thread);
        let settings = settings::Search::default();
        let mut question = SearchQuery::new(ProjectScope::All, "when do we release");
        question.mode = Mode::Text;
        finder.search(question.clone(), &settings).await.unwrap();
        assert_eq!((finder.idle_for(), finder.state.searcher.resident_bytes()), (None, 0));
        question.mode = Mode::Semantic;
        for _ in 0..2 {
            assert_eq!(finder.search(question.clone(), &settings).await.unwrap().hits.len(), 1);
            assert!(finder.idle_for().is_some() && finder.state.searcher.resident_bytes() > 0);
            finder.unload().await.unwrap();
            assert_eq!((finder.idle_for(), finder.state.searcher.resident_bytes()), (None, 0));
            assert!(finder.state.embedder.lock().unwrap().is_none());
        }
    }
}
