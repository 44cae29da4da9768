//! Opens the store and enqueues events.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use remora_core::event::{Body, Event, SessionRef, ToolUse};
use remora_core::ids::{EventId, SessionId};
use remora_core::settings::Sync;
use remora_core::time::Time;
use remora_data::new_uuid;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::backup::{self, verify};
use crate::files::Files;
use crate::queue::Due;
use crate::{
    EventRecord, SchemaAge, StoreError, connection, idempotency, private_turns, problems, project, schema,
    spool,
};
use remora_data::{DataDir, DataError};

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

/// Time limit for making missing documents when the store is opened. The rest is done in the background, or by the
/// next process that opens the store.
const FILL_AT_OPENING: Duration = Duration::from_secs(2);

/// The result of enqueueing an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    Stored(EventId),
    /// It was stored before, or it was forgotten.
    Duplicate,
}

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
            Ok(Self::with_connection(db, dir))
        };
        or_to_read(dir, ask()).map(Some)
    }

    /// For commands and the daemon: creates or migrates the database and imports the spool.
    pub fn open(dir: &DataDir) -> Result<Self, StoreError> {
        or_to_read(dir, Self::open_as_owner(dir)).map_err(|error| error.about(dir.database()))
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
        let mut store =
            Self { read_only, files, lacks_triggers: Cell::new(true), ..Self::with_connection(db, dir) };
        if store.read_only.is_none() {
            // A restored backup may contain forgotten records; tombstones must be complete before the spool is
            // imported.
            store.keep_forgotten()?;
            store.ingest_spool();
            store.forget().purge(dir.now())?;
            store.clamp_future_times(dir.now())?;
            // Without a reserve, a full disk costs events. `remora doctor` reports that.
            let _ = spool::keep_reserve(dir);
            let _ = private_turns::keep_spare(dir);
            store.fill_for(FILL_AT_OPENING);
            private_turns::prune(dir).map_err(StoreError::file(dir.path()))?;
        }
        Ok(store)
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

    /// Stores one event, after those in the spool. When this returns, it survives the death of every process.
    pub fn enqueue(&mut self, record: &EventRecord) -> Result<Enqueued, StoreError> {
        self.enqueue_after_spool(record).map_err(|error| error.about(self.dir.database()))
    }

    fn enqueue_after_spool(&mut self, record: &EventRecord) -> Result<Enqueued, StoreError> {
        self.ingest_spool_before()?;
        // Nearly every session that starts is new.
        let is_start = matches!(record.captured.event().body, Body::SessionStarted { .. });
        if !is_start && let Some(enqueued) = self.try_enqueue(record)? {
            return Ok(enqueued);
        }
        // The directory of a new session is resolved outside of the transaction, because that reads files while others
        // would wait.
        let located = record.clone().located();
        self.try_enqueue(&located)?.ok_or(StoreError::Busy)
    }

    /// Imports the spool before a new event is stored. An event belongs to the turn that is open when it is stored.
    /// If it overtook an event of its session in the spool, one of them would get into the wrong turn, or be stored
    /// after the turn was observed.
    fn ingest_spool_before(&mut self) -> Result<(), StoreError> {
        if !spool::is_waiting(&self.dir) {
            return Ok(());
        }
        match self.try_take_in_spool() {
            // Another process is importing it right now.
            Ok(()) if spool::is_waiting(&self.dir) => Err(StoreError::Busy),
            // The event matters more than the order: an unreadable spool must not keep it out.
            Err(error @ StoreError::Data(DataError::File { .. })) => {
                self.report_waiting_spool(&error);
                Ok(())
            }
            taken_in => taken_in,
        }
    }

    /// `None` if the event's place has to be resolved first.
    fn try_enqueue(&mut self, record: &EventRecord) -> Result<Option<Enqueued>, StoreError> {
        let transaction = self.begin()?;
        schema::check(&transaction)?;
        if record.place.is_none() && session(&transaction, record.captured.event())?.is_none() {
            return Ok(None);
        }
        let enqueued = enqueue(&transaction, record)?;
        transaction.commit()?;
        Ok(Some(enqueued))
    }

    /// Stores several events in one transaction, all or none. When this returns, they survive a power cut.
    pub fn enqueue_group(&mut self, records: &[EventRecord]) -> Result<Vec<Enqueued>, StoreError> {
        self.check_in_place()?;
        // Resolved before anything is locked, because it reads files.
        let mut known = HashSet::new();
        let mut placed = Vec::with_capacity(records.len());
        for record in records {
            let event = record.captured.event();
            let is_known = known.contains(&event.session) || session(&self.db, event)?.is_some();
            known.insert(&event.session);
            placed.push(if is_known { Cow::Borrowed(record) } else { Cow::Owned(record.clone().located()) });
        }
        let db = self.writable()?;
        db.pragma_update(None, "synchronous", "FULL")?;
        let stored = store_all(db, &placed);
        db.pragma_update(None, "synchronous", "NORMAL")?;
        stored
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
    pub fn ingest_spool(&mut self) -> bool {
        let Err(error) = self.try_take_in_spool() else { return false };
        self.report_waiting_spool(&error);
        matches!(error, StoreError::Damaged { .. })
    }

    fn report_waiting_spool(&self, error: &StoreError) {
        problems::report(Some(&self.dir), &format!("the spool waits: {error}"));
    }

    /// Checks that the open files are still in place. A connection can store events in a file that was emptied or
    /// removed, but they would be lost with the process. So this is checked before events are taken from a safe
    /// place.
    fn check_in_place(&self) -> Result<(), StoreError> {
        if self.files.is_none_or(|files| files.are_those_of(&self.dir)) {
            return Ok(());
        }
        let reason = "a file of it was removed, emptied or replaced".to_owned();
        Err(StoreError::Damaged { path: self.dir.database(), reason })
    }

    fn try_take_in_spool(&mut self) -> Result<(), StoreError> {
        if spool::is_waiting(&self.dir) {
            self.check_in_place()?;
        }
        while let Some(aside) = spool::take_aside(&self.dir).map_err(StoreError::file(self.dir.spool()))? {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            schema::check(&transaction)?;
            for record in not_stored(&transaction, &aside.contents.records)? {
                enqueue(&transaction, record)?;
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

fn store_all(db: &Connection, records: &[Cow<'_, EventRecord>]) -> Result<Vec<Enqueued>, StoreError> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    schema::check(&transaction)?;
    let stored = records.iter().map(|record| enqueue(&transaction, record)).collect::<Result<_, _>>()?;
    transaction.commit()?;
    Ok(stored)
}

/// Falls back to read-only access if the disk cannot be written.
fn or_to_read(dir: &DataDir, opened: Result<Store, StoreError>) -> Result<Store, StoreError> {
    match opened {
        Err(error) if error.is_about_disk() && dir.database().exists() => {
            let read = || {
                let db = connection::open_to_read(&dir.database())?;
                schema::check(&db)?;
                let read_only = Some(ReadOnly::Disk);
                Ok(Store { read_only, ..Store::with_connection(db, dir) })
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

/// The records that are not stored yet. Some may be, by an earlier import of the spool or by a hook that succeeded at
/// the last moment.
pub(crate) fn not_stored<'a>(
    db: &Connection,
    records: &'a [EventRecord],
) -> rusqlite::Result<Vec<&'a EventRecord>> {
    let mut uuids = db.prepare(
        "SELECT t.uuid FROM event_traces AS t JOIN sessions AS s ON s.id = t.session_id
         WHERE s.host = ?1 AND s.content_session_id = ?2",
    )?;
    let sessions: HashSet<&SessionRef> =
        records.iter().map(|record| &record.captured.event().session).collect();
    let mut stored: HashSet<[u8; 16]> = HashSet::new();
    for session in sessions {
        for uuid in uuids.query_map(params![session.host.name(), session.id], |row| row.get(0))? {
            stored.insert(uuid?);
        }
    }
    Ok(records.iter().filter(|record| !stored.contains(record.uuid.as_bytes())).collect())
}

struct Session {
    id: SessionId,
    /// Key of the idempotency hashes; the same for all sessions.
    hash_key: [u8; 16],
    prompt_counter: i64,
    turn_open: bool,
}

fn session(db: &Connection, event: &Event) -> rusqlite::Result<Option<Session>> {
    db.prepare_cached(
        "SELECT id, prompt_counter, turn_open, (SELECT value FROM meta WHERE key = 'hash_key') FROM sessions
         WHERE host = ?1 AND content_session_id = ?2",
    )?
    .query_row(params![event.session.host.name(), event.session.id], |row| {
        Ok(Session {
            id: SessionId(row.get(0)?),
            prompt_counter: row.get(1)?,
            turn_open: row.get(2)?,
            hash_key: row.get(3)?,
        })
    })
    .optional()
}

pub(crate) fn enqueue(db: &Connection, record: &EventRecord) -> Result<Enqueued, StoreError> {
    let event = record.captured.event();
    let session = match session(db, event)? {
        Some(session) => {
            update_session(db, &session, record)?;
            session
        }
        None => begin_session(db, record)?,
    };
    let payload = serde_json::to_string(&event.body)?;
    let ordinal = idempotency::ordinal(&event.body, session.prompt_counter, session.turn_open);
    let key = idempotency::key(&session.hash_key, event, &payload, ordinal);
    let prompt_number = match event.body {
        Body::PromptSubmitted { .. } | Body::PromptWithheld => session.prompt_counter + 1,
        _ => session.prompt_counter,
    };
    let Some(id) = insert_trace(db, record, &session, prompt_number, &key)? else {
        return Ok(Enqueued::Duplicate);
    };
    match &event.body {
        Body::PromptSubmitted { text } => begin_turn(db, &session, prompt_number, Some(text), record.at)?,
        Body::PromptWithheld => begin_turn(db, &session, prompt_number, None, record.at)?,
        Body::TurnEnded { message, .. } => end_turn(db, &session, message, record.at)?,
        _ => {}
    }
    if event.body != Body::PromptWithheld {
        db.prepare_cached(
            "INSERT INTO pending_messages (id, session_id, prompt_number, kind, payload, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            id.0,
            session.id.0,
            prompt_number,
            event.body.kind(),
            payload,
            record.at.0
        ])?;
    }
    Ok(Enqueued::Stored(id))
}

fn begin_session(db: &Connection, record: &EventRecord) -> Result<Session, StoreError> {
    let event @ Event { body, origin, .. } = record.captured.event();
    let is_over = matches!(body, Body::SessionEnded { .. });
    let (pid, started) = host_process(record);
    let place = record.place.clone().unwrap_or_else(|| remora_data::locate(event.cwd.as_ref()));
    let project = project::resolve(db, &place, record.at)?;
    db.execute(
        "INSERT INTO sessions (uuid, host, content_session_id, project_id, started_at, last_activity_at, status,
             completed_at, transcript_path, host_pid, host_started)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, iif(?6, 'completed', 'active'), iif(?6, ?5, NULL), ?7, ?8, ?9)",
        params![
            new_uuid().as_bytes(),
            event.session.host.name(),
            event.session.id,
            project.0,
            record.at.0,
            is_over,
            origin.transcript,
            pid,
            started
        ],
    )?;
    session(db, event)?.ok_or(StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows))
}

/// Updates a session. Any event except its end makes it active again. A new transcript is read from its beginning.
fn update_session(db: &Connection, session: &Session, record: &EventRecord) -> rusqlite::Result<()> {
    let Event { body, origin, .. } = record.captured.event();
    let is_over = matches!(body, Body::SessionEnded { .. });
    let (pid, started) = host_process(record);
    db.prepare_cached(
        "UPDATE sessions SET last_activity_at = max(last_activity_at, ?2),
             status = CASE WHEN ?3 THEN 'completed' ELSE 'active' END,
             completed_at = CASE WHEN ?3 THEN ?2 END,
             transcript_offset = iif(ifnull(?4, transcript_path) IS transcript_path, transcript_offset, NULL),
             transcript_turn = iif(ifnull(?4, transcript_path) IS transcript_path, transcript_turn, NULL),
             transcript_path = ifnull(?4, transcript_path),
             host_pid = ifnull(?5, host_pid), host_started = ifnull(?6, host_started)
         WHERE id = ?1",
    )?
    .execute(params![session.id.0, record.at.0, is_over, origin.transcript, pid, started])?;
    Ok(())
}

/// The columns `host_pid` and `host_started`.
fn host_process(record: &EventRecord) -> (Option<u32>, Option<i64>) {
    record.host_process.map(|host| (host.pid, host.started_at.cast_signed())).unzip()
}

fn insert_trace(
    db: &Connection,
    record: &EventRecord,
    session: &Session,
    prompt_number: i64,
    key: &[u8; 16],
) -> Result<Option<EventId>, StoreError> {
    let event = record.captured.event();
    let tool = event.body.tool();
    let files = tool.map(ToolUse::files).unwrap_or_default();
    let files = if files.is_empty() { None } else { Some(serde_json::to_string(&files)?) };
    let inserted = db
        .prepare_cached(
            "INSERT INTO event_traces
                 (uuid, session_id, prompt_number, kind, tool, files, outcome, agent_id, created_at, idempotency_key)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
             WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE hash = ?10)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            record.uuid.as_bytes(),
            session.id.0,
            prompt_number,
            event.body.kind(),
            tool.map(|tool| &tool.tool),
            files,
            event.body.outcome(),
            event.agent.as_ref().map(|agent| &agent.id),
            record.at.0,
            key,
        ])?;
    Ok((inserted > 0).then(|| EventId(db.last_insert_rowid())))
}

fn begin_turn(
    db: &Connection,
    session: &Session,
    number: i64,
    text: Option<&str>,
    at: Time,
) -> rusqlite::Result<()> {
    // No more events of a private turn will be stored, not even its end.
    db.execute(
        "UPDATE sessions SET prompt_counter = ?2, turn_open = NOT ?3, private_turns = private_turns + ?3
         WHERE id = ?1",
        params![session.id.0, number, text.is_none()],
    )?;
    if let Some(text) = text {
        db.execute(
            "INSERT INTO user_prompts (uuid, session_id, prompt_number, text, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
            params![new_uuid().as_bytes(), session.id.0, number, text, at.0],
        )?;
    }
    Ok(())
}

fn end_turn(db: &Connection, session: &Session, message: &str, at: Time) -> rusqlite::Result<()> {
    db.execute("UPDATE sessions SET turn_open = 0 WHERE id = ?1", [session.id.0])?;
    // A turn ends more than once if a background agent ends after it. All messages are kept.
    if !message.is_empty() {
        db.execute(
            "UPDATE user_prompts SET closing_message = concat_ws(char(10, 10), closing_message, ?3), updated_at = ?4
             WHERE session_id = ?1 AND prompt_number = ?2 AND deleted_at IS NULL",
            params![session.id.0, session.prompt_counter, message, at.0],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use remora_core::event::Origin;
    use remora_core::host::Host;
    use remora_core::privacy::clean;

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

    #[test]
    fn a_group_is_synced_before_it_is_acknowledged_and_a_single_event_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        store
            .db
            .execute_batch(
                "CREATE TEMP TABLE seen (level INTEGER);
                 CREATE TEMP TRIGGER see AFTER INSERT ON main.event_traces BEGIN
                     INSERT INTO seen SELECT synchronous FROM pragma_synchronous;
                 END;",
            )
            .unwrap();
        let record = |text: &str| {
            let session = SessionRef { host: Host::ClaudeCode, id: "s".to_owned() };
            let body = Body::PromptSubmitted { text: text.to_owned() };
            let event =
                Event { session, cwd: "/nowhere".to_owned(), origin: Origin::default(), agent: None, body };
            EventRecord::new(clean(event), Time(1))
        };
        store.enqueue(&record("one")).unwrap();
        store.enqueue_group(&[record("two"), record("three")]).unwrap();
        store.enqueue(&record("four")).unwrap();
        let mut statement = store.db.prepare("SELECT level FROM seen").unwrap();
        let levels: Vec<i64> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let (normal, full) = (1, 2);
        assert_eq!(levels, [normal, full, full, normal]);
    }
}
