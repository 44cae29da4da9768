//! Serializes installing and uninstalling, which read and write the receipt and the same files of hosts.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use remora_sys::lock;

const NAME: &str = "install.lock";
/// Writing all hosts takes well under a second. After this, the other process hangs.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

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
        Ok(Self { _file: Some(lock::take(&data_dir.join(NAME), LOCK_TIMEOUT)?) })
    }
}
