//! Hourly maintenance: ends quiet sessions and deletes expired data.

use std::sync::Arc;
use std::time::Duration;

use remora_core::time::Time;
use remora_store::problems;
use tokio::sync::watch;

use crate::shared::Shared;

const ROUND: Duration = Duration::from_hours(1);

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    loop {
        let retention = shared.settings().retention.clone();
        let done = shared.writer.call(move |store| store.prune(&retention, Time::now())).await;
        if let Err(error) = done {
            problems::report(Some(&shared.dir), &format!("daemon: {error}"));
        }
        tokio::select! {
            () = tokio::time::sleep(ROUND) => {}
            _ = stop.changed() => return,
        }
    }
}
