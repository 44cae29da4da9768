//! The one place that opens connections.

use std::ffi::CStr;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use remora_core::settings::Sync;
use remora_core::time::HOOK_LIMIT;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

// Older versions can corrupt a WAL that two processes write and checkpoint.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// How long a hook waits for the database in all before it turns to the spool.
pub(crate) const HOOK_PATIENCE: Duration = HOOK_LIMIT.saturating_sub(Duration::from_millis(50));
const OWNER_PATIENCE: Duration = Duration::from_secs(5);

/// A hook empties the log above this size: the first process to open the database reads all of it.
pub(crate) const LARGEST_WAL: u64 = 100 * 4096;
/// When SQLite copies the log back by itself, for processes that stay.
const OWNER_WAL_PAGES: u32 = 250;
/// The same for the daemon: should it be killed, the next hook reads 8 MB once.
pub(crate) const LONG_WAL_PAGES: u32 = 2000;

/// How much of the file a process that stays keeps in memory. Mapping the file would be faster still, but then all
/// that was ever touched counts as the daemon's memory.
const CACHE_KIB: i64 = 16 << 10;
const LARGEST_CACHE_KIB: i64 = 96 << 10;

/// For a hook: an existing database, little patience, no work on closing. No statement runs here: the first
/// one reads the whole schema, and that belongs into the hook's one transaction.
pub(crate) fn open_for_hook(path: &Path, sync: Sync) -> Result<Connection, StoreError> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_handler(Some(wait_a_little))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // NORMAL is what our SQLite is built with; one built without our flags is slower, and as safe.
    if sync == Sync::Full {
        connection.pragma_update(None, "synchronous", "FULL")?;
    }
    Ok(connection)
}

/// Asks again after a millisecond or two, so that many hooks at once take turns without long pauses.
fn wait_a_little(attempts: i32) -> bool {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = FIRST.get_or_init(Instant::now);
    if first.elapsed() >= HOOK_PATIENCE {
        return false;
    }
    let spread = u64::from(std::process::id() % 8) * 125;
    let step = if attempts < 8 { 500 } else { 2_000 };
    std::thread::sleep(Duration::from_micros(step + spread));
    true
}

/// For commands and the daemon.
pub(crate) fn open_for_owner(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(OWNER_PATIENCE)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Our SQLite is built so; one built without our flags is told.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", OWNER_WAL_PAGES)?;
    // A search touches pages all over the file, and the next one mostly the same.
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // A search alone uses a dozen statements; they are long, and preparing one costs as much as running it.
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A part of the file, within limits: most of what a search reads is read again by the next. It grows by some 50 bytes a
/// document; a larger part would be little faster, because the system keeps the file in memory, too.
pub(crate) fn widen_cache(connection: &Connection, file_kib: i64) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "cache_size", -(file_kib / 50).clamp(CACHE_KIB, LARGEST_CACHE_KIB))
}

/// For a database that is being built under another name. Its builder syncs it to the disk at the end.
pub(crate) fn open_to_build(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    Ok(connection)
}

/// For an empty file that gets the pages of another database. Its builder syncs it to the disk at the end.
pub(crate) fn open_to_fill(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// For a copy of a backup from which something is removed. It is thrown away unless all of that succeeds.
pub(crate) fn open_to_clean(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// For a look at a file that may be damaged, be a backup, or belong to another user. The log of a live database is read, too.
pub(crate) fn open_to_verify(path: &Path) -> Result<Connection, StoreError> {
    let connection = match open(path, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(readable) {
        Err(error) if error.is_about_disk() => open_to_read(path).map_err(|_| error)?,
        other => other?,
    };
    connection.busy_timeout(OWNER_PATIENCE)?;
    Ok(connection)
}

/// For a database that cannot be written, because its disk is full or mounted for reading. SQLite wants a file beside it, for the
/// index of the log. If a process that can write is at work, that file is there. If not, nothing needs to be locked: the log is
/// read into memory or, where there is none, left out.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let read = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let shared = open(path, read).and_then(readable);
    if shared.is_ok() {
        return shared;
    }
    let log = path.with_extension("db-wal");
    if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        let connection = open_with(path, read, Some(c"unix-none"))?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        readable(connection)
    } else {
        open_unchanging(path)
    }
}

/// For a look at another program's database: takes no lock and makes no file beside it. What is in its log is not seen.
pub(crate) fn open_unchanging(path: &Path) -> Result<Connection, StoreError> {
    let immutable = format!("file:{}?immutable=1", percent_encoded(path));
    readable(open(Path::new(&immutable), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?)
}

/// For our own copy of another program's database, with the log that was beside it.
pub(crate) fn open_copy(path: &Path) -> Result<Connection, StoreError> {
    readable(open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?)
}

/// Only the first statement opens the log.
fn readable(connection: Connection) -> Result<Connection, StoreError> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.busy_timeout(HOOK_PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn percent_encoded(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    bytes
        .map(|&byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// For a schema that is only looked at.
pub(crate) fn open_in_memory() -> Result<Connection, StoreError> {
    Ok(Connection::open_in_memory()?)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    open_with(path, flags, None)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
fn open_with(path: &Path, flags: OpenFlags, system: Option<&CStr>) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match system {
        Some(system) => Connection::open_with_flags_and_vfs(path, flags, system),
        None => Connection::open_with_flags(path, flags),
    };
    let connection = opened.map_err(StoreError::in_database(path))?;
    // Otherwise a statement that is used again with other values is compiled again, in case another plan fits them better.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_waits_for_the_disk_only_if_it_is_asked_to() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("remora.db");
        drop(open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE).unwrap());
        let level = |sync| {
            let connection = open_for_hook(&path, sync).unwrap();
            connection.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0)).unwrap()
        };
        let (normal, full) = (1, 2);
        assert_eq!(level(Sync::Full), full);
        // A SQLite built without our flags waits at every event as well.
        assert!([normal, full].contains(&level(Sync::Normal)));
    }
}
