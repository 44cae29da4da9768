use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The data directory, or a file in it, cannot be used.
#[derive(Debug, Error)]
pub enum DataError {
    #[error("cannot use the data directory {}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("the data directory {} belongs to another user", path.display())]
    ForeignDirectory { path: PathBuf },
    #[error("everybody can write to the data directory {}", path.display())]
    OpenDirectory { path: PathBuf },
    #[error("the data directory {} is on a network file system ({kind}), where SQLite's WAL is unsafe", path.display())]
    NetworkFileSystem { path: PathBuf, kind: &'static str },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the disk is full")]
    DiskFull,
    #[error("a stored record cannot be read: {0}")]
    Record(#[from] serde_json::Error),
}

impl DataError {
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| {
            if source.kind() == io::ErrorKind::StorageFull {
                Self::DiskFull
            } else {
                Self::File { path, source }
            }
        }
    }
}
