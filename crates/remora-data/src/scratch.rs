//! Folders for temporary copies of memory. A folder is removed when dropped, or, if its process was killed, by the next
//! process that makes one or forgets something.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use remora_sys::file::{create_private_dir, is_absent};
use remora_sys::lock;

use crate::record::new_uuid;
use crate::{DataDir, DataError};

/// A private folder of this process below the data directory.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    /// Shared with other owners of folders. It ends with the process.
    _lock: File,
}

impl Scratch {
    pub fn new(dir: &DataDir, name: &str) -> Result<Self, DataError> {
        dir.create()?;
        remove_abandoned(dir)?;
        let path = dir.scratch_lock();
        let lock = lock::open(&path).map_err(DataError::file(&path))?;
        lock.lock_shared().map_err(DataError::file(&path))?;
        let folder = dir.scratch().join(format!("{name}-{}", new_uuid()));
        create_private_dir(&folder).map_err(DataError::file(&folder))?;
        Ok(Self { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the next process that looks removes it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the folders of processes that are gone. While any process has a folder, all of them stay.
pub fn remove_abandoned(dir: &DataDir) -> Result<(), DataError> {
    let all = dir.scratch();
    if !all.exists() {
        return Ok(());
    }
    let path = dir.scratch_lock();
    let lock = lock::open(&path).map_err(DataError::file(&path))?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    match fs::remove_dir_all(&all) {
        Err(error) if !is_absent(&error) => Err(DataError::file(all)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_stays() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let left = dir.scratch().join("left");
        let leave = || {
            fs::create_dir_all(&left).unwrap();
            fs::write(left.join("copy.db"), "memory").unwrap();
        };
        leave();
        let used = Scratch::new(&dir, "used").unwrap();
        assert!(!left.exists() && used.path().exists());
        leave();
        remove_abandoned(&dir).unwrap();
        assert!(used.path().exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
        remove_abandoned(&dir).unwrap();
        assert!(!left.exists());
    }
}
