//! Checks of the data directory, its disk, the database and its backups.

use remora_store::backup::integrity_problems;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use remora_core::time::Time;
use remora_data::CLOCK_FILE;
use remora_store::backup::{Backup, LastCheck, Restored, last_check};
use remora_store::{DataDir, ReadOnly, SCHEMA_VERSION, StoreError, spool};
use remora_sys::file::{CAN_ALLOCATE, doubtful_file_system, free_space};

use super::finding::grouped;
use super::{Examination, Finding, Fix, Group, Opened, State, local};
use crate::backup::{self, Standing};

/// Below this, the next backup or migration does not fit, and soon events will not either.
const LITTLE_SPACE: u64 = 64 << 20;
/// Below this, the report mentions free space.
const SCARCE_SPACE: u64 = 512 << 20;
/// The daemon empties the write-ahead log. A larger log means that something prevents it.
const LARGE_WAL: u64 = 64 << 20;
/// How long the report mentions a restored database if nothing was set aside.
const NOTICE_PERIOD: Duration = Duration::from_hours(7 * 24);

pub(super) fn before_opening(about: &Examination<'_>) -> Vec<Finding> {
    let findings = [directory(about.dir), permissions(about.dir), file_system(about.dir), space(about.dir)];
    grouped(Group::Data, findings.into_iter().chain(clock(about.dir)))
}

pub(super) fn checks(opened: &Opened<'_>) -> Vec<Finding> {
    let database = database(opened);
    // A fresh check counts more than the daemon's last one.
    let is_sound = database.state == State::Ok;
    let dir = opened.about.dir;
    let mut findings = vec![schema(opened), database, write_ahead_log(dir), backups(opened), reserve(opened)];
    findings.extend(recovery(dir, is_sound, opened.about.dir.now()));
    grouped(Group::Data, findings)
}

/// A clock that is not the system's, which only tests need.
fn clock(dir: &DataDir) -> Option<Finding> {
    let remark = dir.clock().remark()?;
    Some(Finding::note("clock", remark).hint(format!("use the system's clock: `unset {CLOCK_FILE}`")))
}

fn directory(dir: &DataDir) -> Finding {
    let name = "data directory";
    if let Err(error) = dir.create() {
        return Finding::failed(name, &error.into());
    }
    let path = dir.path().display();
    let probe = dir.path().join(".probe");
    match fs::write(&probe, b"").and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => Finding::good(name, path.to_string()),
        Err(error) => Finding::wrong(name, format!("{path} cannot be written: {error}"))
            .hint(format!("see its owner and mode: `ls -ld {path}`")),
    }
}

/// Whether other users of this machine can read the memory.
fn permissions(dir: &DataDir) -> Finding {
    let name = "permissions";
    let mode = fs::metadata(dir.path()).map_or(0, |directory| directory.mode() & 0o777);
    // In a closed directory, the modes of the files do not matter.
    if mode & 0o700 == mode {
        return Finding::good(name, "only you can read it");
    }
    Finding::wrong(name, format!("other users can look into {} (mode {mode:o})", dir.path().display()))
        .hint(format!("close it: `remora doctor --fix`, or `chmod 700 {}`", dir.path().display()))
        .fixed_by(Fix::ClosePermissions)
}

fn file_system(dir: &DataDir) -> Finding {
    let name = "file system";
    match doubtful_file_system(dir.path()) {
        None => Finding::good(name, "local"),
        Some(kind) => {
            let message = format!("{} is on {kind}, whose locks may not hold", dir.path().display());
            Finding::note(name, message).hint("set REMORA_DATA_DIR to a directory on a local disk")
        }
    }
}

fn space(dir: &DataDir) -> Finding {
    match free_space(dir.path()) {
        Ok(free) => disk(free, dir.path()),
        Err(error) => Finding::note("disk", format!("free space is not known: {error}")),
    }
}

/// A size in the units that `remora status` uses: `3.4 GiB`, `12 KiB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{}.{} GiB", bytes >> 30, ((bytes % (1 << 30)) * 10) >> 30),
    }
}

fn disk(free: u64, path: &Path) -> Finding {
    let name = "disk";
    let message = format!("{} free", size(free));
    let hint = format!("free some space: `df {}`; backups take at most `backup.most_mb`", path.display());
    match free {
        ..LITTLE_SPACE => {
            Finding::wrong(name, format!("{message}; events will be lost once it is full")).hint(hint)
        }
        LITTLE_SPACE..SCARCE_SPACE => Finding::note(name, message).hint(hint),
        SCARCE_SPACE.. => Finding::good(name, message),
    }
}

fn schema(opened: &Opened<'_>) -> Finding {
    let name = "schema";
    match &opened.store {
        Ok(store) => match store.read_only() {
            Some(ReadOnly::NewerSchema(found)) => {
                let message = format!("schema {found} was made by a newer Remora; reading only");
                Finding::wrong(name, message).hint("update `remora`; events wait in the spool")
            }
            Some(ReadOnly::Disk) | None => Finding::good(name, format!("version {SCHEMA_VERSION}")),
        },
        Err(error @ (StoreError::TooOld { .. } | StoreError::Schema { .. })) => Finding::failed(name, error),
        Err(_) => Finding::note(name, "not known while the database cannot be opened"),
    }
}

fn database(opened: &Opened<'_>) -> Finding {
    let name = "database";
    let store = match &opened.store {
        Ok(store) => store,
        Err(error) => return Finding::failed(name, error),
    };
    if store.read_only() == Some(ReadOnly::Disk) {
        return Finding::failed(name, &StoreError::ReadOnly { path: opened.about.dir.database() });
    }
    let found = if opened.about.is_thorough {
        integrity_problems(&store.dir().database()).map(|problems| (problems, "sound".to_owned()))
    } else {
        let last = last_check(opened.about.dir);
        Ok(last.map_or_else(
            || (Vec::new(), "open; not checked yet".to_owned()),
            |last| (last.problems, format!("sound at the check of {}", local(last.checked_at))),
        ))
    };
    match found {
        Ok((problems, sound)) if problems.is_empty() => Finding::good(name, sound),
        // `remora verify` names the cheapest repair: a new index, a backup, a new database.
        Ok((problems, _)) => Finding::wrong(name, format!("damaged: {}", problems[0]))
            .hint("see all of it, and how to restore: `remora verify`"),
        Err(error) => opened.failed(name, error),
    }
}

fn write_ahead_log(dir: &DataDir) -> Finding {
    let name = "write-ahead log";
    let mut path = dir.database().into_os_string();
    path.push("-wal");
    let bytes = fs::metadata(path).map_or(0, |file| file.len());
    if bytes < LARGE_WAL {
        return Finding::good(name, size(bytes));
    }
    Finding::note(name, format!("{}: some process reads the database without end", size(bytes)))
        .hint("restart the daemon: `remora daemon restart`")
}

fn backups(opened: &Opened<'_>) -> Finding {
    let name = "backups";
    let about = opened.about;
    let store = opened.store.as_ref().ok();
    let standing = match backup::standing(about.dir, store, &about.settings.backup) {
        Ok(standing) => standing,
        Err(error) => return opened.failed(name, error),
    };
    let newest = |backup: &Backup| format!("the newest sound one is from {}", local(backup.made_at));
    match standing {
        Standing::Fresh(backup) => Finding::good(name, newest(&backup)),
        Standing::NotYet => Finding::good(name, "none yet; the daemon makes one every day"),
        Standing::Off => Finding::note(name, "off, and none is recent")
            .hint("make one: `remora backup`")
            .fixed_by(Fix::MakeBackup),
        Standing::Damaged { damaged, newest: sound } => {
            let path = damaged.path.display();
            let known = sound.map_or_else(|| "there is no sound one".to_owned(), |backup| newest(&backup));
            Finding::wrong(name, format!("{path} is damaged: {known}"))
                .hint(format!("make a new one: `remora backup`; see what is wrong: `remora verify {path}`"))
                .fixed_by(Fix::MakeBackup)
        }
        Standing::Stale(backup) => {
            let known = backup.map_or_else(|| "there is none".to_owned(), |backup| newest(&backup));
            Finding::wrong(name, format!("none is younger than three days: {known}"))
                .hint("make one: `remora backup`; see why the daemon made none: `remora logs`")
                .fixed_by(Fix::MakeBackup)
        }
    }
}

/// Whether events can be stored when the disk is full.
fn reserve(opened: &Opened<'_>) -> Finding {
    let name = "reserve";
    match spool::reserved(opened.about.dir) {
        0 if CAN_ALLOCATE => {
            Finding::note(name, "nothing in reserve: events are lost while the disk is full")
                .hint("it is made as soon as the disk has room: `remora status`")
        }
        0 => Finding::good(name, "none on this system"),
        bytes => Finding::good(name, format!("{} in reserve for a full disk", size(bytes))),
    }
}

/// Returns a finding only after damage was found or a database was restored.
fn recovery(dir: &DataDir, is_sound: bool, now: Time) -> Option<Finding> {
    let name = "recovery";
    let LastCheck { checked_at, problems, restored } = last_check(dir)?;
    if !is_sound && let Some(problem) = problems.first() {
        let message = format!("the check of {} found damage: {problem}", local(checked_at));
        let hint =
            "see whether it is still there: `remora verify`; restore the newest backup: `remora restore`";
        return Some(Finding::wrong(name, message).hint(hint));
    }
    let Restored { from, made_at, restored_at, set_aside, .. } = restored?;
    let hint = match &set_aside {
        Some(aside) if aside.exists() => Some(format!(
            "the database that was there is {0}; delete it when you no longer need it: `rm {0}*`",
            aside.display()
        )),
        // The user has deleted it, and so has seen this.
        Some(_) => return None,
        None if now.since(restored_at) > NOTICE_PERIOD => return None,
        None => None,
    };
    let message = if set_aside.as_ref() == Some(&from) {
        "the search index was damaged and is rebuilt; nothing is lost".to_owned()
    } else {
        let lost = made_at.map(|made_at| {
            let (from, to) = (local(made_at), local(restored_at));
            format!("; what was stored between {from} and {to} may be missing")
        });
        format!("the database was restored from {}{}", from.display(), lost.unwrap_or_default())
    };
    Some(Finding { hint, ..Finding::note(name, message) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_disk_space_is_a_note_and_then_wrong() {
        let state = |free| disk(free, Path::new("/data")).state;
        assert_eq!([1 << 20, 100 << 20, 1 << 40].map(state), [State::Wrong, State::Note, State::Ok]);
    }
}
