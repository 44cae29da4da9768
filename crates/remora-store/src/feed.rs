//! Pages backwards through memory, and lists running turns, for pages that show memory as it grows.

use std::time::Duration;

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::params;

use crate::handles::Records;
use crate::rows::{
    EVENT, OBSERVATION, PROMPT, SUMMARY, read_event, read_observation, read_prompt, read_summary,
};
use crate::{Cursor, EventRow, News, ObservationRow, PromptRow, StoreError, SummaryRow};

/// A turn without an event for this long is not shown as running: its host was probably killed.
const SILENCE: Duration = Duration::from_mins(20);

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTurn {
    pub session: SessionId,
    pub project: String,
    pub project_id: ProjectId,
    pub host: String,
    pub prompt_number: i64,
    /// The user's prompt.
    pub prompt: String,
    /// Total number of tool calls.
    pub tools: i64,
    /// The last tool calls, oldest first.
    pub events: Vec<EventRow>,
    pub last_activity_at: Time,
}

impl Records<'_> {
    /// The rows before `cursor`, at most `most` of each kind, each list latest first. Checkpoints of summaries are
    /// left out: the session's summary includes them.
    pub fn before(self, cursor: Cursor, project: Option<ProjectId>, most: u32) -> Result<News, StoreError> {
        let project = project.map(|project| project.0);
        let rows = |id: &str, of: &str| {
            format!("AND {id} < ?1 AND (?3 IS NULL OR {of} = ?3) ORDER BY {id} DESC LIMIT ?2")
        };
        let of_session = "(SELECT project_id FROM sessions WHERE sessions.id = session_id)";
        Ok(News {
            prompts: self.0.rows(
                &format!("{PROMPT} {}", rows("id", of_session)),
                &[&cursor.prompt, &most, &project],
                read_prompt,
            )?,
            observations: self.0.rows(
                &format!("{OBSERVATION} {}", rows("o.id", "o.project_id")),
                &[&cursor.observation, &most, &project],
                read_observation,
            )?,
            summaries: self.0.rows(
                &format!("{SUMMARY} AND s.checkpoint = 0 {}", rows("s.id", "s.project_id")),
                &[&cursor.summary, &most, &project],
                read_summary,
            )?,
            events: Vec::new(),
        })
    }

    /// Running turns, latest first, each with its last `events` tool calls.
    pub fn running_turns(
        self,
        project: Option<ProjectId>,
        most: u32,
        events: u32,
        now: Time,
    ) -> Result<Vec<RunningTurn>, StoreError> {
        let sql = "SELECT s.id, p.name, s.project_id, s.host, s.prompt_counter, s.last_activity_at,
                       (SELECT text FROM user_prompts WHERE session_id = s.id AND prompt_number = s.prompt_counter
                        AND deleted_at IS NULL)
                   FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
                   WHERE s.turn_open = 1 AND s.status = 'active' AND s.last_activity_at > ?1
                   AND (?2 IS NULL OR s.project_id = ?2) ORDER BY s.last_activity_at DESC LIMIT ?3";
        let since = now.before(SILENCE).0;
        let mut turns = self.0.rows(sql, &[&since, &project.map(|project| project.0), &most], |row| {
            Ok(RunningTurn {
                session: SessionId(row.get(0)?),
                project: row.get(1)?,
                project_id: ProjectId(row.get(2)?),
                host: row.get(3)?,
                prompt_number: row.get(4)?,
                last_activity_at: Time(row.get(5)?),
                prompt: row.get::<_, Option<String>>(6)?.unwrap_or_default(),
                tools: 0,
                events: Vec::new(),
            })
        })?;
        for turn in &mut turns {
            let key = params![turn.session.0, turn.prompt_number];
            let count = "SELECT count(*) FROM event_traces WHERE session_id = ?1 AND prompt_number = ?2
                         AND tool IS NOT NULL";
            turn.tools = self.0.db.prepare_cached(count)?.query_row(key, |row| row.get(0))?;
            let sql = format!(
                "{EVENT} WHERE t.session_id = ?1 AND t.prompt_number = ?2 AND t.tool IS NOT NULL
                 ORDER BY t.id DESC LIMIT ?3"
            );
            turn.events = self.0.rows(&sql, &[&turn.session.0, &turn.prompt_number, &events], read_event)?;
            turn.events.reverse();
        }
        Ok(turns)
    }

    /// Turns of a session from this number on, in order.
    pub fn turns_from(self, session: SessionId, from: i64, most: u32) -> Result<Vec<PromptRow>, StoreError> {
        let sql =
            format!("{PROMPT} AND session_id = ?1 AND prompt_number >= ?2 ORDER BY prompt_number LIMIT ?3");
        self.0.rows(&sql, &[&session.0, &from, &most], read_prompt)
    }

    /// The number of the turn that is `back` turns before this one, or of the first turn.
    pub fn turn_before(self, session: SessionId, number: i64, back: u32) -> Result<Option<i64>, StoreError> {
        let sql =
            "SELECT min(prompt_number) FROM (SELECT prompt_number FROM user_prompts WHERE session_id = ?1
                   AND prompt_number < ?2 AND deleted_at IS NULL ORDER BY prompt_number DESC LIMIT ?3)";
        Ok(self.0.db.prepare_cached(sql)?.query_row(params![session.0, number, back], |row| row.get(0))?)
    }

    /// Events of a session's turns between two numbers, inclusive, in order.
    pub fn events_of_turns(
        self,
        session: SessionId,
        (first, last): (i64, i64),
    ) -> Result<Vec<EventRow>, StoreError> {
        let sql = format!(
            "{EVENT} WHERE t.session_id = ?1 AND t.prompt_number BETWEEN ?2 AND ?3 ORDER BY t.created_at, t.id"
        );
        self.0.rows(&sql, &[&session.0, &first, &last], read_event)
    }

    /// Observations of those turns, in order.
    pub fn observations_of_turns(
        self,
        session: SessionId,
        (first, last): (i64, i64),
    ) -> Result<Vec<ObservationRow>, StoreError> {
        let sql = format!(
            "{OBSERVATION} AND o.session_id = ?1 AND o.prompt_number BETWEEN ?2 AND ?3 ORDER BY o.prompt_number, o.id"
        );
        self.0.rows(&sql, &[&session.0, &first, &last], read_observation)
    }

    /// The latest summary of a session.
    pub fn last_summary(self, session: SessionId) -> Result<Option<SummaryRow>, StoreError> {
        let sql = format!("{SUMMARY} AND s.session_id = ?1 ORDER BY s.prompt_number DESC, s.id DESC LIMIT 1");
        Ok(self.0.rows(&sql, &[&session.0], read_summary)?.pop())
    }
}
