//! Changes to a file since an observation about it.

use std::fmt;

/// Why an observation may be outdated: the file that it is mostly about has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSince {
    /// Several later turns modified it. `by` is the newest observation of those turns.
    Changed { by: i64 },
    /// It is no longer in the project's directory.
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
