//! The files of a database, to detect that they were removed or replaced under a process that has them open.
//!
//! Such a process still sees the old files, while others see the new ones. Its writes would be lost. And without the
//! log's index, which holds the locks, two processes could write at once.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use remora_data::DataDir;

/// The inodes of the files. `None` if absent or, for the database, empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    pub database: Option<u64>,
    pub log: Option<u64>,
    pub index: Option<u64>,
}

impl Files {
    pub fn of(dir: &DataDir) -> Self {
        let path = dir.database();
        let inode =
            |extension: &str| fs::metadata(path.with_extension(extension)).ok().map(|file| file.ino());
        let database = fs::metadata(&path).ok().filter(|file| file.len() > 0).map(|file| file.ino());
        Self { database, log: inode("db-wal"), index: inode("db-shm") }
    }

    /// Whether these are still the current files. Files that were absent are ignored.
    pub fn are_those_of(self, dir: &DataDir) -> bool {
        let now = Self::of(dir);
        let same = |then: Option<u64>, now: Option<u64>| then.is_none() || then == now;
        now.database.is_some()
            && same(self.database, now.database)
            && same(self.log, now.log)
            && same(self.index, now.index)
    }
}
