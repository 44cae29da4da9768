//! Kernel locks on files. They end with the process that holds them, even if it is killed, so no lock is ever stale.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::file::private_file;
use crate::small_file::regular_length;

/// Pauses between two attempts. Most holders keep a lock for microseconds to milliseconds, some for seconds.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const MAX_PAUSE: Duration = Duration::from_millis(32);

/// Opens the file for a lock, and creates it if it is missing. Its contents have no meaning. Anything but a regular
/// file is an error and never blocks.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = private_file().create(true).truncate(false).write(true).custom_flags(flags).open(path)?;
    regular_length(&file)?;
    Ok(file)
}

/// Takes the exclusive lock on a file, which is held until the result is dropped. Fails with
/// [`io::ErrorKind::WouldBlock`] if another process keeps it for longer than `timeout`.
pub fn take(path: &Path, timeout: Duration) -> io::Result<File> {
    let file = open(path)?;
    let deadline = Instant::now() + timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let reason = format!("another process has held this lock for {} s", timeout.as_secs());
            return Err(io::Error::new(io::ErrorKind::WouldBlock, reason));
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_lock_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("lock");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        take(&pipe, Duration::ZERO).unwrap_err();
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert_eq!(take(&pipe, Duration::ZERO).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_lock_is_taken_once_it_is_free_and_not_waited_for_beyond_the_deadline() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let held = take(&path, Duration::ZERO).unwrap();
        for timeout in [Duration::ZERO, Duration::from_millis(5)] {
            assert_eq!(take(&path, timeout).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        let waiter = thread::spawn(move || take(&path, Duration::from_mins(5)));
        drop(held);
        waiter.join().unwrap().unwrap();
    }
}
