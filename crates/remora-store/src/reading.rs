//! Queries for the records that people and programs request. JSON shows every time twice: epoch milliseconds and ISO
//! 8601.

use remora_core::document::RecordId;
use remora_core::event::Body;
use remora_core::feedback::Feedback;
use remora_core::ids::{EventId, ObservationId, ProjectId, PromptId, SessionId, SummaryId};
use remora_core::memory::{Observation, Summary};
use remora_core::time::Time;
use rusqlite::{OptionalExtension, Row, ToSql, TransactionBehavior};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::{
    Batch, Joined, Place, QueueCounts, Store, StoreError, feedback, project, retention, spool, store,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub sessions: i64,
    pub prompts: i64,
    pub observations: i64,
    pub summaries: i64,
    pub facts: i64,
    /// Events that are not observed yet, including those in the spool.
    pub pending: i64,
    /// Events being processed, including those next in line for a model.
    pub processing: i64,
    /// Events whose memory is stored and for which the model is called again later.
    pub awaiting_model: i64,
    pub failed: i64,
    /// Turns that were not stored because their prompt was private.
    pub private_turns: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectRow {
    pub id: ProjectId,
    pub name: String,
    pub key: String,
    pub root: String,
    /// Every directory it is known by.
    pub paths: Vec<String>,
    pub origin: Option<String>,
}

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

/// A host or channel that sent events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostSeen {
    pub host: String,
    pub sessions: i64,
    pub last_event_at: Time,
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
        "CASE WHEN q.status = 'pending' AND q.observed = 1
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
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let counts = self.db.query_row(
            "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM user_prompts WHERE deleted_at IS NULL),
                 (SELECT count(*) FROM observations WHERE deleted_at IS NULL),
                 (SELECT count(*) FROM session_summaries WHERE deleted_at IS NULL),
                 (SELECT count(*) FROM facts WHERE valid_to IS NULL AND deleted_at IS NULL),
                 (SELECT ifnull(sum(private_turns), 0) FROM sessions)",
            [],
            |row| {
                Ok(Counts {
                    sessions: row.get(0)?,
                    prompts: row.get(1)?,
                    observations: row.get(2)?,
                    summaries: row.get(3)?,
                    facts: row.get(4)?,
                    private_turns: row.get(5)?,
                    ..Counts::default()
                })
            },
        )?;
        let QueueCounts { pending, processing, awaiting_model, failed } = self.queue_counts()?;
        Ok(Counts { pending, processing, awaiting_model, failed, ..counts })
    }

    /// Records in the spool that are not in the database yet.
    pub(crate) fn spooled(&self) -> Result<i64, StoreError> {
        let contents = spool::peek(self.dir()).map_err(StoreError::file(self.dir().spool()))?;
        let waiting = store::not_stored(&self.db, &contents.records)?.len();
        Ok(i64::try_from(waiting).unwrap_or(i64::MAX))
    }

    pub fn projects(&self) -> Result<Vec<ProjectRow>, StoreError> {
        self.rows(
            "SELECT id, name, key, root, origin,
                 (SELECT json_group_array(path) FROM project_aliases WHERE project_id = projects.id AND gone_at IS NULL)
             FROM projects ORDER BY id",
            &[],
            |row| {
                Ok(ProjectRow {
                    id: ProjectId(row.get(0)?),
                    name: row.get(1)?,
                    key: row.get(2)?,
                    root: row.get(3)?,
                    origin: row.get(4)?,
                    paths: list(row, 5)?,
                })
            },
        )
    }

    /// The project of a directory, if it is known, by the same rules as for an event from there.
    pub fn project_at(&self, place: &Place) -> Result<Option<ProjectRow>, StoreError> {
        let Some(id) = project::project_of(&self.db, place)? else { return Ok(None) };
        Ok(self.projects()?.into_iter().find(|project| project.id == id))
    }

    /// The project that a directory joined, only because it has the same origin or is below the project's root.
    pub fn joined(&self, place: &Place) -> Result<Option<Joined>, StoreError> {
        Ok(project::joined(&self.db, place)?)
    }

    /// The same for a directory that joined its project when this session began.
    pub fn joined_with(&self, session: SessionId) -> Result<Option<Joined>, StoreError> {
        Ok(project::joined_with(&self.db, session)?)
    }

    /// Gives a directory that shares a project its own, from now on. `None` if it shares none.
    pub fn split(&mut self, place: &Place, now: Time) -> Result<Option<ProjectRow>, StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let split = project::split(&transaction, place, now)?;
        if split.is_some() {
            retention::audit(&transaction, "project split", &place.root)?;
        }
        transaction.commit()?;
        if split.is_none() { Ok(None) } else { self.project_at(place) }
    }

    /// Sessions of one project or of all, latest first.
    pub fn sessions(&self, project: Option<ProjectId>, most: u32) -> Result<Vec<SessionRow>, StoreError> {
        let sql = format!(
            "{SESSION} AND (?1 IS NULL OR s.project_id = ?1) ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ?2"
        );
        self.rows(&sql, &[&project.map(|project| project.0), &most], read_session)
    }

    /// The latest sessions of one agent program or channel, of one project or of all.
    pub fn sessions_of_host(
        &self,
        host: &str,
        project: Option<ProjectId>,
        most: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let sql = format!(
            "{SESSION} AND s.host = ?1 AND (?2 IS NULL OR s.project_id = ?2)
             ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ?3"
        );
        self.rows(&sql, &[&host, &project.map(|project| project.0), &most], read_session)
    }

    /// Hosts that sent events, the latest first.
    pub fn hosts_seen(&self) -> Result<Vec<HostSeen>, StoreError> {
        // The session that holds saved texts has no events, and its host is a placeholder.
        let sql = "SELECT s.host, count(*), max(s.last_activity_at) FROM sessions AS s
                   WHERE EXISTS (SELECT 1 FROM event_traces WHERE session_id = s.id) GROUP BY s.host ORDER BY 3 DESC";
        self.rows(sql, &[], |row| {
            Ok(HostSeen { host: row.get(0)?, sessions: row.get(1)?, last_event_at: Time(row.get(2)?) })
        })
    }

    /// Sessions whose host id begins with `beginning`, at most 20.
    pub fn sessions_named(&self, beginning: &str) -> Result<Vec<SessionRow>, StoreError> {
        let sql =
            format!("{SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1 ORDER BY s.id LIMIT 20");
        self.rows(&sql, &[&beginning], read_session)
    }

    /// The number of sessions whose host id begins with `beginning`.
    pub fn count_sessions_named(&self, beginning: &str) -> Result<i64, StoreError> {
        let sql =
            format!("SELECT count(*) FROM ({SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1)");
        Ok(self.db.query_row(&sql, [beginning], |row| row.get(0))?)
    }

    /// The root of the session's project, to which its paths are relative.
    pub fn session_root(&self, session: SessionId) -> Result<String, StoreError> {
        let sql =
            "SELECT p.root FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?1";
        Ok(self.db.query_row(sql, [session.0], |row| row.get(0))?)
    }

    /// The host of a session.
    pub fn session_host(&self, session: SessionId) -> Result<String, StoreError> {
        Ok(self.db.query_row("SELECT host FROM sessions WHERE id = ?1", [session.0], |row| row.get(0))?)
    }

    /// The name of the session's project.
    pub fn session_project(&self, session: SessionId) -> Result<String, StoreError> {
        let sql =
            "SELECT p.name FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?1";
        Ok(self.db.query_row(sql, [session.0], |row| row.get(0))?)
    }

    pub fn prompts(&self, session: SessionId) -> Result<Vec<PromptRow>, StoreError> {
        let sql = format!("{PROMPT} AND session_id = ?1 ORDER BY prompt_number");
        self.rows(&sql, &[&session.0], read_prompt)
    }

    /// The prompt of a turn; empty if it was private or missing.
    pub fn prompt_text(&self, session: SessionId, prompt_number: i64) -> Result<String, StoreError> {
        let sql = "SELECT text FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2 AND deleted_at IS NULL";
        let text = self.db.query_row(sql, [session.0, prompt_number], |row| row.get(0)).optional()?;
        Ok(text.unwrap_or_default())
    }

    /// The agent's closing message of a turn.
    pub fn closing_message(
        &self,
        session: SessionId,
        prompt_number: i64,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT closing_message FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2 AND deleted_at IS NULL";
        let message = self.db.query_row(sql, [session.0, prompt_number], |row| row.get(0)).optional()?;
        Ok(message.flatten())
    }

    /// A turn: a prompt with the agent's closing message.
    pub fn prompt(&self, id: PromptId) -> Result<Option<PromptRow>, StoreError> {
        Ok(self.db.query_row(&format!("{PROMPT} AND id = ?1"), [id.0], read_prompt).optional()?)
    }

    pub fn session_events(&self, session: SessionId) -> Result<Vec<EventRow>, StoreError> {
        let sql = format!("{EVENT} WHERE t.session_id = ?1 ORDER BY t.created_at, t.id");
        self.rows(&sql, &[&session.0], read_event)
    }

    pub fn event(&self, id: EventId) -> Result<Option<EventRow>, StoreError> {
        Ok(self.db.query_row(&format!("{EVENT} WHERE t.id = ?1"), [id.0], read_event).optional()?)
    }

    /// Queued events, oldest first.
    pub fn queue(&self, most: u32) -> Result<Vec<EventRow>, StoreError> {
        let sql = format!("{EVENT} WHERE q.id IS NOT NULL ORDER BY t.created_at, t.id LIMIT ?1");
        self.rows(&sql, &[&most], read_event)
    }

    pub fn observation(&self, id: ObservationId) -> Result<Option<ObservationRow>, StoreError> {
        let sql = format!("{OBSERVATION} AND o.id = ?1");
        Ok(self.db.query_row(&sql, [id.0], read_observation).optional()?)
    }

    /// The observations that an observation replaces.
    pub fn replaced_by(&self, id: ObservationId) -> Result<Vec<ObservationId>, StoreError> {
        let sql = "SELECT o.id FROM observations AS o INDEXED BY observations_superseded
                   WHERE o.superseded_by = (SELECT uuid FROM observations WHERE id = ?1) AND o.deleted_at IS NULL
                   ORDER BY o.id";
        self.rows(sql, &[&id.0], |row| row.get(0).map(ObservationId))
    }

    /// The earlier observations of a session for a model call about a turn, without those that its answer may
    /// replace.
    pub fn session_history(
        &self,
        session: SessionId,
        prompt_number: i64,
    ) -> Result<Vec<ObservationRow>, StoreError> {
        let sql = format!(
            "{OBSERVATION} AND o.session_id = ?1 AND o.prompt_number <= ?2 AND o.superseded_by IS NULL
             AND CAST(o.id AS TEXT) NOT IN (
                 SELECT r.value FROM pending_messages AS q, json_each(q.records) AS r
                 WHERE q.status IN ('pending', 'processing') AND q.observed = 1 AND q.session_id = ?1
                 AND q.prompt_number = ?2)
             ORDER BY o.prompt_number, o.id"
        );
        self.rows(&sql, &[&session.0, &prompt_number], read_observation)
    }

    /// The observations of a session, in order.
    pub fn session_observations(&self, session: SessionId) -> Result<Vec<ObservationRow>, StoreError> {
        let sql = format!("{OBSERVATION} AND o.session_id = ?1 ORDER BY o.prompt_number, o.id");
        self.rows(&sql, &[&session.0], read_observation)
    }

    pub fn summary(&self, id: SummaryId) -> Result<Option<SummaryRow>, StoreError> {
        Ok(self.db.query_row(&format!("{SUMMARY} AND s.id = ?1"), [id.0], read_summary).optional()?)
    }

    /// The summary that the batch's summary builds on: the session's latest or, if the batch is stored already, the
    /// one before it.
    pub fn summary_before(&self, batch: &Batch) -> Result<Option<SummaryRow>, StoreError> {
        let sql = format!(
            "{SUMMARY} AND s.session_id = ?1 AND s.id < ifnull((
                 SELECT min(CAST(substr(r.value, 2) AS INTEGER)) FROM pending_messages AS q, json_each(q.records) AS r
                 WHERE q.status IN ('pending', 'processing') AND q.observed = 1 AND q.session_id = ?1
                 AND q.prompt_number = ?2 AND r.value LIKE 's%'), 9223372036854775807)
             ORDER BY s.id DESC LIMIT 1"
        );
        let values = [batch.session.0, batch.prompt_number];
        Ok(self.db.prepare_cached(&sql)?.query_row(values, read_summary).optional()?)
    }

    /// All versions of a session's summary, in order.
    pub fn session_summaries(&self, session: SessionId) -> Result<Vec<SummaryRow>, StoreError> {
        let sql = format!("{SUMMARY} AND s.session_id = ?1 ORDER BY s.prompt_number, s.id");
        self.rows(&sql, &[&session.0], read_summary)
    }

    /// The start of the first session.
    pub fn first_session_at(&self) -> Result<Option<Time>, StoreError> {
        let first: Option<i64> =
            self.db.query_row("SELECT min(started_at) FROM sessions", [], |row| row.get(0))?;
        Ok(first.map(Time))
    }

    /// The last activity of each host, sorted by name.
    pub fn last_activity_by_host(&self) -> Result<Vec<(String, Time)>, StoreError> {
        self.rows(
            "SELECT host, max(last_activity_at) FROM sessions GROUP BY host ORDER BY host",
            &[],
            |row| Ok((row.get(0)?, Time(row.get(1)?))),
        )
    }

    /// The problems that SQLite finds in its file; empty if it is sound.
    pub fn integrity_problems(&self) -> Result<Vec<String>, StoreError> {
        let found: Vec<String> = self.rows("PRAGMA integrity_check", &[], |row| row.get(0))?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

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

/// Writes `name_at` (ISO 8601) and `name_at_epoch` (milliseconds).
pub(crate) mod times {
    use super::{JsonSchema, Serializer, Time};
    use serde::ser::SerializeMap;

    macro_rules! time_members {
        ($($function:ident $members:ident($time:ty, $text:ty) $iso:ident $epoch:ident;)*) => {$(
            pub(crate) fn $function<S: Serializer>(time: &$time, serializer: S) -> Result<S::Ok, S::Error> {
                let time: Option<Time> = (*time).into();
                let mut members = serializer.serialize_map(Some(2))?;
                members.serialize_entry(stringify!($iso), &time.map(Time::iso))?;
                members.serialize_entry(stringify!($epoch), &time)?;
                members.end()
            }

            /// The members, for the JSON schema.
            #[derive(JsonSchema)]
            #[expect(dead_code, reason = "only its schema is used")]
            pub(crate) struct $members {
                $iso: $text,
                $epoch: $time,
            }
        )*};
    }

    time_members! {
        created Created(Time, String) created_at created_at_epoch;
        updated Updated(Time, String) updated_at updated_at_epoch;
        started Started(Time, String) started_at started_at_epoch;
        last_activity LastActivity(Time, String) last_activity_at last_activity_at_epoch;
        completed Completed(Option<Time>, Option<String>) completed_at completed_at_epoch;
        pinned Pinned(Option<Time>, Option<String>) pinned_at pinned_at_epoch;
        confirmed Confirmed(Option<Time>, Option<String>) confirmed_at confirmed_at_epoch;
        valid_from ValidFrom(Time, String) valid_from valid_from_epoch;
        valid_to ValidTo(Option<Time>, Option<String>) valid_to valid_to_epoch;
    }
}
