//! Works the queue off: woken, never polling.

use std::sync::Arc;
use std::time::Duration;

use remora_core::time::Time;
use remora_observer::drain_one;
use remora_store::{Store, StoreError, problems};
use tokio::sync::watch;

use crate::shared::Shared;

/// After an error of the store, before it is tried again.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// What is due and yet not to be had, because another process works on it, is asked for again after this.
const SHORTEST_SLEEP: Duration = Duration::from_secs(1);
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

pub(crate) async fn work(shared: Arc<Shared>, owner: String, mut stop: watch::Receiver<bool>) {
    loop {
        let sleep = match round(&shared, &owner, &stop).await {
            Ok(sleep) => sleep,
            Err(error) => {
                problems::report(Some(&shared.dir), &format!("daemon: {error}"));
                AFTER_ERROR
            }
        };
        tokio::select! {
            () = shared.work.notified() => {}
            () = tokio::time::sleep(sleep) => {}
            _ = stop.changed() => break,
        }
    }
    let released = shared.writer.call(move |store| store.release_all(&owner)).await;
    if let Err(error) = released {
        problems::report(Some(&shared.dir), &format!("daemon: {error}"));
    }
}

/// Does what there is to do; says how long there is nothing more.
async fn round(shared: &Shared, owner: &str, stop: &watch::Receiver<bool>) -> Result<Duration, StoreError> {
    let silence = shared.settings().observer.turn_silence;
    shared
        .writer
        .call(|store| {
            store.take_in_spool();
            Ok(())
        })
        .await?;
    // One turn at a time, so that whoever else writes gets in between.
    while !*stop.borrow() {
        let owner = owner.to_owned();
        if !shared.writer.call(move |store| drain_one(store, &owner, silence)).await? {
            break;
        }
        shared.news.send_modify(|count| *count += 1);
    }
    let due = shared.writer.call(move |store: &mut Store| store.next_due(silence)).await?;
    let wait = due.map_or(i64::MAX, |due| due.0.saturating_sub(Time::now().0)).max(0);
    Ok(Duration::from_millis(wait.unsigned_abs()).clamp(SHORTEST_SLEEP, LONGEST_SLEEP))
}
