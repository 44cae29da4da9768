//! Reads the database of claude-mem, in any version.
//!
//! The database may be in use, and reading must not change a byte of it or create a file beside it. SQLite writes to
//! the log's index even for reading, so a copy in the data directory is read instead.

mod rows;

pub use rows::{Chunk, Row, Table};

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use remora_sys::file::is_absent;
use rusqlite::Connection;

use crate::{Scratch, StoreError, connection};
use remora_data::DataDir;

/// How often a copy is attempted if the database changes meanwhile.
const MAX_COPIES: u32 = 5;

/// Row counts of the tables with memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaudeMemRows {
    pub sessions: u64,
    pub observations: u64,
    pub summaries: u64,
    pub prompts: u64,
}

impl ClaudeMemRows {
    pub fn total(self) -> u64 {
        self.sessions + self.observations + self.summaries + self.prompts
    }
}

/// Counts the rows of a database without touching it. Rows that are only in its write-ahead log are not counted.
/// Fails if it is not a database of claude-mem.
pub fn count(path: &Path) -> Result<ClaudeMemRows, StoreError> {
    let db = connection::open_unchanging(path)?;
    if !has_table(&db, Table::Sessions.name())? {
        return Err(StoreError::NotClaudeMem { path: path.to_owned() });
    }
    count_rows(&db)
}

fn count_rows(db: &Connection) -> Result<ClaudeMemRows, StoreError> {
    Ok(ClaudeMemRows {
        sessions: count_of(db, Table::Sessions.name())?,
        observations: count_of(db, Table::Observations.name())?,
        summaries: count_of(db, Table::Summaries.name())?,
        prompts: count_of(db, Table::Prompts.name())?,
    })
}

fn has_table(db: &Connection, table: &str) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    Ok(db.prepare_cached(sql)?.exists([table])?)
}

/// 0 if the table does not exist.
fn count_of(db: &Connection, table: &str) -> Result<u64, StoreError> {
    if !has_table(db, table)? {
        return Ok(0);
    }
    let rows: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    Ok(rows.cast_unsigned())
}

/// A copy of a claude-mem database, removed when dropped.
#[derive(Debug)]
pub struct Source {
    db: Connection,
    /// The version of its schema; 0 if unknown.
    pub version: i64,
    pub rows: ClaudeMemRows,
    /// Raw tool calls, and events that wait for claude-mem's observer. They are not imported.
    pub tool_uses: u64,
    pub queued: u64,
    // Dropped after the connection.
    _copy: Scratch,
}

impl Source {
    /// Copies the database at `path` into the data directory and opens the copy.
    pub fn open(dir: &DataDir, path: &Path) -> Result<Self, StoreError> {
        let copy = Scratch::new(dir, "claude-mem")?;
        let target = copy.path().join("claude-mem.db");
        copy_unchanged(path, &target)?;
        let foreign = || StoreError::NotClaudeMem { path: path.to_owned() };
        let db = connection::open_copy(&target).map_err(|error| match error {
            StoreError::Sqlite(_) | StoreError::Damaged { .. } => foreign(),
            other => other,
        })?;
        if !has_table(&db, Table::Sessions.name())? {
            return Err(foreign());
        }
        let version = if has_table(&db, "schema_versions")? {
            db.query_row("SELECT ifnull(max(version), 0) FROM schema_versions", [], |row| row.get(0))?
        } else {
            0
        };
        Ok(Self {
            version,
            rows: count_rows(&db)?,
            tool_uses: count_of(&db, "tool_uses")?,
            queued: count_of(&db, "pending_messages")?,
            db,
            _copy: copy,
        })
    }
}

/// Copies a database with its log, both from the same moment.
fn copy_unchanged(from: &Path, to: &Path) -> Result<(), StoreError> {
    let log_of = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    let (log, log_copy) = (log_of(from), log_of(to));
    for _ in 0..MAX_COPIES {
        let before = stamps(from, &log)?;
        fs::copy(from, to).map_err(StoreError::file(from))?;
        match fs::copy(&log, &log_copy) {
            Err(error) if is_absent(&error) => {
                let _ = fs::remove_file(&log_copy);
            }
            other => drop(other.map_err(StoreError::file(&log))?),
        }
        if stamps(from, &log)? == before {
            return Ok(());
        }
    }
    Err(StoreError::Busy)
}

type Stamp = Option<(u64, SystemTime)>;

/// Size and modification time of both files, to detect writes.
fn stamps(database: &Path, log: &Path) -> Result<(Stamp, Stamp), StoreError> {
    let stamp = |metadata: &Metadata| Ok::<_, io::Error>((metadata.len(), metadata.modified()?));
    let of = |path: &Path| match fs::metadata(path) {
        Err(error) if is_absent(&error) => Ok(None),
        other => other.and_then(|metadata| stamp(&metadata)).map(Some).map_err(StoreError::file(path)),
    };
    let main =
        fs::metadata(database).and_then(|metadata| stamp(&metadata)).map_err(StoreError::file(database))?;
    Ok((Some(main), of(log)?))
}
