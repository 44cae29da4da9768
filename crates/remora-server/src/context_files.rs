//! Updates the context files of projects that have them. News wakes it; it never polls.
//!
//! Every event causes news, but memory changes only once per batch, so files are checked only if the mark of
//! their project's memory has changed. Failures are logged and not retried before the next change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use remora_app::context_files::follow;
use remora_core::ids::ProjectId;
use remora_store::context_files::MemoryMark;
use remora_store::{DataDir, Store, StoreError, problems};
use tokio::sync::watch;

use crate::shared::Shared;

/// Changes within this time are written together.
const MOMENT: Duration = Duration::from_millis(500);

pub(crate) async fn keep(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut seen: HashMap<ProjectId, MemoryMark> = HashMap::new();
    loop {
        // Any news from here on triggers another round.
        news.borrow_and_update();
        if let Err(error) = refresh_changed(&shared, &mut seen).await {
            problems::report(Some(&shared.dir), &format!("daemon: context files were not updated: {error}"));
        }
        tokio::select! {
            _ = news.changed() => {}
            _ = stop.changed() => return,
        }
        tokio::select! {
            () = tokio::time::sleep(MOMENT) => {}
            _ = stop.changed() => return,
        }
    }
}

async fn refresh_changed(
    shared: &Shared,
    seen: &mut HashMap<ProjectId, MemoryMark>,
) -> Result<(), StoreError> {
    let marks = shared
        .reader
        .call(|store| {
            let projects = store.all_context_files()?;
            projects.into_iter().map(|(project, _)| Ok((project, store.memory_mark(project)?))).collect()
        })
        .await?;
    let marks: Vec<(ProjectId, MemoryMark)> = marks;
    let changed: Vec<ProjectId> =
        marks.iter().filter(|(project, mark)| seen.get(project) != Some(mark)).map(|(p, _)| *p).collect();
    // Marked as seen first, so that a project whose files cannot be written also waits for its next change.
    *seen = marks.into_iter().collect();
    if changed.is_empty() {
        return Ok(());
    }
    let dir = shared.dir.clone();
    // Not on this thread: a slow disk with a project on it must not block the daemon.
    match tokio::task::spawn_blocking(move || refresh(&dir, &changed)).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Closed),
    }
}

fn refresh(dir: &DataDir, projects: &[ProjectId]) -> Result<(), StoreError> {
    let mut store = Store::open(dir)?;
    for project in projects {
        // Problems with single files are in the log.
        if let Some(error) = follow(&mut store, Some(*project)).error {
            return Err(error);
        }
    }
    Ok(())
}
