//! What has no documents yet: prompts of turns that go on, and events in the queue. A hook writes no index, so these
//! are read as they are, the newest of them, when somebody searches.

use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::{Row, params_from_iter};
use serde_json::Value;

use super::filters::{Conditions, Filters};
use crate::{Store, StoreError};

/// Something that has no documents yet.
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

/// As many prompts and as many events are read at most, and as much text.
const MOST: u32 = 300;
const MOST_BYTES: usize = 1 << 20;

impl Store {
    /// What has no documents yet and passes, newest first.
    pub fn waiting(&self, filters: &Filters) -> Result<Vec<Waiting>, StoreError> {
        // An observation's type, concepts and files are not known before there is one.
        if filters.wants_observations_only() || filters.wants_files() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let wanted = |kind| filters.kinds.is_empty() || filters.kinds.contains(&kind);
        if wanted(RecordKind::Turn) {
            self.read_waiting(PROMPTS, filters, &mut all, |row| {
                let closing: Option<String> = row.get(7)?;
                Ok([row.get::<_, String>(6)?, closing.unwrap_or_default()].join("\n"))
            })?;
        }
        if wanted(RecordKind::Event) {
            self.read_waiting(EVENTS, filters, &mut all, |row| Ok(plain_text(&row.get::<_, String>(6)?)))?;
        }
        all.sort_by_key(|waiting| std::cmp::Reverse(waiting.created_at));
        Ok(all)
    }

    fn read_waiting(
        &self,
        sql: &str,
        filters: &Filters,
        all: &mut Vec<Waiting>,
        text: impl Fn(&Row<'_>) -> rusqlite::Result<String>,
    ) -> Result<(), StoreError> {
        let own = Filters { kinds: Vec::new(), scope: ProjectScope::All, ..filters.clone() };
        let mut conditions = Conditions::beside_scope(&own);
        if let ProjectScope::One(project) = filters.scope {
            conditions.one("d.project_id = ?", project.0);
        }
        let sql = format!("{sql}{} ORDER BY d.id DESC LIMIT {MOST}", conditions.sql());
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&conditions.values))?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let text = text(row)?;
            bytes += text.len();
            if bytes > MOST_BYTES {
                break;
            }
            let kind: String = row.get(8)?;
            let kind = RecordKind::from_name(&kind).unwrap_or(RecordKind::Event);
            all.push(Waiting {
                record: RecordId { kind, number: row.get(0)? },
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

/// Shaped like documents, so that the same conditions hold.
const PROMPTS: &str = "SELECT d.id, d.project_id, d.name, d.session_id, d.prompt_number, d.created_at, d.text, d.closing, 'turn'
    FROM (SELECT q.id, s.project_id, p.name, q.session_id, q.prompt_number, q.created_at, q.text,
              q.closing_message AS closing
          FROM (SELECT * FROM user_prompts ORDER BY id DESC LIMIT 2000) AS q
          JOIN sessions AS s ON s.id = q.session_id JOIN projects AS p ON p.id = s.project_id
          WHERE NOT EXISTS (SELECT 1 FROM documents WHERE kind = 'turn' AND record_id = q.id)) AS d
    WHERE true";

/// The prompt's own event says nothing that the prompt does not.
const EVENTS: &str =
    "SELECT d.id, d.project_id, d.name, d.session_id, d.prompt_number, d.created_at, d.payload, '', 'event'
    FROM (SELECT m.id, s.project_id, p.name, m.session_id, m.prompt_number, m.created_at, m.payload
          FROM (SELECT * FROM pending_messages ORDER BY id DESC LIMIT 2000) AS m
          JOIN sessions AS s ON s.id = m.session_id JOIN projects AS p ON p.id = s.project_id
          WHERE m.kind NOT IN ('prompt_submitted', 'session_started', 'session_ended')) AS d
    WHERE true";

/// Every string in a JSON document, one a line.
fn plain_text(json: &str) -> String {
    fn gather(value: &Value, text: &mut String) {
        match value {
            Value::String(string) => {
                text.push_str(string);
                text.push('\n');
            }
            Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
            Value::Object(members) => members.values().for_each(|value| gather(value, text)),
            _ => {}
        }
    }
    let mut text = String::new();
    if let Ok(value) = serde_json::from_str(json) {
        gather(&value, &mut text);
    }
    text
}
