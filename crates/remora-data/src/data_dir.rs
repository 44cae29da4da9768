//! The paths of all files: one directory that only the user can access.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use remora_core::time::Time;
use remora_sys::file::{create_private_dir, is_absent, network_file_system};
use remora_sys::lock;

use crate::{Clock, DataError, log};

/// Longest wait for another process. A backup or a migration of a large database takes a minute or two, so a process that
/// holds a lock for longer hangs.
const LOCK_TIMEOUT: Duration = Duration::from_mins(5);

/// A data directory, and the clock of the process that uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    path: PathBuf,
    clock: Clock,
}

impl DataDir {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), clock: Clock::System }
    }

    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The time for whatever is written into this directory.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join("remora.db")
    }

    /// The size of the database, including its log.
    pub fn database_bytes(&self) -> u64 {
        let size =
            |ending: &str| fs::metadata(self.database().with_extension(ending)).map_or(0, |file| file.len());
        size("db") + size("db-wal") + size("db-shm")
    }

    pub fn backups(&self) -> PathBuf {
        self.path.join("backups")
    }

    /// Held while a backup is written, or while none may be.
    pub fn lock_backups(&self) -> Result<File, DataError> {
        locked(self.path.join("backup.lock"))
    }

    /// The result of the daemon's last check of the database.
    pub fn last_check(&self) -> PathBuf {
        self.path.join("check.json")
    }

    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Held while `config.toml` is read, changed and replaced.
    pub fn config_lock(&self) -> PathBuf {
        self.path.join("config.lock")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("remora.log")
    }

    /// What the daemon does, for `remora logs --level debug`.
    pub fn debug_log(&self) -> PathBuf {
        self.path.join("remora.debug.log")
    }

    /// The logs, each with its older file.
    pub fn all_logs(&self) -> [PathBuf; 4] {
        let [log, debug] = [self.log(), self.debug_log()];
        let [older_log, older_debug] = [log::older(&log), log::older(&debug)];
        [log, older_log, debug, older_debug]
    }

    /// The token that clients of the daemon authenticate with.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// The browsers that are signed in to the pages, a file each.
    pub fn browsers(&self) -> PathBuf {
        self.path.join("browsers")
    }

    /// The page that leads a browser to the pages. It has a one-time link, and is deleted when the link is used.
    pub fn entrance(&self) -> PathBuf {
        self.path.join("open.html")
    }

    /// The pinned certificate of Obsidian.
    pub fn obsidian_certificate(&self) -> PathBuf {
        self.path.join("obsidian-certificate")
    }

    pub fn spool(&self) -> PathBuf {
        self.path.join("spool.jsonl")
    }

    /// When the user last acknowledged lost events.
    pub fn acknowledged(&self) -> PathBuf {
        self.path.join("acknowledged")
    }

    /// Reserved disk space that the spool uses if the disk is full.
    pub fn spool_reserve(&self) -> PathBuf {
        self.path.join("spool.reserve")
    }

    /// Held by the process that imports the spool.
    pub fn spool_lock(&self) -> PathBuf {
        self.path.join("spool.lock")
    }

    pub fn pause(&self) -> PathBuf {
        self.path.join("paused.json")
    }

    /// Placeholder for records without a directory, such as a chat. It does not exist.
    pub fn personal(&self) -> PathBuf {
        self.path.join("personal")
    }

    /// Placeholder for a project that was imported by name alone. It does not exist, so no session ever belongs to it
    /// by its directory.
    pub fn imported(&self, name: &str) -> PathBuf {
        let name = name.replace('/', "-");
        let name = name.trim_start_matches('.');
        self.path.join("imported").join(if name.is_empty() { "unnamed" } else { name })
    }

    /// Whether a path is such a placeholder.
    pub fn is_placeholder(&self, path: &Path) -> bool {
        path == self.personal() || path.starts_with(self.path.join("imported"))
    }

    /// Held by the process that runs an import.
    pub fn import_lock(&self) -> PathBuf {
        self.path.join("import.lock")
    }

    pub fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    pub fn scratch_lock(&self) -> PathBuf {
        self.path.join("scratch.lock")
    }

    pub fn private_turns(&self) -> PathBuf {
        self.path.join("private-turns")
    }

    /// Keyed hashes of what was forgotten.
    pub fn forgotten(&self) -> PathBuf {
        self.path.join("forgotten")
    }

    /// Held while context files are changed.
    pub fn lock_context_files(&self) -> Result<File, DataError> {
        locked(self.path.join("context-files.lock"))
    }

    /// Held while the database file is created, migrated or replaced, and while tombstones change. Hooks wait for it
    /// before they create a missing database.
    pub fn lock_schema(&self) -> Result<File, DataError> {
        locked(self.path.join("schema.lock"))
    }

    /// Creates the directory if it is missing, for the user alone.
    pub fn create(&self) -> Result<(), DataError> {
        create_private_dir(&self.path)
            .map_err(|error| DataError::Unusable { path: self.path.clone(), reason: error.to_string() })?;
        let metadata = fs::metadata(&self.path).map_err(DataError::file(&self.path))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(DataError::ForeignDirectory { path: self.path.clone() });
        }
        if metadata.mode() & 0o002 != 0 {
            return Err(DataError::OpenDirectory { path: self.path.clone() });
        }
        match network_file_system(&self.path) {
            Some(kind) => Err(DataError::NetworkFileSystem { path: self.path.clone(), kind }),
            None => Ok(()),
        }
    }

    /// Removes access of other users to our files, for example after a careless copy.
    pub fn tighten(&self) -> io::Result<()> {
        tighten(&self.path, 0o700)?;
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let tightened = entry.file_type().and_then(|kind| match kind {
                kind if kind.is_file() => tighten(&entry.path(), 0o600),
                kind if kind.is_dir() => tighten(&entry.path(), 0o700),
                _ => Ok(()),
            });
            match tightened {
                // Other processes replace files and import the spool meanwhile.
                Err(error) if is_absent(&error) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

fn locked(path: PathBuf) -> Result<File, DataError> {
    lock::take(&path, LOCK_TIMEOUT).map_err(DataError::file(path))
}

fn tighten(path: &Path, most: u32) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.mode() & 0o777;
    if mode & !most == 0 {
        Ok(())
    } else {
        fs::set_permissions(path, fs::Permissions::from_mode(mode & most))
    }
}
