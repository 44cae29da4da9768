//! Events: their traces and, while they are queued, their payloads.

use remora_core::event::Body;
use remora_core::ids::{EventId, ProjectId, SessionId};
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::Row;

use crate::StoreError;
use crate::handles::Records;
use crate::queue::MAX_SUBJECT_LEN;
use crate::records::page::{ByProject, Kind, Page, Selection};
use crate::rows::list;

/// An event: its trace and, while it is queued, its payload.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    pub id: EventId,
    pub session_id: SessionId,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    pub kind: String,
    pub tool: Option<String>,
    /// The subject of a tool call without files: its command, address or question, shortened. While the event is
    /// queued, its payload has it.
    pub subject: Option<String>,
    pub files: Vec<String>,
    pub outcome: Option<String>,
    pub agent_id: Option<String>,
    /// `pending`, `processing`, `awaiting_model`, `failed`, or `done` if only the trace is left.
    pub status: String,
    pub attempts: i64,
    pub last_error: Option<String>,
    pub payload: Option<Body>,
    pub created_at: Time,
}

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

macro_rules! event {
    () => {
        concat!(
            "SELECT t.id, t.session_id, t.prompt_number, t.kind, t.tool, t.files, t.outcome, t.agent_id, ifnull(",
            state!(),
            ", 'done'), ifnull(q.attempts, 0), q.last_error, q.payload, t.created_at, e.project_id
            FROM event_traces AS t CROSS JOIN sessions AS e ON e.id = t.session_id
            LEFT JOIN pending_messages AS q ON q.id = t.id"
        )
    };
}

/// Without a condition: callers append theirs.
pub(crate) const EVENT: &str = event!();

pub(crate) const KIND: Kind<EventRow> = Kind {
    select: concat!(event!(), " WHERE true"),
    from: "FROM event_traces AS t CROSS JOIN sessions AS e ON e.id = t.session_id WHERE true",
    alias: "t",
    project: "e.project_id",
    in_session: "created_at",
    typed_id: "'e' || t.id",
    current: "",
    tool_calls: "t.tool IS NOT NULL",
    by_project: ByProject::None,
    read: read_event,
    id: |row| row.id.0,
};

impl EventRow {
    /// The subject of its tool call, shortened as in the trace, which gets it only when the turn is observed.
    pub fn short_subject(&self) -> Option<String> {
        match &self.payload {
            Some(Body::ToolUsed(tool)) if self.subject.is_none() && self.files.is_empty() => {
                Some(one_line(tool.call.subject(), MAX_SUBJECT_LEN)).filter(|subject| !subject.is_empty())
            }
            _ => self.subject.clone(),
        }
    }
}

impl Records<'_> {
    pub fn events(self, selection: &Selection) -> Result<Page<EventRow>, StoreError> {
        self.0.select(&KIND, selection)
    }
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
        project_id: ProjectId(row.get(13)?),
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
