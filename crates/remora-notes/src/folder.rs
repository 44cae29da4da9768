//! A folder of Markdown: lists its notes and reads them. Nothing outside the folder is ever read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use remora_core::privacy::MAX_READ;
use remora_core::time::Time;
use rustix::fs::OFlags;

use crate::error::SourceError;
use crate::round::NoteFile;

/// Limits for a vault. Above them the folder is probably not one (a home directory, for example), and the rest is
/// left out.
const MAX_NOTES: usize = 50_000;
const MAX_ENTRIES: usize = 500_000;
const MAX_DEPTH: usize = 64;

/// The contents of a folder.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) notes: Vec<NoteFile>,
    /// Paths that could not be read, `""` for the whole vault. Stored notes below them are kept.
    pub(crate) unseen: Vec<String>,
    pub(crate) left_out: Vec<String>,
}

impl Listing {
    /// All notes of a source. Above the limit, the rest is left out, and nothing stored counts as gone.
    pub(crate) fn of(mut notes: Vec<NoteFile>) -> Self {
        let is_cut = notes.len() > MAX_NOTES;
        notes.truncate(MAX_NOTES);
        let mut listing = Self { notes, ..Self::default() };
        if is_cut {
            listing.leave_out_the_rest("");
        }
        listing
    }

    fn leave_out_the_rest(&mut self, inside: &str) {
        let reason = format!("{inside}: more than {MAX_NOTES} notes, or too deep; the rest is left out");
        self.left_out.push(reason);
        self.unseen.push(String::new());
    }
}

/// Lists the notes. Symlinks to folders are not followed, so the walk stays inside and has no cycles.
pub(crate) fn list(root: &Path) -> Result<Listing, SourceError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SourceError::NoFolder(root.to_owned()),
        _ => SourceError::Unreadable { folder: root.to_owned(), reason: error.to_string() },
    };
    // The root itself may be a link: the user named it.
    let real = fs::canonicalize(root).map_err(unreadable)?;
    let mut walk = Walk { listing: Listing::default(), entries: 0, real };
    let first = walk.real.clone();
    walk.folder(&first, "", 0).map_err(unreadable)?;
    walk.listing.notes.truncate(MAX_NOTES);
    Ok(walk.listing)
}

struct Walk {
    listing: Listing,
    entries: usize,
    real: PathBuf,
}

impl Walk {
    fn folder(&mut self, folder: &Path, inside: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            self.entries += 1;
            if self.entries > MAX_ENTRIES || self.listing.notes.len() > MAX_NOTES || depth > MAX_DEPTH {
                self.listing.leave_out_the_rest(inside);
                return Ok(());
            }
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.listing.left_out.push(format!("{}: its name is not UTF-8", name.display()));
                continue;
            };
            // Obsidian's own folders are hidden: `.obsidian`, `.trash`.
            if name.starts_with('.') {
                continue;
            }
            let path = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if let Err(error) = self.folder(&entry.path(), &path, depth + 1) {
                    self.listing.left_out.push(format!("{path}: {error}"));
                    self.listing.unseen.push(path);
                }
            } else if is_markdown(name) {
                self.note(&entry.path(), path, kind.is_symlink());
            }
        }
        Ok(())
    }

    fn note(&mut self, file: &Path, path: String, is_link: bool) {
        // A link to another note of the vault is a second name for it. A link to anything outside is skipped.
        if is_link && !fs::canonicalize(file).is_ok_and(|target| target.starts_with(&self.real)) {
            self.listing.left_out.push(format!("{path}: a link that leads out of the vault"));
            return;
        }
        match fs::metadata(file) {
            Ok(data) if data.is_file() => self.listing.notes.push(found(path, &data)),
            Ok(_) => {}
            Err(error) => {
                self.listing.left_out.push(format!("{path}: {error}"));
                self.listing.unseen.push(path);
            }
        }
    }
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

fn found(path: String, data: &Metadata) -> NoteFile {
    let since =
        data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let stamp = format!("{}-{}", since.as_nanos(), data.len());
    NoteFile { path, stamp, changed_at: Time(i64::try_from(since.as_millis()).unwrap_or_default()) }
}

/// Reads the beginning of a note. The resolved path is checked again, and opened without following links or blocking
/// on pipes: the file may have been replaced since it was listed.
pub(crate) fn read(root: &Path, path: &str) -> io::Result<String> {
    let real = fs::canonicalize(root)?;
    let file = fs::canonicalize(real.join(path))?;
    if !file.starts_with(&real) || !fs::metadata(&file)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it leads out of the vault"));
    }
    let mut bytes = Vec::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(file)?;
    file.take(MAX_READ as u64).read_to_end(&mut bytes)?;
    // Lossy, so that a character cut in half or another encoding does not cost the rest of the note.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn above_the_limit_no_stored_note_counts_as_gone() {
        let note =
            |number| NoteFile { path: format!("{number}.md"), stamp: String::new(), changed_at: Time(0) };
        let whole = Listing::of((0..MAX_NOTES).map(note).collect());
        assert_eq!((whole.notes.len(), whole.unseen.len(), whole.left_out.len()), (MAX_NOTES, 0, 0));
        let cut = Listing::of((0..=MAX_NOTES).map(note).collect());
        assert_eq!((cut.notes.len(), cut.left_out.len()), (MAX_NOTES, 1));
        assert_eq!(cut.unseen, [""], "the whole vault");
    }

    #[test]
    fn a_note_replaced_by_a_link_out_of_the_vault_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let vault = temp.path().join("vault");
        fs::create_dir(&vault).unwrap();
        fs::write(temp.path().join("outside.md"), "outside").unwrap();
        fs::write(vault.join("a.md"), "inside").unwrap();
        symlink("a.md", vault.join("b.md")).unwrap();
        assert_eq!(list(&vault).unwrap().notes.len(), 2);
        assert_eq!(
            (read(&vault, "a.md").unwrap(), read(&vault, "b.md").unwrap()),
            ("inside".into(), "inside".into())
        );
        fs::remove_file(vault.join("a.md")).unwrap();
        symlink("../outside.md", vault.join("a.md")).unwrap();
        for path in ["a.md", "b.md", "../outside.md", "/etc/hostname", "", "gone.md"] {
            assert!(read(&vault, path).is_err(), "{path}");
        }
        assert_eq!(list(&vault).unwrap().notes.len(), 0);
        // The folder itself may be a link.
        symlink(&vault, temp.path().join("link")).unwrap();
        fs::write(vault.join("c.MD"), "x").unwrap();
        assert_eq!(list(&temp.path().join("link")).unwrap().notes[0].path, "c.MD");
        assert!(matches!(list(&temp.path().join("none")), Err(SourceError::NoFolder(_))));
        assert!(matches!(list(&vault.join("c.MD")), Err(SourceError::NoFolder(_))));
    }
}
