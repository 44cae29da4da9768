//! The last step: removes what was forgotten from every file of the data directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_sys::file::{self, free_space, is_absent, with_suffix};
use rusqlite::{Connection, params};

use super::bytes;
use super::find::{self, Criteria, Rows};
use super::tombstones::{self, Hash};
use crate::backup::verify;
use crate::handles::Forget;
use crate::{EmptyWal, SchemaAge, Store, StoreError, connection, schema};
use remora_data::{DataDir, DataError};
use remora_data::{log, scratch};

/// The files that were changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// Backups, and databases set aside, that were rewritten.
    pub rewritten: Vec<PathBuf>,
    /// Those that could not be rewritten and were deleted.
    pub removed: Vec<PathBuf>,
    /// Files of the user that still contain the topic, such as `config.toml`.
    pub left: Vec<PathBuf>,
}

/// A forgetting whose rows are deleted.
struct Purged {
    id: i64,
    topic: Option<String>,
    project: Option<i64>,
}

/// Files that contain this text in their bytes, free pages included, and that [`Forget::erase`] would change.
pub fn files_with(dir: &DataDir, topic: &str) -> Result<Vec<PathBuf>, StoreError> {
    let database = dir.database();
    let mut files = vec![with_suffix(&database, "-wal"), database];
    files.extend(dir.all_logs());
    files.extend(copies(dir)?);
    let mut found = Vec::new();
    for path in files {
        if bytes::has(&path, topic).map_err(StoreError::file(&path))? {
            found.push(path);
        }
    }
    Ok(found)
}

impl Forget<'_> {
    /// Removes the remains of purged rows from every file. After a failure or an interruption, the next call starts
    /// over. `None` if there was nothing to do.
    pub fn erase(self) -> Result<Option<Erased>, StoreError> {
        let sql = "SELECT id, topic, project_id FROM forgettings WHERE purged_at IS NOT NULL";
        let purged: Vec<Purged> = self
            .0
            .rows(sql, &[], |row| Ok(Purged { id: row.get(0)?, topic: row.get(1)?, project: row.get(2)? }))?;
        if purged.is_empty() {
            return Ok(None);
        }
        // Prevents a backup meanwhile, which would copy the free pages.
        let lock = self.0.dir().lock_backups()?;
        let dir = self.0.dir().clone();
        let mut erased = Erased::default();
        let hashes = tombstones::all(&self.0.db)?;
        for path in copies(&dir)? {
            match rewrite(&path, &hashes, &purged, self.0.dir().now()) {
                Ok(true) => erased.rewritten.push(path),
                Ok(false) => {}
                Err(error) => {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    log::warn(
                        &dir,
                        "forget",
                        &format!("{name} could not be rewritten, so it was deleted: {error}"),
                    );
                    remove_copy(&path)?;
                    erased.removed.push(path);
                }
            }
        }
        erased.removed.extend(remove_loose_logs(&dir)?);
        scratch::remove_abandoned(&dir)?;
        let topics: Vec<&str> = purged
            .iter()
            .filter(|one| one.project.is_none())
            .filter_map(|one| one.topic.as_deref())
            .collect();
        for topic in &topics {
            clean_log(&dir, topic)?;
        }
        // The topics themselves are removed with the free pages.
        self.0.writable()?.execute("UPDATE forgettings SET topic = NULL WHERE purged_at IS NOT NULL", [])?;
        self.0.rewrite_pages()?;
        for one in &purged {
            self.0.writable()?.execute("DELETE FROM forgettings WHERE id = ?1", [one.id])?;
        }
        self.0.empty_wal(EmptyWal::Always)?;
        drop(lock);
        for topic in topics {
            for path in bytes::files(dir.path()).map_err(StoreError::file(dir.path()))? {
                if bytes::has(&path, topic).map_err(StoreError::file(&path))? && !erased.left.contains(&path)
                {
                    erased.left.push(path);
                }
            }
        }
        Ok(Some(erased))
    }
}

impl Store {
    /// Rewrites the database without free pages, and empties its log.
    pub(super) fn rewrite_pages(&self) -> Result<(), StoreError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        let bytes: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
        // Needs room for a copy and for its log.
        if free_space(self.dir().path()).is_ok_and(|free| free < 2 * bytes.unsigned_abs()) {
            return Err(DataError::DiskFull.into());
        }
        self.writable()?.execute_batch("VACUUM")?;
        let busy: bool = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy { Err(StoreError::Busy) } else { Ok(()) }
    }
}

/// Every other database in the data directory: backups, and databases set aside.
pub(super) fn copies(dir: &DataDir) -> Result<Vec<PathBuf>, StoreError> {
    let mut copies = Vec::new();
    for folder in [dir.backups(), dir.path().to_owned()] {
        let entries = match fs::read_dir(&folder) {
            Err(error) if is_absent(&error) => continue,
            other => other.map_err(StoreError::file(&folder))?,
        };
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
            let is_log = ["-wal", "-shm", "-journal"].iter().any(|end| name.ends_with(end));
            // Named by `restore`, or by the user as our hints suggest. These may be damaged.
            let is_ours = folder == dir.backups() && name.contains(".db")
                || name.starts_with("remora.db.damaged")
                || name.starts_with("remora.db.replaced")
                || name.starts_with("remora.db.old");
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && !is_log && path != dir.database() && (is_ours || is_database(&path)) {
                copies.push(path);
            }
        }
    }
    Ok(copies)
}

/// Whether a file is a sound database of Remora, whatever its name. The user may have made a copy by hand.
fn is_database(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_err() || head != *MAGIC {
        return false;
    }
    let tables = connection::open_to_read(path).and_then(|db| verify::tables(&db));
    tables.is_ok_and(|tables| {
        ["observations", "event_traces", "pending_messages"].iter().all(|name| tables.contains(*name))
    })
}

/// Removes write-ahead logs without a database. No program can open them.
pub(super) fn remove_loose_logs(dir: &DataDir) -> Result<Vec<PathBuf>, StoreError> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(dir.path()).map_err(StoreError::file(dir.path()))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("remora.db-wal.") {
            fs::remove_file(entry.path()).map_err(StoreError::file(entry.path()))?;
            removed.push(entry.path());
        }
    }
    Ok(removed)
}

/// Rewrites a copy of the database without what was forgotten. `false` if it had nothing of it.
fn rewrite(path: &Path, hashes: &BTreeSet<Hash>, purged: &[Purged], now: Time) -> Result<bool, StoreError> {
    let new = with_suffix(path, ".new");
    remove_copy(&new)?;
    if fs::metadata(path).map_err(StoreError::file(path))?.len() == 0 {
        return Ok(false);
    }
    for suffix in ["", "-wal"] {
        match fs::copy(with_suffix(path, suffix), with_suffix(&new, suffix)) {
            Err(error) if is_absent(&error) && !suffix.is_empty() => {}
            other => drop(other.map_err(StoreError::file(path))?),
        }
    }
    let cleaned = clean(&new, hashes, purged, still_has(path, purged)?, now).and_then(|changed| {
        if !changed {
            return Ok(false);
        }
        if still_has(&new, purged)? {
            let reason = "the text is still in it".to_owned();
            return Err(StoreError::Damaged { path: path.to_owned(), reason });
        }
        fs::File::open(&new).and_then(|file| file.sync_all()).map_err(StoreError::file(&new))?;
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(with_suffix(path, suffix));
        }
        fs::rename(&new, path).map_err(StoreError::file(path))?;
        Ok(true)
    });
    remove_copy(&new)?;
    cleaned
}

/// Whether the bytes of a file or of its log contain a topic that is forgotten in all projects.
fn still_has(path: &Path, purged: &[Purged]) -> Result<bool, StoreError> {
    for topic in purged.iter().filter(|one| one.project.is_none()).filter_map(|one| one.topic.as_deref()) {
        for suffix in ["", "-wal"] {
            let file = with_suffix(path, suffix);
            if bytes::has(&file, topic).map_err(StoreError::file(&file))? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Deletes what was forgotten from a copy, and its free pages, which may be the only place of a topic (`has_bytes`).
/// Returns whether there was any. If not, the caller discards the copy, which may have another schema than before.
fn clean(
    path: &Path,
    hashes: &BTreeSet<Hash>,
    purged: &[Purged],
    has_bytes: bool,
    now: Time,
) -> Result<bool, StoreError> {
    let mut db = connection::open_to_clean(path)?;
    // The statements below are those of the present schema. A copy without anything forgotten stays as it is.
    match schema::age(schema::version(&db)?) {
        None => {}
        Some(SchemaAge::Older) => schema::migrate_copy(&mut db)?,
        Some(age @ (SchemaAge::TooOld | SchemaAge::Newer)) => {
            let found = schema::version(&db)?;
            return Err(StoreError::Schema { age, found, known: schema::VERSION });
        }
    }
    db.execute_batch(include_str!("../search/triggers.sql"))?;
    let transaction = db.unchecked_transaction()?;
    let mut doomed = find::by_tombstones(&transaction, hashes)?;
    let mut found = 0;
    for one in purged {
        found += transaction.execute("DELETE FROM forgettings WHERE id = ?1", params![one.id])?;
        if let Some(topic) = &one.topic {
            let criteria = Criteria {
                topic: Some(topic.clone()),
                project: one.project.map(ProjectId),
                ..Criteria::default()
            };
            doomed.merge(find::matching(&transaction, &criteria, Rows::All)?);
        }
    }
    found += usize::from(!doomed.is_empty());
    if found > 0 {
        tombstones::remove(&transaction, &doomed, now)?;
        transaction.execute_batch(
            "INSERT INTO documents_text (documents_text) VALUES ('rebuild');
             INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');",
        )?;
    }
    transaction.commit()?;
    let changed = found > 0 || has_bytes;
    if changed {
        db.execute_batch("VACUUM")?;
    }
    close(db, path)?;
    Ok(changed)
}

fn close(db: Connection, path: &Path) -> Result<(), StoreError> {
    db.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    db.close().map_err(|(_, error)| StoreError::in_database(path)(error))
}

/// Removes log lines that contain the topic. There should be none: the log holds reasons, never content.
fn clean_log(dir: &DataDir, topic: &str) -> Result<(), StoreError> {
    for path in dir.all_logs() {
        if !bytes::has(&path, topic).map_err(StoreError::file(&path))? {
            continue;
        }
        let text = fs::read(&path).map_err(StoreError::file(&path))?;
        let text = String::from_utf8_lossy(&text);
        let lower = topic.to_lowercase();
        let kept: String =
            text.split_inclusive('\n').filter(|line| !line.to_lowercase().contains(&lower)).collect();
        file::replace(&path, kept.as_bytes()).map_err(StoreError::file(&path))?;
    }
    Ok(())
}

pub(super) fn remove_copy(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(with_suffix(path, suffix)) {
            Err(error) if !is_absent(&error) => return Err(StoreError::file(path)(error)),
            _ => {}
        }
    }
    Ok(())
}
