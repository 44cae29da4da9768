//! Restores a backup. The replaced database is set aside.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use remora_core::time::{HOOK_LIMIT, Time};
use remora_sys::file::with_suffix;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{Backup, copy, list, remove_with_logs, sync_folder, verify};
use crate::{StoreError, connection};
use remora_data::DataDir;

/// Higher ids are read from a damaged file. They would leave none for new records.
const MAX_IDS: i64 = 1 << 40;

/// What is added to the name of a database that is set aside: a sound one, and a damaged one.
const REPLACED: &str = ".replaced-%Y-%m-%dT%H%M%SZ";
pub(super) const DAMAGED: &str = ".damaged-%Y-%m-%dT%H%M%SZ";

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    pub from: PathBuf,
    /// When the backup was made. Anything stored later may be missing.
    pub made_at: Option<Time>,
    pub restored_at: Time,
    /// The new path of the replaced database.
    pub set_aside: Option<PathBuf>,
    /// Whether that database is sound. If so, restoring it undoes this restore.
    #[serde(default)]
    pub can_go_back: bool,
}

/// The newest backup that passes every check, and the newer ones that do not.
pub fn newest_sound(dir: &DataDir) -> Result<(Option<Backup>, Vec<Backup>), StoreError> {
    let mut damaged = Vec::new();
    for backup in list(dir)? {
        // One that cannot be read does not keep an older one from being restored.
        if verify(&backup.path).is_ok_and(|verified| verified.is_sound()) {
            return Ok((Some(backup), damaged));
        }
        damaged.push(backup);
    }
    Ok((None, damaged))
}

/// Replaces the database with a copy of the backup. The caller holds the daemon's lock, so no daemon has the database
/// open.
pub fn restore(dir: &DataDir, from: &Path, now: Time) -> Result<Restored, StoreError> {
    let _lock = dir.lock_schema()?;
    let verified = verify(from)?;
    if verified.is_too_old() {
        return Err(StoreError::TooOld { path: from.to_owned(), found: verified.schema });
    }
    if let Some(problem) = verified.problems.into_iter().next() {
        return Err(StoreError::Damaged { path: from.to_owned(), reason: problem });
    }
    let database = dir.database();
    let is_sound = verify(&database).is_ok_and(|verified| verified.is_sound());
    // From here on hooks use the spool. Events and ids of the old file would be lost after this.
    let held = hold_back_writers(&database);
    let used = held.as_ref().and_then(|old| used_ids(old).ok()).unwrap_or_default();
    let building = with_suffix(&database, ".restoring");
    let built = build(from, &building, &used);
    if built.is_err() {
        remove_with_logs(&building);
    }
    built?;
    let name = if is_sound { REPLACED } else { DAMAGED };
    let set_aside = put_in_place(dir, &building, held.as_ref(), &now.format_utc(name))?;
    let known = list(dir)?.into_iter().find(|backup| backup.path == from);
    let made_at = known.map(|backup| backup.made_at).or_else(|| modified(from));
    Ok(Restored { from: from.to_owned(), made_at, restored_at: now, set_aside, can_go_back: is_sound })
}

/// Sets the database aside and renames the new one into place. Returns the path of the old one.
pub(super) fn put_in_place(
    dir: &DataDir,
    building: &Path,
    held: Option<&Connection>,
    name: &str,
) -> Result<Option<PathBuf>, StoreError> {
    let database = dir.database();
    let set_aside = set_aside(&database, name)?;
    fs::rename(building, &database).map_err(StoreError::file(&database))?;
    sync_folder(&database)?;
    if held.is_some() {
        // Hooks that wait on the old file give up and use the spool.
        thread::sleep(HOOK_LIMIT);
    }
    Ok(set_aside)
}

fn build(from: &Path, building: &Path, used: &[(String, i64)]) -> Result<(), StoreError> {
    let source = connection::open_to_verify(from)?;
    copy(&source, building).map_err(|error| error.about(from))?;
    // A backup that could not be changed is restored as it is.
    let _ = skip_ids(building, used);
    let copied = connection::open_to_build(building)?;
    copied.close().map_err(|(_, error)| StoreError::from(error))?;
    match verify(building)?.problems.into_iter().next() {
        Some(problem) => Err(StoreError::Damaged { path: building.to_owned(), reason: problem }),
        None => fs::File::open(building).and_then(|file| file.sync_all()).map_err(StoreError::file(building)),
    }
}

/// The last id that each table gave out.
fn used_ids(old: &Connection) -> Result<Vec<(String, i64)>, StoreError> {
    let mut statement = old.prepare("SELECT name, seq FROM sqlite_sequence WHERE seq BETWEEN 1 AND ?1")?;
    let used = statement.query_map([MAX_IDS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(used.collect::<Result<_, _>>()?)
}

/// Prevents a restored database from giving out ids again that people and agents have seen since the backup. The copy
/// still has a rollback journal, so that a failure leaves it as it was.
fn skip_ids(building: &Path, used: &[(String, i64)]) -> Result<(), StoreError> {
    let mut db = connection::open_to_fill(building)?;
    let transaction = db.transaction()?;
    for (table, last) in used {
        let raised = transaction
            .execute("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1", params![table, last])?;
        if raised == 0 {
            transaction.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT name, ?2 FROM sqlite_schema
                 WHERE type = 'table' AND name = ?1 AND sql LIKE '%AUTOINCREMENT%'",
                params![table, last],
            )?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Blocks hooks from storing events in the file that is about to be set aside. A damaged file may not allow the lock,
/// but then it accepts no events either. When this connection closes, SQLite notices that its file was moved and
/// leaves the new log alone.
pub(super) fn hold_back_writers(database: &Path) -> Option<Connection> {
    let connection = database.exists().then(|| connection::open_for_owner(database))?.ok()?;
    connection.execute_batch("BEGIN IMMEDIATE").ok()?;
    Some(connection)
}

/// Renames the database together with its log, so that it can still be opened.
fn set_aside(database: &Path, name: &str) -> Result<Option<PathBuf>, StoreError> {
    let named = with_suffix(database, name);
    // Never replaces a file that was set aside before, even within the same second.
    let others = (2..).map(|number| with_suffix(&named, &format!("-{number}")));
    let is_free = |path: &PathBuf| !path.exists();
    let aside = std::iter::once(named.clone()).chain(others).find(is_free).unwrap_or(named);
    let mut moved = false;
    for suffix in ["", "-wal", "-shm"] {
        let path = with_suffix(database, suffix);
        if path.exists() {
            fs::rename(&path, with_suffix(&aside, suffix)).map_err(StoreError::file(&path))?;
            moved = true;
        }
    }
    Ok(moved.then_some(aside))
}

fn modified(path: &Path) -> Option<Time> {
    let since = fs::metadata(path).ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Time)
}
