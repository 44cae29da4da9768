//! Shows the exact change of a file to users.

use std::fmt::{self, Write as _};

use remora_redact::redact;
use similar::{ChangeTag, TextDiff};

/// Lines shown around a change.
const AROUND: usize = 2;
/// Longer lines are cut where they did not change: some hosts keep their state on one line.
const MAX_LEN: usize = 300;
/// Characters shown on each side of the changed part of a long line.
const BESIDE: usize = 60;

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
        let lines: Vec<(ChangeTag, String)> = hunk
            .iter_changes()
            .map(|change| (change.tag(), redact(change.value().trim_end_matches(['\r', '\n'])).into_owned()))
            .collect();
        let of =
            |wanted: ChangeTag| lines.iter().filter(move |(tag, _)| *tag == wanted).map(|(_, line)| line);
        // The lines of both sides are paired in order.
        let (mut removed, mut added) = (of(ChangeTag::Delete), of(ChangeTag::Insert));
        for (tag, line) in &lines {
            let (mark, shown) = match tag {
                ChangeTag::Equal => (' ', cut(line)),
                ChangeTag::Delete => ('-', changed(line, added.next())),
                ChangeTag::Insert => ('+', changed(line, removed.next())),
            };
            writeln!(text, "{mark}{shown}")?;
        }
    }
    Ok(text)
}

/// A line that did not change, cut at its end.
fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LEN) {
        None => line.to_owned(),
        Some((end, _)) => format!("{} …", &line[..end]),
    }
}

/// A changed line. If it is long, only what differs from the `other` side, and a little beside it.
fn changed(line: &str, other: Option<&String>) -> String {
    let Some(other) = other.filter(|_| line.chars().nth(MAX_LEN).is_some()) else { return line.to_owned() };
    let same = |one: (char, char)| one.0 == one.1;
    let start: usize =
        line.chars().zip(other.chars()).take_while(|one| same(*one)).map(|(c, _)| c.len_utf8()).sum();
    let (rest, other) = (&line[start..], &other[start..]);
    let end: usize = rest
        .chars()
        .rev()
        .zip(other.chars().rev())
        .take_while(|one| same(*one))
        .map(|(c, _)| c.len_utf8())
        .sum();
    let end = line.len() - end;
    let from = line[..start].char_indices().rev().nth(BESIDE - 1).map_or(0, |(at, _)| at);
    let to = line[end..].char_indices().nth(BESIDE).map_or(line.len(), |(at, _)| end + at);
    let (before, after) = (if from > 0 { "… " } else { "" }, if to < line.len() { " …" } else { "" });
    format!("{before}{}{after}", &line[from..to])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_only_where_it_did_not_change() {
        let (padding, new) = ("ä".repeat(400), "x".repeat(400));
        let before = format!("{{\"{padding}\":1,\"{padding}\":2}}");
        let after = before.replacen(',', &format!(",\"new\":\"{new}\","), 1);
        let shown = unified(&format!("{before}\n{padding}\n"), &format!("{after}\n{padding}\n"));
        let lines: Vec<&str> = shown.lines().collect();
        let (left, right) = ("ä".repeat(55), "ä".repeat(60));
        assert_eq!(lines[1], format!("-… {left}\":1,\"{right} …"));
        assert_eq!(lines[2], format!("+… {left}\":1,\"new\":\"{new}\",\"{right} …"));
        assert_eq!(lines[3], format!(" {} …", "ä".repeat(300)));
    }

    #[test]
    fn a_new_line_is_shown_whole() {
        let line = "x".repeat(1000);
        assert!(unified("", &line).contains(&line));
    }
}
