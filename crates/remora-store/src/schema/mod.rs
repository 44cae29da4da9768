//! The schema. A new database is created from `schema.sql`. Version 9 is copied into it by `from_9.sql`. Version 10 gets
//! the tables below the marker line in `schema.sql`, and then, like every later one, loses columns that are no longer used
//! and gets the indexes that differ. Keys of facts are normalised in all of them. The version is in `user_version`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use remora_sys::file::{create_private_dir, private_file, with_suffix};
use rusqlite::{Connection, TransactionBehavior, params};
use uuid::Uuid;

use crate::connection;
use crate::writing::content_hash;
use crate::{SchemaAge, StoreError};
use remora_data::DataDir;

mod fact_keys;

/// The schema version that this program writes.
pub const VERSION: i64 = 14;
/// The oldest schema version that can be migrated.
pub(crate) const MIN_VERSION: i64 = 9;
/// The first schema version that marks deleted rows with `deleted_at`.
pub(crate) const MARKS_DELETED: i64 = 10;
/// The first schema version that has the tables of forgetting.
pub(crate) const FORGETS: i64 = 11;

const SCHEMA: &str = include_str!("schema.sql");
const FROM_9: &str = include_str!("from_9.sql");
/// Marker line in `schema.sql`. Everything below it is new since version 10.
const NEW_SINCE_10: &str = "-- Added in version 11.";

/// Columns that nothing read. Versions 10 to 13 have them, except for the role, which a part of version 11 lost.
const DROPPED_SINCE_10: [(&str, &str); 4] = [
    ("documents", "role"),
    ("session_summaries", "source_event_ids"),
    ("injections", "moment"),
    ("llm_usage", "kind"),
];

pub(crate) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Checks whether this program may write to the database.
pub(crate) fn check(connection: &Connection) -> Result<(), StoreError> {
    let found = version(connection)?;
    let age = match found {
        VERSION => return Ok(()),
        // SQLite treats an empty file as an empty database.
        0 => {
            let reason = "the file is empty".to_owned();
            return Err(StoreError::Damaged { path: PathBuf::new(), reason });
        }
        MIN_VERSION..VERSION => SchemaAge::Older,
        _ if found < VERSION => SchemaAge::TooOld,
        _ => SchemaAge::Newer,
    };
    Err(StoreError::Schema { age, found, known: VERSION })
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

/// Migrates an older database, after a backup.
pub(crate) fn migrate(connection: &mut Connection, dir: &DataDir) -> Result<(), StoreError> {
    migrate_with(connection, dir, FROM_9)
}

fn migrate_with(connection: &mut Connection, dir: &DataDir, copy: &str) -> Result<(), StoreError> {
    let _lock = dir.lock_schema()?;
    // Another process may have migrated it first.
    if version(connection)? == VERSION {
        return Ok(());
    }
    backup(connection, dir)?;
    if version(connection)? >= MARKS_DELETED {
        return bring_up_to_date(connection);
    }
    // Tables that others refer to are dropped. SQLite allows this change only outside of a transaction.
    connection.pragma_update(None, "foreign_keys", false)?;
    let moved = move_over(connection, copy);
    connection.pragma_update(None, "foreign_keys", true)?;
    moved
}

fn bring_up_to_date(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&transaction)? < FORGETS {
        let added = SCHEMA.split_once(NEW_SINCE_10).map(|(_, added)| added).unwrap_or_default();
        transaction.execute_batch(&without_comments(added))?;
        // The rebuild drops entries that were only marked as deleted before.
        transaction.execute_batch(
            "INSERT INTO documents_text (documents_text) VALUES ('rebuild');
             INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');",
        )?;
    }
    for (table, column) in DROPPED_SINCE_10 {
        let sql = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
        if transaction.prepare_cached(sql)?.exists([table, column])? {
            transaction.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {column}"))?;
        }
    }
    renew_indexes(&transaction)?;
    fact_keys::normalise(&transaction)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Creates the indexes that are missing or have changed.
fn renew_indexes(db: &Connection) -> Result<(), StoreError> {
    let scratch = connection::open_in_memory()?;
    build(&scratch)?;
    let known = indexes(db)?;
    for (name, sql) in indexes(&scratch)? {
        match known.get(&name) {
            Some(same) if *same == sql => {}
            Some(_) => db.execute_batch(&format!("DROP INDEX {name}; {sql}"))?,
            None => db.execute_batch(&sql)?,
        }
    }
    Ok(())
}

/// The indexes of a database, by name, without those that constraints imply.
fn indexes(db: &Connection) -> Result<BTreeMap<String, String>, StoreError> {
    let mut statement =
        db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn move_over(connection: &mut Connection, copy: &str) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let old = set_aside_old_tables(&transaction)?;
    build(&transaction)?;
    transaction.execute_batch(copy)?;
    rewrite_content_hashes(&transaction)?;
    fact_keys::normalise(&transaction)?;
    for table in old {
        transaction.execute_batch(&format!("DROP TABLE {table}"))?;
    }
    transaction.commit()?;
    Ok(())
}

/// Renames the tables to `old_…` and returns their new names. Indexes and full text are derived, so they are dropped.
fn set_aside_old_tables(db: &Connection) -> Result<Vec<String>, StoreError> {
    let names = |sql: &str| -> rusqlite::Result<Vec<String>> {
        db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    for table in names("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")? {
        db.execute_batch(&format!("DROP TABLE {table}"))?;
    }
    for index in names("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")? {
        db.execute_batch(&format!("DROP INDEX {index}"))?;
    }
    let mut old = Vec::new();
    for table in names(
        r"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'",
    )? {
        db.execute_batch(&format!("ALTER TABLE {table} RENAME TO old_{table}"))?;
        old.push(format!("old_{table}"));
    }
    Ok(old)
}

/// Version 9 hashed the session's id, which is unknown on another machine.
fn rewrite_content_hashes(db: &Connection) -> Result<(), StoreError> {
    let mut rows = db.prepare(
        "SELECT o.id, s.uuid, o.title, o.narrative FROM observations AS o CROSS JOIN sessions AS s
         ON s.id = o.session_id",
    )?;
    // If two observations differ in their old hashes alone, both stay.
    let mut rewrite = db.prepare("UPDATE OR IGNORE observations SET content_hash = ?2 WHERE id = ?1")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (session, title, narrative): ([u8; 16], String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let hash = content_hash(Uuid::from_bytes(session), &title, &narrative);
        rewrite.execute(params![row.get::<_, i64>(0)?, hash])?;
    }
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
