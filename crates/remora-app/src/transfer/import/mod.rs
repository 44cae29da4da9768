//! Imports existing data: a claude-mem database, transcripts of past sessions, a file of lines.
//!
//! All imports follow the same rules. A backup is made first. Every record is counted in the report, and a second
//! import adds nothing. Private text, secrets and excluded projects are left out. Imported data counts as reference
//! data until the user confirms it.

mod claude_mem;
mod directories;
mod file;
mod pipeline;
mod report;
mod run;
mod transcripts;

use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use remora_observer::past;
use remora_store::claude_mem::ClaudeMemRows;
use remora_store::{DataError, StoreError};
use remora_sys::file::is_absent;
use serde::Serialize;

use crate::AppError;
use crate::present::{self, ClaudeMemRowsJson};

pub use claude_mem::import as claude_mem;
pub use file::{carried, import as file};
pub use report::{ImportReport, Observed, Recipient, Skipped, Tally};
pub use run::{Imported, Progress, Request};
pub use transcripts::import as transcripts;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not a file of memory: line {line}: {problem}", path.display())]
    NotLines { path: PathBuf, line: u64, problem: String },
    #[error("another import is running")]
    Running,
    #[error(transparent)]
    App(#[from] AppError),
}

impl From<DataError> for ImportError {
    fn from(error: DataError) -> Self {
        Self::App(error.into())
    }
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

/// Data that could be imported, counted without reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Available {
    pub claude_mem: Option<ClaudeMem>,
    /// Transcripts of past sessions, one entry per host that has any.
    pub transcripts: Vec<Transcripts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaudeMem {
    pub path: PathBuf,
    #[serde(serialize_with = "present::one::<ClaudeMemRowsJson, _, _>")]
    pub rows: ClaudeMemRows,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transcripts {
    pub host: Host,
    pub sessions: usize,
    pub bytes: u64,
}

impl Available {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Path of claude-mem's database.
pub fn claude_mem_database(home: &Path) -> PathBuf {
    home.join(".claude-mem/claude-mem.db")
}

/// Finds data of other programs below a home directory that could be imported. This is cheap: rows are counted and
/// transcripts are listed by name. A database that cannot be read is left out; `remora import claude-mem` says why.
pub fn available(home: &Path) -> Result<Available, ImportError> {
    let path = claude_mem_database(home);
    let rows = remora_store::claude_mem::count(&path).ok().filter(|rows| rows.total() > 0);
    let claude_mem = rows.map(|rows| ClaudeMem { path, rows });
    let found = match past::find(home) {
        // A folder was removed while it was read.
        Err(error) if is_absent(&error) => Vec::new(),
        other => other.map_err(|source| ImportError::Unreadable { path: home.to_owned(), source })?,
    };
    let mut transcripts: Vec<Transcripts> = Vec::new();
    for transcript in found {
        if transcripts.last().is_none_or(|last| last.host != transcript.host) {
            transcripts.push(Transcripts { host: transcript.host, sessions: 0, bytes: 0 });
        }
        if let Some(last) = transcripts.last_mut() {
            last.sessions += 1;
            last.bytes += transcript.bytes;
        }
    }
    Ok(Available { claude_mem, transcripts })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn available_data_is_counted_and_not_changed() {
        let home = tempfile::tempdir().unwrap();
        assert!(available(home.path()).unwrap().is_empty());
        let path = claude_mem_database(home.path());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "no database").unwrap();
        assert!(available(home.path()).unwrap().is_empty());
        fs::remove_file(&path).unwrap();
        #[expect(clippy::disallowed_methods, reason = "another program's database")]
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY); CREATE TABLE observations (id INTEGER PRIMARY KEY);
             INSERT INTO sdk_sessions VALUES (1); INSERT INTO observations VALUES (1), (2);",
        )
        .unwrap();
        drop(db);
        let transcript = home.path().join(".claude/projects/-p/s.jsonl");
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        fs::write(&transcript, "{}\n").unwrap();
        let before = fs::read(&path).unwrap();
        let found = available(home.path()).unwrap();
        let rows = found.claude_mem.unwrap().rows;
        assert_eq!((rows.sessions, rows.observations, rows.total()), (1, 2, 3));
        let sessions = Transcripts { host: Host::ClaudeCode, sessions: 1, bytes: 3 };
        assert_eq!(found.transcripts, [sessions]);
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no file beside it");
    }
}
