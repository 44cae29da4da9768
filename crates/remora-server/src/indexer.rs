//! Makes the vectors that are missing: woken by news, never polling, at the lowest priority.
//!
//! The store's thread reads documents without a vector and writes vectors; in between, a thread of its own embeds them
//! while nobody holds anything. What is done is what has a vector, so a daemon that was killed goes on where it was.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use remora_core::settings;
use remora_embed::{Embedder, MODEL};
use remora_search::{EmbedError, IndexBatch};
use remora_store::search::Embedded;
use remora_store::{StoreError, problems};
use tokio::sync::{oneshot, watch};

use crate::shared::Shared;

/// After so long without a need for it, the model is given up.
const IDLE: Duration = Duration::from_mins(5);
/// After an error of the store, before it is tried again.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// The kindest there is: whoever else wants the processor has it.
const PRIORITY: i32 = 19;

pub(crate) async fn keep(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut settings = shared.watch_settings();
    let mut indexer = Indexer { shared: Arc::clone(&shared), workshop: None };
    loop {
        // Whatever comes from now on is a reason to look again.
        news.borrow_and_update();
        let is_on = settings.borrow_and_update().search.embedder == settings::Embedder::Builtin;
        let mut retry = None;
        if is_on {
            tokio::select! {
                done = indexer.index_all() => if let Err(error) = done {
                    problems::report(Some(&shared.dir), &format!("daemon: indexing waits: {error}"));
                    retry = Some(AFTER_ERROR);
                },
                _ = stop.changed() => return,
            }
        } else {
            indexer.workshop = None;
        }
        let unload = indexer.give_up_idle().await;
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
}

impl Indexer {
    async fn index_all(&mut self) -> Result<(), StoreError> {
        let mut busy = None;
        while let Some(batch) = self.shared.writer.call(|store| IndexBatch::next(store, MODEL)).await? {
            // A daemon at work does not end for want of events.
            busy.get_or_insert_with(|| self.shared.activity.connect());
            let workshop = match &mut self.workshop {
                Some(workshop) => workshop,
                none => none.insert(Workshop::open()?),
            };
            let made = workshop.embed(batch).await;
            if made.is_err() {
                self.workshop = None;
            }
            let made = made?;
            self.shared.writer.call(move |store| store.put_vectors(MODEL, &made)).await?;
        }
        Ok(())
    }

    /// Gives up what nobody needed for long; says when to look again.
    async fn give_up_idle(&mut self) -> Option<Duration> {
        let own = self.workshop.as_ref().map(|workshop| left(workshop.last_used.elapsed()));
        if own == Some(Duration::ZERO) {
            self.workshop = None;
        }
        let search = self.shared.finder.idle_for().map(left);
        if search == Some(Duration::ZERO) {
            // It fails when the daemon is ending, and then all of it goes.
            let _ = self.shared.finder.unload().await;
        }
        [own, search].into_iter().flatten().filter(|left| !left.is_zero()).min()
    }
}

fn left(idle: Duration) -> Duration {
    IDLE.saturating_sub(idle)
}

type Made = Result<Vec<Embedded>, EmbedError>;

/// A thread with the model; it ends when this is dropped.
struct Workshop {
    jobs: Sender<(IndexBatch, oneshot::Sender<Made>)>,
    last_used: Instant,
}

impl Workshop {
    fn open() -> Result<Self, StoreError> {
        let (jobs, work) = mpsc::channel::<(IndexBatch, oneshot::Sender<Made>)>();
        let run = move || {
            // Without it, it is only less kind.
            let _ = rustix::process::setpriority_process(None, PRIORITY);
            let mut embedder = Embedder::new();
            for (batch, answer) in work {
                // Whoever asked may have gone; the documents wait for the next.
                let _ = answer.send(batch.embed(&mut embedder));
            }
        };
        // A machine that has no thread to spare has one later.
        thread::Builder::new().name("embedder".to_owned()).spawn(run).map_err(|_| StoreError::Busy)?;
        Ok(Self { jobs, last_used: Instant::now() })
    }

    async fn embed(&mut self, batch: IndexBatch) -> Result<Vec<Embedded>, StoreError> {
        let (answer, waiting) = oneshot::channel();
        self.jobs.send((batch, answer)).map_err(|_| StoreError::Closed)?;
        let made = waiting.await.map_err(|_| StoreError::Closed)?;
        self.last_used = Instant::now();
        // The model in the program always answers.
        made.map_err(|_| StoreError::Closed)
    }
}
