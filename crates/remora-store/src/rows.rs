//! The records as rows: for each kind its columns, the struct that they fill, and the function that reads one.
//! Several files select the same records, and all of them must read the same columns.

use remora_core::document::RecordId;
use remora_core::event::Body;
use remora_core::feedback::Feedback;
use remora_core::ids::{EventId, ObservationId, ProjectId, PromptId, SessionId, SummaryId};
use remora_core::memory::{Observation, Summary};
use remora_core::time::Time;
use rusqlite::{Row, ToSql};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::{Store, StoreError, feedback, times};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    #[serde(flatten, serialize_with = "times::started")]
    #[schemars(with = "times::Started")]
    pub started_at: Time,
    #[serde(flatten, serialize_with = "times::last_activity")]
    #[schemars(with = "times::LastActivity")]
    pub last_activity_at: Time,
    #[serde(flatten, serialize_with = "times::completed")]
    #[schemars(with = "times::Completed")]
    pub completed_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PromptRow {
    pub id: PromptId,
    pub session_id: SessionId,
    pub prompt_number: i64,
    pub text: String,
    pub closing_message: Option<String>,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

/// An event: its trace and, while it is queued, its payload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventRow {
    pub id: EventId,
    pub session_id: SessionId,
    pub prompt_number: i64,
    pub kind: String,
    pub tool: Option<String>,
    /// The subject of a tool call without files: its command, address or question, shortened. While the event is
    /// queued, its payload has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub files: Vec<String>,
    pub outcome: Option<String>,
    pub agent_id: Option<String>,
    /// `pending`, `processing`, `awaiting_model`, `failed`, or `done` if only the trace is left.
    pub status: String,
    pub attempts: i64,
    pub last_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Body>,
    #[serde(flatten, serialize_with = "times::created")]
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ObservationRow {
    pub id: ObservationId,
    pub session_id: SessionId,
    pub project: String,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    #[serde(flatten)]
    pub observation: Observation,
    pub provider: String,
    pub model: String,
    /// The uuids of the events it was made of.
    pub source_event_ids: Vec<Uuid>,
    /// When it was pinned, to come first at the start of every session.
    #[serde(flatten, serialize_with = "times::pinned")]
    #[schemars(with = "times::Pinned")]
    pub pinned_at: Option<Time>,
    /// The record that replaces it: an observation, or a correction of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<RecordId>,
    /// The observations that it replaces. Only filled in for records that are requested by their id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<ObservationId>,
    pub feedback: Feedback,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SummaryRow {
    pub id: SummaryId,
    pub session_id: SessionId,
    pub project: String,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    #[serde(flatten)]
    pub summary: Summary,
    pub provider: String,
    pub model: String,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

// Each of these ends in a condition, to which callers append theirs with AND. A forgotten session keeps its row,
// which has no text: later events continue it.
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

pub(crate) const PROMPT: &str =
    "SELECT id, session_id, prompt_number, text, closing_message, created_at FROM user_prompts
    WHERE deleted_at IS NULL";

/// The state of `pending_messages AS q` as shown to users. An observed event without a retry time is next in line for
/// a model, which counts as processing.
macro_rules! state {
    () => {
        "CASE WHEN q.observed = 2 THEN 'done' WHEN q.status = 'pending' AND q.observed = 1
              THEN iif(q.retry_at IS NULL, 'processing', 'awaiting_model') ELSE q.status END"
    };
}
pub(crate) use state;

/// Separator between the name of a tool and the subject of its call in `event_traces.tool`. No tool name contains it.
pub(crate) const SUBJECT: &str = ": ";

pub(crate) const EVENT: &str = concat!(
    "SELECT t.id, t.session_id, t.prompt_number, t.kind, t.tool, t.files, t.outcome, t.agent_id,
    ifnull(",
    state!(),
    ", 'done'), ifnull(q.attempts, 0), q.last_error, q.payload, t.created_at
    FROM event_traces AS t LEFT JOIN pending_messages AS q ON q.id = t.id"
);

/// The concepts of `observations AS o`, as JSON.
macro_rules! concepts {
    () => {
        "(SELECT json_group_array(concept ORDER BY position) FROM observation_concepts WHERE observation_id = o.id)"
    };
}
pub(crate) use concepts;

/// The files that `observations AS o` read or modified, as JSON.
macro_rules! files {
    ($how:literal) => {
        concat!(
            "(SELECT json_group_array(path ORDER BY position) FROM observation_files
              WHERE observation_id = o.id AND how = '",
            $how,
            "')"
        )
    };
}
pub(crate) use files;

/// The record that supersedes `observations AS $row`, by the id that users type. A correction of the user is a fact.
macro_rules! superseded_by {
    ($row:literal) => {
        concat!(
            "ifnull((SELECT CAST(id AS TEXT) FROM observations WHERE uuid = ",
            $row,
            ".superseded_by AND deleted_at IS NULL), (SELECT 'f' || id FROM facts WHERE uuid = ",
            $row,
            ".superseded_by AND deleted_at IS NULL))"
        )
    };
}
pub(crate) use superseded_by;

pub(crate) const OBSERVATION: &str = concat!(
    "SELECT o.id, o.session_id, p.name, o.prompt_number, o.type, o.title, o.subtitle,
    o.narrative, o.facts, ",
    concepts!(),
    ", ",
    files!("read"),
    ", ",
    files!("modified"),
    ", o.discovery_tokens, o.tool_name, o.provider, o.model, o.source_event_ids, o.created_at, o.project_id, o.pinned_at, ",
    superseded_by!("o"),
    ", ",
    feedback::feedback_columns!(),
    " FROM observations AS o JOIN projects AS p ON p.id = o.project_id
    LEFT JOIN observation_feedback AS f ON f.observation_id = o.id WHERE o.deleted_at IS NULL"
);

pub(crate) const SUMMARY: &str =
    "SELECT s.id, s.session_id, p.name, s.prompt_number, s.request, s.investigated, s.learned,
    s.completed, s.next_steps, s.notes, s.files_read, s.files_edited, s.provider, s.model, s.created_at, s.project_id
    FROM session_summaries AS s JOIN projects AS p ON p.id = s.project_id WHERE s.deleted_at IS NULL";

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

pub(crate) fn read_prompt(row: &Row<'_>) -> rusqlite::Result<PromptRow> {
    Ok(PromptRow {
        id: PromptId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        prompt_number: row.get(2)?,
        text: row.get(3)?,
        closing_message: row.get(4)?,
        created_at: Time(row.get(5)?),
    })
}

pub(crate) fn read_event(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    let payload: Option<String> = row.get(11)?;
    let tool: Option<String> = row.get(4)?;
    let (tool, subject) = match tool.as_deref().and_then(|tool| tool.split_once(SUBJECT)) {
        Some((tool, subject)) => (Some(tool.to_owned()), Some(subject.to_owned())),
        None => (tool, None),
    };
    Ok(EventRow {
        id: EventId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        prompt_number: row.get(2)?,
        kind: row.get(3)?,
        tool,
        subject,
        files: list(row, 5)?,
        outcome: row.get(6)?,
        agent_id: row.get(7)?,
        status: row.get(8)?,
        attempts: row.get(9)?,
        last_error: row.get(10)?,
        payload: payload.and_then(|json| serde_json::from_str(&json).ok()),
        created_at: Time(row.get(12)?),
    })
}

pub(crate) fn read_observation(row: &Row<'_>) -> rusqlite::Result<ObservationRow> {
    let kind: String = row.get(4)?;
    Ok(ObservationRow {
        id: ObservationId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        project: row.get(2)?,
        project_id: ProjectId(row.get(18)?),
        prompt_number: row.get(3)?,
        observation: Observation {
            kind: kind.into(),
            title: row.get(5)?,
            subtitle: row.get(6)?,
            narrative: row.get(7)?,
            facts: list(row, 8)?,
            concepts: list(row, 9)?,
            files_read: list(row, 10)?,
            files_modified: list(row, 11)?,
            discovery_tokens: row.get::<_, i64>(12)?.unsigned_abs(),
            tool_name: row.get(13)?,
        },
        provider: row.get(14)?,
        model: row.get(15)?,
        source_event_ids: list(row, 16)?,
        pinned_at: row.get::<_, Option<i64>>(19)?.map(Time),
        superseded_by: record_id(row, 20)?,
        replaces: Vec::new(),
        feedback: feedback::read(row, 21)?,
        created_at: Time(row.get(17)?),
    })
}

/// A record's id from a column that has it as users type it.
pub(crate) fn record_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<RecordId>> {
    let id: Option<String> = row.get(column)?;
    Ok(id.and_then(|id| id.parse().ok()))
}

pub(crate) fn read_summary(row: &Row<'_>) -> rusqlite::Result<SummaryRow> {
    Ok(SummaryRow {
        id: SummaryId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        project: row.get(2)?,
        project_id: ProjectId(row.get(15)?),
        prompt_number: row.get(3)?,
        summary: Summary {
            request: row.get(4)?,
            investigated: row.get(5)?,
            learned: row.get(6)?,
            completed: row.get(7)?,
            next_steps: row.get(8)?,
            notes: row.get(9)?,
            files_read: list(row, 10)?,
            files_edited: list(row, 11)?,
        },
        provider: row.get(12)?,
        model: row.get(13)?,
        created_at: Time(row.get(14)?),
    })
}

/// Parses a list stored as JSON text. NULL is an empty list.
pub(crate) fn list<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<T>> {
    let Some(json) = row.get::<_, Option<String>>(column)? else { return Ok(Vec::new()) };
    serde_json::from_str(&json).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}
