//! The spool: an append-only file of checksummed lines, for events that the database cannot take.
//!
//! A line is `CRC32 JSON`. Every append also begins with a line break, so that a line cut short by a full disk or a
//! killed process damages only itself. The next process that catches up (see `Store::catch_up`) moves the file aside
//! and imports its records; a hook does so before it stores its own. Their uuids make repeated imports harmless.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use remora_core::settings::Sync;
use remora_sys::file::{allocate, free_space, is_absent, open_regular, open_to_append, private_file};
use remora_sys::lock;
use uuid::Uuid;

use crate::data_dir::DataDir;
use crate::{DataError, EventRecord};

/// Size limit in bytes, for the case that no process imports the records.
const MAX_SPOOL_BYTES: u64 = 256 << 20;
/// Size of the reserve. An event is 1 to 2 KB, rarely more than 20.
const RESERVE_BYTES: u64 = 4 << 20;
/// The unit of `st_blocks`, on every file system.
const BLOCK: u64 = 512;

/// Appends one record. When this returns, the record survives the death of every process, and with `Sync::Full` also
/// a power cut.
pub fn append(dir: &DataDir, record: &EventRecord, sync: Sync) -> Result<(), DataError> {
    dir.create()?;
    let path = dir.spool();
    let json = serde_json::to_string(record)?;
    let line = format!("\n{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
    let appended = match append_line(&path, line.as_bytes(), sync) {
        Err(error) if is_full(&error) => append_to_reserve(dir, line.as_bytes(), sync).map_err(|_| error),
        other => other,
    };
    appended.map_err(DataError::file(path))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Appends to the reserve, an empty file with allocated blocks. It gives a full disk room for some thousand events.
fn append_to_reserve(dir: &DataDir, line: &[u8], sync: Sync) -> io::Result<()> {
    let path = dir.spool_reserve();
    loop {
        // Fails if there is no reserve: a new file would have no blocks.
        fs::symlink_metadata(&path)?;
        if write_unless_moved(open_to_append(&path)?, &path, |file| write(file, line, sync))? {
            return Ok(());
        }
    }
}

/// Creates the reserve if there is none and the disk has enough space. For processes that have the time.
pub fn keep_reserve(dir: &DataDir) -> io::Result<()> {
    let path = dir.spool_reserve();
    match fs::symlink_metadata(&path) {
        // A smaller reserve lost its blocks, by a copy of the directory or by the file system, and is made again.
        Ok(reserve) if reserve.len() > 0 || reserve.blocks() * BLOCK >= RESERVE_BYTES => return Ok(()),
        Err(error) if !is_absent(&error) => return Err(error),
        _ => {}
    }
    if !has_room(dir, 4 * RESERVE_BYTES)? {
        return Ok(());
    }
    let new = path.with_extension("reserve.new");
    let file = private_file().create(true).truncate(true).write(true).open(&new)?;
    if let Err(error) = allocate(&file, RESERVE_BYTES) {
        fs::remove_file(&new)?;
        return Err(error);
    }
    fs::rename(&new, &path)
}

fn has_room(dir: &DataDir, bytes: u64) -> io::Result<bool> {
    Ok(free_space(dir.path())? >= bytes)
}

/// Bytes of events that fit into the reserve.
pub fn reserved(dir: &DataDir) -> u64 {
    let reserve = fs::symlink_metadata(dir.spool_reserve());
    reserve.map_or(0, |reserve| (reserve.blocks() * BLOCK).saturating_sub(reserve.len()))
}

fn append_line(path: &Path, line: &[u8], sync: Sync) -> io::Result<()> {
    loop {
        if write_unless_moved(open_to_append(path)?, path, |file| write(file, line, sync))? {
            return Ok(());
        }
    }
}

fn write(file: &mut File, line: &[u8], sync: Sync) -> io::Result<()> {
    file.write_all(line)?;
    if sync == Sync::Full { file.sync_data() } else { Ok(()) }
}

/// Appends a line. `false` if the file may have been moved aside before the line was in it.
///
/// No lock is needed, so no process waits. A line is one write at the end of the file. If the file is still in place
/// after that, it will be moved later, and read after the move. If not, it is unknown whether the line was read, so
/// the caller writes it again; its uuid prevents a duplicate.
fn write_unless_moved(
    mut file: File,
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<bool> {
    let own = file.metadata()?;
    let is_in_place = || fs::metadata(path).is_ok_and(|now| (own.dev(), own.ino()) == (now.dev(), now.ino()));
    if !is_in_place() {
        return Ok(false);
    }
    if own.len() > MAX_SPOOL_BYTES {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "the spool is full"));
    }
    write(&mut file)?;
    Ok(is_in_place())
}

/// The content of the spool that is not imported yet.
#[derive(Debug, Default)]
pub struct SpoolContents {
    pub records: Vec<EventRecord>,
    /// Number of lines cut short by a crash or a full disk.
    pub damaged: usize,
}

/// Whether records wait to be imported. Checks the spool first: it becomes the other file, never the reverse.
pub fn is_waiting(dir: &DataDir) -> bool {
    let spool = dir.spool();
    spool.exists() || aside_of(&spool).exists() || is_reserve_used(dir)
}

fn is_reserve_used(dir: &DataDir) -> bool {
    fs::symlink_metadata(dir.spool_reserve()).is_ok_and(|reserve| reserve.len() > 0)
}

/// A spool file that was moved aside, so that no process appends to it any more.
#[derive(Debug)]
pub struct TakenAside {
    path: PathBuf,
    /// Held so that two processes do not import the same file.
    _lock: File,
    pub contents: SpoolContents,
}

/// Moves the spool aside and reads it. A file that an earlier process did not finish comes first. `None` if there is
/// nothing to import or another process is importing.
pub fn take_aside(dir: &DataDir) -> io::Result<Option<TakenAside>> {
    let spool = dir.spool();
    let aside = aside_of(&spool);
    if !is_waiting(dir) {
        return Ok(None);
    }
    let lock = lock::open(&dir.spool_lock())?;
    if lock.try_lock().is_err() {
        return Ok(None);
    }
    if fs::symlink_metadata(&aside).is_err() {
        let mut moved = fs::rename(&spool, &aside);
        // While the disk is full, the reserve stays in place: the next events need the rest of it.
        if moved.as_ref().is_err_and(is_absent) && is_reserve_used(dir) && has_room(dir, RESERVE_BYTES)? {
            moved = fs::rename(dir.spool_reserve(), &aside);
        }
        match moved {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    // A pipe, a device or a link under our name holds no records, and must not block the spool.
    if fs::symlink_metadata(&aside)?.file_type().is_file() {
        let contents = read(&aside)?;
        return Ok(Some(TakenAside { path: aside, _lock: lock, contents }));
    }
    fs::remove_file(&aside)?;
    Ok(None)
}

impl TakenAside {
    /// Deletes the file, after its records are in the database.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Reads the whole spool, for counting and display.
pub fn peek(dir: &DataDir) -> io::Result<SpoolContents> {
    let mut all = read(&aside_of(&dir.spool()))?;
    let newer = read(&dir.spool())?;
    let reserve = read(&dir.spool_reserve())?;
    all.damaged += newer.damaged + reserve.damaged;
    all.records.extend(newer.records.into_iter().chain(reserve.records));
    let mut seen: HashSet<Uuid> = HashSet::new();
    all.records.retain(|record| seen.insert(record.uuid));
    Ok(all)
}

fn aside_of(spool: &Path) -> PathBuf {
    spool.with_extension("ingesting")
}

fn read(path: &Path) -> io::Result<SpoolContents> {
    let mut bytes = Vec::new();
    match open_regular(path) {
        Ok((mut file, _)) => file.read_to_end(&mut bytes)?,
        Err(error) if is_absent(&error) => return Ok(SpoolContents::default()),
        Err(error) => return Err(error),
    };
    let mut contents = SpoolContents::default();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match parse(line) {
            Some(record) => contents.records.push(record),
            None => contents.damaged += 1,
        }
    }
    Ok(contents)
}

fn parse(line: &[u8]) -> Option<EventRecord> {
    let (sum, json) = line.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    (crc32fast::hash(json) == sum).then(|| serde_json::from_slice(json).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::thread::{self, ScopedJoinHandle};

    use super::*;

    #[test]
    fn nothing_is_appended_to_a_spool_that_was_moved_aside_meanwhile() {
        let temp = tempfile::tempdir().unwrap();
        let (path, aside) = (temp.path().join("spool.jsonl"), temp.path().join("spool.ingesting"));
        let open = || open_to_append(&path).unwrap();
        let write =
            |file| write_unless_moved(file, &path, |file: &mut File| file.write_all(b"line")).unwrap();
        let opened = [open(), open()];
        fs::rename(&path, &aside).unwrap();
        let [first, second] = opened;
        assert!(!write(first), "the spool is gone");
        let new = open();
        assert!(!write(second), "the spool was replaced");
        assert!(write(new));
        assert_eq!((fs::read(&aside).unwrap(), fs::read(&path).unwrap()), (b"".to_vec(), b"line".to_vec()));
    }

    #[test]
    fn a_spool_that_is_moved_aside_during_a_write_is_written_again() {
        let temp = tempfile::tempdir().unwrap();
        let (path, aside) = (temp.path().join("spool.jsonl"), temp.path().join("spool.ingesting"));
        let written = write_unless_moved(open_to_append(&path).unwrap(), &path, |file: &mut File| {
            file.write_all(b"line")?;
            fs::rename(&path, &aside)
        });
        assert!(!written.unwrap());
    }

    #[test]
    fn no_line_is_lost_while_the_spool_is_moved_aside_again_and_again() {
        const LINES: usize = 2_000;
        let temp = tempfile::tempdir().unwrap();
        let (path, aside) = (temp.path().join("spool.jsonl"), temp.path().join("spool.ingesting"));
        let mut seen = HashSet::new();
        let mut look = |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            // A line that is being written is written again.
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            seen.extend(whole.map(str::to_owned));
        };
        let append = |writer: usize| {
            for number in 0..LINES {
                append_line(&path, format!("{writer} {number}\n").as_bytes(), Sync::Normal).unwrap();
            }
        };
        thread::scope(|scope| {
            let writers = [0, 1].map(|writer| {
                let append = &append;
                scope.spawn(move || append(writer))
            });
            while !writers.iter().all(ScopedJoinHandle::is_finished) {
                if fs::rename(&path, &aside).is_ok() {
                    look(&aside);
                    fs::remove_file(&aside).unwrap();
                }
            }
        });
        if path.exists() {
            look(&path);
        }
        assert_eq!(seen.len(), 2 * LINES);
    }

    #[test]
    fn a_line_waits_for_the_disk_only_if_it_is_asked_to() {
        // A pipe takes the line but cannot be synced, so an attempt to sync it is an error.
        let written = |sync| {
            let (_reader, writer) = io::pipe().unwrap();
            write(&mut File::from(OwnedFd::from(writer)), b"line", sync)
        };
        assert!(written(Sync::Normal).is_ok());
        assert!(written(Sync::Full).is_err());
    }
}
