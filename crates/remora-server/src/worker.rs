//! Processes the queue. It is woken and never polls; several sessions run in parallel, each in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use remora_core::ids::SessionId;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_observer::{Next, Observer, Reflection, Task};
use remora_store::{Failure, Requeue, Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::shared::Shared;

/// Pause after a store error before the next try.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Pause before work that is due, but claimed by another process, is tried again.
const MIN_SLEEP: Duration = Duration::from_secs(1);
const MAX_SLEEP: Duration = Duration::from_hours(1);
/// Hosts write some lines of a transcript after their last hook, so it is read again this long after a turn
/// was stored.
const READ_AGAIN: Duration = Duration::from_millis(1500);
/// Pause between two turns. Hooks that wait for the database retry at least every three milliseconds.
const BETWEEN_TURNS: Duration = Duration::from_millis(3);
/// Interval at which a claim is renewed.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// What concerns the model is logged under this name, wherever it is noticed.
const OBSERVER: &str = "remora_observer";

pub(crate) async fn work(shared: Arc<Shared>, owner: String, mut stop: watch::Receiver<bool>) {
    let mut settings = shared.watch_settings();
    let mut worker = Worker::new(Arc::clone(&shared), owner);
    worker.adopt(&settings.borrow_and_update().clone());
    if let Err(error) = worker.find_unread().await {
        tracing::error!("{error}");
    }
    loop {
        let sleep = worker.round(&stop).await.unwrap_or_else(|error| {
            tracing::error!("{error}");
            AFTER_ERROR
        });
        worker.publish_health();
        tokio::select! {
            () = shared.work.notified() => {}
            () = tokio::time::sleep(sleep) => {}
            Some(call) = worker.calls.join_next() => worker.read_again_soon(call.ok()),
            _ = settings.changed() => {
                worker.adopt(&settings.borrow_and_update().clone());
                // Turns that waited for a working provider or a larger budget are retried now.
                tracing::debug!("new settings: turns that wait for the model are tried again");
                let retry = |store: &Store| store.queue().requeue(Requeue::Delayed, store.dir().now());
                if let Err(error) = shared.writer.call(retry).await {
                    tracing::error!("{error}");
                }
            }
            _ = stop.changed() => break,
        }
    }
    worker.end().await;
}

struct Worker {
    shared: Arc<Shared>,
    owner: String,
    observer: Arc<Observer>,
    parallel: usize,
    silence: Duration,
    /// Model calls in flight, each for a different session, whose id it returns.
    calls: JoinSet<SessionId>,
    /// Transcripts to read again, and when. A starting daemon finds them again.
    read_again: BTreeMap<SessionId, Time>,
}

impl Worker {
    fn new(shared: Arc<Shared>, owner: String) -> Self {
        let silence = shared.settings().observer.turn_silence;
        let observer = Arc::new(Observer::builtin(&owner, silence));
        let (calls, read_again) = (JoinSet::new(), BTreeMap::new());
        Self { shared, owner, observer, parallel: 1, silence, calls, read_again }
    }

    /// Applies new settings. Calls in flight finish with the old ones.
    fn adopt(&mut self, settings: &Settings) {
        let (observer, problems) = Observer::new(settings, &self.shared.dir, &self.owner);
        for problem in problems {
            tracing::error!("{problem}");
        }
        self.observer = Arc::new(observer);
        self.parallel = usize::from(settings.observer.parallel_sessions.max(1));
        self.silence = settings.observer.turn_silence;
    }

    /// Processes the queue. Returns how long to wait until there may be more.
    async fn round(&mut self, stop: &watch::Receiver<bool>) -> Result<Duration, StoreError> {
        let alarm = Arc::clone(&self.shared.alarm);
        self.shared
            .writer
            .call(move |store| {
                if store.ingest_spool() {
                    alarm.notify_one();
                }
                store.sessions().clamp_future_times(store.dir().now())?;
                store.queue().requeue(Requeue::StaleClaims, store.dir().now())
            })
            .await?;
        // One turn at a time, so that hooks can write in between.
        while !*stop.borrow() {
            self.shared.finder.give_way().await;
            let observer = Arc::clone(&self.observer);
            let may_ask = self.calls.len() < self.parallel;
            let next = self.shared.writer.call(move |store| {
                let now = store.dir().now();
                // With all calls in use, only work that needs no model is done.
                if may_ask { observer.next(store, now) } else { observed(&observer, store, now) }
            });
            match next.await? {
                Next::Nothing => break,
                Next::NotAsked => {}
                Next::Settled(settled) => {
                    self.read_again_soon(settled.transcript);
                    self.shared.announce_news();
                    tokio::time::sleep(BETWEEN_TURNS).await;
                }
                Next::Ask(task) => {
                    self.shared.announce_news();
                    let call = reflect(Arc::clone(&self.shared), *task);
                    self.calls.spawn(call);
                }
            }
        }
        self.read_late().await?;
        let silence = self.silence;
        let due = self.shared.writer.call(move |store| store.queue().next_due(silence)).await?;
        let now = self.shared.dir.now();
        let wait = due.map_or(MAX_SLEEP, |due| due.since(now)).clamp(MIN_SLEEP, MAX_SLEEP);
        Ok(self.read_again.values().min().map_or(wait, |due| due.since(now).min(wait)))
    }

    /// Schedules transcripts that grew while no daemon was running.
    async fn find_unread(&mut self) -> Result<(), StoreError> {
        let observer = Arc::clone(&self.observer);
        let sessions = self.shared.writer.call(move |store| observer.unread(store)).await?;
        let now = self.shared.dir.now();
        self.read_again.extend(sessions.into_iter().map(|session| (session, now)));
        Ok(())
    }

    fn read_again_soon(&mut self, session: Option<SessionId>) {
        let due = self.shared.dir.now().after(READ_AGAIN);
        self.read_again.extend(session.map(|session| (session, due)));
    }

    /// Reads the due transcripts again.
    async fn read_late(&mut self) -> Result<(), StoreError> {
        let now = self.shared.dir.now();
        let due: Vec<SessionId> =
            self.read_again.extract_if(.., |_, due| *due <= now).map(|(id, _)| id).collect();
        for session in due {
            self.shared.finder.give_way().await;
            let observer = Arc::clone(&self.observer);
            let read =
                self.shared.writer.call(move |store| observer.read_late_messages(store, session)).await?;
            tracing::debug!("the transcript of session {session} was read again, news: {}", read.is_some());
            if read.is_some() {
                self.shared.announce_news();
            }
        }
        Ok(())
    }

    fn publish_health(&self) {
        self.shared.health.send_if_modified(|health| {
            let now = self.observer.health();
            let changed = *health != now;
            *health = now;
            changed
        });
    }

    /// Aborts calls in flight and releases their turns to the next daemon.
    async fn end(mut self) {
        self.calls.shutdown().await;
        let owner = self.owner.clone();
        let release =
            move |store: &Store| store.queue().requeue(Requeue::ReleasedBy(&owner), store.dir().now());
        if let Err(error) = self.shared.writer.call(release).await {
            tracing::error!("{error}");
        }
    }
}

fn observed(observer: &Observer, store: &Store, now: Time) -> Result<Next, StoreError> {
    Ok(observer.observe(store, now)?.map_or(Next::Nothing, Next::Settled))
}

/// Calls the model for one turn and stores the result. Returns the session, because its transcript may have
/// grown in the meantime.
async fn reflect(shared: Arc<Shared>, task: Task) -> SessionId {
    let answer = {
        let asking = task.ask();
        tokio::pin!(asking);
        loop {
            tokio::select! {
                answer = &mut asking => break answer,
                () = tokio::time::sleep(HEARTBEAT) => {
                    let batch = task.batch().clone();
                    let beaten = shared.writer.call(move |store| store.queue().heartbeat(&batch, store.dir().now())).await;
                    if let Err(error) = beaten {
                        tracing::error!("{error}");
                    }
                }
            }
        }
    };
    let session = task.batch().session;
    let reflection = task.reflect(answer, shared.dir.now());
    note(&reflection);
    let settled = shared.writer.call(move |store| task.settle(store, &reflection, store.dir().now())).await;
    match settled {
        Ok(observations) => {
            if let Some(count) = observations {
                tracing::debug!("the answer about session {session} left {count} observations");
            } else {
                tracing::debug!("a turn of session {session} went back to the queue");
            }
            shared.announce_news();
        }
        Err(error) => tracing::error!("{error}"),
    }
    session
}

/// Logs oddities of an answer that are not failures. Never logs the answer itself.
fn note(reflection: &Reflection) {
    if let Some(Failure::NoAnswer { reason, .. }) = reflection.failure() {
        tracing::warn!(target: OBSERVER, "{reason}");
    }
    if !reflection.problems.is_empty() {
        tracing::info!(target: OBSERVER, "odd answer: {}", reflection.problems.join("; "));
    }
}
