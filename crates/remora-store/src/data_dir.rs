//! Where everything lives: one directory that belongs to the user alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    path: PathBuf,
}

impl DataDir {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join("remora.db")
    }

    pub fn backups(&self) -> PathBuf {
        self.path.join("backups")
    }

    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Held while `config.toml` is read, changed and replaced.
    pub(crate) fn config_lock(&self) -> PathBuf {
        self.path.join("config.lock")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("remora.log")
    }

    /// What a client of the daemon shows to be let in.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// The certificate that Obsidian is held to.
    pub fn obsidian_certificate(&self) -> PathBuf {
        self.path.join("obsidian-certificate")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.path.join("spool.jsonl")
    }

    /// Held by the process that takes the spool in.
    pub(crate) fn spool_lock(&self) -> PathBuf {
        self.path.join("spool.lock")
    }

    pub(crate) fn pause(&self) -> PathBuf {
        self.path.join("paused.json")
    }

    pub(crate) fn private_turns(&self) -> PathBuf {
        self.path.join("private-turns")
    }

    /// Held while context files are changed.
    pub(crate) fn context_files_lock(&self) -> PathBuf {
        self.path.join("context-files.lock")
    }

    /// Held while the database file is created or migrated.
    pub(crate) fn schema_lock(&self) -> PathBuf {
        self.path.join("schema.lock")
    }

    /// Makes the directory if it is missing, for the user alone.
    pub fn create(&self) -> Result<(), StoreError> {
        create_private_dir(&self.path)
            .map_err(|error| StoreError::DataDir { path: self.path.clone(), reason: error.to_string() })?;
        match network_file_system(&self.path) {
            Some(kind) => Err(StoreError::NetworkFileSystem { path: self.path.clone(), kind }),
            None => Ok(()),
        }
    }

    /// Takes away what others may do to files of ours, as after a careless copy.
    pub fn tighten(&self) -> io::Result<()> {
        tighten(&self.path, 0o700)?;
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let tightened = entry.file_type().and_then(|kind| match kind {
                kind if kind.is_file() => tighten(&entry.path(), 0o600),
                kind if kind.is_dir() => tighten(&entry.path(), 0o700),
                _ => Ok(()),
            });
            match tightened {
                // Other processes replace files and take the spool in.
                Err(error) if is_absent(&error) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

fn tighten(path: &Path, most: u32) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.mode() & 0o777;
    if mode & !most == 0 {
        Ok(())
    } else {
        fs::set_permissions(path, fs::Permissions::from_mode(mode & most))
    }
}

pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether an error means that there is nothing at a path, which for a file of ours is an answer.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Options to open a file that only the user can read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Opens the file behind a kernel lock; the lock ends with the process, however it ends.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    private_file().create(true).truncate(false).write(true).open(path)
}

#[cfg(target_os = "linux")]
fn network_file_system(path: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(path).ok()?.f_type & 0xFFFF_FFFF;
    match magic {
        0x6969 => Some("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("SMB"),
        0x5346_414F => Some("AFS"),
        0x00C3_6400 => Some("Ceph"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn network_file_system(_path: &Path) -> Option<&'static str> {
    None
}
