//! What became of a file since something was learned about it.

use std::fmt;

/// What an observation says may no longer be true, because the file it is mostly about is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSince {
    /// Several later turns modified it. The newest observation of those is named, because it knows better.
    Changed { by: i64 },
    /// It is not in the project's directory any more.
    Gone,
}

impl fmt::Display for FileSince {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { by } => write!(f, "file changed since, see #{by}"),
            Self::Gone => f.write_str("file is gone"),
        }
    }
}
