//! Stores captured events: their sessions, turns, traces and, in the queue, their payloads.

use std::borrow::Cow;
use std::collections::HashSet;

use remora_core::event::{Body, SessionRef, ToolUse};
use remora_core::ids::EventId;
use remora_data::DataError;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::idempotency;
use super::session::{self, Session};
use crate::handles::Queue;
use crate::{EventRecord, Store, StoreError, schema, spool};

/// The result of enqueueing an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    Stored(EventId),
    /// It was stored before, or it was forgotten.
    Duplicate,
}

impl Queue<'_> {
    /// Stores one event, after those in the spool. When this returns, it survives the death of every process.
    pub fn enqueue(self, record: &EventRecord) -> Result<Enqueued, StoreError> {
        self.0.enqueue_after_spool(record).map_err(|error| error.about(self.0.dir().database()))
    }

    /// Stores several events in one transaction, all or none. When this returns, they survive a power cut.
    pub fn enqueue_all(self, records: &[EventRecord]) -> Result<Vec<Enqueued>, StoreError> {
        self.0.check_in_place()?;
        // Resolved before anything is locked, because it reads files.
        let mut known = HashSet::new();
        let mut placed = Vec::with_capacity(records.len());
        for record in records {
            let event = record.captured.event();
            let is_known = known.contains(&event.session) || session::find(&self.0.db, event)?.is_some();
            known.insert(&event.session);
            placed.push(if is_known { Cow::Borrowed(record) } else { Cow::Owned(record.clone().located()) });
        }
        let db = self.0.writable()?;
        db.pragma_update(None, "synchronous", "FULL")?;
        let stored = store_all(db, &placed);
        db.pragma_update(None, "synchronous", "NORMAL")?;
        stored
    }
}

impl Store {
    fn enqueue_after_spool(&self, record: &EventRecord) -> Result<Enqueued, StoreError> {
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
    fn ingest_spool_before(&self) -> Result<(), StoreError> {
        if !spool::is_waiting(self.dir()) {
            return Ok(());
        }
        match self.try_take_in_spool() {
            // Another process is importing it right now.
            Ok(()) if spool::is_waiting(self.dir()) => Err(StoreError::Busy),
            // The event matters more than the order: an unreadable spool must not keep it out.
            Err(error @ StoreError::Data(DataError::File { .. })) => {
                self.report_waiting_spool(&error);
                Ok(())
            }
            taken_in => taken_in,
        }
    }

    /// `None` if the event's place has to be resolved first.
    fn try_enqueue(&self, record: &EventRecord) -> Result<Option<Enqueued>, StoreError> {
        let transaction = self.begin()?;
        schema::check(&transaction)?;
        if record.place.is_none() && session::find(&transaction, record.captured.event())?.is_none() {
            return Ok(None);
        }
        let enqueued = store(&transaction, record)?;
        transaction.commit()?;
        Ok(Some(enqueued))
    }
}

fn store_all(db: &Connection, records: &[Cow<'_, EventRecord>]) -> Result<Vec<Enqueued>, StoreError> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    schema::check(&transaction)?;
    let stored = records.iter().map(|record| store(&transaction, record)).collect::<Result<_, _>>()?;
    transaction.commit()?;
    Ok(stored)
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

/// Stores an event in its session, once.
pub(crate) fn store(db: &Connection, record: &EventRecord) -> Result<Enqueued, StoreError> {
    let event = record.captured.event();
    let session = match session::find(db, event)? {
        Some(session) => {
            session::update(db, &session, record)?;
            session
        }
        None => session::begin(db, record)?,
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
        Body::PromptSubmitted { text } => {
            session::begin_turn(db, &session, prompt_number, Some(text), record.at)?;
        }
        Body::PromptWithheld => session::begin_turn(db, &session, prompt_number, None, record.at)?,
        Body::TurnEnded { message, .. } => session::end_turn(db, &session, message, record.at)?,
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

#[cfg(test)]
mod tests {
    use remora_core::event::{Event, Origin};
    use remora_core::host::Host;
    use remora_core::privacy::clean;
    use remora_core::time::Time;
    use remora_data::DataDir;

    use super::*;

    #[test]
    fn a_group_is_synced_before_it_is_acknowledged_and_a_single_event_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
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
        store.queue().enqueue(&record("one")).unwrap();
        store.queue().enqueue_all(&[record("two"), record("three")]).unwrap();
        store.queue().enqueue(&record("four")).unwrap();
        let mut statement = store.db.prepare("SELECT level FROM seen").unwrap();
        let levels: Vec<i64> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let (normal, full) = (1, 2);
        assert_eq!(levels, [normal, full, full, normal]);
    }
}
