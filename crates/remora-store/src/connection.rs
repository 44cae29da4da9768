//! Opens all connections; nothing else may.

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

/// How long a hook waits for the database in total before it uses the spool.
pub(crate) const HOOK_BUSY_TIMEOUT: Duration = HOOK_LIMIT.saturating_sub(Duration::from_millis(50));
const OWNER_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Above this size a hook empties the log, because the first process to open the database reads all of it.
pub(crate) const MAX_WAL_BYTES: u64 = 100 * 4096;
/// Automatic checkpoint threshold in pages, for long-lived processes.
const OWNER_WAL_PAGES: u32 = 250;
/// The same for the daemon. If it is killed, the next hook reads 8 MB once.
pub(crate) const LONG_WAL_PAGES: u32 = 2000;

/// Bytes of the file that a process may map.
pub(crate) const MAX_MAPPED_BYTES: i64 = 1 << 30;

/// Page cache of a long-lived process. Mapping the file would be faster, but then every page ever touched would count
/// as the daemon's memory.
const CACHE_KIB: i64 = 16 << 10;
const MAX_CACHE_KIB: i64 = 96 << 10;

/// For a hook: an existing database, a short timeout, no work on closing. No statement runs here: the first one reads
/// the whole schema, and that belongs in the hook's only transaction.
pub(crate) fn open_for_hook(path: &Path, sync: Sync) -> Result<Connection, StoreError> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_handler(Some(wait_a_little))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // NORMAL is the default of our SQLite build. A build without our flags is slower and just as safe.
    if sync == Sync::Full {
        connection.pragma_update(None, "synchronous", "FULL")?;
    }
    Ok(connection)
}

/// Busy handler: retries after one or two milliseconds, so that many concurrent hooks take turns without long pauses.
fn wait_a_little(attempts: i32) -> bool {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = FIRST.get_or_init(Instant::now);
    if first.elapsed() >= HOOK_BUSY_TIMEOUT {
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
    connection.busy_timeout(OWNER_BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The default of our SQLite build; set for builds without our flags.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", OWNER_WAL_PAGES)?;
    // A search reads pages all over the file, and the next one reads mostly the same.
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // A search uses a dozen long statements, and preparing one costs as much as running it.
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Sets the cache to 1/50 of the file, within limits: most pages that a search reads are read again by the next. A
/// larger cache would be little faster, because the system caches the file, too.
pub(crate) fn widen_cache(connection: &Connection, file_kib: i64) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "cache_size", -(file_kib / 50).clamp(CACHE_KIB, MAX_CACHE_KIB))
}

/// For a database that is built under another name. The builder syncs it at the end.
pub(crate) fn open_to_build(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    Ok(connection)
}

/// For an empty file that gets the pages of another database. The builder syncs it at the end.
pub(crate) fn open_to_fill(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// For a copy of a backup from which rows are removed. It is discarded unless everything succeeds.
pub(crate) fn open_to_clean(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// For checking a file that may be damaged, be a backup, or belong to another user. Reads the log of a live database,
/// too.
pub(crate) fn open_to_verify(path: &Path) -> Result<Connection, StoreError> {
    let connection = match open(path, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(readable) {
        Err(error) if error.is_about_disk() => open_to_read(path).map_err(|_| error)?,
        other => other?,
    };
    connection.busy_timeout(OWNER_BUSY_TIMEOUT)?;
    Ok(connection)
}

/// For a database that cannot be written because its disk is full or read-only. SQLite needs a file beside it for the
/// log's index. If a process with write access is running, that file exists. If not, no locks are needed: the log is
/// read into memory or, if there is none, ignored.
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

/// For reading another program's database: takes no lock and creates no file beside it. Ignores its log.
pub(crate) fn open_unchanging(path: &Path) -> Result<Connection, StoreError> {
    let immutable = format!("file:{}?immutable=1", percent_encoded(path));
    readable(open(Path::new(&immutable), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?)
}

/// For our own copy of another program's database, with its log.
pub(crate) fn open_copy(path: &Path) -> Result<Connection, StoreError> {
    readable(open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?)
}

/// Runs a first statement, because only that opens the log.
fn readable(connection: Connection) -> Result<Connection, StoreError> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.busy_timeout(HOOK_BUSY_TIMEOUT)?;
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

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    open_with(path, flags, None)
}

#[expect(clippy::disallowed_methods, reason = "the only place that may open connections")]
fn open_with(path: &Path, flags: OpenFlags, system: Option<&CStr>) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match system {
        Some(system) => Connection::open_with_flags_and_vfs(path, flags, system),
        None => Connection::open_with_flags(path, flags),
    };
    let connection = opened.map_err(StoreError::in_database(path))?;
    // Otherwise SQLite recompiles a cached statement for new values, in case another plan suits them better.
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
        let new = open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE).unwrap();
        // Our flags set the level of databases with a write-ahead log only.
        new.pragma_update(None, "journal_mode", "WAL").unwrap();
        drop(new);
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
