use std::io;
use std::path::PathBuf;

use remora_core::ids::SessionId;
use remora_data::DataError;
use thiserror::Error;

/// How old a database's schema is, compared to this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaAge {
    /// `Store::open` can migrate it.
    Older,
    /// Too old to migrate, or of a build that was never released.
    TooOld,
    Newer,
}

#[derive(Debug, Error)]
pub enum StoreError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("the database is busy: another process holds it")]
    Busy,
    /// The path is empty if the error comes from SQLite alone; see [`StoreError::about`].
    #[error("the database {}is damaged: {reason}", if path.as_os_str().is_empty() { String::new() } else { format!("{} ", path.display()) })]
    Damaged { path: PathBuf, reason: String },
    #[error("there is no database at {}", path.display())]
    NoDatabase { path: PathBuf },
    #[error("{} is in the data directory, where only Remora names the files", path.display())]
    InDataDir { path: PathBuf },
    #[error("the disk is full or cannot be written, so {} can only be read", path.display())]
    ReadOnly { path: PathBuf },
    #[error("the database has schema {found}, this program knows {known}")]
    Schema { age: SchemaAge, found: i64, known: i64 },
    #[error("the database {} has schema {found}, which this program cannot bring up to date", path.display())]
    TooOld { path: PathBuf, found: i64 },
    #[error("the database {} was replaced by an older one, and may hold what was forgotten since", path.display())]
    HoldsForgotten { path: PathBuf },
    #[error("{} is not a database of claude-mem", path.display())]
    NotClaudeMem { path: PathBuf },
    #[error("the session {0} is no longer known")]
    UnknownSession(SessionId),
    #[error("the claim on this batch was lost to another process")]
    ClaimLost,
    #[error("it was forgotten, and only a person can bring it back")]
    Forgotten,
    #[error("the store is closed: the daemon is ending")]
    Closed,
    #[error("database: {0}")]
    Sqlite(rusqlite::Error),
    #[error("a stored record cannot be read: {0}")]
    Record(#[from] serde_json::Error),
}

impl StoreError {
    /// Whether it is temporary, and not caused by the record to be stored.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::Data(DataError::DiskFull) | Self::ReadOnly { .. } | Self::Closed)
    }

    /// Whether the content of the database causes it. SQLite does not call all damage so: a value may have another type, or
    /// the text of the schema may have changed.
    pub fn is_about_content(&self) -> bool {
        use rusqlite::ErrorCode::{ConstraintViolation, InternalMalfunction, TooBig, TypeMismatch, Unknown};
        match self {
            Self::Damaged { .. } | Self::TooOld { .. } | Self::Record(_) => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                None | Some(ConstraintViolation | InternalMalfunction | TooBig | TypeMismatch | Unknown)
            ),
            _ => false,
        }
    }

    /// Whether the disk cannot be written. The database may still be readable.
    pub(crate) fn is_about_disk(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, ReadOnly, SystemIoFailure};
        match self {
            Self::Data(DataError::DiskFull) => true,
            Self::Data(DataError::File { source, .. }) => source.kind() == io::ErrorKind::ReadOnlyFilesystem,
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly | SystemIoFailure))
            }
            _ => false,
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| DataError::file(path)(source).into()
    }

    /// Names the damaged file.
    #[must_use]
    pub fn about(self, path: impl Into<PathBuf>) -> Self {
        match self {
            Self::Damaged { reason, .. } => Self::Damaged { path: path.into(), reason },
            other => other,
        }
    }

    /// Converts an SQLite error, and adds the path of the database if it is damaged.
    pub(crate) fn in_database(path: impl Into<PathBuf>) -> impl FnOnce(rusqlite::Error) -> Self {
        let path = path.into();
        move |error| Self::from(error).about(path)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(DatabaseCorrupt | NotADatabase) => {
                Self::Damaged { path: PathBuf::new(), reason: error.to_string() }
            }
            Some(DiskFull) => Self::Data(DataError::DiskFull),
            // The schema version was checked before, so the table existed once.
            _ if error.to_string().starts_with("no such table") => {
                Self::Damaged { path: PathBuf::new(), reason: error.to_string() }
            }
            _ => Self::Sqlite(error),
        }
    }
}
