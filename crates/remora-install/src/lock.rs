//! Serializes installing and uninstalling, which read and write the receipt and the same files of hosts.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use remora_sys::lock;

const NAME: &str = "install.lock";
/// Writing all hosts takes well under a second. After this, the other process hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Proof that no other process installs or uninstalls now. The kernel releases it with the process.
#[derive(Debug)]
pub struct Lock {
    /// `None` without a data directory: there is no receipt to protect then.
    _file: Option<File>,
}

impl Lock {
    /// Waits for the lock. [`io::ErrorKind::WouldBlock`] if another process keeps it.
    pub fn take(data_dir: &Path) -> io::Result<Self> {
        if !data_dir.is_dir() {
            return Ok(Self { _file: None });
        }
        let file = lock::open(&data_dir.join(NAME))?;
        match lock::take_before(&file, Instant::now() + PATIENCE) {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::Error(error)) => Err(error),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}
