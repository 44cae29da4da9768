//! Erases forgotten records once they can no longer be undone: rows when they are due, files when the daemon
//! is idle.

use std::sync::Arc;
use std::time::Duration;

use remora_app::AppError;
use remora_app::forget::{self, ForgetRequest, Forgotten, Plan};
use remora_core::time::Time;
use remora_store::forget::{Erased, NextStep};
use remora_store::{DataDir, SavedBy, Store, StoreError, problems};
use tokio::sync::watch;

use crate::shared::Shared;

/// Every event causes news; checking for new erasures this often is enough.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// The daemon counts as idle after this long without activity.
const IDLE_AFTER: Duration = Duration::from_secs(5);
/// Pause after an error before the next try.
const AFTER_ERROR: Duration = Duration::from_mins(5);

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    loop {
        news.borrow_and_update();
        let due = shared.reader.call(|store| store.forget().next_step()).await;
        let wait = match due {
            Ok(None) => None,
            Ok(Some(step)) => {
                let due = match step {
                    NextStep::Erase => Duration::ZERO,
                    NextStep::PurgeAt(at) => at.since(Time::now()),
                };
                Some(due.max(IDLE_AFTER.saturating_sub(shared.activity.quiet_for())))
            }
            Err(_) => Some(AFTER_ERROR),
        };
        if wait == Some(Duration::ZERO) {
            let dir = shared.dir.clone();
            // Not on a store thread: those have to answer hooks and pages in the meantime.
            let done = tokio::task::spawn_blocking(move || finish(&dir)).await;
            let problem = match done {
                Ok(Ok(_)) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it hit a bug".to_owned(),
            };
            problems::report(Some(&shared.dir), &format!("daemon: forgetting is not finished: {problem}"));
            tokio::select! {
                () = tokio::time::sleep(AFTER_ERROR) => {}
                _ = stop.changed() => return,
            }
            continue;
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = hear(&mut news) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Returns [`DEBOUNCE`] after the next news.
async fn hear(news: &mut watch::Receiver<u64>) {
    // Never fails: the sender lives as long as the daemon.
    let _ = news.changed().await;
    tokio::time::sleep(DEBOUNCE).await;
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

fn finish(dir: &DataDir) -> Result<Option<Erased>, AppError> {
    forget::finish(&mut Store::open(dir)?, Time::now())
}

impl Shared {
    /// Lists what would be forgotten, without changing anything.
    pub(crate) async fn plan_forgetting(&self, request: ForgetRequest) -> Result<Plan, AppError> {
        self.refresh_settings();
        let similar = match forget::similar(&request) {
            Some(search) => Some(self.finder.search(search, self.settings()).await?),
            None => None,
        };
        let plan = move |store: &mut Store| Ok(forget::plan(store, &request, similar.as_ref(), Time::now()));
        self.reader.call(plan).await?
    }

    /// Hides the planned records. What can be undone is erased when it is due and the daemon is idle, anything else
    /// before this returns.
    pub(crate) async fn forget(
        &self,
        plan: Plan,
        undo: Duration,
        by: SavedBy,
    ) -> Result<Forgotten, AppError> {
        let hide = move |store: &mut Store| forget::hide(store, &plan, undo, by, Time::now());
        let mut forgotten = self.change(hide).await?;
        if undo.is_zero() {
            let dir = self.dir.clone();
            let erased = tokio::task::spawn_blocking(move || finish(&dir)).await;
            forgotten.erased = erased.unwrap_or(Err(AppError::Store(StoreError::Closed)))?;
        }
        Ok(forgotten)
    }
}
