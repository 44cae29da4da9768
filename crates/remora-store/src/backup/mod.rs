//! Backups of the database, made while other processes use it, and restoring them.
//!
//! A backup is one file without a write-ahead log. It gets its name only after it was verified.

mod repair;
mod restore;
mod rotation;
pub(crate) mod verify;

pub use repair::repair;
pub use restore::{Restored, newest_sound, restore};
pub use rotation::rotate;
pub use verify::{
    Contents, LastCheck, Verified, integrity_problems, last_check, record_check, verify, verify_briefly,
};

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use remora_core::time::Time;
use remora_sys::file::{create_private_dir, is_absent, private_file, with_suffix};
use rusqlite::Connection;
use rusqlite::backup::Backup as Copying;

use crate::{Store, StoreError, connection, store};
use remora_data::{DataDir, DataError};

/// Pages in a step, 2 MB, and the pause between steps. Hooks can read and write throughout; the pause leaves them the
/// disk.
const STEP_PAGES: i32 = 512;
const PAUSE: Duration = Duration::from_millis(5);

/// Free space in bytes that must remain on the disk after a backup.
const LEFT_FREE: u64 = 16 << 20;

/// File name of a backup: ISO 8601 without colons, which some programs mistake for a host or a drive.
const NAME: &str = "remora-%Y-%m-%dT%H%M%SZ.db";

/// A backup in the data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub path: PathBuf,
    pub made_at: Time,
    pub bytes: u64,
    /// Whether it was made before a migration. Such backups are not rotated.
    pub before_migration: bool,
}

/// Copies the database into `backups/` and verifies the copy.
pub fn make(dir: &DataDir, now: Time) -> Result<Backup, StoreError> {
    let source = open_source(dir)?;
    make_in_folder(&source, dir, now)
}

/// Same as [`make`], from an open connection. That still has everything if the file was deleted under it.
pub fn make_from(store: &Store, now: Time) -> Result<Backup, StoreError> {
    make_in_folder(&store.db, store.dir(), now)
}

/// Same as [`copy_to`], for a path named by the user. Refuses the data directory: there a copy
/// under any name would neither be rotated nor be listed.
pub fn make_to(dir: &DataDir, path: &Path) -> Result<Verified, StoreError> {
    let folder = std::path::absolute(path).ok().and_then(|path| path.parent()?.canonicalize().ok());
    let own = dir.path().canonicalize().ok();
    if folder.zip(own).is_some_and(|(folder, own)| folder.starts_with(own)) {
        return Err(StoreError::InDataDir { path: path.to_owned() });
    }
    copy_to(dir, path)
}

/// Same as [`make`], to a new file of the caller. Never replaces a file.
pub fn copy_to(dir: &DataDir, path: &Path) -> Result<Verified, StoreError> {
    if path.exists() {
        let exists = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(DataError::File { path: path.to_owned(), source: exists }.into());
    }
    make_at(&open_source(dir)?, dir, path)
}

fn open_source(dir: &DataDir) -> Result<Connection, StoreError> {
    let path = dir.database();
    if !path.exists() {
        return Err(if exist(dir) { store::lost(dir) } else { StoreError::NoDatabase { path } });
    }
    connection::open_for_owner(&path).map_err(|error| error.about(path))
}

fn make_in_folder(source: &Connection, dir: &DataDir, now: Time) -> Result<Backup, StoreError> {
    let folder = dir.backups();
    create_private_dir(&folder).map_err(StoreError::file(&folder))?;
    let _lock = dir.lock_backups()?;
    let (path, made_at) = free_name(&folder, now);
    let bytes = make_at(source, dir, &path)?.bytes;
    Ok(Backup { path, made_at, bytes, before_migration: false })
}

/// No backup replaces another: the second one of a second waits for the next.
fn free_name(folder: &Path, now: Time) -> (PathBuf, Time) {
    const SECOND: Duration = Duration::from_secs(1);
    let mut made_at = now;
    loop {
        let path = folder.join(made_at.format_utc(NAME));
        if !path.exists() {
            return (path, made_at);
        }
        thread::sleep(SECOND);
        made_at = made_at.after(SECOND);
    }
}

pub(crate) fn make_at(source: &Connection, dir: &DataDir, path: &Path) -> Result<Verified, StoreError> {
    let building = with_suffix(path, ".new");
    ensure_room(source, path)?;
    let made = copy(source, &building)
        .and_then(|()| verify(&building))
        .and_then(|verified| match verified.problems.first() {
            // The copy is new, so the damage is in the original.
            Some(problem) => Err(StoreError::Damaged { path: PathBuf::new(), reason: problem.clone() }),
            None => fs::rename(&building, path).map(|()| verified).map_err(StoreError::file(path)),
        })
        .map_err(|error| error.about(dir.database()));
    if made.is_err() {
        remove_with_logs(&building);
    }
    let verified = made?;
    sync_folder(path)?;
    Ok(Verified { path: path.to_owned(), ..verified })
}

/// Refuses a copy that would fill the disk: the space is needed by the user and for new events.
fn ensure_room(source: &Connection, path: &Path) -> Result<(), StoreError> {
    let sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    let bytes: u64 = source.query_row(sql, [], |row| row.get::<_, i64>(0))?.cast_unsigned();
    let folder = path.parent().unwrap_or(Path::new("."));
    match remora_sys::file::free_space(folder) {
        Ok(free) if free < bytes + LEFT_FREE => Err(DataError::DiskFull.into()),
        // If the free space is unknown, the copy is tried.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Copies a consistent state of the source into a new private file and syncs it. The open read transaction holds that
/// state: without it, every write of a hook would restart the copy. It blocks no writer.
fn copy(source: &Connection, to: &Path) -> Result<(), StoreError> {
    remove_with_logs(to);
    private_file().create_new(true).write(true).open(to).map_err(StoreError::file(to))?;
    let mut target = connection::open_to_fill(to)?;
    let moment = source.unchecked_transaction()?;
    moment.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Copying::new(source, &mut target)?.run_to_completion(STEP_PAGES, PAUSE, None)?;
    moment.finish()?;
    // A backup is one file, without a log that could be forgotten when it is copied.
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    target.close().map_err(|(_, error)| StoreError::from(error))?;
    File::open(to).and_then(|file| file.sync_all()).map_err(StoreError::file(to))
}

/// The backups in the data directory, newest first.
pub fn list(dir: &DataDir) -> Result<Vec<Backup>, StoreError> {
    let entries = match fs::read_dir(dir.backups()) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::file(dir.backups()))?,
    };
    let mut backups: Vec<Backup> = entries.flatten().filter_map(|entry| described(&entry)).collect();
    backups.sort_by_key(|backup| std::cmp::Reverse(backup.made_at));
    Ok(backups)
}

/// Whether there is any backup. Only checked if the database is missing or damaged.
pub(crate) fn exist(dir: &DataDir) -> bool {
    list(dir).is_ok_and(|backups| !backups.is_empty())
}

fn described(entry: &fs::DirEntry) -> Option<Backup> {
    let name = entry.file_name();
    let stem = name.to_str()?.strip_suffix(".db")?;
    let (made_at, before_migration) = if let Some(time) = stem.strip_prefix("remora-") {
        (time_in_name(time)?, false)
    } else {
        let (_, seconds) = stem.strip_prefix("before-schema-")?.split_once('-')?;
        (Time(seconds.parse::<i64>().ok()?.checked_mul(1000)?), true)
    };
    let file = entry.metadata().ok().filter(fs::Metadata::is_file)?;
    Some(Backup { path: entry.path(), made_at, bytes: file.len(), before_migration })
}

/// Parses `2026-03-10T091200Z`.
fn time_in_name(text: &str) -> Option<Time> {
    let (date, time) = text.split_once('T')?;
    let time = time.strip_suffix('Z').filter(|time| time.len() == 6 && time.is_ascii())?;
    Time::from_iso(&format!("{date}T{}:{}:{}Z", &time[..2], &time[2..4], &time[4..]))
}

/// Removes a leftover of a killed process.
fn remove_with_logs(path: &Path) {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let _ = fs::remove_file(with_suffix(path, suffix));
    }
}

fn sync_folder(path: &Path) -> Result<(), StoreError> {
    match path.parent() {
        Some(folder) if folder != Path::new("") => {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(StoreError::file(folder))
        }
        _ => Ok(()),
    }
}
