//! Converts rows to lines. Versions have different columns, so columns are read by name, if they exist.

use std::collections::HashMap;
use std::path::PathBuf;

use remora_core::host::Host;
use remora_core::portable::{
    Date, Line, MessageLine, ObservationLine, SessionLine, SessionStatus, SummaryLine,
};
use remora_core::time::Time;
use rusqlite::types::ValueRef;

use super::{Source, has_table};
use crate::StoreError;
use crate::import::derived_uuid;

/// Number of rows read at a time.
const CHUNK: i64 = 500;
/// The provider of imported records.
const PROVIDER: &str = "claude-mem";
/// Column names of session ids, now and before version 17.
const CONTENT_SESSION: [&str; 2] = ["content_session_id", "claude_session_id"];
const MEMORY_SESSION: [&str; 2] = ["memory_session_id", "sdk_session_id"];

/// A table with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Sessions,
    Prompts,
    Observations,
    Summaries,
}

impl Table {
    /// Sessions first, because the other tables refer to them.
    pub const ALL: [Self; 4] = [Self::Sessions, Self::Prompts, Self::Observations, Self::Summaries];

    pub fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sdk_sessions",
            Self::Prompts => "user_prompts",
            Self::Observations => "observations",
            Self::Summaries => "session_summaries",
        }
    }
}

/// A row, with the line it becomes.
#[derive(Debug)]
pub struct Row {
    pub id: i64,
    /// The error says what is wrong with the row.
    pub line: Result<Line, String>,
    /// The first prompt of a session, if the version had no table of prompts yet.
    pub first_prompt: Option<Line>,
}

/// Some rows of a table, in order.
#[derive(Debug, Default)]
pub struct Chunk {
    pub rows: Vec<Row>,
    /// Why the rest of the table cannot be read.
    pub broken: Option<String>,
}

/// The names of all sessions. Other rows refer to them in one of three ways.
#[derive(Debug, Default)]
pub struct ClaudeMemSessions {
    /// By the observer's session id.
    observers: HashMap<String, (String, Host)>,
    /// By row number.
    rows: HashMap<i64, (String, Host)>,
    /// By the host's session id.
    hosts: HashMap<String, Host>,
}

impl Source {
    /// Reads the names of all sessions.
    pub fn sessions(&self) -> Result<ClaudeMemSessions, StoreError> {
        let mut sessions = ClaudeMemSessions::default();
        let mut after = i64::MIN;
        loop {
            let columns = self.columns(Table::Sessions, after)?;
            let Some(last) = columns.rows.last() else { return Ok(sessions) };
            after = last.id;
            for row in columns.rows {
                let (Some(content), host) = (row.text(&CONTENT_SESSION), row.host()) else { continue };
                if let Some(memory) = row.text(&MEMORY_SESSION) {
                    sessions.observers.insert(memory, (content.clone(), host));
                }
                sessions.hosts.insert(content.clone(), host);
                sessions.rows.insert(row.id, (content, host));
            }
        }
    }

    /// The rows after `after`.
    pub fn chunk(&self, table: Table, after: i64, sessions: &ClaudeMemSessions) -> Result<Chunk, StoreError> {
        let KnownColumns { rows, broken } = self.columns(table, after)?;
        let has_prompts = self.rows.prompts > 0;
        let rows = rows
            .into_iter()
            .map(|row| Row {
                id: row.id,
                line: match table {
                    Table::Sessions => row.session(),
                    Table::Prompts => row.prompt(sessions),
                    Table::Observations => row.observation(sessions),
                    Table::Summaries => row.summary(sessions),
                },
                first_prompt: (table == Table::Sessions && !has_prompts)
                    .then(|| row.first_prompt())
                    .flatten(),
            })
            .collect();
        Ok(Chunk { rows, broken })
    }

    /// The directories of sessions, as far as tool calls reveal them: session, project, directory.
    pub fn directories(&self) -> Result<Vec<(String, String, PathBuf)>, StoreError> {
        let mut found = Vec::new();
        for table in ["tool_uses", "pending_messages"] {
            let columns = "SELECT count(*) FROM pragma_table_info(?1) WHERE name IN ('content_session_id', 'project', 'cwd')";
            let complete = self.db.query_row(columns, [table], |row| row.get::<_, i64>(0))? == 3;
            if !has_table(&self.db, table)? || !complete {
                continue;
            }
            let sql =
                format!("SELECT DISTINCT content_session_id, project, cwd FROM {table} WHERE cwd LIKE '/%'");
            let mut statement = self.db.prepare(&sql)?;
            let rows = statement.query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, PathBuf::from(row.get::<_, String>(2)?)))
            })?;
            found.extend(rows.filter_map(Result::ok));
        }
        Ok(found)
    }

    fn columns(&self, table: Table, after: i64) -> Result<KnownColumns, StoreError> {
        if !has_table(&self.db, table.name())? {
            return Ok(KnownColumns::default());
        }
        let sql = format!(
            "SELECT rowid AS rowid_, * FROM {} WHERE rowid > ?1 ORDER BY rowid LIMIT {CHUNK}",
            table.name()
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([after])?;
        let mut columns = KnownColumns::default();
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(columns),
                // A damaged page: the rows before it are kept.
                Err(error) => {
                    columns.broken = Some(error.to_string());
                    return Ok(columns);
                }
            };
            let id = row.get(0)?;
            let values = names.iter().enumerate().filter_map(|(place, name)| {
                let text = match row.get_ref(place).ok()? {
                    ValueRef::Null => return None,
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                };
                Some((name.clone(), text))
            });
            columns.rows.push(Values { id, values: values.collect() });
        }
    }
}

#[derive(Debug, Default)]
struct KnownColumns {
    rows: Vec<Values>,
    broken: Option<String>,
}

/// A row by column name, without NULL values.
#[derive(Debug)]
struct Values {
    id: i64,
    values: HashMap<String, String>,
}

impl Values {
    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.values.get(*name)).filter(|text| !text.is_empty()).cloned()
    }

    fn own(&self, name: &str) -> String {
        self.values.get(name).cloned().unwrap_or_default()
    }

    fn number(&self, name: &str) -> i64 {
        self.values.get(name).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Parses a list, which is JSON, or lines of text in old versions.
    fn list(&self, name: &str) -> Vec<String> {
        let Some(text) = self.text(&[name]) else { return Vec::new() };
        match serde_json::from_str::<Vec<serde_json::Value>>(&text) {
            Ok(items) => items
                .into_iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect(),
            Err(_) => text.lines().map(str::to_owned).collect(),
        }
    }

    /// Reads `created_at_epoch` or a similar column, or else the text column beside it.
    fn time(&self, name: &str) -> Option<Date> {
        let epoch = self.values.get(&format!("{name}_epoch")).and_then(|text| text.parse::<f64>().ok());
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of this century fit")]
        let epoch = epoch.filter(|epoch| *epoch > 0.0).map(|epoch| Time(epoch as i64));
        epoch.or_else(|| Time::from_iso(&self.own(name))).map(Date)
    }

    fn date(&self) -> Result<Option<Date>, String> {
        self.time("created_at").map(Some).ok_or_else(|| "it has no date".to_owned())
    }

    fn host(&self) -> Host {
        match self.own("platform_source").as_str() {
            "" | "claude" => Host::ClaudeCode,
            "gemini-cli" => Host::Gemini,
            "copilot-cli" => Host::Copilot,
            name => Host::named(name).unwrap_or(Host::Generic),
        }
    }

    /// The project, or the one that it was merged into.
    fn project(&self) -> Option<String> {
        self.text(&["merged_into_project", "project"])
    }

    /// Derives a uuid, so that a row has the same one in every copy of the database.
    fn uuid(&self, table: Table, session: &str) -> uuid::Uuid {
        let (id, at) = (self.id.to_string(), self.own("created_at_epoch"));
        derived_uuid(&[PROVIDER, table.name(), session, &id, &at])
    }

    fn session(&self) -> Result<Line, String> {
        let id = self.text(&CONTENT_SESSION).ok_or("it has no session id")?;
        let started = self.time("started_at").ok_or("it has no date")?;
        let ended = self.time("completed_at");
        let failed = self.own("status") == "failed";
        Ok(Line::Session(SessionLine {
            uuid: Some(derived_uuid(&[PROVIDER, Table::Sessions.name(), &id])),
            project: self.project(),
            channel: Some(self.host()),
            id,
            status: if failed { SessionStatus::Interrupted } else { SessionStatus::Completed },
            turns: self.number("prompt_counter").max(0),
            private_turns: 0,
            date: Some(started),
            until: ended,
            ended: Some(ended.unwrap_or(started)),
        }))
    }

    fn first_prompt(&self) -> Option<Line> {
        let session = self.text(&CONTENT_SESSION)?;
        Some(Line::Message(MessageLine {
            uuid: Some(derived_uuid(&[PROVIDER, "first prompt", &session])),
            project: self.project(),
            channel: Some(self.host()),
            number: Some(1),
            text: self.text(&["user_prompt"])?,
            date: self.time("started_at"),
            session: Some(session),
            ..MessageLine::default()
        }))
    }

    fn prompt(&self, sessions: &ClaudeMemSessions) -> Result<Line, String> {
        let by_row = || sessions.rows.get(&self.number("session_db_id")).cloned();
        let named = self.text(&CONTENT_SESSION).map(|content| {
            let host = sessions.hosts.get(&content).copied().unwrap_or(Host::ClaudeCode);
            (content, host)
        });
        let (session, host) = named.or_else(by_row).ok_or("it has no session")?;
        Ok(Line::Message(MessageLine {
            uuid: Some(self.uuid(Table::Prompts, &session)),
            project: self.project(),
            channel: Some(host),
            number: Some(self.number("prompt_number")).filter(|number| *number > 0),
            text: self.own("prompt_text"),
            date: self.date()?,
            session: Some(session),
            ..MessageLine::default()
        }))
    }

    /// The session of a row. If it was deleted, only the observer's session id is known.
    fn session_of(&self, sessions: &ClaudeMemSessions) -> Result<(String, Host), String> {
        let memory = self.text(&MEMORY_SESSION).ok_or("it has no session")?;
        Ok(sessions.observers.get(&memory).cloned().unwrap_or((memory, Host::ClaudeCode)))
    }

    fn observation(&self, sessions: &ClaudeMemSessions) -> Result<Line, String> {
        let (session, host) = self.session_of(sessions)?;
        Ok(Line::Observation(ObservationLine {
            uuid: Some(self.uuid(Table::Observations, &session)),
            project: self.project(),
            channel: Some(host),
            session: Some(session),
            number: self.number("prompt_number").max(0),
            kind: self.own("type").into(),
            title: self.own("title"),
            subtitle: self.own("subtitle"),
            text: self.text(&["narrative", "text"]).unwrap_or_default(),
            facts: self.list("facts"),
            concepts: self.list("concepts"),
            files_read: self.list("files_read"),
            files_modified: self.list("files_modified"),
            tokens: self.number("discovery_tokens").max(0),
            provider: PROVIDER.to_owned(),
            model: self.own("generated_by_model"),
            date: self.date()?,
            ..ObservationLine::default()
        }))
    }

    fn summary(&self, sessions: &ClaudeMemSessions) -> Result<Line, String> {
        let (session, host) = self.session_of(sessions)?;
        Ok(Line::Summary(SummaryLine {
            uuid: Some(self.uuid(Table::Summaries, &session)),
            project: self.project(),
            channel: Some(host),
            session: Some(session),
            number: self.number("prompt_number").max(0),
            earlier: false,
            request: self.own("request"),
            investigated: self.own("investigated"),
            learned: self.own("learned"),
            completed: self.own("completed"),
            next_steps: self.own("next_steps"),
            notes: self.own("notes"),
            files_read: self.list("files_read"),
            files_edited: self.list("files_edited"),
            provider: PROVIDER.to_owned(),
            model: self.own("generated_by_model"),
            date: self.date()?,
        }))
    }
}
