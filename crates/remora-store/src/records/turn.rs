//! Turns: prompts with the agent's closing messages.

use std::time::Duration;

use remora_core::ids::{ProjectId, PromptId, SessionId};
use remora_core::time::Time;
use rusqlite::Row;

use crate::StoreError;
use crate::handles::Records;
use crate::records::event::EventRow;
use crate::records::page::{ByProject, Kind, Page, Selection};

#[derive(Debug, Clone, PartialEq)]
pub struct PromptRow {
    pub id: PromptId,
    pub session_id: SessionId,
    pub project: String,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    pub text: String,
    pub closing_message: Option<String>,
    pub created_at: Time,
}

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

// Every selection begins with the turns: SQLite knows no order of them by project and would read whole projects.
const PROMPT: &str =
    "SELECT u.id, u.session_id, u.prompt_number, u.text, u.closing_message, u.created_at, p.name, p.id
    FROM user_prompts AS u CROSS JOIN sessions AS e ON e.id = u.session_id
    CROSS JOIN projects AS p ON p.id = e.project_id WHERE u.deleted_at IS NULL";

pub(crate) const KIND: Kind<PromptRow> = Kind {
    select: PROMPT,
    from: "FROM user_prompts AS u CROSS JOIN sessions AS e ON e.id = u.session_id WHERE u.deleted_at IS NULL",
    alias: "u",
    project: "e.project_id",
    in_session: "prompt_number",
    typed_id: "'t' || u.id",
    current: "",
    tool_calls: "",
    by_project: ByProject::None,
    read: read_prompt,
    id: |row| row.id.0,
};

impl Records<'_> {
    /// Turns with a prompt. Private ones have none.
    pub fn prompts(self, selection: &Selection) -> Result<Page<PromptRow>, StoreError> {
        self.0.select(&KIND, selection)
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
            let number = turn.prompt_number;
            let calls = Selection::of_session(turn.session).turns(number..=number).tool_calls();
            let page = self.events(&calls.stored_before(i64::MAX).limit(events).counted())?;
            (turn.events, turn.tools) = (page.items, page.total);
            turn.events.reverse();
        }
        Ok(turns)
    }
}

fn read_prompt(row: &Row<'_>) -> rusqlite::Result<PromptRow> {
    Ok(PromptRow {
        id: PromptId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        project: row.get(6)?,
        project_id: ProjectId(row.get(7)?),
        prompt_number: row.get(2)?,
        text: row.get(3)?,
        closing_message: row.get(4)?,
        created_at: Time(row.get(5)?),
    })
}
