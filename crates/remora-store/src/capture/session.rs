//! The session of an event: found or begun with it, and kept up to date by it.

use remora_core::event::{Body, Event};
use remora_core::ids::SessionId;
use remora_core::time::Time;
use remora_data::new_uuid;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{EventRecord, StoreError, projects};

/// The session that an event belongs to.
pub(super) struct Session {
    pub(super) id: SessionId,
    /// Key of the idempotency hashes; the same for all sessions.
    pub(super) hash_key: [u8; 16],
    pub(super) prompt_counter: i64,
    pub(super) turn_open: bool,
}

pub(super) fn find(db: &Connection, event: &Event) -> rusqlite::Result<Option<Session>> {
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

pub(super) fn begin(db: &Connection, record: &EventRecord) -> Result<Session, StoreError> {
    let event @ Event { body, origin, .. } = record.captured.event();
    let is_over = matches!(body, Body::SessionEnded { .. });
    let (pid, started) = host_process(record);
    let place = record.place.clone().unwrap_or_else(|| remora_data::locate(event.cwd.as_ref()));
    let project = projects::resolve(db, &place, record.at)?;
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
    find(db, event)?.ok_or(StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows))
}

/// Updates a session. Any event except its end makes it active again. A new transcript is read from its beginning.
pub(super) fn update(db: &Connection, session: &Session, record: &EventRecord) -> rusqlite::Result<()> {
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

pub(super) fn begin_turn(
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

pub(super) fn end_turn(db: &Connection, session: &Session, message: &str, at: Time) -> rusqlite::Result<()> {
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
