//! Failures that no caller sees. Hooks must stay silent, so their failures end up in the [`log`],
//! and `remora doctor` shows them.

use crate::data_dir::DataDir;
use crate::log::{self, Level, Reader};

/// Writes one line, wherever that is possible.
pub fn report(dir: Option<&DataDir>, reason: &str) {
    let origin = log::origin();
    let reason = reason.strip_prefix(origin).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason);
    log::write(dir, Level::Error, origin, reason);
}

/// The last warnings and errors about this data directory, oldest first.
pub fn recent(dir: &DataDir, most: usize) -> Vec<String> {
    let entries = Reader::open(dir).map(|(entries, _)| entries).unwrap_or_default();
    let grave = entries.iter().filter(|entry| entry.level <= Level::Warn);
    let mut lines: Vec<String> = grave.map(ToString::to_string).collect();
    lines.split_off(lines.len().saturating_sub(most))
}
