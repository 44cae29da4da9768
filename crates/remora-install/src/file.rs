//! Reads and replaces the user's files: keeps what is needed to restore them, and replaces only files that are
//! unchanged since they were read.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use remora_sys::file::{is_absent, replace_keeping};

/// Larger files are refused. Claude Code's state file beside its settings can have several megabytes.
const MAX_BYTES: u64 = 16 << 20;

/// Byte order mark, written by some editors on Windows. It is not part of the text.
const MARK: &str = "\u{feff}";

/// Why a file is not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("it is read-only")]
    ReadOnly,
    #[error("it is a link to a file that is not there")]
    DanglingLink,
    #[error("it has a second name (a hard link), which a replaced file would lose")]
    HardLink,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it has {} MB, more than any configuration has", .0 >> 20)]
    TooLarge(u64),
    #[error("it is not UTF-8")]
    NotText,
    #[error("another program has changed it meanwhile")]
    Changed,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSnapshot {
    /// The real path, if the given one is a link.
    pub(crate) path: PathBuf,
    /// `None` if there is no file.
    pub(crate) text: Option<String>,
}

impl FileSnapshot {
    /// Reads a file before it is replaced.
    pub(crate) fn read(path: &Path) -> Result<Self, Refused> {
        let found = Self::look(path)?;
        if found.text.is_some() {
            is_replaceable(&fs::metadata(&found.path)?)?;
        }
        Ok(found)
    }

    /// Reads a file that stays as it is.
    pub(crate) fn look(path: &Path) -> Result<Self, Refused> {
        match fs::symlink_metadata(path) {
            Err(error) if is_absent(&error) => {
                return Ok(Self { path: path.to_owned(), text: None });
            }
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        // Some users keep their configuration elsewhere and link to it. The target is changed, and the link stays.
        let path = fs::canonicalize(path).map_err(|error| match error {
            error if is_absent(&error) => Refused::DanglingLink,
            error => error.into(),
        })?;
        let metadata = fs::metadata(&path)?;
        if !metadata.is_file() {
            return Err(Refused::NotAFile);
        }
        if metadata.len() > MAX_BYTES {
            return Err(Refused::TooLarge(metadata.len()));
        }
        let text = String::from_utf8(fs::read(&path)?).map_err(|_| Refused::NotText)?;
        Ok(Self { path, text: Some(text) })
    }

    /// The text without its byte order mark.
    pub(crate) fn body(&self) -> &str {
        let text = self.text.as_deref().unwrap_or_default();
        text.strip_prefix(MARK).unwrap_or(text)
    }

    /// A new body with the byte order mark of the old one.
    pub(crate) fn with_mark(&self, body: &str) -> String {
        let is_marked = self.text.as_deref().is_some_and(|text| text.starts_with(MARK));
        format!("{}{body}", if is_marked { MARK } else { "" })
    }

    /// Writes a new text, or removes the file, if it is unchanged since it was read.
    pub(crate) fn replace(&self, new: Option<&str>) -> Result<(), Refused> {
        if FileSnapshot::read(&self.path)?.text != self.text {
            return Err(Refused::Changed);
        }
        match (new, &self.text) {
            (Some(new), Some(_)) => Ok(replace_keeping(&self.path, new.as_bytes())?),
            (Some(new), None) => create(&self.path, new),
            (None, Some(_)) => Ok(fs::remove_file(&self.path)?),
            (None, None) => Ok(()),
        }
    }
}

fn create(path: &Path, text: &str) -> Result<(), Refused> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let created = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = created.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Refused::Changed,
        _ => error.into(),
    })?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}

fn is_replaceable(metadata: &Metadata) -> Result<(), Refused> {
    // A rename would replace a read-only file without asking, so the mode is checked here.
    if metadata.mode() & 0o200 == 0 {
        return Err(Refused::ReadOnly);
    }
    if metadata.nlink() > 1 {
        return Err(Refused::HardLink);
    }
    Ok(())
}

/// The folders above a path that do not exist, deepest first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}
