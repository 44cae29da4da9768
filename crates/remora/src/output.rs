//! How answers look: stdout is data, stderr is talk; readable without colour.

use std::io::Write;

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use jiff::tz::TimeZone;
use remora_core::text::{one_line, visible};
use remora_core::time::Time;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::error::Result;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes data. Someone who closed the pipe has read enough.
pub(crate) fn say(line: &str) {
    let _ = writeln!(anstream::stdout(), "{}", visible(line));
}

pub(crate) fn talk(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", visible(line));
}

pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    // Data, as it is stored: a program reads it.
    let _ = writeln!(anstream::stdout(), "{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// `38 events`, `1 event`.
pub(crate) fn count(number: i64, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{number} {}", if number == 1 { noun } else { &plural })
}

pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10).min(4);
    let whole = bytes >> (10 * power);
    let tenths = (bytes >> (10 * (power - 1))) % 1024 * 10 / 1024;
    format!("{whole}.{tenths} {}", units[power as usize - 1])
}

/// The user's local time, to the minute.
pub(crate) fn local(time: Time) -> String {
    format_local(time, "%Y-%m-%d %H:%M")
}

pub(crate) fn format_local(time: Time, format: &str) -> String {
    let zoned = jiff::Timestamp::from_millisecond(time.0).map(|time| time.to_zoned(TimeZone::system()));
    zoned.map_or_else(|_| time.0.to_string(), |zoned| zoned.strftime(format).to_string())
}

/// Columns as wide as their widest cell; the last one takes the rest of the line. Cells may be painted.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    cells: Vec<String>,
    below: Vec<String>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(Row { cells, below: Vec::new() });
    }

    /// A line of text below the last row.
    pub(crate) fn below(&mut self, line: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.below.push(format!("    {line}"));
        }
    }

    pub(crate) fn print(&self) {
        self.lines().iter().for_each(|line| say(line));
    }

    fn lines(&self) -> Vec<String> {
        let all = || std::iter::once(&self.header).chain(self.rows.iter().map(|row| &row.cells));
        let widest =
            |column: usize| all().filter_map(|cells| cells.get(column)).map(|cell| width(cell)).max();
        let widths: Vec<usize> = (0..self.header.len()).map(|column| widest(column).unwrap_or(0)).collect();
        let line = |cells: &[String]| {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                line.push_str(cell);
                if column + 1 < widths.len() {
                    line.push_str(&" ".repeat(widths[column] + 2 - width(cell)));
                }
            }
            line.trim_end().to_owned()
        };
        let mut lines = vec![paint(DIM, &line(&self.header))];
        for row in &self.rows {
            lines.push(line(&row.cells));
            lines.extend_from_slice(&row.below);
        }
        lines
    }
}

/// How many columns of a terminal a text takes: two for a Chinese character, none for a colour.
fn width(text: &str) -> usize {
    strip_str(text).map(UnicodeWidthStr::width).sum()
}

/// Free text for one line of a terminal.
pub(crate) fn brief(text: &str, limit: usize) -> String {
    one_line(text, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_is_in_them() {
        let mut table = Table::new(&["ID", "KIND", "TITLE"]);
        table.row(vec!["1".into(), paint(GREEN, "fact"), "a".into()]);
        table.below("why");
        table.row(vec!["日本語".into(), "é".into(), "b".into()]);
        table.row(Vec::new());
        let lines: Vec<String> = table.lines().iter().map(|line| strip_str(line).to_string()).collect();
        assert_eq!(lines, ["ID      KIND  TITLE", "1       fact  a", "    why", "日本語  é     b", ""]);
    }

    #[test]
    fn numbers_read_like_words() {
        assert_eq!(count(1, "summary"), "1 summary");
        assert_eq!(count(2, "summary"), "2 summaries");
        assert_eq!(count(0, "event"), "0 events");
        assert_eq!(
            (bytes(12), bytes(1536), bytes(5 << 20)),
            ("12 B".into(), "1.5 KiB".into(), "5.0 MiB".into())
        );
    }
}
