//! The daemon's life cycle: start, serve, end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use remora_app::backup::Search;
use remora_client::control::Message;
use remora_client::presence::DaemonLock;
use remora_core::settings::IdleExit;
use remora_net::Health;
use remora_store::open_files::Files;
use remora_store::{DataDir, DataError, EmptyWal, Requeue, Store, StoreError, Tuning};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::ear::ControlSocket;
use crate::http::{CaptureThread, Opened};
use crate::shared::{Load, Shared, Threads};
use crate::store_thread::{Open, StoreThread};
use crate::{backups, context_files, forgetting, git_status, housekeeping, indexer, notes, worker};

/// Why a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Stopped by a message or a signal.
    Asked,
    /// A newer version takes over.
    HandedOver,
    /// Idle for longer than the settings allow.
    Idle,
    /// The database is damaged or was replaced by another file. The next start restores it or opens the new
    /// file.
    Damaged,
    /// The data directory was deleted.
    Deleted,
}

impl End {
    /// The reason in words, for the log.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Asked => "ended: stop was requested",
            Self::HandedOver => "ended: a newer version takes over",
            Self::Idle => "ended: idle; the next hook starts it again",
            Self::Damaged => "ended: the database was damaged or replaced; the daemon restarts",
            Self::Deleted => "ended: the data directory was deleted",
        }
    }
}

/// Minimum time until another restart because of damage, and after one that could not recover the database. The daemon runs on
/// meanwhile: if it ended, the next hook would start it again.
const BETWEEN_RESTARTS: Duration = Duration::from_mins(1);
const AFTER_FAILURE: Duration = Duration::from_hours(1);

/// Runs until it is asked to stop, a newer version takes over, or the idle timeout passes. If the database is damaged or
/// replaced, it starts again, and looks at every page.
pub fn run(hold: DaemonLock, dir: &DataDir, load: &Load) -> Result<End, StoreError> {
    let hold = Arc::new(hold);
    let mut search = Search::Brief;
    loop {
        match serve(&hold, dir, Arc::clone(load), search)? {
            End::Damaged => search = Search::EveryPage,
            end => return Ok(end),
        }
    }
}

/// Opens the store for a thread that never writes.
fn open_to_read(dir: &DataDir) -> Result<Store, StoreError> {
    let store = Store::open(dir)?;
    store.tune(Tuning::Reading)?;
    Ok(store)
}

fn serve(hold: &Arc<DaemonLock>, dir: &DataDir, load: Load, search: Search) -> Result<End, StoreError> {
    let failed = |source: io::Error| {
        StoreError::Data(DataError::Unusable { path: dir.path().to_owned(), reason: source.to_string() })
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        // The port is bound before `daemon.json` announces the daemon.
        let http = Opened::open(dir, load().daemon.port).await;
        if let Err(error) = &http {
            tracing::error!("no HTTP: {error}");
        }
        let port = http.as_ref().ok().map(Opened::port);
        hold.publish(port, None, None).map_err(failed)?;
        let place = port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
        if let Some(remark) = dir.clock().remark() {
            tracing::warn!("{remark}");
        }
        tracing::info!("version {} started, {place}", env!("CARGO_PKG_VERSION"));
        // The socket is open from here on: messages that arrive while the store is opened are read right
        // after.
        let ear = ControlSocket::open(dir).map_err(failed)?;
        let signals = Signals::new().map_err(failed)?;
        let is_recovered = backups::recover(dir, search);
        let alarm = Arc::new(Notify::new());
        let start =
            |name, open| StoreThread::start(dir.clone(), name, open, Arc::clone(&alarm)).map_err(failed);
        let (writer, writing) = start("writer", Store::open_caught_up as Open)?;
        let (reader, reading) = start("reader", open_to_read)?;
        let (searcher, searching) = start("searcher", open_to_read)?;
        let owner = format!("daemon-{}", std::process::id());
        let mine = owner.clone();
        let reclaim = move |store: &Store| {
            store.tune(Tuning::LongWal)?;
            store.queue().requeue(Requeue::ClaimsOfOthers(&mine), store.dir().now())
        };
        let reclaimed = writer.call(reclaim).await;
        let mut opened = Files::of(dir);
        match reclaimed {
            Ok(_) => {}
            // The check above has not found the damage, or it is new.
            Err(error) if error.is_about_content() && search == Search::Brief => {
                tracing::info!("{}", End::Damaged.reason());
                return Ok(End::Damaged);
            }
            Err(error) if error.is_about_content() => {
                tracing::error!("the database cannot be used; hooks use the spool: {error}");
                // Every check makes and removes these while no store is open.
                opened = Files { log: None, index: None, ..opened };
            }
            Err(error) => return Err(error),
        }
        let pause = match search {
            _ if !is_recovered => AFTER_FAILURE,
            Search::Brief => Duration::ZERO,
            Search::EveryPage => BETWEEN_RESTARTS,
        };
        let restart_from = Instant::now() + pause;
        let threads = Threads { writer, reader, searcher, alarm };
        let shared = Arc::new(Shared::new(Arc::clone(hold), dir, threads, load));
        let (stopping, stop) = watch::channel(false);
        let mut tasks = vec![
            tokio::spawn(worker::work(Arc::clone(&shared), owner, stop.clone())),
            tokio::spawn(housekeeping::run(Arc::clone(&shared), stop.clone())),
            tokio::spawn(indexer::run(Arc::clone(&shared), stop.clone())),
            tokio::spawn(git_status::run(Arc::clone(&shared), stop.clone())),
            tokio::spawn(context_files::run(Arc::clone(&shared), stop.clone())),
            tokio::spawn(notes::run(Arc::clone(&shared), stop.clone())),
            tokio::spawn(backups::run(Arc::clone(&shared), opened, restart_from, stop.clone())),
            tokio::spawn(forgetting::run(Arc::clone(&shared), stop.clone())),
        ];
        if let Ok(http) = http {
            let capture = CaptureThread::start(&shared).map_err(failed)?;
            tasks.push(tokio::spawn(http.serve(Arc::clone(&shared), capture, hold.started_at(), stop)));
        }
        let publish = |observer, embedder| hold.publish(port, observer, embedder);
        let end = live(&shared, &ear, signals, publish).await.map_err(failed);
        stopping.send_replace(true);
        for task in tasks {
            if task.await.is_err() {
                tracing::error!("a part of it hit a bug");
            }
        }
        let has_database = !matches!(end, Ok(End::Damaged | End::Deleted));
        if has_database
            && let Err(error) = shared.writer.call(|store| store.empty_wal(EmptyWal::Always)).await
        {
            tracing::error!("the write-ahead log was not emptied: {error}");
        }
        drop(shared);
        match &end {
            Ok(End::Deleted) | Err(_) => {}
            Ok(end) => tracing::info!("{}", end.reason()),
        }
        for thread in [writing, reading, searching] {
            let _ = thread.join();
        }
        // When connections close at the same moment, each leaves the write-ahead log to the others. Opening
        // the store once more empties it.
        if has_database && let Err(error) = Store::open(dir) {
            tracing::error!("the write-ahead log was not emptied: {error}");
        }
        end
    })
}

/// Handles messages until there is a reason to end.
async fn live(
    shared: &Shared,
    ear: &ControlSocket,
    mut signals: Signals,
    publish: impl Fn(Option<Health>, Option<Health>) -> io::Result<()>,
) -> io::Result<End> {
    let mut observer = shared.health.subscribe();
    let mut embedder = shared.embedder_health.subscribe();
    loop {
        let idle = async {
            match shared.settings().daemon.idle_exit {
                IdleExit::Never => std::future::pending().await,
                IdleExit::After(limit) => loop {
                    let left = limit.saturating_sub(shared.activity.quiet_for());
                    if left.is_zero() {
                        break;
                    }
                    tokio::time::sleep(left.max(Duration::from_millis(10))).await;
                },
            }
        };
        tokio::select! {
            message = ear.listen() => match message? {
                Message::Stop => return Ok(End::Asked),
                Message::Poke(version) if is_newer(&version, env!("CARGO_PKG_VERSION")) => {
                    return Ok(End::HandedOver);
                }
                Message::Poke(_) => {
                    shared.activity.touch();
                    shared.refresh_settings().await;
                    shared.announce();
                }
            },
            Ok(()) = observer.changed() => publish(observer.borrow_and_update().clone(), embedder.borrow_and_update().clone())?,
            Ok(()) = embedder.changed() => publish(observer.borrow_and_update().clone(), embedder.borrow_and_update().clone())?,
            () = signals.next() => return Ok(End::Asked),
            () = shared.damage.notified() => {
                return Ok(if shared.hold.is_in_place() { End::Damaged } else { End::Deleted });
            }
            () = idle => return Ok(End::Idle),
        }
    }
}

/// The signals that end the daemon.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Whether one version (`1.10.2`) comes after another.
fn is_newer(theirs: &str, ours: &str) -> bool {
    let numbers =
        |version: &str| -> Option<Vec<u64>> { version.split('.').map(|part| part.parse().ok()).collect() };
    matches!((numbers(theirs), numbers(ours)), (Some(theirs), Some(ours)) if theirs > ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("0.10.0", "0.9.9"));
        assert!(!is_newer("0.9.9", "0.9.9"));
        assert!(!is_newer("0.9.8", "0.9.9"));
        assert!(!is_newer("", "0.9.9"));
        assert!(!is_newer("newest", "0.9.9"));
    }
}
