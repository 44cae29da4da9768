//! Sessions as rows, and what reading rows of all kinds has in common.

use remora_core::document::RecordId;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::{Row, ToSql};

use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub id: SessionId,
    pub host: String,
    pub content_session_id: String,
    pub memory_session_id: Option<String>,
    pub project: String,
    pub project_id: ProjectId,
    pub status: String,
    pub prompts: i64,
    pub private_turns: i64,
    pub events: i64,
    pub pending: i64,
    /// The first prompt.
    pub title: Option<String>,
    pub started_at: Time,
    pub last_activity_at: Time,
    pub completed_at: Option<Time>,
}

// Ends in a condition, to which callers append theirs with AND. A forgotten session keeps its row, which has no text:
// later events continue it.
pub(crate) const SESSION: &str =
    "SELECT s.id, s.host, s.content_session_id, s.memory_session_id, p.name, s.project_id, s.status,
    s.prompt_counter, s.private_turns, (SELECT count(*) FROM event_traces WHERE session_id = s.id),
    (SELECT count(*) FROM pending_messages WHERE session_id = s.id AND status = 'pending' AND observed = 0),
    (SELECT text FROM user_prompts WHERE session_id = s.id AND deleted_at IS NULL ORDER BY prompt_number LIMIT 1),
    s.started_at, s.last_activity_at, s.completed_at
    FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
    WHERE (EXISTS (SELECT 1 FROM event_traces WHERE session_id = s.id)
           OR EXISTS (SELECT 1 FROM observations WHERE session_id = s.id AND deleted_at IS NULL)
           OR EXISTS (SELECT 1 FROM user_prompts WHERE session_id = s.id AND deleted_at IS NULL)
           OR EXISTS (SELECT 1 FROM session_summaries WHERE session_id = s.id AND deleted_at IS NULL))";

impl Store {
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        parameters: &[&dyn ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.db.prepare(sql)?;
        let rows = statement.query_map(parameters, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

pub(crate) fn read_session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: SessionId(row.get(0)?),
        host: row.get(1)?,
        content_session_id: row.get(2)?,
        memory_session_id: row.get(3)?,
        project: row.get(4)?,
        project_id: ProjectId(row.get(5)?),
        status: row.get(6)?,
        prompts: row.get(7)?,
        private_turns: row.get(8)?,
        events: row.get(9)?,
        pending: row.get(10)?,
        title: row.get(11)?,
        started_at: Time(row.get(12)?),
        last_activity_at: Time(row.get(13)?),
        completed_at: row.get::<_, Option<i64>>(14)?.map(Time),
    })
}

/// A record's id from a column that has it as users type it.
pub(crate) fn record_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<RecordId>> {
    let id: Option<String> = row.get(column)?;
    Ok(id.and_then(|id| id.parse().ok()))
}

/// Parses a list stored as JSON text. NULL is an empty list.
pub(crate) fn list<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<T>> {
    let Some(json) = row.get::<_, Option<String>>(column)? else { return Ok(Vec::new()) };
    serde_json::from_str(&json).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}
