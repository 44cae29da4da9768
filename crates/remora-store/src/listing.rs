//! Lists records in pages, latest first, and rows after a cursor, for programs that show memory as it grows.

use remora_core::event::Body;
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use serde::Serialize;

use crate::handles::{Projects, Records};
use crate::queue::MAX_SUBJECT_LEN;
use crate::rows::{OBSERVATION, PROMPT, SUBJECT, SUMMARY, list, read_observation, read_prompt, read_summary};
use crate::{ObservationRow, ProjectRow, PromptRow, Store, StoreError, SummaryRow, locate, times};

/// A part of a list, and the length of the whole list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub total: i64,
}

/// A page of a list, and its filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
    pub limit: u32,
    pub offset: u32,
}

/// The projects that a name may refer to.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundProject {
    One(Box<ProjectRow>),
    Several(Vec<ProjectRow>),
    None,
}

/// The last rows that a client has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    pub observation: i64,
    pub summary: i64,
    pub prompt: i64,
    pub event: i64,
}

/// Rows after a cursor, each list in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    pub prompts: Vec<PromptRow>,
    pub observations: Vec<ObservationRow>,
    pub summaries: Vec<SummaryRow>,
    /// Tool calls, without their payloads.
    pub events: Vec<ToolEvent>,
}

/// A tool call, as shown while its turn is running.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolEvent {
    pub id: i64,
    pub session_id: SessionId,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    pub tool: String,
    /// Its subject, such as the command.
    pub subject: Option<String>,
    /// Relative to the project's root, or full paths if they are elsewhere.
    pub files: Vec<String>,
    pub outcome: Option<String>,
    #[serde(flatten, serialize_with = "times::created")]
    pub created_at: Time,
}

const TOOL_EVENTS: &str =
    "SELECT t.id, t.session_id, s.project_id, t.prompt_number, t.tool, t.files, t.outcome, t.created_at, p.root, q.payload
     FROM event_traces AS t JOIN sessions AS s ON s.id = t.session_id JOIN projects AS p ON p.id = s.project_id
     LEFT JOIN pending_messages AS q ON q.id = t.id
     WHERE t.id > ?1 AND t.tool IS NOT NULL ORDER BY t.id LIMIT ?2";

fn read_tool_event(row: &Row<'_>) -> rusqlite::Result<ToolEvent> {
    let (root, tool): (String, String) = (row.get(8)?, row.get(4)?);
    let (tool, subject) = match tool.split_once(SUBJECT) {
        Some((tool, subject)) => (tool.to_owned(), Some(subject.to_owned())),
        None => (tool, None),
    };
    // The trace gets its subject only when the turn is observed. Until then the payload has it.
    let files: Vec<String> = list(row, 5)?;
    let subject = match row.get::<_, Option<String>>(9)?.filter(|_| subject.is_none() && files.is_empty()) {
        Some(payload) => subject_of(&payload),
        None => subject,
    };
    let below = |path: String| match path.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => rest.to_owned(),
        None => path,
    };
    Ok(ToolEvent {
        id: row.get(0)?,
        session_id: SessionId(row.get(1)?),
        project_id: ProjectId(row.get(2)?),
        prompt_number: row.get(3)?,
        tool,
        subject,
        files: files.into_iter().map(below).collect(),
        outcome: row.get(6)?,
        created_at: Time(row.get(7)?),
    })
}

/// The subject in the payload of a tool call, shortened as in its trace.
fn subject_of(payload: &str) -> Option<String> {
    let Ok(Body::ToolUsed(tool)) = serde_json::from_str(payload) else { return None };
    Some(one_line(tool.call.subject(), MAX_SUBJECT_LEN)).filter(|subject| !subject.is_empty())
}

impl Records<'_> {
    pub fn list_observations(self, selection: &Selection) -> Result<Page<ObservationRow>, StoreError> {
        let columns = Columns { id: "o.id", project: "o.project_id", session: "o.session_id" };
        self.0.page(OBSERVATION, columns, "o.created_at DESC, o.id DESC", selection, read_observation)
    }

    /// The latest observations of one project or of all, newest first.
    pub fn latest_observations(
        self,
        project: Option<ProjectId>,
        most: u32,
    ) -> Result<Vec<ObservationRow>, StoreError> {
        let projects = match project {
            Some(project) => vec![project],
            None => self.0.projects().list()?.into_iter().map(|row| row.id).collect(),
        };
        // One by one, because the index that has them in order starts with the project.
        let sql = "SELECT created_at, id FROM observations WHERE project_id = ?1 AND deleted_at IS NULL
                   ORDER BY created_at DESC LIMIT ?2";
        let mut statement = self.0.db.prepare_cached(sql)?;
        let mut latest: Vec<(i64, i64)> = Vec::new();
        for project in projects {
            let rows = statement.query_map(params![project.0, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for row in rows {
                latest.push(row?);
            }
        }
        latest.sort_unstable_by(|a, b| b.cmp(a));
        let ids: Vec<ObservationId> =
            latest.iter().map(|(_, id)| ObservationId(*id)).take(most as usize).collect();
        self.0.records().observations(&ids)
    }

    pub fn list_summaries(self, selection: &Selection) -> Result<Page<SummaryRow>, StoreError> {
        let columns = Columns { id: "s.id", project: "s.project_id", session: "s.session_id" };
        self.0.page(SUMMARY, columns, "s.created_at DESC, s.id DESC", selection, read_summary)
    }

    pub fn list_prompts(self, selection: &Selection) -> Result<Page<PromptRow>, StoreError> {
        let project = "(SELECT project_id FROM sessions WHERE sessions.id = session_id)";
        let columns = Columns { id: "id", project, session: "session_id" };
        self.0.page(PROMPT, columns, "created_at DESC, id DESC", selection, read_prompt)
    }

    /// Observations by id, in the given order. Missing ones are left out.
    pub fn observations(self, ids: &[ObservationId]) -> Result<Vec<ObservationRow>, StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(self.0.records().observation(*id)?);
        }
        Ok(found)
    }

    /// The last rows in the database.
    pub fn latest(self) -> Result<Cursor, StoreError> {
        let sql = "SELECT (SELECT ifnull(max(id), 0) FROM observations),
                       (SELECT ifnull(max(id), 0) FROM session_summaries), (SELECT ifnull(max(id), 0) FROM user_prompts),
                       (SELECT ifnull(max(id), 0) FROM event_traces)";
        Ok(self.0.db.prepare_cached(sql)?.query_row([], |row| {
            Ok(Cursor {
                observation: row.get(0)?,
                summary: row.get(1)?,
                prompt: row.get(2)?,
                event: row.get(3)?,
            })
        })?)
    }

    /// Rows after `cursor`, at most `most` of each kind.
    pub fn after(self, cursor: Cursor, most: u32) -> Result<News, StoreError> {
        let rows = |id: &str| format!("AND {id} > ?1 ORDER BY {id} LIMIT ?2");
        // Rows stored together are seen together.
        let _snapshot = self.0.snapshot()?;
        Ok(News {
            prompts: self.0.rows(
                &format!("{PROMPT} {}", rows("id")),
                &[&cursor.prompt, &most],
                read_prompt,
            )?,
            observations: self.0.rows(
                &format!("{OBSERVATION} {}", rows("o.id")),
                &[&cursor.observation, &most],
                read_observation,
            )?,
            summaries: self.0.rows(
                &format!("{SUMMARY} {}", rows("s.id")),
                &[&cursor.summary, &most],
                read_summary,
            )?,
            events: self.0.rows(TOOL_EVENTS, &[&cursor.event, &most], read_tool_event)?,
        })
    }
}

impl Projects<'_> {
    /// Finds a project by its id, by its name if that is unique, or by a directory.
    pub fn find(self, wanted: &str) -> Result<FoundProject, StoreError> {
        let projects = self.0.projects().list()?;
        let mut named: Vec<ProjectRow> =
            projects.into_iter().filter(|p| p.name == wanted || p.id.to_string() == wanted).collect();
        if named.len() > 1 {
            return Ok(FoundProject::Several(named));
        }
        let found = match named.pop() {
            Some(project) => Some(project),
            None => self.0.projects().get(&locate(wanted.as_ref()))?,
        };
        Ok(found.map_or(FoundProject::None, |project| FoundProject::One(Box::new(project))))
    }
}

impl Store {
    fn page<T>(
        &self,
        select: &str,
        columns: Columns,
        order: &str,
        selection: &Selection,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Page<T>, StoreError> {
        self.page_with(select, Vec::new(), columns, order, selection, read)
    }

    /// Like [`Store::page`], with the values of the conditions in `select`.
    fn page_with<T>(
        &self,
        select: &str,
        mut values: Vec<Value>,
        columns: Columns,
        order: &str,
        selection: &Selection,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Page<T>, StoreError> {
        let (filter, of_filter) = columns.filter(selection);
        values.extend(of_filter);
        let from = from_clause(select);
        let total = self
            .db
            .prepare_cached(&format!("SELECT count({}) FROM {from} {filter}", columns.id))?
            .query_row(params_from_iter(&values), |row| row.get(0))?;
        values.push(selection.limit.into());
        values.push(selection.offset.into());
        let sql = format!("{select} {filter} ORDER BY {order} LIMIT ? OFFSET ?");
        let mut statement = self.db.prepare_cached(&sql)?;
        let items = statement.query_map(params_from_iter(&values), read)?.collect::<Result<_, _>>()?;
        Ok(Page { items, total })
    }
}

/// The part after the statement's own `FROM`, which is the last one outside of parentheses.
fn from_clause(select: &str) -> &str {
    let mut depth = 0;
    let mut from = select;
    for (at, c) in select.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            'F' if depth == 0 => from = select[at..].strip_prefix("FROM ").unwrap_or(from),
            _ => {}
        }
    }
    from
}

/// The columns that a kind of row is filtered by.
#[derive(Clone, Copy)]
struct Columns {
    id: &'static str,
    project: &'static str,
    session: &'static str,
}

impl Columns {
    /// Further conditions, with their values in order.
    fn filter(self, selection: &Selection) -> (String, Vec<Value>) {
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        if let Some(project) = selection.project {
            conditions.push(format!(" AND {} = ?", self.project));
            values.push(Value::from(project.0));
        }
        if let Some(session) = selection.session {
            conditions.push(format!(" AND {} = ?", self.session));
            values.push(Value::from(session.0));
        }
        (conditions.concat(), values)
    }
}
