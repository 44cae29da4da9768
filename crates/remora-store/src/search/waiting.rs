//! Prompts and events that have no documents yet: prompts of open turns, and events in the queue. Hooks write no
//! index, so a search reads the newest of them directly.

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::event::{Body, TextVisitor};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::{Row, params_from_iter};
use serde_json::Value;

use super::filters::{Conditions, Filters};
use crate::handles::Index;
use crate::{Store, StoreError};

/// A prompt or event without documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub record: RecordId,
    pub project: ProjectId,
    pub project_name: String,
    pub session: SessionId,
    pub prompt_number: i64,
    pub created_at: Time,
    pub text: String,
}

/// Limits for one search: prompts, events, and bytes of text for each.
const MAX_WAITING: u32 = 300;
const MAX_BYTES: usize = 1 << 20;

impl Index<'_> {
    /// Prompts and events without documents that pass the filters, newest first.
    pub fn waiting(self, filters: &Filters) -> Result<Vec<Waiting>, StoreError> {
        // Type, concepts and files are unknown before there is an observation.
        if filters.wants_observations_only() || filters.wants_files() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let wanted = |kind| filters.kinds.is_empty() || filters.kinds.contains(&kind);
        if wanted(RecordKind::Turn) {
            self.0.read_waiting(&PROMPTS, filters, &mut all)?;
        }
        if wanted(RecordKind::Event) {
            self.0.read_waiting(&EVENTS, filters, &mut all)?;
        }
        all.sort_by_key(|waiting| std::cmp::Reverse(waiting.created_at));
        Ok(all)
    }
}

impl Store {
    fn read_waiting(
        &self,
        source: &WaitingSource,
        filters: &Filters,
        all: &mut Vec<Waiting>,
    ) -> Result<(), StoreError> {
        let own = Filters { kinds: Vec::new(), scope: ProjectScope::All, ..filters.clone() };
        let mut conditions = Conditions::beside_scope(&own);
        if let ProjectScope::One(project) = filters.scope {
            conditions.one("d.project_id = ?", project.0);
        }
        let WaitingSource { kind, rows, table, text, read } = source;
        // Reads the texts last and only for matching rows, because they are most of the data.
        let sql = format!(
            "SELECT d.id, d.project_id, d.name, d.session_id, d.prompt_number, d.created_at, {text}
             FROM (SELECT * FROM ({rows}) AS d WHERE true{} ORDER BY d.id DESC LIMIT {MAX_WAITING}) AS d
             CROSS JOIN {table} AS t ON t.id = d.id ORDER BY d.id DESC",
            conditions.sql()
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&conditions.values))?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let text = read(row)?;
            bytes += text.len();
            if bytes > MAX_BYTES {
                break;
            }
            all.push(Waiting {
                record: RecordId { kind: *kind, number: row.get(0)? },
                project: ProjectId(row.get(1)?),
                project_name: row.get(2)?,
                session: SessionId(row.get(3)?),
                prompt_number: row.get(4)?,
                created_at: Time(row.get(5)?),
                text,
            });
        }
        Ok(())
    }
}

/// A source of unindexed texts. `rows` has the columns of documents, so that the same conditions apply.
struct WaitingSource {
    kind: RecordKind,
    rows: &'static str,
    /// The table with the text, by the same ids.
    table: &'static str,
    text: &'static str,
    /// Combines the text, which starts at the seventh column.
    read: fn(&Row<'_>) -> rusqlite::Result<String>,
}

/// A prompt has no document while its turn is in the queue.
const PROMPTS: WaitingSource = WaitingSource {
    kind: RecordKind::Turn,
    rows: "SELECT q.id, s.project_id, p.name, q.session_id, q.prompt_number, q.created_at
           FROM (SELECT DISTINCT session_id, prompt_number FROM pending_messages INDEXED BY pending_messages_by_turn) AS m
           CROSS JOIN user_prompts AS q ON q.session_id = m.session_id AND q.prompt_number = m.prompt_number
           CROSS JOIN sessions AS s ON s.id = q.session_id CROSS JOIN projects AS p ON p.id = s.project_id
           WHERE q.deleted_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM documents WHERE kind = 'turn' AND record_id = q.id)",
    table: "user_prompts",
    text: "t.text, ifnull(t.closing_message, '')",
    read: |row| Ok([row.get::<_, String>(6)?, row.get(7)?].join("\n")),
};

/// Without prompt events, whose text is in the prompt, and without observed events, which are found by their memory.
const EVENTS: WaitingSource = WaitingSource {
    kind: RecordKind::Event,
    rows: "SELECT m.id, s.project_id, p.name, m.session_id, m.prompt_number, m.created_at
           FROM pending_messages AS m INDEXED BY pending_messages_by_turn
           CROSS JOIN sessions AS s ON s.id = m.session_id CROSS JOIN projects AS p ON p.id = s.project_id
           WHERE m.observed = 0 AND m.kind NOT IN ('prompt_submitted', 'session_started', 'session_ended')",
    table: "pending_messages",
    text: "t.payload",
    read: |row| Ok(plain_text(&row.get::<_, String>(6)?)),
};

/// All free texts of an event, one per line.
fn plain_text(payload: &str) -> String {
    let mut texts = Texts(String::new());
    if let Ok(mut body) = serde_json::from_str::<Body>(payload) {
        body.visit(&mut texts);
    }
    texts.0
}

struct Texts(String);

impl TextVisitor for Texts {
    fn prose(&mut self, text: &mut String) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn output(&mut self, text: &mut String) {
        self.prose(text);
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.prose(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
