//! Keeps the index of the user's notes current. News and changed settings wake it; it never polls.
//!
//! A thread of the lowest priority scans the vault and reads changed notes while no lock is held; the store's
//! own threads read and write a few notes at a time. Each note is stored with the file attributes it had when
//! it was read, so a daemon that was killed continues where it stopped.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use remora_core::settings::Memory;
use remora_core::time::Time;
use remora_notes::{Access, Done, Round, forget_some, settle};
use remora_store::notes::NotesState;
use remora_store::{Store, StoreError};
use remora_sys::process::lower_thread_priority;
use tokio::sync::{Notify, oneshot, watch};

use crate::shared::Shared;

/// Minimum pause between two scans of a folder. After a slow scan the pause is longer, so that scanning takes
/// about one fiftieth of the time.
const FOLDER_PAUSE: Duration = Duration::from_secs(2);
const SHARE: u32 = 50;
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Pause between two requests for the list of notes. Obsidian goes through all of its notes to answer one.
const API_PAUSE: Duration = Duration::from_secs(30);
/// Pause after a failure. It doubles with each further failure, up to `LAST_RETRY`.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LAST_RETRY: Duration = Duration::from_mins(5);
/// Timeout of a request that waits for a due scan. A hook has little more than this for its whole request.
const SCAN_TIMEOUT: Duration = Duration::from_millis(25);
/// Notes removed in one transaction, and batches stored before the list of always injected notes is updated.
const STEP: usize = 100;
const BATCHES: usize = 16;

/// The state of the last scan, and a way to request the next one.
#[derive(Debug)]
pub(crate) struct Freshness {
    last: watch::Sender<Option<Look>>,
    wanted: Notify,
}

/// The last scan.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    /// Minimum time until the next one.
    pause: Duration,
    failed: bool,
}

impl Look {
    fn is_due(&self) -> bool {
        self.at.elapsed() >= self.pause
    }
}

impl Default for Freshness {
    fn default() -> Self {
        Self { last: watch::Sender::new(None), wanted: Notify::new() }
    }
}

impl Freshness {
    /// Waits a moment if a scan is due. Returns whether the index is current. Does not wait for a source that
    /// is down.
    pub(crate) async fn wait(&self) -> bool {
        let mut last = self.last.subscribe();
        if let Some(look) = *last.borrow_and_update()
            && (look.failed || !look.is_due())
        {
            self.wanted.notify_one();
            return !look.failed;
        }
        self.wanted.notify_one();
        match tokio::time::timeout(SCAN_TIMEOUT, last.changed()).await {
            Ok(Ok(())) => last.borrow().is_some_and(|look| !look.failed),
            _ => false,
        }
    }
}

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut settings = shared.watch_settings();
    let mut keeper =
        Keeper { shared: Arc::clone(&shared), is_empty: false, failures: 0, reported: HashSet::new() };
    loop {
        news.borrow_and_update();
        let memory = settings.borrow_and_update().memory.clone();
        tokio::select! {
            () = keeper.look(&memory) => {}
            // A scan of a hanging disk or server could not be cancelled otherwise. Notes that were read are
            // stored.
            _ = settings.changed() => {
                keeper.failures = 0;
                continue;
            }
            _ = stop.changed() => return,
        }
        let mut is_changed = false;
        tokio::select! {
            _ = news.changed() => {}
            () = shared.notes.wanted.notified() => {}
            _ = settings.changed() => is_changed = true,
            _ = stop.changed() => return,
        }
        // News that arrives during the pause is covered by the same scan.
        let rest = shared.notes.last.borrow().map(|look| look.pause.saturating_sub(look.at.elapsed()));
        if !is_changed {
            tokio::select! {
                () = tokio::time::sleep(rest.unwrap_or_default()) => {}
                _ = settings.changed() => is_changed = true,
                _ = stop.changed() => return,
            }
        }
        if is_changed {
            keeper.failures = 0;
        }
    }
}

struct Keeper {
    shared: Arc<Shared>,
    /// Whether notes are off and none are left.
    is_empty: bool,
    failures: u32,
    /// Problems that are already in the log; each is logged once.
    reported: HashSet<String>,
}

impl Keeper {
    async fn look(&mut self, memory: &Memory) {
        let started = Instant::now();
        let access = Access::new(memory, &self.shared.dir);
        if access.is_none() && self.is_empty {
            return;
        }
        self.is_empty = false;
        let is_api = matches!(access, Some(Access::Api { .. }));
        let done = match access {
            Some(access) => self.look_at(access, memory).await,
            None => self.forget(NotesState::default()).await.map(|()| {
                self.is_empty = true;
                Done::default()
            }),
        };
        let problem = match done {
            Ok(done) => {
                if !self.is_empty {
                    tracing::debug!("notes: scanned in {} ms", started.elapsed().as_millis());
                }
                if done.read + done.gone > 0 {
                    // New notes can be shown, and need vectors.
                    self.shared.announce_news();
                    tracing::info!("notes: {} read, {} gone", done.read, done.gone);
                }
                done.problem.map(|problem| problem.to_string())
            }
            Err(StoreError::Closed) => None,
            Err(error) => Some(error.to_string()),
        };
        let failed = problem.is_some();
        match problem {
            Some(problem) => {
                self.report(&format!("notes wait: {problem}"));
                self.failures = self.failures.saturating_add(1);
            }
            None => self.failures = 0,
        }
        let usual = if is_api { API_PAUSE } else { FOLDER_PAUSE };
        let pause =
            if failed { retry(self.failures) } else { usual.max(MAX_PAUSE.min(started.elapsed() * SHARE)) };
        self.shared.notes.last.send_replace(Some(Look { at: Instant::now(), pause, failed }));
    }

    async fn look_at(&mut self, access: Access, memory: &Memory) -> Result<Done, StoreError> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.reader.call(|store| store.notes().state()).await?;
        if state.source != access.name() {
            state = NotesState { source: access.name(), ..NotesState::default() };
            self.forget(state.clone()).await?;
        }
        let known = shared.reader.call(|store| store.notes().known()).await?;
        let mut done = Done::default();
        match aside(move || Round::begin(&access, &known)).await? {
            Ok(round) => {
                // Counts as a connection, so that the daemon does not end as idle while it works.
                let busy = (round.left() > 0).then(|| shared.activity.connect());
                done = self.take_in(round, memory, &mut state).await?;
                drop(busy);
            }
            Err(problem) => done.problem = Some(problem),
        }
        if done.problem.is_none() && (done.read + done.gone > 0 || is_stale(&state, shared.dir.now())) {
            state.synced_at = Some(shared.dir.now());
        }
        state.problem = done.problem.as_ref().map(ToString::to_string);
        let memory = memory.clone();
        let finish = move |store: &Store| {
            settle(store, &memory)?;
            store.notes().set_state(&state)
        };
        shared.writer.call(finish).await?;
        Ok(done)
    }

    async fn take_in(
        &mut self,
        mut round: Round,
        memory: &Memory,
        state: &mut NotesState,
    ) -> Result<Done, StoreError> {
        let mut done = Done { gone: round.gone().len(), ..Done::default() };
        for ids in round.gone().chunks(STEP) {
            let ids = ids.to_vec();
            self.shared.writer.call(move |store| store.notes().remove(&ids)).await?;
        }
        for batch in 0_usize.. {
            let read = aside(move || (round.read_some(), round)).await?;
            round = read.1;
            match read.0 {
                Ok(notes) if notes.is_empty() && round.left() == 0 => break,
                Ok(notes) => {
                    done.read += notes.len();
                    self.shared.writer.call(move |store| store.notes().put(&notes)).await?;
                }
                Err(problem) => {
                    done.problem = Some(problem);
                    break;
                }
            }
            if batch % BATCHES == 0 {
                let memory = memory.clone();
                self.shared.writer.call(move |store| settle(store, &memory)).await?;
            }
        }
        for reason in round.left_out() {
            self.report(&format!("a note is left out: {reason}"));
        }
        state.left_out = round.left_out().to_vec();
        Ok(done)
    }

    async fn forget(&self, state: NotesState) -> Result<(), StoreError> {
        while self.shared.writer.call(forget_some).await? {}
        let forget = move |store: &Store| {
            store.notes().set_always_injected(&[])?;
            store.notes().set_state(&state)
        };
        self.shared.writer.call(forget).await
    }

    /// Logs each reason once, because a source that is down would repeat it every few seconds.
    fn report(&mut self, reason: &str) {
        if self.reported.len() < 1_000 && self.reported.insert(reason.to_owned()) {
            tracing::error!("{reason}");
        }
    }
}

/// Limits writes: the time of the last round is stored at most once a minute.
fn is_stale(state: &NotesState, now: Time) -> bool {
    state.problem.is_some() || state.synced_at.is_none_or(|at| now.since(at) > Duration::from_mins(1))
}

fn retry(failures: u32) -> Duration {
    let doubled = FIRST_RETRY * 2_u32.saturating_pow(failures.saturating_sub(1).min(10));
    doubled.min(LAST_RETRY)
}

/// Runs slow work on its own thread, at the lowest priority.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    let (answer, waiting) = oneshot::channel();
    let run = move || {
        lower_thread_priority();
        // The caller may be gone.
        let _ = answer.send(work());
    };
    // Out of threads is a temporary condition.
    thread::Builder::new().name("notes".to_owned()).spawn(run).map_err(|_| StoreError::Busy)?;
    waiting.await.map_err(|_| StoreError::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_down_is_retried_with_backoff() {
        let seconds: Vec<u64> = [1, 2, 3, 7, 100].map(|failures| retry(failures).as_secs()).into();
        assert_eq!(seconds, [5, 10, 20, 300, 300]);
    }

    #[tokio::test]
    async fn no_request_waits_for_a_source_that_is_down_or_was_just_scanned() {
        let freshness = Freshness::default();
        assert!(!freshness.wait().await, "there was no scan yet, and none is running");
        let look = |failed| Some(Look { at: Instant::now(), pause: Duration::from_mins(1), failed });
        freshness.last.send_replace(look(false));
        assert!(freshness.wait().await);
        freshness.last.send_replace(look(true));
        assert!(!freshness.wait().await);
    }
}
