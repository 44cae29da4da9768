//! The schema as numbered migrations. The number in `user_version` counts those that have run.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use remora_sys::file::{create_private_dir, private_file};
use remora_sys::lock;
use rusqlite::{Connection, TransactionBehavior};

use crate::connection;
use crate::data_dir::DataDir;
use crate::{SchemaAge, StoreError};

const MIGRATIONS: &[&str] = &[
    include_str!("0001_capture.sql"),
    include_str!("0002_observer.sql"),
    include_str!("0003_search.sql"),
    include_str!("0004_recall.sql"),
    include_str!("0005_filters.sql"),
    include_str!("0006_context_files.sql"),
    include_str!("0007_notes.sql"),
    include_str!("0008_feedback.sql"),
    include_str!("0009_latest.sql"),
];

/// The schema this program writes.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub const VERSION: i64 = MIGRATIONS.len() as i64;

pub(crate) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether this program may write to the database.
pub(crate) fn check(connection: &Connection) -> Result<(), StoreError> {
    let found = version(connection)?;
    let age = match found.cmp(&VERSION) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => SchemaAge::Older,
        std::cmp::Ordering::Greater => SchemaAge::Newer,
    };
    Err(StoreError::Schema { age, found, known: VERSION })
}

/// Makes a new database. It appears complete or not at all: it is built under another name and then renamed,
/// so that no moment of a crash leaves half a schema behind.
pub(crate) fn create(dir: &DataDir) -> Result<(), StoreError> {
    let lock = lock::open(&dir.schema_lock()).map_err(StoreError::file(dir.schema_lock()))?;
    lock.lock().map_err(StoreError::file(dir.schema_lock()))?;
    let database = dir.database();
    if database.exists() {
        return Ok(());
    }
    set_aside_old_wal(&database)?;
    let building = database.with_extension("db.new");
    for leftover in [building.clone(), with_suffix(&building, "-wal"), with_suffix(&building, "-shm")] {
        let _ = fs::remove_file(leftover);
    }
    private_file().create_new(true).write(true).open(&building).map_err(StoreError::file(&building))?;
    let mut connection = connection::open_to_build(&building)?;
    for (number, migration) in (1..).zip(MIGRATIONS) {
        apply(&mut connection, number, migration)?;
    }
    finish(connection, &building)?;
    fs::rename(&building, &database).map_err(StoreError::file(database))
}

/// A write-ahead log without its database would be replayed into the new one and destroy it.
fn set_aside_old_wal(database: &Path) -> Result<(), StoreError> {
    let wal = with_suffix(database, "-wal");
    if wal.exists() {
        let aside = with_suffix(database, &format!("-wal.{}", seconds_now()));
        fs::rename(&wal, &aside).map_err(StoreError::file(wal))?;
    }
    let _ = fs::remove_file(with_suffix(database, "-shm"));
    Ok(())
}

/// Brings an older database up to date, after a backup of it as it was.
pub(crate) fn migrate(connection: &mut Connection, dir: &DataDir) -> Result<(), StoreError> {
    migrate_with(connection, dir, MIGRATIONS)
}

fn migrate_with(connection: &mut Connection, dir: &DataDir, migrations: &[&str]) -> Result<(), StoreError> {
    let lock = lock::open(&dir.schema_lock()).map_err(StoreError::file(dir.schema_lock()))?;
    lock.lock().map_err(StoreError::file(dir.schema_lock()))?;
    let from = version(connection)?;
    let missing = usize::try_from(from).ok().and_then(|from| migrations.get(from..)).unwrap_or_default();
    if missing.is_empty() {
        return Ok(());
    }
    backup(connection, dir, from)?;
    for (number, migration) in (from + 1..).zip(missing) {
        apply(connection, number, migration)?;
    }
    Ok(())
}

fn apply(connection: &mut Connection, number: i64, migration: &str) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(migration)?;
    transaction.pragma_update(None, "user_version", number)?;
    transaction.commit()?;
    Ok(())
}

fn backup(connection: &Connection, dir: &DataDir, from: i64) -> Result<(), StoreError> {
    create_private_dir(&dir.backups()).map_err(StoreError::file(dir.backups()))?;
    let path = dir.backups().join(format!("before-schema-{}-{}.db", from + 1, seconds_now()));
    private_file().create(true).truncate(true).write(true).open(&path).map_err(StoreError::file(&path))?;
    let mut copy = connection::open_to_build(&path)?;
    let pages = 1000;
    let pause = std::time::Duration::ZERO;
    rusqlite::backup::Backup::new(connection, &mut copy)?.run_to_completion(pages, pause, None)?;
    finish(copy, &path)
}

/// A file that was built without waiting for the disk is on the disk when this returns.
fn finish(connection: Connection, path: &Path) -> Result<(), StoreError> {
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(StoreError::file(path))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn with_suffix(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_dir() -> (tempfile::TempDir, DataDir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        dir.create().unwrap();
        (temp, dir)
    }

    #[test]
    fn a_migration_is_preceded_by_a_backup_and_runs_once() {
        let (_temp, dir) = new_dir();
        create(&dir).unwrap();
        let mut connection = connection::open_for_owner(&dir.database()).unwrap();
        connection.execute("INSERT INTO meta (key, value) VALUES ('k', x'01')", []).unwrap();
        let later = [MIGRATIONS, &["CREATE TABLE added (id INTEGER)"]].concat();
        migrate_with(&mut connection, &dir, &later).unwrap();
        migrate_with(&mut connection, &dir, &later).unwrap();
        assert_eq!(version(&connection).unwrap(), VERSION + 1);
        connection.execute("INSERT INTO added VALUES (1)", []).unwrap();
        let backups: Vec<_> =
            fs::read_dir(dir.backups()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(backups.len(), 1);
        let copy = connection::open_for_owner(&backups[0]).unwrap();
        assert_eq!(version(&copy).unwrap(), VERSION);
        let kept: i64 =
            copy.query_row("SELECT count(*) FROM meta WHERE key = 'k'", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1);
    }

    #[test]
    fn a_database_from_before_search_keeps_everything_and_becomes_searchable() {
        let (_temp, dir) = new_dir();
        private_file().create_new(true).write(true).open(dir.database()).unwrap();
        let mut old = connection::open_to_build(&dir.database()).unwrap();
        for (number, migration) in (1..).zip(&MIGRATIONS[..2]) {
            apply(&mut old, number, migration).unwrap();
        }
        old.execute_batch(
            "INSERT INTO projects VALUES (1, x'01', 'k', 'app', '/app', NULL, 0);
             INSERT INTO sessions (id, uuid, host, content_session_id, project_id, started_at, last_activity_at)
             VALUES (1, x'02', 'claude-code', 's', 1, 0, 0);
             INSERT INTO user_prompts VALUES (1, 1, 1, 'why stripes', 'camouflage', 0);
             INSERT INTO facts VALUES (1, x'03', NULL, 'editor', 'vim', 'user', 'said', 1.0, 0, 0);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
             INSERT INTO observations SELECT i, randomblob(16), 1, 1, 1, 'discovery', 'Zebra ' || i, '', 'Stripes.',
                 '[\"a fact\"]', '[]', '[]', '[]', 0, NULL, i, '[]', 'x', '', i, NULL FROM n;",
        )
        .unwrap();
        old.close().unwrap();
        let store = crate::Store::open(&dir).unwrap();
        assert_eq!(store.counts().unwrap().observations, 450);
        let count = |sql: &str| store.db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM documents"), 450 * 2 + 2);
        assert_eq!(
            count("SELECT count(*) FROM documents_text WHERE documents_text MATCH 'title : zebras'"),
            900
        );
        assert!(!store.misses_documents().unwrap());
        assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
    }

    #[test]
    fn a_failing_migration_changes_nothing() {
        let (_temp, dir) = new_dir();
        create(&dir).unwrap();
        let mut connection = connection::open_for_owner(&dir.database()).unwrap();
        let broken =
            [MIGRATIONS, &["CREATE TABLE added (id INTEGER); CREATE TABLE meta (id INTEGER)"]].concat();
        assert!(migrate_with(&mut connection, &dir, &broken).is_err());
        assert_eq!(version(&connection).unwrap(), VERSION);
        assert!(connection.execute("INSERT INTO added VALUES (1)", []).is_err());
    }

    #[test]
    fn a_log_left_by_a_deleted_database_does_not_reach_the_new_one() {
        let (_temp, dir) = new_dir();
        let wal = with_suffix(&dir.database(), "-wal");
        fs::write(&wal, b"from another life").unwrap();
        create(&dir).unwrap();
        assert!(!wal.exists());
        let connection = connection::open_for_owner(&dir.database()).unwrap();
        check(&connection).unwrap();
    }
}
