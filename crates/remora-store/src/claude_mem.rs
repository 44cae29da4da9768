//! The database of claude-mem: what is in it, whatever version made it.

use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

use crate::{StoreError, connection};

/// The tables that hold memory.
const TABLES: [&str; 4] = ["sdk_sessions", "observations", "session_summaries", "user_prompts"];

/// How much memory there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rows {
    pub sessions: u64,
    pub observations: u64,
    pub summaries: u64,
    pub prompts: u64,
}

impl Rows {
    pub fn total(self) -> u64 {
        self.sessions + self.observations + self.summaries + self.prompts
    }
}

/// Counts the rows of a database without touching it. Rows that are only in its write-ahead log are not counted. An error if
/// it is not a database of claude-mem.
pub fn count(path: &Path) -> Result<Rows, StoreError> {
    let db = connection::open_unchanging(path)?;
    let [sessions, observations, summaries, prompts] = TABLES.map(|table| count_of(&db, table));
    Ok(Rows {
        sessions: sessions?.ok_or_else(|| foreign(path))?,
        observations: observations?.unwrap_or_default(),
        summaries: summaries?.unwrap_or_default(),
        prompts: prompts?.unwrap_or_default(),
    })
}

/// `None` if there is no such table.
fn count_of(db: &Connection, table: &str) -> Result<Option<u64>, StoreError> {
    let is_there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    if !db.prepare(is_there)?.exists([table])? {
        return Ok(None);
    }
    let rows: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    Ok(Some(rows.cast_unsigned()))
}

fn foreign(path: &Path) -> StoreError {
    StoreError::NotClaudeMem { path: path.to_owned() }
}
