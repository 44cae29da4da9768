//! Updates the context files of projects that have them. News wakes it; it never polls.
//!
//! Every event causes news, but memory changes only once per batch, so files are checked only if the mark of
//! their project's memory has changed. Failures are logged and not retried before the next change.

use std::sync::Arc;
use std::time::Duration;

use remora_app::context_files::{self, Marks};
use remora_store::{Store, StoreError};
use tokio::sync::watch;

use crate::shared::Shared;

/// Changes within this time are written together.
const DEBOUNCE: Duration = Duration::from_millis(500);

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut seen = Marks::default();
    loop {
        // Any news from here on triggers another round.
        news.borrow_and_update();
        if let Err(error) = refresh_changed(&shared, &mut seen).await {
            tracing::error!("context files were not updated: {error}");
        }
        tokio::select! {
            _ = news.changed() => {}
            _ = stop.changed() => return,
        }
        tokio::select! {
            () = tokio::time::sleep(DEBOUNCE) => {}
            _ = stop.changed() => return,
        }
    }
}

async fn refresh_changed(shared: &Shared, seen: &mut Marks) -> Result<(), StoreError> {
    let marks = shared.reader.call(context_files::marks).await?;
    if marks == *seen {
        return Ok(());
    }
    // Marked as seen first, so that a project whose files cannot be written also waits for its next change.
    let before = std::mem::replace(seen, marks);
    let dir = shared.dir.clone();
    // Not on this thread: a slow disk with a project on it must not block the daemon.
    let refresh =
        move || context_files::refresh_changed(&Store::open(&dir)?, &before).error.map_or(Ok(()), Err);
    tokio::task::spawn_blocking(refresh).await.unwrap_or(Err(StoreError::Closed))?;
    tracing::debug!("context files are up to date");
    Ok(())
}
