//! The JSON of records, of the sessions and projects they belong to, and of their earlier versions.

use remora_core::document::RecordId;
use remora_core::event::Body;
use remora_core::fact::{Fact, FactScope};
use remora_core::feedback::Feedback;
use remora_core::ids::{EventId, FactId, NoteId, ObservationId, ProjectId, PromptId, SessionId, SummaryId};
use remora_core::memory::{Observation, Summary};
use remora_core::time::Time;
use remora_store::notes::NoteRow;
use remora_store::{
    Before, EventRow, FactRow, Judged, ObservationRow, ProjectRow, PromptRow, Revision, SessionRow,
    SummaryRow,
};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::times;
use crate::records::{Record, WholeSession};

/// A whole record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind_of_record", rename_all = "snake_case")]
pub enum RecordJson {
    Observation(Box<ObservationJson>),
    Summary(Box<SummaryJson>),
    Turn(TurnJson),
    Fact(FactJson),
    Note(NoteJson),
    Event(Box<EventJson>),
    Session(Box<WholeSessionJson>),
}

impl From<Record> for RecordJson {
    fn from(record: Record) -> Self {
        match record {
            Record::Observation(row) => Self::Observation(Box::new((*row).into())),
            Record::Summary(row) => Self::Summary(Box::new((*row).into())),
            Record::Turn(row) => Self::Turn(row.into()),
            Record::Fact(row) => Self::Fact(row.into()),
            Record::Note(row) => Self::Note(row.into()),
            Record::Event(row) => Self::Event(Box::new((*row).into())),
            Record::Session(whole) => Self::Session(Box::new((*whole).into())),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ObservationRow")]
pub struct ObservationJson {
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

impl From<ObservationRow> for ObservationJson {
    fn from(row: ObservationRow) -> Self {
        let ObservationRow { id, session_id, project, project_id, prompt_number, observation, .. } = row;
        let ObservationRow { provider, model, source_event_ids, pinned_at, .. } = row;
        let ObservationRow { superseded_by, replaces, feedback, created_at, .. } = row;
        Self {
            id,
            session_id,
            project,
            project_id,
            prompt_number,
            observation,
            provider,
            model,
            source_event_ids,
            pinned_at,
            superseded_by,
            replaces,
            feedback,
            created_at,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SummaryRow")]
pub struct SummaryJson {
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

impl From<SummaryRow> for SummaryJson {
    fn from(row: SummaryRow) -> Self {
        let SummaryRow {
            id,
            session_id,
            project,
            project_id,
            prompt_number,
            summary,
            provider,
            model,
            created_at,
        } = row;
        Self { id, session_id, project, project_id, prompt_number, summary, provider, model, created_at }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PromptRow")]
pub struct TurnJson {
    pub id: PromptId,
    pub session_id: SessionId,
    pub prompt_number: i64,
    pub text: String,
    pub closing_message: Option<String>,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

impl From<PromptRow> for TurnJson {
    fn from(row: PromptRow) -> Self {
        let PromptRow {
            id,
            session_id,
            project: _,
            project_id: _,
            prompt_number,
            text,
            closing_message,
            created_at,
        } = row;
        Self { id, session_id, prompt_number, text, closing_message, created_at }
    }
}

/// A stored fact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FactRow")]
pub struct FactJson {
    pub id: FactId,
    pub scope: FactScope,
    /// Set if it holds in one project only.
    pub project: Option<String>,
    pub project_id: Option<ProjectId>,
    #[serde(flatten)]
    pub fact: Fact,
    pub session_id: Option<SessionId>,
    pub prompt_number: Option<i64>,
    #[serde(flatten, serialize_with = "times::valid_from")]
    #[schemars(with = "times::ValidFrom")]
    pub valid_from: Time,
    /// `None` if it still holds.
    #[serde(flatten, serialize_with = "times::valid_to")]
    #[schemars(with = "times::ValidTo")]
    pub valid_to: Option<Time>,
    /// When the same value was last stated again.
    #[serde(flatten, serialize_with = "times::confirmed")]
    #[schemars(with = "times::Confirmed")]
    pub confirmed_at: Option<Time>,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
    #[serde(flatten, serialize_with = "times::updated")]
    #[schemars(with = "times::Updated")]
    pub updated_at: Time,
}

impl From<FactRow> for FactJson {
    fn from(row: FactRow) -> Self {
        let FactRow { id, scope, project, project_id, fact, session_id, prompt_number, .. } = row;
        let FactRow { valid_from, valid_to, confirmed_at, created_at, updated_at, .. } = row;
        Self {
            id,
            scope,
            project,
            project_id,
            fact,
            session_id,
            prompt_number,
            valid_from,
            valid_to,
            confirmed_at,
            created_at,
            updated_at,
        }
    }
}

impl From<Box<FactRow>> for FactJson {
    fn from(row: Box<FactRow>) -> Self {
        Self::from(*row)
    }
}

/// A complete note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteJson {
    pub id: NoteId,
    pub path: String,
    pub title: String,
    pub tags: Vec<String>,
    pub text: String,
    pub changed_at: Time,
}

impl From<NoteRow> for NoteJson {
    fn from(NoteRow { id, path, title, tags, text, changed_at }: NoteRow) -> Self {
        Self { id, path, title, tags, text, changed_at }
    }
}

/// An event: its trace and, while it is queued, its payload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventJson {
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

impl From<EventRow> for EventJson {
    fn from(row: EventRow) -> Self {
        let EventRow { id, session_id, prompt_number, kind, tool, subject, files, outcome, .. } = row;
        let EventRow { agent_id, status, attempts, last_error, payload, created_at, .. } = row;
        Self {
            id,
            session_id,
            prompt_number,
            kind,
            tool,
            subject,
            files,
            outcome,
            agent_id,
            status,
            attempts,
            last_error,
            payload,
            created_at,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SessionRow")]
pub struct SessionJson {
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

impl From<SessionRow> for SessionJson {
    fn from(row: SessionRow) -> Self {
        let SessionRow { id, host, content_session_id, memory_session_id, project, project_id, .. } = row;
        let SessionRow { status, prompts, private_turns, events, pending, title, .. } = row;
        let SessionRow { started_at, last_activity_at, completed_at, .. } = row;
        Self {
            id,
            host,
            content_session_id,
            memory_session_id,
            project,
            project_id,
            status,
            prompts,
            private_turns,
            events,
            pending,
            title,
            started_at,
            last_activity_at,
            completed_at,
        }
    }
}

/// A session with everything that happened in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WholeSessionJson {
    #[serde(flatten)]
    pub session: SessionJson,
    pub turns: Vec<TurnJson>,
    /// Without payloads, because each event can be fetched by its own id.
    #[serde(rename = "event_list")]
    pub events: Vec<EventJson>,
}

impl From<WholeSession> for WholeSessionJson {
    fn from(WholeSession { session, turns, events }: WholeSession) -> Self {
        let events = events.into_iter().map(|event| EventJson::from(EventRow { payload: None, ..event }));
        Self {
            session: session.into(),
            turns: turns.into_iter().map(TurnJson::from).collect(),
            events: events.collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectJson {
    pub id: ProjectId,
    pub name: String,
    pub key: String,
    pub root: String,
    /// Every directory it is known by.
    pub paths: Vec<String>,
    pub origin: Option<String>,
}

impl From<ProjectRow> for ProjectJson {
    fn from(ProjectRow { id, name, key, root, paths, origin }: ProjectRow) -> Self {
        Self { id, name, key, root, paths, origin }
    }
}

/// An observation after a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Judged")]
pub struct JudgedJson {
    #[serde(flatten, serialize_with = "times::pinned")]
    #[schemars(with = "times::Pinned")]
    pub pinned_at: Option<Time>,
    pub feedback: Feedback,
}

impl From<Judged> for JudgedJson {
    fn from(Judged { pinned_at, feedback }: Judged) -> Self {
        Self { pinned_at, feedback }
    }
}

/// An earlier version of an observation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Revision")]
pub struct RevisionJson {
    pub id: i64,
    pub action: String,
    pub source: String,
    pub before: BeforeJson,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

/// The content of an earlier version.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Before")]
pub struct BeforeJson {
    #[serde(flatten)]
    pub observation: Observation,
    pub superseded_by: Option<Uuid>,
}

impl From<Revision> for RevisionJson {
    fn from(Revision { id, action, source, before, created_at }: Revision) -> Self {
        let Before { observation, superseded_by } = before;
        Self { id, action, source, before: BeforeJson { observation, superseded_by }, created_at }
    }
}
