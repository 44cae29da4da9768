//! Files that belong to the user: private, and replaced atomically.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};

pub use crate::file_system::{
    CAN_ALLOCATE, allocate, doubtful_file_system, network_file_system, path_through,
};
pub use crate::growing_file::{Lines, read_lines, read_next_lines};
pub use crate::small_file::{open_regular, open_to_append, read_small};

/// Whether an error means that nothing exists at a path, which callers treat as an empty result.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path without links, if it exists.
pub fn real_path(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Options to open a file that only the user can read.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates a directory and its parents, accessible only to the user.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The path with a suffix behind its whole name: `remora.db` and `-wal` give `remora.db-wal`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Bytes available on the disk of a directory.
pub fn free_space(directory: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Replaces a private file atomically: readers see either the old or the new file, never a mix. After this returns,
/// the new file survives a power cut. Processes that may replace the same file at the same time need a lock.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    through_new_file(path, |file| {
        file.write_all(contents)?;
        file.sync_all()
    })?;
    match path.parent() {
        Some(directory) if directory != Path::new("") => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

/// Atomically replaces a file of another program. The new file gets the mode and the owner of the old one; if that is
/// not allowed, nothing is replaced.
pub fn replace_keeping(path: &Path, contents: &[u8]) -> io::Result<()> {
    let old = fs::metadata(path)?;
    through_new_file(path, |file| {
        file.write_all(contents)?;
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(&*file, Some(old.uid()), Some(old.gid())).map_err(|error| {
                let (user, group) = (old.uid(), old.gid());
                let reason =
                    format!("it belongs to user {user} and group {group}, which cannot be kept: {error}");
                io::Error::new(error.kind(), reason)
            })?;
        }
        // After the owner, because a change of owner clears some bits.
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        file.sync_all()
    })
}

/// Atomically replaces a file with a copy of another one, which keeps its mode. A process that runs the old file is not
/// affected.
pub fn replace_with_copy(path: &Path, original: &Path) -> io::Result<()> {
    through_new_file(path, |file| {
        let mut original = File::open(original)?;
        io::copy(&mut original, file)?;
        file.set_permissions(original.metadata()?.permissions())?;
        file.sync_all()
    })
}

/// Like [`replace`], without waiting for the disk: for files that are meaningless after a reboot.
pub fn replace_transient(path: &Path, contents: &[u8]) -> io::Result<()> {
    through_new_file(path, |file| file.write_all(contents))
}

fn through_new_file(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let new = beside(path);
    // A killed process may have left one behind, with any mode. A newly created file is private from its first byte.
    match fs::remove_file(&new) {
        Err(error) if !is_absent(&error) => return Err(error),
        _ => {}
    }
    let mut file = private_file().create_new(true).write(true).open(&new)?;
    let replaced = fill(&mut file).and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// `config.toml.new` for `config.toml`: in the same directory, because a rename works only within one file system.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".new");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_replaced_file_is_whole_and_private_and_leaves_nothing_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config.toml");
        fs::write(&path, "a longer text than the next").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        for way in [replace, replace_transient] {
            way(&path, b"new").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
            assert_eq!(mode(&path), 0o600);
            assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn leftovers_of_a_killed_process_are_neither_kept_nor_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (temp.path().join("token"), temp.path().join("elsewhere"));
        fs::write(&elsewhere, "theirs").unwrap();
        symlink(&elsewhere, temp.path().join("token.new")).unwrap();
        replace(&path, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert!(!path.is_symlink());
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_file_and_nothing_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state");
        fs::create_dir(&path).unwrap();
        replace(&path, b"new").unwrap_err();
        assert!(path.is_dir());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
