//! Remembers which turns are private, so that nothing of them is captured.
//!
//! A prompt that is entirely private makes its whole turn private, and the turn's later events come in other
//! processes. They must know even when the database cannot be read, so this is a small file for each session
//! that had a private turn: a line `private ID` or `public ID` for every prompt since. Most sessions have none.
//! If everything was erased while a session was running, its file begins with a line `erased`: the rest of that turn tells of
//! what was erased, so it is private as well.
//!
//! What cannot be noted counts as private: a full disk has no room for a line, but for an empty file, and an empty one or half
//! a line means that the session is private until a public prompt could be noted.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use remora_core::event::{Origin, SessionRef};
use remora_sys::file::{create_private_dir, is_absent, private_file, read_small};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::StoreError;
use crate::data_dir::DataDir;
use crate::hex::hex;

/// A ledger nobody has written to for this long belongs to a session that is over.
pub(crate) const STALE_AFTER: Duration = Duration::from_hours(30 * 24);

const ERASED: &str = "erased";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Private,
    Public,
    /// Whatever the turn before it was: nobody typed its prompt.
    Continued,
}

/// Notes a prompt. Costs nothing for sessions that never had a private turn.
pub fn begin(dir: &DataDir, session: &SessionRef, origin: &Origin, turn: Turn) -> Result<(), StoreError> {
    let path = ledger(dir, session);
    let known = read(&path)?;
    let is_private = match turn {
        Turn::Private => true,
        Turn::Public => false,
        Turn::Continued => known.last().is_some_and(|line| line.is_private),
    };
    if known.is_empty() && !is_private {
        return Ok(());
    }
    let word = if is_private { "private" } else { "public" };
    let write = || {
        create_private_dir(&dir.private_turns())?;
        let mut file = private_file().create(true).append(true).open(&path)?;
        let written = file.write_all(format!("{word} {}\n", id(origin)).as_bytes());
        // Emptying takes no room. Of a public prompt, nothing needs to be known that is not known already.
        if is_private && written.is_err() { file.set_len(0) } else { written }
    };
    let written = match write() {
        // Not even room for a name: this one was made in better times.
        Err(_) if is_private && !path.exists() => fs::rename(spare(dir), &path),
        other => other,
    };
    written.map_err(StoreError::file(&path))
}

/// Notes that everything was erased while these sessions were running: nothing of them is captured before their next prompt.
pub(crate) fn erase(dir: &DataDir, running: &[SessionRef]) -> io::Result<()> {
    create_private_dir(&dir.private_turns())?;
    let mut ledgers: Vec<PathBuf> = running.iter().map(|session| ledger(dir, session)).collect();
    for entry in fs::read_dir(dir.private_turns())? {
        ledgers.push(entry?.path());
    }
    for path in ledgers.into_iter().filter(|path| *path != spare(dir)) {
        let mut file = private_file().create(true).write(true).truncate(true).open(path)?;
        file.write_all(format!("{ERASED}\n").as_bytes())?;
    }
    Ok(())
}

/// Whether everything was erased while the session was running, and nothing was asked since.
pub fn is_erased(dir: &DataDir, session: &SessionRef) -> Result<bool, StoreError> {
    Ok(read(&ledger(dir, session))?.last().is_some_and(|line| line.is_erased))
}

/// Makes the file that becomes a ledger when a full disk takes no new one. For processes that have the time.
pub(crate) fn keep_spare(dir: &DataDir) -> io::Result<()> {
    create_private_dir(&dir.private_turns())?;
    private_file().create(true).append(true).open(spare(dir)).map(drop)
}

fn spare(dir: &DataDir) -> PathBuf {
    dir.private_turns().join("spare")
}

/// Whether an event belongs to a private turn.
pub fn contains(dir: &DataDir, session: &SessionRef, origin: &Origin) -> Result<bool, StoreError> {
    let lines = read(&ledger(dir, session))?;
    let id = id(origin);
    let own = lines.iter().rev().find(|line| !id.is_empty() && line.id == id);
    // A turn that is not listed began before everything was erased.
    let is_older = !id.is_empty() && own.is_none() && lines.iter().any(|line| line.is_erased);
    Ok(is_older || own.or(lines.last()).is_some_and(|line| line.is_private))
}

/// Whether the session had a private turn at all.
pub fn had_any(dir: &DataDir, session: &SessionRef) -> Result<bool, StoreError> {
    Ok(read(&ledger(dir, session))?.iter().any(|line| line.is_private))
}

/// Removes ledgers of sessions that are long over.
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

fn read(path: &Path) -> Result<Vec<Line>, StoreError> {
    let text = match read_small(path) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::file(path)(error)),
    };
    if text.is_empty() {
        return Ok(vec![Line { is_private: true, is_erased: false, id: String::new() }]);
    }
    let parse = |line: &str| {
        let (word, id) = line.trim_end_matches('\n').split_once(' ').unwrap_or((line, ""));
        // Half a line may have been cut from either.
        let is_private = word != "public" || !line.ends_with('\n');
        Line { is_private, is_erased: line.trim_end() == ERASED, id: id.to_owned() }
    };
    Ok(text.split_inclusive('\n').map(parse).collect())
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
