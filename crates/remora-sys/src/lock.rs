//! Kernel locks on files. They end with the process that holds them, even if it is killed, so no lock is ever stale.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::file::private_file;

/// Pause between two attempts. Holders keep a lock for microseconds to milliseconds.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);

/// Opens the file for a lock, and creates it if it is missing. Its contents have no meaning.
pub fn open(path: &Path) -> io::Result<File> {
    private_file().create(true).truncate(false).write(true).open(path)
}

/// Takes the exclusive lock on a file; [`TryLockError::WouldBlock`] if it is not free before the deadline.
pub fn take_before(file: &File, deadline: Instant) -> Result<(), TryLockError> {
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(BETWEEN_ATTEMPTS),
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once_it_is_free_and_not_waited_for_beyond_the_deadline() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let (held, waiting) = (open(&path).unwrap(), open(&path).unwrap());
        take_before(&held, Instant::now()).unwrap();
        assert!(matches!(take_before(&waiting, Instant::now()), Err(TryLockError::WouldBlock)));
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(matches!(take_before(&waiting, soon), Err(TryLockError::WouldBlock)));
        let waiter = thread::spawn(move || take_before(&waiting, Instant::now() + Duration::from_mins(5)));
        drop(held);
        waiter.join().unwrap().unwrap();
    }
}
