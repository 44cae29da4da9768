//! Rebuilds a database whose records are all readable. Full text, documents and vectors are derived from the records,
//! so nothing is lost and no backup is needed.

use std::fs;
use std::path::Path;

use remora_core::time::Time;
use remora_sys::file::with_suffix;
use rusqlite::{Connection, OptionalExtension};

use super::restore::{self, Restored};
use super::{remove_with_logs, verify};
use crate::{StoreError, connection, schema};
use remora_data::DataDir;

/// Whether a table is derived from others.
fn is_derived(table: &str) -> bool {
    table.starts_with("documents") || table == "vectors"
}

/// Whether a problem reported by SQLite only concerns derived tables or an index.
pub(super) fn is_about_derived(db: &Connection, problem: &str) -> rusqlite::Result<bool> {
    for line in problem.lines() {
        // Unused pages are a side effect of damage elsewhere.
        let is_harmless =
            line.starts_with("***") || line.starts_with("Page ") && line.ends_with("never used");
        let is_text = line.starts_with("fts5: ") || line.contains("FTS5 table");
        if !(is_harmless || is_text || is_tree_derived(db, line)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Parses `Tree 12 page 34: …`, which names the root page of a table or an index.
fn is_tree_derived(db: &Connection, line: &str) -> rusqlite::Result<bool> {
    let root = line.strip_prefix("Tree ").and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok());
    let Some(root) = root else { return Ok(false) };
    let sql = "SELECT type, tbl_name FROM sqlite_schema WHERE rootpage = ?1";
    let found = db.query_row(sql, [root], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    Ok(found.optional()?.is_some_and(|(kind, table)| kind == "index" || is_derived(&table)))
}

/// Copies the records into a new database and replaces the old one with it. The caller holds the daemon's lock.
pub fn repair(dir: &DataDir, now: Time) -> Result<Restored, StoreError> {
    let _lock = dir.lock_schema()?;
    let database = dir.database();
    // From here on hooks use the spool. Events stored after the copy would be lost.
    let held = restore::hold_back_writers(&database);
    let building = with_suffix(&database, ".repairing");
    let built = build(&database, &building);
    if built.is_err() {
        remove_with_logs(&building);
    }
    built?;
    let set_aside = restore::put_in_place(dir, &building, held.as_ref(), &now.format_utc(restore::DAMAGED))?;
    let from = set_aside.clone().unwrap_or(database);
    Ok(Restored { from, made_at: None, restored_at: now, set_aside, can_go_back: false })
}

fn build(database: &Path, building: &Path) -> Result<(), StoreError> {
    remove_with_logs(building);
    schema::create_at(building)?;
    let db = connection::open_to_build(building)?;
    db.execute("ATTACH ?1 AS old", [database.to_string_lossy()])?;
    db.execute_batch("PRAGMA foreign_keys = OFF; BEGIN")?;
    let tables = schema::tables().filter(|table| !is_derived(table));
    for table in tables {
        db.execute_batch(&format!(
            "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM old.{table}"
        ))
        .map_err(StoreError::in_database(database))?;
    }
    db.execute_batch(
        "DELETE FROM main.sqlite_sequence;
         INSERT INTO main.sqlite_sequence SELECT * FROM old.sqlite_sequence;
         INSERT OR REPLACE INTO main.meta (key, value) VALUES ('documents_missing', x'01');
         UPDATE main.meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
         COMMIT; DETACH old;",
    )
    .map_err(StoreError::in_database(database))?;
    db.close().map_err(|(_, error)| StoreError::from(error))?;
    match verify(building)?.problems.into_iter().next() {
        Some(problem) => Err(StoreError::Damaged { path: building.to_owned(), reason: problem }),
        None => fs::File::open(building).and_then(|file| file.sync_all()).map_err(StoreError::file(building)),
    }
}
