//! Failures that no caller sees. Hooks must stay silent, so their failures go to the [`log`], and `remora doctor`
//! shows them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use remora_core::time::Time;
use remora_sys::file::{read_small, replace};

use crate::DataError;
use crate::data_dir::DataDir;
use crate::log::{self, Entry, Level, Reader};

/// A process that meets the same failure at every try reports it once in this time.
const BETWEEN_REPORTS: Duration = Duration::from_mins(10);

/// Writes one line, to the first place that can be written.
pub fn report(dir: Option<&DataDir>, reason: &str) {
    // Lost events are counted by their lines.
    if !reason.contains(LOST) && is_repeated(dir, reason) {
        return;
    }
    let origin = log::origin();
    let reason = reason.strip_prefix(origin).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason);
    log::write(dir, Level::Error, origin, reason);
}

fn is_repeated(dir: Option<&DataDir>, reason: &str) -> bool {
    static REPORTED: Mutex<Vec<(Option<DataDir>, String, Instant)>> = Mutex::new(Vec::new());
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    reported.retain(|(_, _, at)| at.elapsed() < BETWEEN_REPORTS);
    let is_known = reported.iter().any(|(of, known, _)| of.as_ref() == dir && known == reason);
    if !is_known {
        reported.push((dir.cloned(), reason.to_owned(), Instant::now()));
    }
    is_known
}

/// Prefix of a line about a panic, after its origin.
const BUG: &str = "bug: panic at ";

/// Reports a panic of this version by its location. The message may quote the user and is left out.
pub fn report_bug(dir: Option<&DataDir>, place: &str) {
    report(dir, &format!("{BUG}{place} (version {})", env!("CARGO_PKG_VERSION")));
}

/// Whether a log line is about a panic in this version. Those of other versions may be fixed.
pub fn is_bug_of_this_version(line: &str) -> bool {
    line.contains(BUG) && line.ends_with(&format!("(version {})", env!("CARGO_PKG_VERSION")))
}

/// Marker text of a report about a lost event.
pub const LOST: &str = "an event is lost";

/// The number of lost events in the log since the last acknowledgement.
pub fn lost(dir: &DataDir) -> usize {
    let known = read_small(&dir.acknowledged()).ok().and_then(|text| Time::from_iso(text.trim()));
    let entries = Reader::open(dir).map(|(entries, _)| entries).unwrap_or_default();
    let is_new = |entry: &&Entry| known.is_none_or(|known| entry.at_epoch.is_none_or(|at| at > known));
    entries.iter().filter(|entry| entry.message.contains(LOST)).filter(is_new).count()
}

/// Acknowledges the lost events so far.
pub fn acknowledge(dir: &DataDir, now: Time) -> Result<(), DataError> {
    let path = dir.acknowledged();
    replace(&path, format!("{}\n", now.iso_millis()).as_bytes()).map_err(DataError::file(path))
}

/// The last warnings and errors about this data directory, oldest first.
pub fn recent(dir: &DataDir, most: usize) -> Vec<String> {
    let entries = Reader::open(dir).map(|(entries, _)| entries).unwrap_or_default();
    let grave = entries.iter().filter(|entry| entry.level <= Level::Warn);
    let mut lines: Vec<String> = grave.map(ToString::to_string).collect();
    lines.split_off(lines.len().saturating_sub(most))
}
