//! The log of what went wrong where nobody could be told, bounded in size.
//!
//! Hooks must stay silent, so this is where their failures end up, and `remora doctor` shows them. Lines hold
//! a time and a reason, never any content. When the data directory itself cannot be written, the line goes to
//! a directory of the user's own below the system's temporary directory.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use remora_core::text::one_line;
use remora_core::time::Time;

use crate::data_dir::{DataDir, private_file};

const LARGEST_LOG: u64 = 512 << 10;
const LONGEST_LINE: usize = 500;

/// Writes one line, wherever that is possible.
pub fn report(dir: Option<&DataDir>, reason: &str) {
    let line = format!("{} {}", Time::now().iso(), one_line(reason, LONGEST_LINE));
    let written = dir.is_some_and(|dir| dir.create().is_ok() && append(&dir.log(), &line).is_ok());
    if !written && let Ok(fallback) = fallback_log() {
        // There is no third place to say that this failed.
        let _ = append(&fallback, &format!("{line}{}", place(dir)));
    }
}

/// The last lines about this data directory, oldest first, of both places.
pub fn recent(dir: &DataDir, most: usize) -> Vec<String> {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<String> = [older(&dir.log()), dir.log()]
        .into_iter()
        .flat_map(|path| read(path).lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let about = [place(Some(dir)), place(None)];
    for line in fallback_log().map(read).unwrap_or_default().lines() {
        lines.extend(about.iter().find_map(|place| line.strip_suffix(place)).map(str::to_owned));
    }
    lines.sort();
    lines.split_off(lines.len().saturating_sub(most))
}

/// Which data directory a line in the common place is about.
fn place(dir: Option<&DataDir>) -> String {
    dir.map_or_else(|| " (no data directory)".to_owned(), |dir| format!(" (in {})", dir.path().display()))
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|log| log.len() > LARGEST_LOG) {
        fs::rename(path, older(path))?;
    }
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    private_file()
        .create(true)
        .append(true)
        .custom_flags(nofollow)
        .open(path)?
        .write_all(format!("{line}\n").as_bytes())
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Others can write to the temporary directory too, so ours must really be ours.
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
