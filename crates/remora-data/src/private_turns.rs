//! Records which turns are private, so that nothing of them is captured.
//!
//! A prompt that is entirely private makes its whole turn private, and the turn's later events come in other
//! processes. They need to know it even if the database cannot be read. So each session that had a private turn has a
//! small file with a line `private ID` or `public ID` for every prompt since. Most sessions have none.
//! If everything was erased during a session, its file begins with the line `erased`: the rest of that turn may quote
//! what was erased, so it is private as well.
//!
//! A prompt that cannot be recorded counts as private. A full disk has no room for a line, but for an empty file. An
//! empty file or half a line means that the session is private until a public prompt could be recorded.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use remora_core::event::{Origin, SessionRef};
use remora_sys::file::{create_private_dir, is_absent, open_to_append, read_small};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::DataError;
use crate::data_dir::DataDir;
use crate::hex::hex;

/// A file that was not written to for this long belongs to a session that is over.
pub const STALE_AFTER: Duration = Duration::from_hours(30 * 24);

const ERASED: &str = "erased";

/// Whether a turn that begins may be captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnPrivacy {
    Private,
    Public,
    /// Same as the turn before: its prompt was not typed by the user.
    Continued,
}

/// Records a prompt. Writes nothing for sessions that never had a private turn.
pub fn begin(
    dir: &DataDir,
    session: &SessionRef,
    origin: &Origin,
    turn: TurnPrivacy,
) -> Result<(), DataError> {
    let path = ledger(dir, session);
    let known = read(&path)?;
    let is_private = match turn {
        TurnPrivacy::Private => true,
        TurnPrivacy::Public => false,
        TurnPrivacy::Continued => known.last().is_some_and(|line| line.is_private),
    };
    if known.is_empty() && !is_private {
        return Ok(());
    }
    let word = if is_private { "private" } else { "public" };
    let write = || {
        create_private_dir(&dir.private_turns())?;
        let mut file = open_to_append(&path)?;
        let written = file.write_all(format!("{word} {}\n", id(origin)).as_bytes());
        // Truncating needs no space. For a public prompt, keeping the earlier lines is safe.
        if is_private && written.is_err() { file.set_len(0) } else { written }
    };
    let written = match write() {
        // The disk has no room even for a new name, so a file created earlier is used.
        Err(_) if is_private && !path.exists() => fs::rename(spare(dir), &path),
        other => other,
    };
    written.map_err(DataError::file(&path))
}

/// Records that everything was erased during these sessions: nothing of them is captured before their next prompt.
pub fn erase(dir: &DataDir, running: &[SessionRef]) -> io::Result<()> {
    create_private_dir(&dir.private_turns())?;
    let mut ledgers: Vec<PathBuf> = running.iter().map(|session| ledger(dir, session)).collect();
    for entry in fs::read_dir(dir.private_turns())? {
        ledgers.push(entry?.path());
    }
    for path in ledgers.into_iter().filter(|path| *path != spare(dir)) {
        let mut file = open_to_append(&path)?;
        file.set_len(0)?;
        file.write_all(format!("{ERASED}\n").as_bytes())?;
    }
    Ok(())
}

/// Whether everything was erased during the session, and no prompt came since.
pub fn is_erased(dir: &DataDir, session: &SessionRef) -> Result<bool, DataError> {
    Ok(read(&ledger(dir, session))?.last().is_some_and(|line| line.is_erased))
}

/// Creates the spare file that is used if a full disk allows no new one. For processes that have the time.
pub fn keep_spare(dir: &DataDir) -> io::Result<()> {
    create_private_dir(&dir.private_turns())?;
    open_to_append(&spare(dir)).map(drop)
}

fn spare(dir: &DataDir) -> PathBuf {
    dir.private_turns().join("spare")
}

/// Whether an event belongs to a private turn.
pub fn contains(dir: &DataDir, session: &SessionRef, origin: &Origin) -> Result<bool, DataError> {
    let lines = read(&ledger(dir, session))?;
    let id = id(origin);
    let own = lines.iter().rev().find(|line| !id.is_empty() && line.id == id);
    // A turn that is not listed began before everything was erased.
    let is_older = !id.is_empty() && own.is_none() && lines.iter().any(|line| line.is_erased);
    Ok(is_older || own.or(lines.last()).is_some_and(|line| line.is_private))
}

/// Whether the session had any private turn.
pub fn had_any(dir: &DataDir, session: &SessionRef) -> Result<bool, DataError> {
    Ok(read(&ledger(dir, session))?.iter().any(|line| line.is_private))
}

/// Removes the files of sessions that ended long ago.
pub fn prune(dir: &DataDir) -> io::Result<()> {
    let entries = match fs::read_dir(dir.private_turns()) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let age = SystemTime::now().duration_since(entry.metadata()?.modified()?).unwrap_or_default();
        if age > STALE_AFTER && entry.path() != spare(dir) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

struct Line {
    is_private: bool,
    is_erased: bool,
    id: String,
}

fn read(path: &Path) -> Result<Vec<Line>, DataError> {
    let text = match read_small(path) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(DataError::file(path)(error)),
    };
    if text.is_empty() {
        return Ok(vec![Line { is_private: true, is_erased: false, id: String::new() }]);
    }
    Ok(text.split_inclusive('\n').map(parse).collect())
}

fn parse(line: &str) -> Line {
    let (word, id) = line.trim_end_matches('\n').split_once(' ').unwrap_or((line, ""));
    // A line that was cut off may have been either, so it counts as private.
    let is_private = word != "public" || !line.ends_with('\n');
    Line { is_private, is_erased: line.trim_end() == ERASED, id: id.to_owned() }
}

fn id(origin: &Origin) -> String {
    origin.turn.as_deref().unwrap_or_default().replace(|c: char| c.is_whitespace(), "_")
}

fn ledger(dir: &DataDir, session: &SessionRef) -> PathBuf {
    let mut hash = SipHasher24::new();
    hash.write(session.host.name().as_bytes());
    hash.write_u8(0);
    hash.write(session.id.as_bytes());
    dir.private_turns().join(hex(&hash.finish128().as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_file_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        create_private_dir(&dir.private_turns()).unwrap();
        keep_spare(&dir).unwrap();
        fs::remove_file(spare(&dir)).unwrap();
        assert!(Command::new("mkfifo").arg(spare(&dir)).status().unwrap().success());
        keep_spare(&dir).unwrap_err();
        fs::rename(spare(&dir), dir.private_turns().join("ledger")).unwrap();
        erase(&dir, &[]).unwrap_err();
    }
}
