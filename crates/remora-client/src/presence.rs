//! The identity of the running daemon. The kernel lock on `daemon.lock` decides: it ends with the process that holds
//! it, even if that is killed. `daemon.json` only describes the holder.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use remora_core::time::Time;
use remora_net::Health;
use remora_store::DataDir;
use remora_sys::{file, lock};
use serde::{Deserialize, Serialize};

/// How long [`DaemonLock::take`] tries to get the lock. [`find`] holds it for a moment, which must not stop a daemon.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

const LOCK: &str = "daemon.lock";

/// The content of `daemon.json`, written by the running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    pub pid: u32,
    pub version: String,
    pub started_at: Time,
    /// Its HTTP port; `None` if it does not serve HTTP.
    #[serde(default)]
    pub port: Option<u16>,
    /// Health of the model; `None` if no model is in use.
    #[serde(default)]
    pub observer: Option<Health>,
    /// Health of the embedder; `None` if no embedder over the network is in use.
    #[serde(default)]
    pub embedder: Option<Health>,
}

/// Proof that this process is the only daemon of a data directory.
#[derive(Debug)]
pub struct DaemonLock {
    dir: DataDir,
    started_at: Time,
    lock: File,
}

impl DaemonLock {
    /// `None` if another process is the daemon.
    pub fn take(dir: &DataDir) -> io::Result<Option<Self>> {
        take_lock(dir, LOCK_TIMEOUT)?.map(|lock| Self::with(dir, lock)).transpose()
    }

    /// Same as [`DaemonLock::take`], in a process that may have inherited the lock as this open file, from
    /// [`launch`](crate::launch::start).
    pub fn inherit(dir: &DataDir, file: File) -> io::Result<Option<Self>> {
        if is_lock(dir, &file) && file.try_lock().is_ok() {
            return Self::with(dir, file).map(Some);
        }
        drop(file);
        Self::take(dir)
    }

    fn with(dir: &DataDir, lock: File) -> io::Result<Self> {
        let hold = Self { dir: dir.clone(), started_at: dir.now(), lock };
        hold.publish(None, None, None)?;
        Ok(hold)
    }

    /// Keeps the lock until this process has ended: who waits for a daemon to end waits for the lock.
    pub fn keep_until_exit(&self) {
        static KEPT: OnceLock<File> = OnceLock::new();
        if let Ok(lock) = self.lock.try_clone() {
            let _ = KEPT.set(lock);
        }
    }

    pub fn started_at(&self) -> Time {
        self.started_at
    }

    /// Whether the lock is still the one that others see. It is not if the data directory was deleted. A new file cannot
    /// be mistaken for it, because the old inode is in use as long as it is open.
    pub fn is_in_place(&self) -> bool {
        is_lock(&self.dir, &self.lock)
    }

    /// Writes `daemon.json` atomically: process, port, version, and the health of observer and embedder.
    pub fn publish(
        &self,
        port: Option<u16>,
        observer: Option<Health>,
        embedder: Option<Health>,
    ) -> io::Result<()> {
        let presence = Presence {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            port,
            observer,
            embedder,
        };
        file::replace_transient(&card(&self.dir), &serde_json::to_vec(&presence)?)
    }
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        // The next daemon writes its own. A file that is left over counts for nothing without the lock.
        let _ = fs::remove_file(card(&self.dir));
    }
}

/// Takes the daemon's lock. `None` if a daemon runs or is starting, or others look for one all the time.
pub(crate) fn take_lock(dir: &DataDir, timeout: Duration) -> io::Result<Option<File>> {
    match lock::take(&lock_file(dir), timeout) {
        Ok(lock) => {
            // It describes a daemon that was killed.
            let _ = fs::remove_file(card(dir));
            Ok(Some(lock))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether this is the file of the daemon's lock.
fn is_lock(dir: &DataDir, file: &File) -> bool {
    let inode = |file: &fs::Metadata| (file.dev(), file.ino());
    let there = fs::metadata(lock_file(dir)).ok();
    file.metadata().is_ok_and(|own| there.is_some_and(|there| inode(&own) == inode(&there)))
}

/// The daemon of this data directory, if one runs or is starting.
pub fn find(dir: &DataDir) -> io::Result<Option<Presence>> {
    if !dir.path().join(LOCK).exists() {
        return Ok(None);
    }
    match lock::open(&lock_file(dir))?.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => {
            let text = file::read_small(&card(dir)).unwrap_or_default();
            // The daemon has the lock but has not written `daemon.json` yet.
            let newcomer = Presence {
                pid: 0,
                version: String::new(),
                started_at: dir.now(),
                port: None,
                observer: None,
                embedder: None,
            };
            Ok(Some(serde_json::from_str(&text).unwrap_or(newcomer)))
        }
    }
}

fn lock_file(dir: &DataDir) -> PathBuf {
    dir.path().join(LOCK)
}

fn card(dir: &DataDir) -> PathBuf {
    dir.path().join("daemon.json")
}
