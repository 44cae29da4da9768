//! Exports all memory as lines. Each line refers only to earlier ones.

use std::path::Path;

use remora_core::fact::FactSource;
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_core::portable::{
    Date, FactLine, Line, MessageLine, ObservationLine, ProjectLine, SessionLine, SessionStatus, SummaryLine,
};
use remora_core::time::Time;
use rusqlite::{Connection, Row};
use uuid::Uuid;

use crate::StoreError;
use crate::handles::Records;
use crate::import::IMPORTED;
use crate::records::observation::{concepts, files};
use remora_data::DataDir;

/// Condition for the project `?1`, or for all if it is NULL.
macro_rules! of_project {
    ($column:literal) => {
        concat!("(?1 IS NULL OR ", $column, " = ?1)")
    };
}

const PROJECTS: &str = concat!(
    "SELECT uuid, name, root, origin, created_at FROM projects WHERE ",
    of_project!("id"),
    " ORDER BY id"
);

const SESSIONS: &str = concat!(
    "SELECT s.uuid, p.uuid, s.host, s.content_session_id, s.status, s.prompt_counter, s.private_turns, s.started_at,
         s.last_activity_at, s.completed_at
     FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE ",
    of_project!("s.project_id"),
    " ORDER BY s.id"
);

const MESSAGES: &str = concat!(
    "SELECT m.uuid, s.uuid, m.prompt_number, m.text, m.closing_message, m.created_at
     FROM user_prompts AS m JOIN sessions AS s ON s.id = m.session_id WHERE m.deleted_at IS NULL AND ",
    of_project!("s.project_id"),
    " ORDER BY m.id"
);

const OBSERVATIONS: &str = concat!(
    "SELECT o.uuid, p.uuid, s.uuid, o.prompt_number, o.type, o.title, o.subtitle, o.narrative, o.facts, ",
    concepts!(),
    ", ",
    files!("read"),
    ", ",
    files!("modified"),
    ", o.tool_name, o.discovery_tokens, o.provider, o.model, o.superseded_by, o.pinned_at, ifnull(f.useful, 0),
         ifnull(f.wrong, 0), o.created_at
     FROM observations AS o JOIN sessions AS s ON s.id = o.session_id JOIN projects AS p ON p.id = o.project_id
     LEFT JOIN observation_feedback AS f ON f.observation_id = o.id WHERE o.deleted_at IS NULL AND ",
    of_project!("o.project_id"),
    " ORDER BY o.id"
);

const SUMMARIES: &str = concat!(
    "SELECT m.uuid, p.uuid, s.uuid, m.prompt_number, m.checkpoint, m.request, m.investigated, m.learned, m.completed,
         m.next_steps, m.notes, m.files_read, m.files_edited, m.provider, m.model, m.created_at
     FROM session_summaries AS m JOIN sessions AS s ON s.id = m.session_id JOIN projects AS p ON p.id = m.project_id
     WHERE m.deleted_at IS NULL AND ",
    of_project!("m.project_id"),
    " ORDER BY m.id"
);

const FACTS: &str = concat!(
    "SELECT f.uuid, p.uuid, s.uuid, f.prompt_number, f.kind, f.key, f.value, f.source, f.trust, f.valid_from, f.valid_to,
         f.confirmed_at
     FROM facts AS f LEFT JOIN projects AS p ON p.id = f.project_id LEFT JOIN sessions AS s ON s.id = f.session_id
     WHERE f.deleted_at IS NULL AND ",
    of_project!("f.project_id"),
    " ORDER BY f.id"
);

/// Converts a row to a line.
type Read<'a> = &'a dyn Fn(&Row<'_>) -> Result<Line, StoreError>;

impl Records<'_> {
    /// Exports a consistent state, of one project or of all. Global facts belong to no project.
    pub fn export<E: From<StoreError>>(
        self,
        project: Option<ProjectId>,
        mut each: impl FnMut(Line) -> Result<(), E>,
    ) -> Result<(), E> {
        let _snapshot = self.0.snapshot()?;
        let dir = self.0.dir();
        let readers: [(&str, Read<'_>); 6] = [
            (PROJECTS, &|row| read_project(dir, row)),
            (SESSIONS, &read_session),
            (MESSAGES, &read_message),
            (OBSERVATIONS, &read_observation),
            (SUMMARIES, &read_summary),
            (FACTS, &read_fact),
        ];
        for (sql, read) in readers {
            read_all(&self.0.db, sql, project, read, &mut each)?;
        }
        Ok(())
    }
}

fn read_all<E: From<StoreError>>(
    db: &Connection,
    sql: &str,
    project: Option<ProjectId>,
    read: Read<'_>,
    each: &mut impl FnMut(Line) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = db.prepare(sql).map_err(StoreError::from)?;
    let mut rows = statement.query([project.map(|project| project.0)]).map_err(StoreError::from)?;
    while let Some(row) = rows.next().map_err(StoreError::from)? {
        each(read(row)?)?;
    }
    Ok(())
}

/// Omits the root of a project without a directory: it is a placeholder, which means nothing elsewhere.
fn read_project(dir: &DataDir, row: &Row<'_>) -> Result<Line, StoreError> {
    let root: String = row.get(2)?;
    Ok(Line::Project(ProjectLine {
        uuid: Some(uuid(row, 0)?),
        name: row.get(1)?,
        root: Some(root).filter(|root| !dir.is_placeholder(Path::new(root))),
        origin: row.get(3)?,
        date: date(row, 4)?,
    }))
}

fn read_session(row: &Row<'_>) -> Result<Line, StoreError> {
    Ok(Line::Session(SessionLine {
        uuid: Some(uuid(row, 0)?),
        project: Some(uuid(row, 1)?.to_string()),
        channel: Host::named(&row.get::<_, String>(2)?),
        id: row.get(3)?,
        status: SessionStatus::named(&row.get::<_, String>(4)?),
        turns: row.get(5)?,
        private_turns: row.get(6)?,
        date: date(row, 7)?,
        until: date(row, 8)?,
        ended: date(row, 9)?,
    }))
}

fn read_message(row: &Row<'_>) -> Result<Line, StoreError> {
    Ok(Line::Message(MessageLine {
        uuid: Some(uuid(row, 0)?),
        session: Some(uuid(row, 1)?.to_string()),
        number: row.get(2)?,
        text: row.get(3)?,
        answer: row.get(4)?,
        date: date(row, 5)?,
        ..MessageLine::default()
    }))
}

fn read_observation(row: &Row<'_>) -> Result<Line, StoreError> {
    Ok(Line::Observation(ObservationLine {
        uuid: Some(uuid(row, 0)?),
        project: Some(uuid(row, 1)?.to_string()),
        channel: None,
        session: Some(uuid(row, 2)?.to_string()),
        number: row.get(3)?,
        kind: row.get::<_, String>(4)?.into(),
        title: row.get(5)?,
        subtitle: row.get(6)?,
        text: row.get(7)?,
        facts: list(row, 8)?,
        concepts: list(row, 9)?,
        files_read: list(row, 10)?,
        files_modified: list(row, 11)?,
        tool: row.get(12)?,
        tokens: row.get(13)?,
        provider: as_said(row.get(14)?),
        model: row.get(15)?,
        superseded_by: row.get::<_, Option<[u8; 16]>>(16)?.map(Uuid::from_bytes),
        pinned: date(row, 17)?,
        useful: row.get(18)?,
        wrong: row.get(19)?,
        date: date(row, 20)?,
    }))
}

fn read_summary(row: &Row<'_>) -> Result<Line, StoreError> {
    Ok(Line::Summary(SummaryLine {
        uuid: Some(uuid(row, 0)?),
        project: Some(uuid(row, 1)?.to_string()),
        channel: None,
        session: Some(uuid(row, 2)?.to_string()),
        number: row.get(3)?,
        earlier: row.get(4)?,
        request: row.get(5)?,
        investigated: row.get(6)?,
        learned: row.get(7)?,
        completed: row.get(8)?,
        next_steps: row.get(9)?,
        notes: row.get(10)?,
        files_read: list(row, 11)?,
        files_edited: list(row, 12)?,
        provider: as_said(row.get(13)?),
        model: row.get(14)?,
        date: date(row, 15)?,
    }))
}

fn read_fact(row: &Row<'_>) -> Result<Line, StoreError> {
    let owner = |column: usize| {
        let uuid: Option<[u8; 16]> = row.get(column)?;
        Ok::<_, rusqlite::Error>(uuid.map(|uuid| Uuid::from_bytes(uuid).to_string()))
    };
    Ok(Line::Fact(FactLine {
        uuid: Some(uuid(row, 0)?),
        project: owner(1)?,
        channel: None,
        session: owner(2)?,
        number: row.get(3)?,
        kind: row.get::<_, String>(4)?.into(),
        key: row.get::<_, String>(5)?.into(),
        value: row.get(6)?,
        source: FactSource::from(as_said(row.get(7)?)),
        trust: row.get(8)?,
        date: date(row, 9)?,
        until: date(row, 10)?,
        confirmed: date(row, 11)?,
    }))
}

/// The source without the mark of an import, which the next import adds again.
fn as_said(source: String) -> String {
    source.strip_prefix(IMPORTED).map(str::to_owned).unwrap_or(source)
}

fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get(column).map(Uuid::from_bytes)
}

fn date(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Date>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(|at| Date(Time(at))))
}

fn list(row: &Row<'_>, column: usize) -> Result<Vec<String>, StoreError> {
    Ok(serde_json::from_str(&row.get::<_, String>(column)?)?)
}
