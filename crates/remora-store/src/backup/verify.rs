//! Checks whether a database is sound: its pages, its schema, and essential rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use remora_core::time::Time;
use remora_sys::file;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::repair;
use crate::{SchemaAge, StoreError, connection, schema};
use remora_data::DataDir;

/// Limit for reported problems. A damaged file can have thousands; the first few are enough.
const MAX_PROBLEMS: u32 = 10;

/// Tables of every schema that this program can read. For its own schema, all tables are checked.
const OF_EVERY_SCHEMA: [&str; 5] = ["meta", "projects", "sessions", "user_prompts", "observations"];

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub path: PathBuf,
    pub bytes: u64,
    pub schema: i64,
    /// `None` if it is too damaged to count.
    pub contents: Option<Contents>,
    /// Empty if it is sound.
    pub problems: Vec<String>,
    /// Whether only derived tables are damaged, which can be rebuilt from the records.
    pub(super) derived_alone: bool,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether only the search index is damaged, which can be rebuilt from the records.
    pub fn is_index_alone(&self) -> bool {
        !self.is_sound() && self.derived_alone
    }

    /// Whether a backup may replace it without asking: it is ours, of a version we know, and unusable.
    pub fn is_lost(&self) -> bool {
        // No version is negative.
        let is_known = self.schema <= 0 || matches!(schema::age(self.schema), None | Some(SchemaAge::Older));
        !self.is_sound() && !self.is_index_alone() && is_known
    }

    /// Whether its schema is one that this program does not read.
    pub(super) fn is_too_old(&self) -> bool {
        self.schema > 0 && schema::age(self.schema) == Some(SchemaAge::TooOld)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    pub sessions: i64,
    pub prompts: i64,
    pub observations: i64,
    /// The last activity of any session.
    pub last_activity_at: Option<Time>,
}

/// Checks a database file. Damage is part of the result; an error means that it could not be checked.
pub fn verify(path: &Path) -> Result<Verified, StoreError> {
    look_at(path, Depth::EveryPage)
}

/// Same as [`verify`] without reading every page, for callers that must not wait.
pub fn verify_briefly(path: &Path) -> Result<Verified, StoreError> {
    look_at(path, Depth::Schema)
}

/// The problems that SQLite finds in a database with all of its checks; empty if it is sound.
pub fn integrity_problems(path: &Path) -> Result<Vec<String>, StoreError> {
    let db = connection::open_to_verify(path)?;
    let mut statement = db.prepare("PRAGMA integrity_check")?;
    let found: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Schema,
    EveryPage,
}

fn look_at(path: &Path, depth: Depth) -> Result<Verified, StoreError> {
    let mut verified = Verified {
        path: path.to_owned(),
        bytes: 0,
        schema: 0,
        contents: None,
        problems: Vec::new(),
        derived_alone: false,
    };
    match fs::metadata(path) {
        Err(error) if file::is_absent(&error) => verified.problems.push("there is no such file".to_owned()),
        Err(error) => return Err(StoreError::file(path)(error)),
        Ok(file) if !file.is_file() => verified.problems.push("it is not a file".to_owned()),
        Ok(file) if file.len() == 0 => verified.problems.push("the file is empty".to_owned()),
        Ok(file) => {
            verified.bytes = file.len();
            match examine(path, depth, &mut verified) {
                Err(StoreError::Damaged { reason, .. }) => verified.problems.push(reason),
                Err(error) if error.is_about_content() => verified.problems.push(error.to_string()),
                other => other?,
            }
        }
    }
    Ok(verified)
}

fn examine(path: &Path, depth: Depth, verified: &mut Verified) -> Result<(), StoreError> {
    let db = connection::open_to_verify(path)?;
    if depth == Depth::EveryPage {
        let sql = format!("PRAGMA quick_check({MAX_PROBLEMS})");
        let lines: Vec<String> =
            db.prepare(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        verified.problems.extend(lines.into_iter().filter(|line| line != "ok"));
    }
    verified.schema = schema::version(&db)?;
    let missing = missing_tables(&db)?;
    if !missing.is_empty() {
        verified.problems.push(format!("tables are missing: {}", missing.join(", ")));
        return Ok(());
    }
    if schema::age(verified.schema) == Some(SchemaAge::TooOld) {
        let problem = format!("it has schema {}, which only the Remora that wrote it reads", verified.schema);
        verified.problems.push(problem);
        return Ok(());
    }
    let key: Option<Vec<u8>> =
        db.query_row("SELECT value FROM meta WHERE key = 'hash_key'", [], |row| row.get(0)).optional()?;
    if key.is_none_or(|key| key.len() != 16) {
        verified.problems.push("the row hash_key is missing from the table meta".to_owned());
    }
    verified.contents = Some(contents(&db)?);
    if depth == Depth::EveryPage && verified.schema == schema::VERSION {
        let sql = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM documents_text_docsize)";
        let (documents, known): (i64, i64) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if documents != known {
            verified.problems.push(format!("fts5: the full text has {known} of {documents} documents"));
        }
    }
    let is_derived = |problem: &String| repair::is_about_derived(&db, problem);
    verified.derived_alone = verified.schema == schema::VERSION
        && verified
            .problems
            .iter()
            .map(is_derived)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .all(|yes| yes);
    Ok(())
}

/// The tables that are missing from a database, given its schema version.
pub(crate) fn missing_tables(db: &Connection) -> Result<Vec<String>, StoreError> {
    let found = tables(db)?;
    if schema::version(db)? == schema::VERSION {
        return Ok(schema::tables().filter(|table| !found.contains(*table)).map(str::to_owned).collect());
    }
    let missing = OF_EVERY_SCHEMA.into_iter().filter(|table| !found.contains(*table));
    Ok(missing.map(str::to_owned).collect())
}

pub(crate) fn tables(db: &Connection) -> Result<BTreeSet<String>, StoreError> {
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    Ok(names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn contents(db: &Connection) -> Result<Contents, StoreError> {
    let sql = "SELECT (SELECT count(*) FROM sessions),
                   (SELECT count(*) FROM user_prompts WHERE deleted_at IS NULL),
                   (SELECT count(*) FROM observations WHERE deleted_at IS NULL),
                   (SELECT max(last_activity_at) FROM sessions)";
    Ok(db.query_row(sql, [], |row| {
        Ok(Contents {
            sessions: row.get(0)?,
            prompts: row.get(1)?,
            observations: row.get(2)?,
            last_activity_at: row.get::<_, Option<i64>>(3)?.map(Time),
        })
    })?)
}

/// The daemon's last check of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCheck {
    pub checked_at: Time,
    pub problems: Vec<String>,
    /// Set if the daemon has restored a backup by itself, until the user has acknowledged it.
    #[serde(default)]
    pub restored: Option<super::Restored>,
}

/// `None` if no check was recorded yet. A hook asks at the start of a session, so this never blocks.
pub fn last_check(dir: &DataDir) -> Option<LastCheck> {
    serde_json::from_str(&file::read_small(&dir.last_check()).ok()?).ok()
}

/// Records a check in a file, because a damaged database could not store it.
pub fn record_check(dir: &DataDir, check: &LastCheck) -> Result<(), StoreError> {
    file::replace_transient(&dir.last_check(), &serde_json::to_vec(check)?)
        .map_err(StoreError::file(dir.last_check()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_in_place_of_the_last_check_is_no_check() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        let check = LastCheck { checked_at: Time(1), problems: Vec::new(), restored: None };
        record_check(&dir, &check).unwrap();
        assert_eq!(last_check(&dir), Some(check));
        fs::remove_file(dir.last_check()).unwrap();
        assert!(Command::new("mkfifo").arg(dir.last_check()).status().unwrap().success());
        assert_eq!(last_check(&dir), None);
    }
}
