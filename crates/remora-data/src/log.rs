//! The log: failures that no caller sees, and the daemon's activity. Its size is limited.
//!
//! Every entry is one line, readable by people and programs: `TIME LEVEL FROM: MESSAGE`, the time in UTC with
//! milliseconds.
//!
//! ```text
//! 2026-03-10T09:22:00.123Z error hook: claude-code: the database is busy; the event waits in the spool
//! ```
//!
//! Debug lines say what the daemon does. They have a file of their own, so that they never push out a warning.
//!
//! Messages hold reasons, never content. If the data directory cannot be written, a line goes to a private directory
//! of the user below the system's temporary directory.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use remora_core::privacy::clean_text;
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_sys::file::{is_absent, open_regular, open_to_append};
use serde::Serialize;

use crate::{Clock, DataDir};

/// Size limit in bytes for a file and its older one together, unless the settings change it.
static LIMIT: AtomicU64 = AtomicU64::new(5 << 20);
static ORIGIN: OnceLock<&'static str> = OnceLock::new();
const MAX_LINE_LEN: usize = 500;

/// Levels, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Error, Self::Warn, Self::Info, Self::Debug]
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or(())
    }
}

/// Sets the size limit of the log for this process in megabytes (`retention.log_mb`).
pub fn set_limit(megabytes: u32) {
    LIMIT.store(u64::from(megabytes) << 20, Ordering::Relaxed);
}

/// Origin of the lines of a daemon.
pub const DAEMON: &str = "daemon";

/// Sets the name of this process (`hook`, `daemon`) for lines written by library code. Only the first call has an
/// effect.
pub fn set_origin(origin: &'static str) {
    let _ = ORIGIN.set(origin);
}

pub fn error(dir: &DataDir, from: &str, text: &str) {
    write(Some(dir), Level::Error, from, text);
}

pub fn warn(dir: &DataDir, from: &str, text: &str) {
    write(Some(dir), Level::Warn, from, text);
}

pub fn info(dir: &DataDir, from: &str, text: &str) {
    write(Some(dir), Level::Info, from, text);
}

/// The name of this process.
pub(crate) fn origin() -> &'static str {
    ORIGIN.get().copied().unwrap_or("cli")
}

/// A line that says what the daemon does.
#[derive(Debug)]
pub struct DebugLine {
    pub at: Time,
    pub from: &'static str,
    pub text: String,
}

/// Writes debug lines with one access to their file.
pub fn debug(dir: &DataDir, lines: &[DebugLine]) -> io::Result<()> {
    let lines: String =
        lines.iter().map(|line| format_line(line.at, Level::Debug, line.from, &line.text)).collect();
    append(&dir.debug_log(), &lines)
}

/// Writes one line, to the first place that can be written.
pub(crate) fn write(dir: Option<&DataDir>, level: Level, from: &str, text: &str) {
    let line = format_line(dir.map_or_else(|| Clock::System.now(), DataDir::now), level, from, text);
    // A daemon must not bring back a data directory that the user deleted.
    let is_there = |dir: &DataDir| origin() == DAEMON || dir.create().is_ok();
    let written = dir.is_some_and(|dir| is_there(dir) && append(&dir.log(), &line).is_ok());
    if !written && let Ok(fallback) = fallback_log() {
        // If this fails too, there is no place left to report it.
        let _ = append(&fallback, &format!("{}{}\n", line.trim_end(), place(dir)));
    }
}

fn format_line(at: Time, level: Level, from: &str, text: &str) -> String {
    // An error message may quote a key that was pasted into the wrong setting.
    let text = clean_text(text);
    format!("{} {} {from}: {}\n", at.iso_millis(), level.as_str(), one_line(&text, MAX_LINE_LEN))
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub at: Option<String>,
    pub at_epoch: Option<Time>,
    pub level: Level,
    pub from: String,
    pub message: String,
}

impl Entry {
    /// Parses a line. A foreign line, or one cut off by a full disk, becomes a message without a time.
    pub fn parse(line: &str) -> Self {
        let mut parts = line.splitn(3, ' ');
        let mut read = || {
            let at = parts.next().and_then(Time::from_iso)?;
            let level = parts.next()?.parse().ok()?;
            let (from, message) = parts.next()?.split_once(": ")?;
            Some(Self {
                at: Some(at.iso_millis()),
                at_epoch: Some(at),
                level,
                from: from.to_owned(),
                message: message.to_owned(),
            })
        };
        read().unwrap_or_else(|| Self {
            at: None,
            at_epoch: None,
            level: Level::Error,
            from: String::new(),
            message: line.to_owned(),
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{at} {} {}: {}", self.level.as_str(), self.from, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Reads the log as it grows.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    current: Option<Tail>,
    /// The file before the last rotation. A process that has it open may still write to it.
    previous: Option<Tail>,
}

impl Reader {
    /// All entries about this data directory, oldest first, and a reader for new ones.
    pub fn open(dir: &DataDir) -> io::Result<(Vec<Entry>, Self)> {
        let (mut lines, reader) = Self::open_files(dir.log())?;
        let about = [place(Some(dir)), place(None)];
        let elsewhere = fallback_log().and_then(fs::read_to_string).unwrap_or_default();
        for line in elsewhere.lines() {
            lines.extend(about.iter().find_map(|place| line.strip_suffix(place)).map(str::to_owned));
        }
        Ok((in_order(lines.iter().map(|line| Entry::parse(line)).collect()), reader))
    }

    /// The same for debug lines.
    pub fn open_debug(dir: &DataDir) -> io::Result<(Vec<Entry>, Self)> {
        let (lines, reader) = Self::open_files(dir.debug_log())?;
        Ok((in_order(lines.iter().map(|line| Entry::parse(line)).collect()), reader))
    }

    fn open_files(path: PathBuf) -> io::Result<(Vec<String>, Self)> {
        // The current file is opened first: if it is rotated meanwhile, its lines are still read once.
        let mut current = Tail::open(&path)?;
        let mut previous = Tail::open(&older(&path))?;
        if previous.as_ref().map(Tail::identity) == current.as_ref().map(Tail::identity) {
            previous = None;
        }
        let mut lines = Vec::new();
        for tail in [&mut previous, &mut current].into_iter().flatten() {
            lines.extend(tail.read()?);
        }
        Ok((lines, Self { path, current, previous }))
    }

    /// Entries written since the last call, even if the log was rotated meanwhile.
    pub fn more(&mut self) -> io::Result<Vec<Entry>> {
        let mut lines = Vec::new();
        for tail in [&mut self.previous, &mut self.current].into_iter().flatten() {
            lines.extend(tail.read()?);
        }
        let now = fs::metadata(&self.path).ok().map(|file| (file.dev(), file.ino()));
        if now.is_some() && now != self.current.as_ref().map(Tail::identity) {
            // The log may have been rotated twice since the last call. Then the older file is new as well.
            let mut between = Tail::open(&older(&self.path))?;
            let known = [&self.previous, &self.current].map(|tail| tail.as_ref().map(Tail::identity));
            if known.contains(&between.as_ref().map(Tail::identity)) {
                between = None;
            }
            let mut next = Tail::open(&self.path)?;
            for tail in [&mut self.current, &mut between, &mut next].into_iter().flatten() {
                lines.extend(tail.read()?);
            }
            self.previous = between.or(self.current.take());
            self.current = next;
        }
        Ok(lines.iter().map(|line| Entry::parse(line)).collect())
    }
}

/// Sorts entries by their time. A line without a time keeps its place after the line before it.
pub fn in_order(entries: Vec<Entry>) -> Vec<Entry> {
    let mut last = None;
    let mut timed: Vec<(Option<Time>, Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        last = entry.at_epoch.or(last);
        timed.push((last, entry));
    }
    timed.sort_by_key(|(at, _)| *at);
    timed.into_iter().map(|(_, entry)| entry).collect()
}

/// A file, and the position up to which it was read.
#[derive(Debug)]
struct Tail {
    file: File,
    identity: (u64, u64),
    offset: u64,
}

impl Tail {
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match open_regular(path) {
            Ok((file, _)) => file,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        Ok(Some(Self { file, identity: (metadata.dev(), metadata.ino()), offset: 0 }))
    }

    fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// The complete lines written since the last call.
    fn read(&mut self) -> io::Result<Vec<String>> {
        // The file was truncated.
        if self.file.metadata()?.len() < self.offset {
            self.offset = 0;
        }
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.offset += u64::try_from(whole).unwrap_or(u64::MAX);
        Ok(String::from_utf8_lossy(&bytes[..whole]).lines().map(str::to_owned).collect())
    }
}

/// Suffix that names the data directory of a line in the fallback log.
fn place(dir: Option<&DataDir>) -> String {
    dir.map_or_else(|| " (no data directory)".to_owned(), |dir| format!(" (in {})", dir.path().display()))
}

/// Appends whole lines.
fn append(path: &Path, lines: &str) -> io::Result<()> {
    let mut file = open_to_append(path)?;
    if file.metadata()?.len() > LIMIT.load(Ordering::Relaxed) / 2 {
        rotate(&file, path)?;
        file = open_to_append(path)?;
    }
    file.write_all(lines.as_bytes())
}

/// Renames a full log to the older one. If several processes find it full, only one does it: a second rename would
/// replace the older file with an almost empty one.
fn rotate(full: &File, path: &Path) -> io::Result<()> {
    if full.try_lock().is_err() {
        return Ok(());
    }
    let (ours, there) = (full.metadata()?, fs::symlink_metadata(path)?);
    if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
        fs::rename(path, older(path))?;
    }
    Ok(())
}

pub(crate) fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// The fallback log. Other users can write to the temporary directory, so its directory must belong to this user.
fn fallback_log() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let directory = std::env::temp_dir().join(format!("remora-{user}"));
    match fs::DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&directory)?;
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a directory of ours"));
    }
    Ok(directory.join("remora.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parsed_and_written_unchanged() {
        let line = "2026-03-10T09:22:00.123Z warn daemon: a: b  c";
        let entry = Entry::parse(line);
        assert_eq!((entry.level, &*entry.from, &*entry.message), (Level::Warn, "daemon", "a: b  c"));
        assert_eq!(entry.to_string(), line);
        for torn in ["", "2026-03-10T09:22:00.123Z", "2026-03-10T09:22:00.123Z loud x: y", "nonsense"] {
            let entry = Entry::parse(torn);
            assert_eq!((entry.at_epoch, entry.to_string()), (None, torn.to_owned()));
        }
    }

    #[test]
    fn debug_lines_have_a_file_and_a_limit_of_their_own() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        warn(&dir, "daemon", "the disk is slow");
        set_limit(1);
        let text = "x".repeat(400);
        let lines: Vec<DebugLine> =
            (0..30).map(|_| DebugLine { at: Time(0), from: "daemon", text: text.clone() }).collect();
        for _ in 0..200 {
            debug(&dir, &lines).unwrap();
        }
        let size: u64 = dir.all_logs()[2..].iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(size <= (1 << 20) + 30_000, "{size}");
        let messages = |(entries, _): (Vec<Entry>, Reader)| {
            entries.into_iter().map(|entry| (entry.level, entry.message)).collect::<Vec<_>>()
        };
        let warning = (Level::Warn, "the disk is slow".to_owned());
        assert_eq!(messages(Reader::open(&dir).unwrap()), [warning]);
        assert!(messages(Reader::open_debug(&dir).unwrap()).contains(&(Level::Debug, text)));
    }
}
