//! A daily backup and integrity check of the database, run while the daemon is idle, and recovery from
//! damage.

use std::sync::Arc;
use std::time::Duration;

use remora_app::backup::{self, Search};
use remora_core::settings;
use remora_store::backup::last_check;
use remora_store::open_files::Files;
use remora_store::{DataDir, EmptyWal, Store, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::shared::Shared;

/// Interval at which the daemon checks whether a backup or a check is due.
const ROUND: Duration = Duration::from_mins(1);
/// The daemon counts as idle after this long without activity. A backup blocks no hook, but it would compete
/// for the disk.
const IDLE_AFTER: Duration = Duration::from_secs(5);
/// On a machine that is never idle, a backup is made after this long anyway.
const MAX_BUSY: Duration = Duration::from_hours(2);
const BETWEEN_CHECKS: Duration = Duration::from_hours(24);
/// Minimum pause between two checks that errors of the store cause. A check reads every page.
const BETWEEN_ALARMS: Duration = Duration::from_mins(10);

/// What wakes [`run`].
enum Wake {
    Time,
    News,
    Alarm,
}

/// Makes backups and checks, and watches the files that were opened. The daemon may not restart before `restart_from`: if a restart did not help, another one would not
/// either.
pub(crate) async fn run(
    shared: Arc<Shared>,
    opened: Files,
    restart_from: Instant,
    mut stop: watch::Receiver<bool>,
) {
    let mut last_alarm: Option<Instant> = None;
    let mut news = shared.news.subscribe();
    let mut checked = false;
    let mut busy_since = None;
    let mut next_look = Instant::now() + IDLE_AFTER;
    loop {
        // Every event is a reason to check that the database still exists: without it, hooks cannot store
        // theirs.
        let wake = tokio::select! {
            () = tokio::time::sleep_until(next_look) => Wake::Time,
            _ = news.changed() => Wake::News,
            () = shared.alarm.notified() => Wake::Alarm,
            _ = stop.changed() => return,
        };
        if are_replaced(opened, &shared.dir) {
            // A data directory that the user deleted stays deleted.
            if shared.hold.is_in_place() {
                rescue(&shared, opened).await;
            }
            shared.damage.notify_one();
            return;
        }
        match wake {
            Wake::News => continue,
            Wake::Alarm if last_alarm.is_some_and(|at| at.elapsed() < BETWEEN_ALARMS) => continue,
            // Events wait in the spool until the database is restored, so this does not wait for quiet.
            Wake::Alarm => (last_alarm, checked) = (Some(Instant::now()), false),
            Wake::Time => {
                let left = IDLE_AFTER.saturating_sub(shared.activity.quiet_for());
                let busy = busy_since.get_or_insert_with(Instant::now).elapsed();
                if !left.is_zero() && busy < MAX_BUSY {
                    next_look = Instant::now() + left.max(Duration::from_secs(1));
                    continue;
                }
            }
        }
        busy_since = None;
        next_look = Instant::now() + ROUND;
        let (dir, settings) = (shared.dir.clone(), shared.settings().backup.clone());
        let due = Due { check: !checked, settings };
        // Not on a store thread: those have to answer hooks and pages in the meantime.
        match tokio::task::spawn_blocking(move || look_after(&dir, &due)).await {
            Ok(Ok(found)) => {
                checked = true;
                if found == Condition::Damaged && Instant::now() >= restart_from {
                    if can_recover(&shared).await {
                        shared.damage.notify_one();
                        return;
                    }
                    tracing::error!("{CANNOT_RECOVER}");
                }
            }
            Ok(Err(error)) => {
                tracing::error!("no backup was made: {error}");
            }
            Err(_) => tracing::error!("the backup hit a bug"),
        }
    }
}

/// Whether the files that were opened are no longer those of the database. If there was no database to open, nothing was
/// replaced before there is one.
fn are_replaced(opened: Files, dir: &DataDir) -> bool {
    if opened.database.is_none() { Files::of(dir).database.is_some() } else { !opened.are_those_of(dir) }
}

/// Saves the data that the open connection can still reach after the database or its log was removed or
/// replaced.
async fn rescue(shared: &Shared, opened: Files) {
    let now = Files::of(&shared.dir);
    let (what, saved) = if now.database.is_none() || now.database != opened.database {
        let save = |store: &Store| remora_store::backup::make_from(store, store.dir().now());
        ("the database", shared.writer.call(save).await.map(drop))
    } else if now.log.is_none() {
        // No other log was started, so the old one is complete.
        ("the log of the database", shared.writer.call(|store| store.empty_wal(EmptyWal::Always)).await)
    } else if now.log != opened.log {
        ("the log of the database", Err(StoreError::Busy))
    } else {
        ("the index of the log", Ok(()))
    };
    let outcome = match saved {
        Ok(()) => "nothing is lost".to_owned(),
        Err(error) => format!("what was stored last may be lost: {error}"),
    };
    tracing::error!("{what} was removed or replaced; {outcome}");
}

/// Whether the next start of the daemon can restore the database.
async fn can_recover(shared: &Shared) -> bool {
    let dir = shared.dir.clone();
    matches!(tokio::task::spawn_blocking(move || backup::is_recoverable(&dir)).await, Ok(Ok(true)))
}

const CANNOT_RECOVER: &str =
    "the database is damaged, and there is no sound backup to restore; hooks use the spool";

struct Due {
    /// Forces a check, regardless of the time of the last one.
    check: bool,
    settings: settings::Backup,
}

#[derive(PartialEq)]
enum Condition {
    Sound,
    Damaged,
}

/// Runs the check and the backup if they are due, in that order.
fn look_after(dir: &DataDir, due: &Due) -> Result<Condition, StoreError> {
    let now = dir.now();
    let is_old = || last_check(dir).is_none_or(|last| now.since(last.checked_at) >= BETWEEN_CHECKS);
    if (due.check || is_old()) && found_damage(dir)? {
        return Ok(Condition::Damaged);
    }
    if due.settings.enabled && backup::is_due(dir)? {
        match backup::make(dir, &due.settings) {
            Ok(made) => {
                tracing::info!("{}", describe(&made));
                made.warnings().for_each(|warning| tracing::warn!("{warning}"));
            }
            Err(StoreError::Damaged { .. }) if found_damage(dir)? => return Ok(Condition::Damaged),
            Err(error) => return Err(error),
        }
    }
    Ok(Condition::Sound)
}

fn found_damage(dir: &DataDir) -> Result<bool, StoreError> {
    let began = Instant::now();
    let check = backup::check(dir)?;
    tracing::debug!("the database was checked in {} ms", began.elapsed().as_millis());
    if let Some(problem) = check.problems.first() {
        tracing::error!("the database is damaged: {problem}");
    }
    Ok(!check.problems.is_empty())
}

fn describe(made: &backup::Made) -> String {
    let name = made.backup.path.file_name().unwrap_or_default().to_string_lossy();
    let removed = match made.removed.len() {
        0 => String::new(),
        count => format!(", older ones removed: {count}"),
    };
    format!("backup {name} made, {} KiB{removed}", made.backup.bytes / 1024)
}

/// Restores a lost or damaged database. Runs before the store is opened. If it fails, the daemon starts
/// anyway and reports the errors it gets. Returns whether it has not failed.
pub(crate) fn recover(dir: &DataDir, search: Search) -> bool {
    let recovered = backup::recover(dir, search);
    let is_recovered = recovered.is_ok();
    match recovered {
        Ok(None) => {}
        Ok(Some((recovery, problem))) => {
            let name = recovery.restored.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let how = if recovery.restored.set_aside.as_ref() == Some(&recovery.restored.from) {
                "no record is lost; the search index is rebuilt".to_owned()
            } else {
                format!("restored from {name}")
            };
            // The problem comes last, because the log cuts long lines.
            tracing::error!("the database was damaged; {how}: {problem}");
        }
        Err(error) => {
            tracing::error!("the database cannot be restored: {error}");
        }
    }
    is_recovered
}
