//! Backups of the database, and restoring from one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use remora_core::settings;
use remora_core::time::Time;
use remora_store::backup::{self, Backup, Contents, LastCheck, Restored};
use remora_store::{DataDir, Store, StoreError, spool};

use crate::AppError;

/// A backup is due this long after the newest one. A little less than a day, so that the daily backup does not drift.
const INTERVAL: Duration = Duration::from_hours(23);
/// If no backup is younger than this, something prevents the daemon from making one.
const WORRYING_AGE: Duration = Duration::from_hours(3 * 24);

/// Backups in the data directory, the newest first.
pub fn list(dir: &DataDir) -> Result<Vec<Backup>, StoreError> {
    backup::list(dir)
}

/// What the daemon's last check of the database found; `None` if there was none yet.
pub fn last_check(dir: &DataDir) -> Option<LastCheck> {
    backup::last_check(dir)
}

/// A new backup, and the old ones removed by the rotation.
#[derive(Debug)]
pub struct Made {
    pub backup: Backup,
    pub removed: Vec<Backup>,
}

impl Made {
    /// Warnings about recent backups that the size limit removed. A command may have named them as the way back.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let now = self.backup.made_at;
        self.removed.iter().filter(move |backup| backup.is_recent(now)).map(|backup| {
            let path = backup.path.display();
            format!("the size limit of all backups (`backup.most_mb`) removed {path}, which is younger than two days")
        })
    }
}

/// Makes a backup in the data directory and removes those that exceed the rotation.
pub fn make(dir: &DataDir, settings: &settings::Backup) -> Result<Made, StoreError> {
    let now = dir.now();
    let backup = backup::make(dir, now)?;
    let removed = backup::rotate(dir, settings.most_mb, now)?;
    Ok(Made { backup, removed })
}

/// Whether the daily backup is due.
pub fn is_due(dir: &DataDir) -> Result<bool, StoreError> {
    let now = dir.now();
    // A backup dated in the future does not count: a clock was wrong.
    let counts = |backup: &Backup| !backup.before_migration && backup.made_at <= now.after(INTERVAL);
    let newest = backup::list(dir)?.into_iter().find(counts);
    Ok(newest.is_none_or(|newest| now.since(newest.made_at) >= INTERVAL))
}

/// Checks the database and records the result for `remora doctor`.
pub fn check(dir: &DataDir) -> Result<LastCheck, StoreError> {
    let now = dir.now();
    let problems = backup::verify(&dir.database())?.problems;
    let restored = backup::last_check(dir).and_then(|check| check.restored);
    let check = LastCheck { checked_at: now, problems, restored };
    backup::record_check(dir, &check)?;
    Ok(check)
}

/// Result of a restore.
#[derive(Debug)]
pub struct Recovery {
    pub restored: Restored,
    pub contents: Option<Contents>,
    /// Newer backups that are damaged, too.
    pub skipped: Vec<Backup>,
    /// Events from the spool that are now stored.
    pub taken_in: usize,
}

/// The backup to restore.
#[derive(Debug)]
pub struct Choice {
    pub path: PathBuf,
    /// Newer backups that are damaged.
    pub skipped: Vec<Backup>,
}

/// Chooses the backup to restore: the given one, or the newest sound one.
pub fn choose(dir: &DataDir, from: Option<&Path>) -> Result<Choice, AppError> {
    if let Some(path) = from {
        return Ok(Choice { path: path.to_owned(), skipped: Vec::new() });
    }
    let (newest, skipped) = backup::newest_sound(dir)?;
    Ok(Choice { path: newest.ok_or(AppError::NoBackup(dir.backups()))?.path, skipped })
}

/// Replaces the database with a backup. Then stores the events in the spool. The caller holds the daemon's lock.
pub fn restore(dir: &DataDir, choice: Choice) -> Result<Recovery, AppError> {
    let now = dir.now();
    finish(dir, backup::restore(dir, &choice.path, now)?, choice.skipped, now)
}

/// Stores the events in the spool and records the result.
fn finish(dir: &DataDir, restored: Restored, skipped: Vec<Backup>, now: Time) -> Result<Recovery, AppError> {
    let waiting = || spool::peek(dir).map_or(0, |contents| contents.records.len());
    let before = waiting();
    drop(Store::open_caught_up(dir)?);
    let taken_in = before.saturating_sub(waiting());
    let verified = backup::verify(&dir.database())?;
    let check = LastCheck { checked_at: now, problems: verified.problems, restored: Some(restored.clone()) };
    backup::record_check(dir, &check)?;
    Ok(Recovery { restored, contents: verified.contents, skipped, taken_in })
}

/// How thoroughly [`recover`] looks for damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Reads all pages only if the last check found damage, because hooks wait for the daemon.
    Brief,
    EveryPage,
}

/// Called by the daemon before it opens the database: rebuilds one of which only the search index is damaged, and
/// otherwise restores the newest sound backup. Also returns what was wrong. An error means that the database may be damaged
/// still.
pub fn recover(dir: &DataDir, search: Search) -> Result<Option<(Recovery, String)>, AppError> {
    let now = dir.now();
    if !dir.database().exists() && backup::list(dir)?.is_empty() {
        return Ok(None);
    }
    let was_damaged = || backup::last_check(dir).is_some_and(|check| !check.problems.is_empty());
    let verified = if search == Search::EveryPage || was_damaged() {
        backup::verify(&dir.database())?
    } else {
        backup::verify_briefly(&dir.database())?
    };
    let is_lost = verified.is_lost();
    if !is_lost && !verified.is_index_alone() {
        return Ok(None);
    }
    let problem = verified.problems.into_iter().next().unwrap_or_default();
    if !is_lost {
        match backup::repair(dir, now) {
            Ok(repaired) => return Ok(Some((finish(dir, repaired, Vec::new(), now)?, problem))),
            // A check stops after some problems, so it may not have come to the records.
            Err(error) if error.is_about_content() => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Without a backup the damaged database stays where it is, and `remora doctor` reports it.
    Ok(Some((restore(dir, choose(dir, None)?)?, problem)))
}

/// Whether the daemon would repair or replace the database if it started now.
pub fn is_recoverable(dir: &DataDir) -> Result<bool, StoreError> {
    let verified = backup::verify(&dir.database())?;
    Ok(verified.is_index_alone() || verified.is_lost() && backup::newest_sound(dir)?.0.is_some())
}

/// State of the backups, for `remora doctor`.
#[derive(Debug)]
pub enum Standing {
    /// The database is young, and there is no backup yet.
    NotYet,
    /// The user has switched them off.
    Off,
    Fresh(Backup),
    /// The newest backup is damaged; also contains the newest sound one, if any.
    Damaged {
        damaged: Backup,
        newest: Option<Backup>,
    },
    /// No backup is young enough; contains the newest one, if any.
    Stale(Option<Backup>),
}

/// Compares the age of the newest sound backup with the age of the database.
pub fn standing(
    dir: &DataDir,
    store: Option<&Store>,
    settings: &settings::Backup,
) -> Result<Standing, StoreError> {
    let now = dir.now();
    let (newest, damaged) = backup::newest_sound(dir)?;
    if let Some(damaged) = damaged.into_iter().next() {
        return Ok(Standing::Damaged { damaged, newest });
    }
    if let Some(backup) = &newest
        && now.since(backup.made_at) < WORRYING_AGE
    {
        return Ok(Standing::Fresh(backup.clone()));
    }
    if !settings.enabled {
        return Ok(Standing::Off);
    }
    let first = match store {
        Some(store) => store.sessions().hosts()?.iter().filter_map(|host| host.first_captured_at).min(),
        None => None,
    };
    let is_young = first.is_none_or(|first| now.since(first) < WORRYING_AGE);
    Ok(if is_young && newest.is_none() { Standing::NotYet } else { Standing::Stale(newest) })
}
