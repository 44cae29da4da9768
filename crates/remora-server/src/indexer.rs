//! Creates missing vectors. News wakes it; it never polls, and runs at the lowest priority.
//!
//! The store's thread reads documents without a vector and writes vectors. In between, they are embedded on a
//! separate thread or over the network, while no lock is held. Progress is the stored vectors themselves, so
//! a daemon that was killed continues where it stopped. Vectors carry the name of their embedder: after a
//! change of embedder, the old ones are dropped once the new embedder has answered, and then count as
//! missing.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use remora_core::settings::Search;
use remora_core::time::Time;
use remora_embed::{Embedder, MODEL};
use remora_search::{EmbedError, Embeddings, IndexBatch, IndexError, Purpose};
use remora_store::search::Embedded;
use remora_store::{Store, StoreError};
use remora_sys::memory;
use remora_sys::process::lower_thread_priority;
use tokio::sync::{oneshot, watch};

use crate::embedders::Chosen;
use crate::shared::Shared;

/// Pause after a store error before the next try.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Minimum pause before a failed embedder is called again; its own backoff may be longer.
const MIN_WAIT: Duration = Duration::from_millis(100);

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut settings = shared.watch_settings();
    let mut indexer = Indexer { shared: Arc::clone(&shared), workshop: None, reported: None };
    loop {
        // Any news from here on triggers another round.
        news.borrow_and_update();
        let wanted = settings.borrow_and_update().search.clone();
        shared.publish_embedder_health();
        let retry = tokio::select! {
            done = indexer.index_all(&wanted) => indexer.retry_after(done, &wanted),
            // Work in flight is aborted: the new settings may name another embedder, or the call may never
            // end.
            _ = settings.changed() => continue,
            _ = stop.changed() => return,
        };
        shared.publish_embedder_health();
        let unload = indexer.give_up_idle(Duration::from_secs(wanted.idle_seconds.into())).await;
        let wait = [retry, unload].into_iter().flatten().min();
        tokio::select! {
            _ = news.changed() => {}
            _ = settings.changed() => {}
            () = shared.finder.used.notified() => {}
            () = sleep(wait) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Sleeps for `wait`, or forever without one.
async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

struct Indexer {
    shared: Arc<Shared>,
    workshop: Option<EmbedWorker>,
    /// The embedder's last error, as reported in the log.
    reported: Option<String>,
}

impl Indexer {
    async fn index_all(&mut self, wanted: &Search) -> Result<(), IndexError> {
        let chosen = self.shared.embedders.chosen(wanted);
        if !matches!(chosen, Chosen::Builtin) {
            self.workshop = None;
        }
        let with_turns = wanted.index_turns;
        let mut busy = None;
        loop {
            let model = match &chosen {
                Chosen::Nobody => return Ok(()),
                Chosen::Unusable(error, _) => return Err(error.clone().into()),
                Chosen::Builtin => MODEL.to_owned(),
                Chosen::Remote(remote) => remote.vectors_name().await?,
            };
            self.shared.finder.give_way().await;
            let next = move |store: &Store| IndexBatch::next(store, &model, with_turns);
            let Some(batch) = self.shared.writer.call(next).await? else { return Ok(()) };
            // Counts as a connection, so that the daemon does not end as idle while it works.
            busy.get_or_insert_with(|| self.shared.activity.connect());
            let began = Instant::now();
            let (model, made) = match &chosen {
                Chosen::Remote(remote) => {
                    let Embeddings { model, vectors, .. } =
                        remote.embed(batch.texts(), Purpose::Document).await?;
                    (model, batch.take(vectors)?)
                }
                _ => self.embed_builtin(batch).await?,
            };
            tracing::debug!(
                "indexed: {} vectors of {model} in {} ms",
                made.len(),
                began.elapsed().as_millis()
            );
            self.shared.writer.call(move |store| store.index().put_vectors(&model, &made)).await?;
        }
    }

    /// Embeds a batch with the built-in model.
    async fn embed_builtin(&mut self, batch: IndexBatch) -> Result<(String, Vec<Embedded>), IndexError> {
        let workshop = match &mut self.workshop {
            Some(workshop) => workshop,
            none => none.insert(EmbedWorker::open()?),
        };
        let made = workshop.embed(batch).await;
        if made.is_err() {
            self.workshop = None;
        }
        made
    }

    /// Returns when to retry, if at all before the settings change. Each kind of error is reported once.
    fn retry_after(&mut self, done: Result<(), IndexError>, wanted: &Search) -> Option<Duration> {
        match done {
            Ok(()) => {
                let is_asked = matches!(self.shared.embedders.chosen(wanted), Chosen::Remote(_));
                if self.reported.take().is_some() && is_asked {
                    tracing::info!("the embedder answers again");
                }
                None
            }
            Err(IndexError::Store(error)) => {
                tracing::error!("indexing waits: {error}");
                Some(AFTER_ERROR)
            }
            Err(IndexError::Embed(error)) => {
                let reason = error.to_string();
                if self.reported.as_ref() != Some(&reason) {
                    tracing::error!("indexing waits, search by words only: {reason}");
                    self.reported = Some(reason);
                }
                match self.shared.embedders.chosen(wanted) {
                    Chosen::Remote(remote) => {
                        let next = remote.outage().map(|outage| outage.next_try.since(Time::now()));
                        Some(next.unwrap_or_default().max(MIN_WAIT))
                    }
                    // Only a change of the settings can help.
                    _ => None,
                }
            }
        }
    }

    /// Drops the model and the vectors if they were idle long enough. Returns when to check again.
    async fn give_up_idle(&mut self, idle: Duration) -> Option<Duration> {
        let left = |unused| idle.saturating_sub(unused);
        let own = self.workshop.as_ref().map(|workshop| left(workshop.last_used.elapsed()));
        if own == Some(Duration::ZERO) {
            self.workshop = None;
        }
        let search = self.shared.finder.idle_for().map(left);
        if search == Some(Duration::ZERO) {
            // Fails only when the daemon is ending, and then the memory is freed anyway.
            let _ = self.shared.finder.unload().await;
        }
        if [own, search].contains(&Some(Duration::ZERO)) {
            tracing::debug!("the model and the vectors were idle and left memory");
            memory::give_back();
        }
        [own, search].into_iter().flatten().filter(|left| !left.is_zero()).min()
    }
}

type Made = Result<(String, Vec<Embedded>), EmbedError>;

/// A thread with the built-in model. It ends when this is dropped.
struct EmbedWorker {
    jobs: Sender<(IndexBatch, oneshot::Sender<Made>)>,
    last_used: Instant,
}

impl EmbedWorker {
    fn open() -> Result<Self, StoreError> {
        let (jobs, work) = mpsc::channel::<(IndexBatch, oneshot::Sender<Made>)>();
        let run = move || {
            lower_thread_priority();
            let mut embedder = Embedder::new();
            for (batch, answer) in work {
                // The caller may be gone; the documents stay on the work list.
                let _ = answer.send(batch.embed(&mut embedder));
            }
        };
        // Out of threads is a temporary condition.
        thread::Builder::new().name("embedder".to_owned()).spawn(run).map_err(|_| StoreError::Busy)?;
        Ok(Self { jobs, last_used: Instant::now() })
    }

    async fn embed(&mut self, batch: IndexBatch) -> Result<(String, Vec<Embedded>), IndexError> {
        let (answer, waiting) = oneshot::channel();
        self.jobs.send((batch, answer)).map_err(|_| StoreError::Closed)?;
        let made = waiting.await.map_err(|_| StoreError::Closed)?;
        self.last_used = Instant::now();
        Ok(made?)
    }
}
