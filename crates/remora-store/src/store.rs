//! Opens the store.

use std::cell::{Cell, RefCell};
use std::fs;
use std::time::Duration;

use remora_core::settings::Sync;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::backup::{self, verify};
use crate::capture::enqueue;
use crate::forget::Purge;
use crate::open_files::Files;
use crate::queue::Due;
use crate::{SchemaAge, StoreError, connection, private_turns, problems, schema, spool};
use remora_data::DataDir;

/// Why a database is opened read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnly {
    /// It was made by a newer Remora, with this schema.
    NewerSchema(i64),
    /// Its disk is full or read-only.
    Disk,
}

/// The database of one data directory.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    dir: DataDir,
    read_only: Option<ReadOnly>,
    /// The files that were opened. Only tracked by long-lived processes, under which they may be replaced.
    files: Option<Files>,
    /// Whether the triggers in `search/triggers.sql` have to be created before the first write. Most commands only read,
    /// and hooks write no documents.
    lacks_triggers: Cell<bool>,
    pub(crate) due: RefCell<Due>,
}

/// Time limit for making missing documents while catching up. The daemon makes the rest in the background.
const MAX_FILL: Duration = Duration::from_secs(2);

/// How a connection is used; see [`Store::tune`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tuning {
    /// Lets the write-ahead log grow longer before a checkpoint, for a long-lived process that stores much. Other
    /// processes do not have to read the log meanwhile: they share this process's index of it.
    LongWal,
    /// Enlarges the page cache for a large file, for searches over all of it.
    WideCache,
    /// Frees the page cache.
    EmptyCache,
    /// Reads the file through a memory map, for a process that searches once and ends: reading page by page costs it a
    /// seventh of its time. A long-lived process should not, because every page it ever read counts as its memory.
    MappedFile,
    /// Leaves the write-ahead log alone when the store is closed. A process whose files were replaced would otherwise
    /// checkpoint and remove the log of the new database.
    KeepWalOnClose,
    /// SQLite refuses every change, so that a use case that should only read cannot make one.
    Reading,
}

/// When the write-ahead log is emptied; see [`Store::empty_wal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyWal {
    /// In any case, for a process that is about to exit.
    Always,
    /// Only a large one, without waiting, which keeps the next hooks fast. Hooks do it after their answer. If other
    /// processes are active, the next hook tries again.
    IfLarge,
}

/// One state of the database; see [`Store::snapshot`].
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Snapshot<'a> {
    _transaction: Option<Transaction<'a>>,
}

impl Store {
    /// For a hook: fast, and never migrates. Anything unusual is an error, and the caller uses the spool.
    pub fn open_for_hook(dir: &DataDir, sync: Sync) -> Result<Self, StoreError> {
        if !dir.database().exists() {
            dir.create()?;
            refuse_if_lost(dir)?;
            schema::create(dir)?;
        }
        let db = connection::open_for_hook(&dir.database(), sync)?;
        Ok(Self::with_connection(db, dir))
    }

    /// For a hook that only reads. `None` if nothing was captured yet.
    pub fn open_read_only_for_hook(dir: &DataDir) -> Result<Option<Self>, StoreError> {
        if !dir.database().exists() {
            return Ok(None);
        }
        let ask = || {
            let db = connection::open_for_hook(&dir.database(), Sync::Normal)?;
            schema::check(&db)?;
            let store = Self::with_connection(db, dir);
            store.refuse_forgotten()?;
            Ok(store)
        };
        or_to_read(dir, ask()).map(Some)
    }

    /// For commands and the daemon: creates or migrates the database, and checks it. Nothing else is written, so that
    /// a command that only reads pays for nothing but its question; see [`Store::catch_up`].
    ///
    /// One exception keeps every reader correct: a database that was replaced by an older one, such as a backup, may
    /// hold what was forgotten since. That is forgotten again first. Otherwise this costs one line of a file and one row.
    pub fn open(dir: &DataDir) -> Result<Self, StoreError> {
        or_to_read(dir, Self::open_as_owner(dir)).map_err(|error| error.about(dir.database()))
    }

    /// [`Store::open`] and [`Store::catch_up`]. If the disk cannot be written, the store can still be read.
    pub fn open_caught_up(dir: &DataDir) -> Result<Self, StoreError> {
        let caught_up = Self::open_as_owner(dir).and_then(|store| {
            store.catch_up()?;
            Ok(store)
        });
        or_to_read(dir, caught_up).map_err(|error| error.about(dir.database()))
    }

    fn open_as_owner(dir: &DataDir) -> Result<Self, StoreError> {
        dir.create()?;
        dir.tighten().map_err(StoreError::file(dir.path()))?;
        if !dir.database().exists() {
            refuse_if_lost(dir)?;
            schema::create(dir)?;
        }
        let mut db = connection::open_for_owner(&dir.database())?;
        let mut read_only = None;
        match schema::check(&db) {
            Ok(()) => {}
            Err(StoreError::Schema { age: SchemaAge::Older, .. }) => schema::migrate(&mut db, dir)?,
            Err(StoreError::Schema { age: SchemaAge::Newer, found, .. }) => {
                read_only = Some(ReadOnly::NewerSchema(found));
            }
            Err(StoreError::Schema { age: SchemaAge::TooOld, found, .. }) => {
                return Err(StoreError::TooOld { path: dir.database(), found });
            }
            Err(error) => return Err(error),
        }
        let missing = verify::missing_tables(&db)?;
        if !missing.is_empty() {
            let reason = format!("tables are missing: {}", missing.join(", "));
            return Err(StoreError::Damaged { path: dir.database(), reason });
        }
        let files = Some(Files::of(dir));
        let store =
            Self { read_only, files, lacks_triggers: Cell::new(true), ..Self::with_connection(db, dir) };
        if store.read_only.is_none() && store.may_hold_forgotten()? {
            store.keep_forgotten()?;
        }
        Ok(store)
    }

    /// Does what other processes left to do: completes the tombstones, imports the spool, deletes the rows of
    /// forgettings that can no longer be undone, corrects times in the future, renews the reserves on the disk, makes
    /// some missing documents, and removes old files of private turns.
    ///
    /// Run by the daemon when it starts, by every command and MCP tool that writes, and by those whose answer includes
    /// events in the spool: `remora status`, `queue`, `doctor`, `export`, `restore`. Searches and other reads leave it
    /// alone, and so do hooks, which import the spool before they store an event of their own. Does nothing if the
    /// database can only be read.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        if self.read_only.is_some() {
            return Ok(());
        }
        let dir = self.dir.clone();
        // Tombstones must be complete before the spool is imported: it may hold events that were forgotten.
        self.keep_forgotten()?;
        self.ingest_spool();
        self.forget().purge(Purge::Due, dir.now())?;
        self.sessions().clamp_future_times(dir.now())?;
        // Without a reserve, a full disk costs events. `remora doctor` reports that.
        let _ = spool::keep_reserve(&dir);
        let _ = private_turns::keep_spare(&dir);
        self.fill_for(MAX_FILL);
        private_turns::prune(&dir).map_err(StoreError::file(dir.path()))
    }

    fn with_connection(db: Connection, dir: &DataDir) -> Self {
        Self {
            db,
            dir: dir.clone(),
            read_only: None,
            files: None,
            lacks_triggers: Cell::new(false),
            due: RefCell::default(),
        }
    }

    pub fn dir(&self) -> &DataDir {
        &self.dir
    }

    /// Why nothing can be stored, or `None` if the store is writable.
    pub fn read_only(&self) -> Option<ReadOnly> {
        self.read_only
    }

    /// Begins a transaction that writes. Transactions do not nest: a second one is an error.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        Ok(Transaction::new_unchecked(self.writable()?, TransactionBehavior::Immediate)?)
    }

    pub(crate) fn writable(&self) -> Result<&Connection, StoreError> {
        match self.read_only {
            None => {
                self.check_in_place()?;
                if self.lacks_triggers.get() {
                    let all_or_none = self.db.unchecked_transaction()?;
                    all_or_none.execute_batch(include_str!("search/triggers.sql"))?;
                    all_or_none.commit()?;
                    self.lacks_triggers.set(false);
                }
                Ok(&self.db)
            }
            Some(ReadOnly::NewerSchema(found)) => {
                Err(StoreError::Schema { age: SchemaAge::Newer, found, known: schema::VERSION })
            }
            Some(ReadOnly::Disk) => Err(StoreError::ReadOnly { path: self.dir.database() }),
        }
    }

    /// Adapts the connection to what its process does with it.
    pub fn tune(&self, tuning: Tuning) -> Result<(), StoreError> {
        match tuning {
            Tuning::LongWal => {
                self.db.pragma_update(None, "wal_autocheckpoint", connection::LONG_WAL_PAGES)?;
            }
            Tuning::WideCache => {
                let sql = "SELECT page_count * page_size / 1024 FROM pragma_page_count(), pragma_page_size()";
                let file_kib: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
                connection::widen_cache(&self.db, file_kib)?;
            }
            Tuning::EmptyCache => self.db.execute_batch("PRAGMA shrink_memory")?,
            Tuning::MappedFile => {
                self.db.pragma_update(None, "mmap_size", connection::MAX_MAPPED_BYTES)?;
            }
            Tuning::KeepWalOnClose => {
                self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            }
            Tuning::Reading => self.db.pragma_update(None, "query_only", true)?,
        }
        Ok(())
    }

    /// Empties the write-ahead log. Other processes may be using it: then it is emptied as far as they allow.
    pub fn empty_wal(&self, which: EmptyWal) -> Result<(), StoreError> {
        if which == EmptyWal::IfLarge {
            let wal = self.dir.database().with_extension("db-wal");
            if !fs::metadata(wal).is_ok_and(|wal| wal.len() > connection::MAX_WAL_BYTES) {
                return Ok(());
            }
            self.db.busy_timeout(Duration::ZERO)?;
        }
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Until the result is dropped, everything read is one state of the database, whatever others write. This is also
    /// faster: without it, every statement takes and releases the lock again. Nothing can be written meanwhile.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        let is_within_another = !self.db.is_autocommit();
        let transaction = if is_within_another { None } else { Some(self.db.unchecked_transaction()?) };
        Ok(Snapshot { _transaction: transaction })
    }

    /// Imports the spool. If that fails now, the spool stays, and `counts` includes it. Returns whether damage is the reason.
    pub fn ingest_spool(&self) -> bool {
        let Err(error) = self.try_take_in_spool() else { return false };
        self.report_waiting_spool(&error);
        matches!(error, StoreError::Damaged { .. })
    }

    pub(crate) fn report_waiting_spool(&self, error: &StoreError) {
        problems::report(Some(&self.dir), &format!("the spool waits: {error}"));
    }

    /// Checks that the open files are still in place. A connection can store events in a file that was emptied or
    /// removed, but they would be lost with the process. So this is checked before events are taken from a safe
    /// place.
    pub(crate) fn check_in_place(&self) -> Result<(), StoreError> {
        if self.files.is_none_or(|files| files.are_those_of(&self.dir)) {
            return Ok(());
        }
        let reason = "a file of it was removed, emptied or replaced".to_owned();
        Err(StoreError::Damaged { path: self.dir.database(), reason })
    }

    pub(crate) fn try_take_in_spool(&self) -> Result<(), StoreError> {
        if spool::is_waiting(&self.dir) {
            self.check_in_place()?;
        }
        while let Some(aside) = spool::take_aside(&self.dir).map_err(StoreError::file(self.dir.spool()))? {
            let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
            schema::check(&transaction)?;
            for record in enqueue::not_stored(&transaction, &aside.contents.records)? {
                enqueue::store(&transaction, record)?;
            }
            transaction.commit()?;
            if aside.contents.damaged > 0 {
                let reason = format!("{} damaged lines in the spool were left out", aside.contents.damaged);
                problems::report(Some(&self.dir), &reason);
            }
            aside.remove().map_err(StoreError::file(self.dir.spool()))?;
        }
        Ok(())
    }
}

/// Falls back to read-only access if the disk cannot be written.
fn or_to_read(dir: &DataDir, opened: Result<Store, StoreError>) -> Result<Store, StoreError> {
    match opened {
        Err(error) if error.is_about_disk() && dir.database().exists() => {
            let read = || {
                let db = connection::open_to_read(&dir.database())?;
                schema::check(&db)?;
                let store = Store { read_only: Some(ReadOnly::Disk), ..Store::with_connection(db, dir) };
                store.refuse_forgotten()?;
                Ok(store)
            };
            read().map_err(|_: StoreError| error)
        }
        other => other,
    }
}

/// Fails if the database is gone while backups of it exist. A new database would hide the loss, so events stay in the
/// spool until it is restored.
fn refuse_if_lost(dir: &DataDir) -> Result<(), StoreError> {
    if backup::exist(dir) { Err(lost(dir)) } else { Ok(()) }
}

pub(crate) fn lost(dir: &DataDir) -> StoreError {
    let reason = "the file is missing, and there are backups of it".to_owned();
    StoreError::Damaged { path: dir.database(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_stays_the_same_whatever_others_write_until_it_ends() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let (reader, writer) = (Store::open(&dir).unwrap(), Store::open(&dir).unwrap());
        let project = |name: &str| {
            let sql = "INSERT INTO projects (uuid, key, name, root, created_at) VALUES (randomblob(16), ?1, ?1, ?1, 1)";
            writer.db.execute(sql, [name]).unwrap();
        };
        project("first");
        let snapshot = reader.snapshot().unwrap();
        assert_eq!(reader.projects().list().unwrap().len(), 1);
        project("second");
        drop(reader.snapshot().unwrap());
        assert_eq!(reader.projects().list().unwrap().len(), 1, "an inner snapshot is part of the outer one");
        drop(snapshot);
        assert_eq!(reader.projects().list().unwrap().len(), 2);
    }

    #[test]
    fn triggers_are_created_once_and_before_the_first_write() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        let triggers = |db: &Connection| -> i64 {
            let sql = "SELECT count(*) FROM sqlite_temp_schema WHERE type = 'trigger'";
            db.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(triggers(&store.db), 0, "a store that only reads needs none");
        for _ in 0..2 {
            assert_eq!(triggers(store.writable().unwrap()), 8);
        }
    }
}
