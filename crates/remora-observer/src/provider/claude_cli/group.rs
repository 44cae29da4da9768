//! A group of processes that ends with this process, even if that is killed.

use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Waits until its standard input is closed, and kills the group it is in. It never reads a line.
const GUARD: &str = "read -r line; kill -s KILL 0";

/// A process group. It is killed when this value is dropped.
///
/// Its first member is a shell at the end of a pipe. If this process is killed, the system closes the pipe, and the shell
/// kills the group. No other group can have its number, because the shell is in it.
pub(super) struct Group {
    id: Pid,
    /// Holds the other end of the pipe.
    _guard: Child,
}

impl Group {
    pub(super) fn start(directory: &Path) -> io::Result<Self> {
        let guard = Command::new("/bin/sh")
            .args(["-c", GUARD])
            .env_clear()
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = guard.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { id: id.ok_or(io::ErrorKind::NotFound)?, _guard: guard })
    }

    pub(super) fn id(&self) -> i32 {
        self.id.as_raw_nonzero().get()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // If the group is already gone, there is nothing to do.
        let _ = kill_process_group(self.id, Signal::KILL);
    }
}
