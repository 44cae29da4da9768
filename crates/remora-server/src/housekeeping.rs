//! Hourly maintenance: ends quiet sessions and deletes expired data.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::shared::Shared;

const ROUND: Duration = Duration::from_hours(1);

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    loop {
        let retention = shared.settings().retention.clone();
        let done = shared.writer.call(move |store| store.prune(&retention, store.dir().now())).await;
        match done {
            Ok(_) => tracing::debug!("expired data was deleted"),
            Err(error) => tracing::error!("{error}"),
        }
        tokio::select! {
            () = tokio::time::sleep(ROUND) => {}
            _ = stop.changed() => return,
        }
    }
}
