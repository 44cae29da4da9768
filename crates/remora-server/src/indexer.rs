//! Makes the vectors that are missing: woken by news, never polling, at the lowest priority.
//!
//! The store's thread reads documents without a vector and writes vectors; in between, a thread of its own embeds them
//! while nobody holds anything, or somebody over the network does. What is done is what has a vector, so a daemon that
//! was killed goes on where it was. Another embedder is another name for vectors: those of the old one are given up once
//! the new one has answered, and made anew like any that are missing.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use remora_core::settings::Search;
use remora_core::time::Time;
use remora_embed::{Embedder, MODEL};
use remora_search::{EmbedError, Embeddings, IndexBatch, IndexError, Purpose};
use remora_store::search::Embedded;
use remora_store::{Store, StoreError, log, problems};
use remora_sys::memory;
use remora_sys::process::lower_thread_priority;
use tokio::sync::{oneshot, watch};

use crate::embedders::Chosen;
use crate::shared::Shared;

/// After an error of the store, before it is tried again.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// The least pause before an embedder that failed is called again; its own clock may say later.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

pub(crate) async fn keep(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut settings = shared.watch_settings();
    let mut indexer = Indexer { shared: Arc::clone(&shared), workshop: None, reported: None };
    loop {
        // Whatever comes from now on is a reason to look again.
        news.borrow_and_update();
        let wanted = settings.borrow_and_update().search.clone();
        shared.publish_embedder_health();
        let retry = tokio::select! {
            done = indexer.index_all(&wanted) => indexer.retry_after(done, &wanted),
            // Work in flight is aborted: another process may own it now, or it may never end.
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

/// Without a reason to wake up, none.
async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

struct Indexer {
    shared: Arc<Shared>,
    workshop: Option<Workshop>,
    /// What is wrong with the embedder, as the log knows it.
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
            let next = move |store: &mut Store| IndexBatch::next(store, &model, with_turns);
            let Some(batch) = self.shared.writer.call(next).await? else { return Ok(()) };
            // A daemon at work does not end for want of events.
            busy.get_or_insert_with(|| self.shared.activity.connect());
            let (model, made) = match &chosen {
                Chosen::Remote(remote) => {
                    let Embeddings { model, vectors, .. } =
                        remote.embed(batch.texts(), Purpose::Document).await?;
                    (model, batch.take(vectors)?)
                }
                _ => self.embed_here(batch).await?,
            };
            self.shared.writer.call(move |store| store.put_vectors(&model, &made)).await?;
        }
    }

    /// By the model in the program.
    async fn embed_here(&mut self, batch: IndexBatch) -> Result<(String, Vec<Embedded>), IndexError> {
        let workshop = match &mut self.workshop {
            Some(workshop) => workshop,
            none => none.insert(Workshop::open()?),
        };
        let made = workshop.embed(batch).await;
        if made.is_err() {
            self.workshop = None;
        }
        made
    }

    /// When to go on after this, if by itself; every kind of trouble is reported once.
    fn retry_after(&mut self, done: Result<(), IndexError>, wanted: &Search) -> Option<Duration> {
        let report = |text: &str| problems::report(Some(&self.shared.dir), &format!("daemon: {text}"));
        match done {
            Ok(()) => {
                let is_asked = matches!(self.shared.embedders.chosen(wanted), Chosen::Remote(_));
                if self.reported.take().is_some() && is_asked {
                    log::info(&self.shared.dir, "daemon", "the embedder answers again");
                }
                None
            }
            Err(IndexError::Store(error)) => {
                report(&format!("indexing waits: {error}"));
                Some(AFTER_ERROR)
            }
            Err(IndexError::Embed(error)) => {
                let reason = error.to_string();
                if self.reported.as_ref() != Some(&reason) {
                    report(&format!("indexing waits, search by words only: {reason}"));
                    self.reported = Some(reason);
                }
                match self.shared.embedders.chosen(wanted) {
                    Chosen::Remote(remote) => {
                        let next = remote.trouble().map(|trouble| trouble.next_try.since(Time::now()));
                        Some(next.unwrap_or_default().max(SHORTEST_WAIT))
                    }
                    // Nothing changes before the settings do.
                    _ => None,
                }
            }
        }
    }

    /// Drops the model and the vectors if they were idle long enough. Returns when to look again.
    async fn give_up_idle(&mut self, idle: Duration) -> Option<Duration> {
        let left = |unused| idle.saturating_sub(unused);
        let own = self.workshop.as_ref().map(|workshop| left(workshop.last_used.elapsed()));
        if own == Some(Duration::ZERO) {
            self.workshop = None;
        }
        let search = self.shared.finder.idle_for().map(left);
        if search == Some(Duration::ZERO) {
            // It fails when the daemon is ending, and then all of it goes.
            let _ = self.shared.finder.unload().await;
        }
        if [own, search].contains(&Some(Duration::ZERO)) {
            memory::give_back();
        }
        [own, search].into_iter().flatten().filter(|left| !left.is_zero()).min()
    }
}

type Made = Result<(String, Vec<Embedded>), EmbedError>;

/// A thread with the model; it ends when this is dropped.
struct Workshop {
    jobs: Sender<(IndexBatch, oneshot::Sender<Made>)>,
    last_used: Instant,
}

impl Workshop {
    fn open() -> Result<Self, StoreError> {
        let (jobs, work) = mpsc::channel::<(IndexBatch, oneshot::Sender<Made>)>();
        let run = move || {
            lower_thread_priority();
            let mut embedder = Embedder::new();
            for (batch, answer) in work {
                // The caller may have gone; the documents stay on the work list.
                let _ = answer.send(batch.embed(&mut embedder));
            }
        };
        // A machine that has no thread to spare has one later.
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
