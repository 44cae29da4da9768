//! Shows the exact change of a file to users.

use std::fmt::{self, Write as _};

use remora_redact::redact;
use similar::{ChangeTag, TextDiff};

/// Lines shown around a change.
const AROUND: usize = 2;
/// Longer lines are cut: some hosts keep their state on one line.
const LONGEST: usize = 300;

/// A unified diff without file names. Other content of the file may include keys, so secrets are redacted.
pub(crate) fn unified(before: &str, after: &str) -> String {
    // Writing to memory never fails.
    hunks(before, after).unwrap_or_default()
}

fn hunks(before: &str, after: &str) -> Result<String, fmt::Error> {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        writeln!(text, "{}", hunk.header())?;
        for change in hunk.iter_changes() {
            let mark = match change.tag() {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => ' ',
            };
            let line = change.value().trim_end_matches(['\r', '\n']);
            let line = redact(line);
            let cut = line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
            let more = if cut < line.len() { " …" } else { "" };
            writeln!(text, "{mark}{}{more}", &line[..cut])?;
        }
    }
    Ok(text)
}
