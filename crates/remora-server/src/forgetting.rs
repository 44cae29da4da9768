//! Erases forgotten records once they can no longer be undone: rows when they are due, files when the daemon
//! is idle.

use std::sync::Arc;
use std::time::Duration;

use remora_app::forget;
use remora_store::forget::NextStep;
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
                    NextStep::PurgeAt(at) => at.since(shared.dir.now()),
                };
                Some(due.max(IDLE_AFTER.saturating_sub(shared.activity.quiet_for())))
            }
            Err(_) => Some(AFTER_ERROR),
        };
        if wait == Some(Duration::ZERO) {
            let Err(error) = shared.apart(|rt| forget::finish(rt)).await else {
                tracing::debug!("what was forgotten is erased");
                continue;
            };
            tracing::error!("forgetting is not finished: {error}");
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
