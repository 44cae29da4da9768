//! Files below a directory, opened step by step. No symbolic link on the way is followed.
//!
//! Every step starts at an open folder, so no other process can swap in a link between a check and a write.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Size limit for a file. Files written for agents are far smaller.
const MAX_FILE_BYTES: i64 = 4 << 20;
/// Temporary name of a new file, before it is renamed into place.
const UNFINISHED: &str = ".remora-context.new";

/// Why a file or folder is left alone.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("it is not there")]
    Missing,
    #[error("it is a symbolic link, or below one")]
    Link,
    #[error("it is not inside the project")]
    Outside,
    #[error("nothing is written into `{0}`")]
    Forbidden(&'static str),
    #[error("it is in another repository")]
    OtherRepository,
    #[error("git ignores it")]
    Ignored,
    #[error("it is not a folder")]
    NotAFolder,
    #[error("it is not a file")]
    NotAFile,
    #[error("the file has several names (hard links)")]
    SeveralNames,
    #[error("the file belongs to another user")]
    NotYours,
    #[error("the file is read-only")]
    ReadOnly,
    #[error("the file is not UTF-8 text")]
    NotText,
    #[error("the file is larger than 4 MiB")]
    TooLarge,
    #[error("the file changed at the same moment")]
    Changed,
    #[error("the home directory and `/` are not projects: context files are for one repository")]
    NotAProject,
    #[error("it is a git directory without working files")]
    NoWorkingFiles,
    #[error(transparent)]
    OddMarks(#[from] crate::section::OddMarks),
    #[error("{0}")]
    Failed(io::Error),
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::LOOP | Errno::MLINK => Self::Link,
            Errno::NOTDIR => Self::NotAFolder,
            other => Self::Failed(other.into()),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// A file's text, with its metadata at the time it was read.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    stat: Stat,
}

const OPEN_FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a folder. Fails if any component of the path is a link.
    pub(crate) fn open(path: &Path) -> Result<Self, Refusal> {
        let real = fs::canonicalize(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Refusal::Missing,
            _ => Refusal::Failed(error),
        })?;
        if real != path {
            return Err(Refusal::Link);
        }
        Ok(Self(rustix::fs::open(path, OPEN_FOLDER, Mode::empty())?))
    }

    /// Opens the folder at `relative`. `look` can refuse any folder on the way.
    pub(crate) fn walk(
        &self,
        relative: &Path,
        look: impl Fn(&Self) -> Result<(), Refusal>,
    ) -> Result<Self, Refusal> {
        let mut here = Self(rustix::fs::openat(&self.0, ".", OPEN_FOLDER, Mode::empty())?);
        for component in relative.components() {
            let Component::Normal(name) = component else { return Err(Refusal::Outside) };
            here = here.child(name)?;
            look(&here)?;
        }
        Ok(here)
    }

    fn child(&self, name: &OsStr) -> Result<Self, Refusal> {
        match rustix::fs::openat(&self.0, name, OPEN_FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Self(folder)),
            // Linux reports a link as NOTDIR here.
            Err(Errno::NOTDIR) if self.is_link(name) => Err(Refusal::Link),
            Err(error) => Err(error.into()),
        }
    }

    fn is_link(&self, name: &OsStr) -> bool {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (rustix::fs::fstat(&self.0), rustix::fs::fstat(&other.0)) {
            (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
            _ => false,
        }
    }

    /// Creates a folder in this one. `false` if it already exists.
    pub(crate) fn make(&self, name: &str) -> Result<bool, Refusal> {
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder in this one if it is empty.
    pub(crate) fn remove_empty(&self, name: &str) -> Result<(), Refusal> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a text file. `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Text>, Refusal> {
        // Opening a pipe must not wait for the process at its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Refusal::NotAFile);
        }
        if stat.st_size > MAX_FILE_BYTES {
            return Err(Refusal::TooLarge);
        }
        let mut bytes = Vec::new();
        File::from(file).take(MAX_FILE_BYTES.unsigned_abs()).read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| Refusal::NotText)?;
        Ok(Some(Text { text, stat }))
    }

    /// Refuses read-only, hard-linked and foreign files. A rename would replace them without asking, so they are
    /// checked here.
    pub(crate) fn may_replace(old: &Text) -> Result<(), Refusal> {
        if old.stat.st_mode & 0o222 == 0 {
            return Err(Refusal::ReadOnly);
        }
        if old.stat.st_nlink > 1 {
            return Err(Refusal::SeveralNames);
        }
        if old.stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Refusal::NotYours);
        }
        Ok(())
    }

    /// Replaces a file atomically. `remora_sys::file::replace` is not enough for files of a repository: a folder on
    /// the way may be swapped for a link, the old mode must stay, and a change made since the file was read must win.
    pub(crate) fn write(&self, name: &str, text: &str, old: Option<&Text>) -> Result<(), Refusal> {
        if let Some(old) = old {
            Self::may_replace(old)?;
        }
        // Left over from a killed process.
        self.unlink(UNFINISHED)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, UNFINISHED, flags, Mode::from_raw_mode(0o666))?;
        let written = Self::fill(file, text, old).and_then(|()| {
            self.is_unchanged(name, old)?;
            Ok(rustix::fs::renameat(&self.0, UNFINISHED, &self.0, name)?)
        });
        if written.is_err() {
            self.unlink(UNFINISHED)?;
        }
        written
    }

    fn fill(file: OwnedFd, text: &str, old: Option<&Text>) -> Result<(), Refusal> {
        if let Some(old) = old {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.stat.st_mode & 0o7777))?;
        }
        let mut file = File::from(file);
        file.write_all(text.as_bytes())?;
        Ok(file.sync_all()?)
    }

    /// Fails if the file was saved by another program since it was read: that version wins.
    fn is_unchanged(&self, name: &str, old: Option<&Text>) -> Result<(), Refusal> {
        let now = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        let same = match (now, old) {
            (Err(Errno::NOENT), None) => true,
            (Ok(now), Some(old)) => version(&now) == version(&old.stat),
            (Err(error), _) if error != Errno::NOENT => return Err(error.into()),
            _ => false,
        };
        if same { Ok(()) } else { Err(Refusal::Changed) }
    }

    pub(crate) fn remove(&self, name: &str, old: &Text) -> Result<(), Refusal> {
        Self::may_replace(old)?;
        self.is_unchanged(name, Some(old))?;
        self.unlink(name)
    }

    fn unlink(&self, name: &str) -> Result<(), Refusal> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn version(stat: &Stat) -> (u64, i64, i64, i64) {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    (stat.st_ino, stat.st_size, stat.st_mtime, nanoseconds)
}
