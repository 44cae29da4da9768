//! The schema. A new database is created from `schema.sql`. An older one is brought to it by the steps in [`STEPS`], one
//! after another. The version is in `user_version`.
//!
//! A change of the schema is a change of `schema.sql`, a higher [`VERSION`], and one more step at the end of the list. The
//! tests beside this file show that every version that a step begins with ends as a new database does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use remora_sys::file::{create_private_dir, private_file, with_suffix};
use rusqlite::{Connection, TransactionBehavior};

use crate::connection;
use crate::{SchemaAge, StoreError};
use remora_data::DataDir;

/// The schema version that this program writes.
pub const VERSION: i64 = 100;

const SCHEMA: &str = include_str!("schema.sql");

/// The way from one version of the schema to the next.
struct Step {
    from: i64,
    to: i64,
    /// Runs in the transaction of the whole migration, without foreign keys: SQLite would follow them when a table is
    /// dropped to be made anew. Statements of a step go into a file `to_VERSION.sql` beside this one:
    /// `|db| Ok(db.execute_batch(include_str!("to_VERSION.sql"))?)`.
    change: fn(&Connection) -> Result<(), StoreError>,
}

/// Every step since the oldest version that can still be opened, in order. Each has a fixture in `tests.rs`.
const STEPS: &[Step] = &[
    // The tables are the same. Versions below 100 belong to builds from before the first release.
    Step { from: 14, to: 100, change: |_| Ok(()) },
];

/// How a version compares to the one that this program writes; `None` if it is the same.
pub(crate) fn age(version: i64) -> Option<SchemaAge> {
    if version == VERSION {
        None
    } else if version > VERSION {
        Some(SchemaAge::Newer)
    } else if STEPS.iter().any(|step| step.from == version) {
        Some(SchemaAge::Older)
    } else {
        Some(SchemaAge::TooOld)
    }
}

pub(crate) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Checks whether this program may write to the database.
pub(crate) fn check(connection: &Connection) -> Result<(), StoreError> {
    let found = version(connection)?;
    match age(found) {
        None => Ok(()),
        // SQLite treats an empty file as an empty database.
        Some(_) if found == 0 => {
            let reason = "the file is empty".to_owned();
            Err(StoreError::Damaged { path: PathBuf::new(), reason })
        }
        Some(age) => Err(StoreError::Schema { age, found, known: VERSION }),
    }
}

/// Creates a new database. It appears complete or not at all: it is built under another name and then renamed, so
/// that a crash leaves no partial schema behind.
pub(crate) fn create(dir: &DataDir) -> Result<(), StoreError> {
    let _lock = dir.lock_schema()?;
    let database = dir.database();
    if database.exists() {
        return Ok(());
    }
    set_aside_old_wal(&database)?;
    let building = database.with_extension("db.new");
    create_at(&building)?;
    fs::rename(&building, &database).map_err(StoreError::file(database))
}

/// Creates an empty database in a new private file. Leftovers of an earlier attempt are removed.
pub(crate) fn create_at(building: &Path) -> Result<(), StoreError> {
    for leftover in [building.to_owned(), with_suffix(building, "-wal"), with_suffix(building, "-shm")] {
        let _ = fs::remove_file(leftover);
    }
    private_file().create_new(true).write(true).open(building).map_err(StoreError::file(building))?;
    let mut connection = connection::open_to_build(building)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    build(&transaction)?;
    transaction.commit()?;
    finish(connection, building)
}

fn build(db: &Connection) -> Result<(), StoreError> {
    db.execute_batch(&without_comments(SCHEMA))?;
    Ok(db.pragma_update(None, "user_version", VERSION)?)
}

/// The tables that the schema names. Every command compares them with the database, so they are read from the text:
/// building a database for that took a millisecond.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    let name = |line: &'static str| {
        let rest =
            line.strip_prefix("CREATE TABLE ").or_else(|| line.strip_prefix("CREATE VIRTUAL TABLE "))?;
        rest.split_whitespace().next()
    };
    SCHEMA.lines().filter_map(name)
}

/// Removes comments, because SQLite would store them with the statements and every hook would read them.
fn without_comments(sql: &str) -> String {
    let code = sql.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code).trim_end());
    code.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Moves away a write-ahead log without a database. It would be replayed into the new database and destroy it.
fn set_aside_old_wal(database: &Path) -> Result<(), StoreError> {
    let wal = with_suffix(database, "-wal");
    if wal.exists() {
        let aside = with_suffix(database, &format!("-wal.{}", seconds_now()));
        fs::rename(&wal, &aside).map_err(StoreError::file(wal))?;
    }
    let _ = fs::remove_file(with_suffix(database, "-shm"));
    Ok(())
}

/// Migrates an older database, after a backup. Of several processes, one does it, and the others wait.
pub(crate) fn migrate(connection: &mut Connection, dir: &DataDir) -> Result<(), StoreError> {
    migrate_by(STEPS, connection, dir)
}

fn migrate_by(steps: &[Step], connection: &mut Connection, dir: &DataDir) -> Result<(), StoreError> {
    let _lock = dir.lock_schema()?;
    // Another process may have migrated it first.
    if version(connection)? == VERSION {
        return Ok(());
    }
    backup(connection, dir)?;
    run(steps, connection)
}

/// Migrates a copy of the database, for a caller that discards it if that fails. It is neither locked nor backed up.
pub(crate) fn migrate_copy(connection: &mut Connection) -> Result<(), StoreError> {
    run(STEPS, connection)
}

/// Runs the steps that are left, all or none. Foreign keys can only be switched outside of a transaction.
fn run(steps: &[Step], connection: &mut Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "foreign_keys", false)?;
    let ran = run_in_transaction(steps, connection);
    connection.pragma_update(None, "foreign_keys", true)?;
    ran
}

fn run_in_transaction(steps: &[Step], connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut reached = version(&transaction)?;
    for step in steps {
        if step.from == reached {
            (step.change)(&transaction)?;
            reached = step.to;
        }
    }
    transaction.pragma_update(None, "user_version", reached)?;
    check(&transaction)?;
    transaction.commit()?;
    Ok(())
}

fn backup(connection: &Connection, dir: &DataDir) -> Result<(), StoreError> {
    create_private_dir(&dir.backups()).map_err(StoreError::file(dir.backups()))?;
    let path = dir.backups().join(format!("before-schema-{VERSION}-{}.db", seconds_now()));
    crate::backup::make_at(connection, dir, &path).map(drop)
}

/// Closes and syncs a file that was built without syncing.
fn finish(connection: Connection, path: &Path) -> Result<(), StoreError> {
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(StoreError::file(path))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
