//! Output: data on stdout, messages on stderr, readable without colour.

use std::io::{ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

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

/// Prints one line of data, unwrapped.
pub(crate) fn say(line: &str) {
    keep_error(writeln!(anstream::stdout(), "{}", visible(line)));
}

/// Prints text for people, wrapped at the width of the terminal. Continuation lines align with its text.
pub(crate) fn prose(line: &str) {
    prose_below("", line);
}

/// Like [`prose`], after a prefix. Continuation lines align with the text after the prefix.
pub(crate) fn prose_below(beginning: &str, text: &str) {
    for line in hanging(beginning, text, columns()) {
        say(&line);
    }
}

pub(crate) fn talk(line: &str) {
    for line in line.lines() {
        talk_below("", line);
    }
}

/// Like [`talk`], after a prefix. Continuation lines align with the text after the prefix.
pub(crate) fn talk_below(beginning: &str, text: &str) {
    for line in hanging(beginning, text, columns()) {
        // A failure here cannot be reported anywhere.
        let _ = writeln!(anstream::stderr(), "{}", visible(&line));
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    // Unescaped, because programs read it.
    keep_error(writeln!(anstream::stdout(), "{}", serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Prints output of another library, unchanged.
pub(crate) fn bytes_as_they_are(text: &[u8]) {
    keep_error(std::io::stdout().write_all(text));
}

/// The first error of standard output. Commands continue after it, because their work is not undone if the
/// answer cannot be read.
static FAILURE: Mutex<Option<std::io::Error>> = Mutex::new(None);

fn keep_error(written: std::io::Result<()>) {
    let Err(error) = written else { return };
    // The reader closed the pipe, which is not an error.
    if error.kind() != ErrorKind::BrokenPipe {
        FAILURE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Why the answer could not be written, if it failed.
pub(crate) fn failure() -> Option<std::io::Error> {
    keep_error(std::io::stdout().flush());
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Lines are never wrapped narrower than this.
const NARROWEST: usize = 30;

/// The line width: `COLUMNS`, or the width of the terminal. `None` for a file or a pipe, where lines are not
/// wrapped.
pub(crate) fn columns() -> Option<usize> {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal =
        || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    given.or_else(terminal).filter(|columns| *columns > 0).map(|columns: usize| columns.max(NARROWEST))
}

/// Wraps a text between words, after a prefix. A command in backquotes stays on one line if it fits.
pub(crate) fn hanging(beginning: &str, text: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns else { return vec![format!("{beginning}{text}")] };
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let indent = width(beginning) + spaces;
    // A long prefix leaves no room to align with its text.
    let indent = if indent + 20 > columns { 4 } else { indent };
    let (mut lines, mut line) = (Vec::new(), format!("{beginning}{}", " ".repeat(spaces)));
    let mut is_empty = true;
    for word in words(text, columns - indent) {
        let separator = usize::from(!is_empty);
        if !is_empty && width(&line) + separator + width(word) > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// Splits a text into words. Text in backquotes counts as one word unless it is longer than a line.
fn words(text: &str, longest: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut opened) = (None, None);
    for (at, letter) in text.char_indices() {
        let is_code = opened.is_some_and(|opened: usize| {
            text[opened + 1..].find('`').is_some_and(|length| length + 4 <= longest)
        });
        match letter {
            ' ' if is_code => {}
            ' ' => words.extend(start.take().map(|start| &text[start..at])),
            '`' => {
                // Code that is longer than a line ends here, too.
                opened = if opened.is_some() { None } else { Some(at) };
                start.get_or_insert(at);
            }
            _ => {
                start.get_or_insert(at);
            }
        }
    }
    words.extend(start.map(|start| &text[start..]));
    words
}

/// A number with its noun: `38 events`, `1 event`.
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

/// A time in the user's time zone, to the minute.
pub(crate) fn local(time: Time) -> String {
    format_local(time, "%Y-%m-%d %H:%M")
}

pub(crate) fn format_local(time: Time, format: &str) -> String {
    let zoned = jiff::Timestamp::from_millisecond(time.0).map(|time| time.to_zoned(TimeZone::system()));
    zoned.map_or_else(|_| time.0.to_string(), |zoned| zoned.strftime(format).to_string())
}

/// A table. Columns are as wide as their widest cell; the last one takes the rest of the line. Cells may be
/// coloured.
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

    /// Adds a line of text below the last row.
    pub(crate) fn below(&mut self, line: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.below.push(format!("    {line}"));
        }
    }

    /// In one piece, because each piece is a call of the system.
    pub(crate) fn print(&self) {
        say(&self.lines(columns()).join("\n"));
    }

    fn lines(&self, columns: Option<usize>) -> Vec<String> {
        let (widths, is_last_below) = self.widths(columns);
        let is_on_line = |column: usize| !is_last_below || column + 1 < self.header.len();
        let line = |cells: &[String]| {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate().filter(|(column, _)| is_on_line(*column)) {
                let cell = cut(cell, widths[column]);
                line.push_str(&cell);
                if column + 1 < widths.len() {
                    line.push_str(&" ".repeat((widths[column] + 2).saturating_sub(width(&cell))));
                }
            }
            line.trim_end().to_owned()
        };
        let mut lines = vec![paint(DIM, &line(&self.header))];
        for row in &self.rows {
            lines.push(line(&row.cells));
            if let Some(last) =
                row.cells.last().filter(|_| is_last_below && row.cells.len() == self.header.len())
            {
                lines.extend(hanging("    ", last, columns));
            }
            lines.extend(row.below.iter().flat_map(|line| hanging("", line, columns)));
        }
        lines
    }

    /// The width of each column, and whether the last one moves below the others because it does not fit
    /// beside them.
    fn widths(&self, columns: Option<usize>) -> (Vec<usize>, bool) {
        let all = || std::iter::once(&self.header).chain(self.rows.iter().map(|row| &row.cells));
        let widest = |column: usize| {
            all().filter_map(|cells| cells.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.header.len()).map(widest).collect();
        let (Some(columns), Some(last)) = (columns, widths.len().checked_sub(1)) else {
            return (widths, false);
        };
        let taken = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if taken(&widths) <= columns {
            return (widths, false);
        }
        let others = taken(&widths[..last]) + 2;
        if others + NARROWEST_LAST.min(widths[last]) <= columns {
            widths[last] = columns - others;
            return (widths, false);
        }
        // Shortens names; the first column, which has ids, and times stay whole.
        while taken(&widths[..last]) > columns {
            let shorter =
                (1..last).filter(|at| widths[*at] > 6 && widths[*at] != TIME).max_by_key(|at| widths[*at]);
            let Some(column) = shorter else { break };
            widths[column] -= 1;
        }
        widths[last] = usize::MAX;
        (widths, true)
    }
}

/// If less than this is left, the last column of a table gets its own line.
const NARROWEST_LAST: usize = 28;
/// Width of a time in a table.
const TIME: usize = 16;

/// Cuts a cell to a width. Its colour is kept if it covers the whole cell.
fn cut(cell: &str, limit: usize) -> String {
    if width(cell) <= limit {
        return cell.to_owned();
    }
    let plain = strip_str(cell).to_string();
    let mut short = String::new();
    for letter in plain.chars() {
        if width(&short) + UnicodeWidthStr::width(letter.encode_utf8(&mut [0; 4]) as &str) >= limit {
            break;
        }
        short.push(letter);
    }
    let short = format!("{}…", short.trim_end());
    match cell.find('m').filter(|_| cell.starts_with('\u{1b}')) {
        Some(end) => format!("{}{short}\u{1b}[0m", &cell[..=end]),
        None => short,
    }
}

/// The width of a text in terminal columns: two for a Chinese character, none for a colour code.
pub(crate) fn width(text: &str) -> usize {
    strip_str(text).map(UnicodeWidthStr::width).sum()
}

/// Shortens free text to one line of a terminal.
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
        let lines: Vec<String> = table.lines(None).iter().map(|line| strip_str(line).to_string()).collect();
        assert_eq!(lines, ["ID      KIND  TITLE", "1       fact  a", "    why", "日本語  é     b", ""]);
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let mut table = Table::new(&["ID", "KIND", "WHEN", "TITLE"]);
        let title = "A title that is longer than a narrow terminal has room for beside the rest";
        table.row(vec!["1".into(), paint(GREEN, "observation"), "2026-03-10 09:15".into(), title.into()]);
        table.below("a snippet of some words that goes on below the row, for quite some way");
        for columns in [40, 60, 72, 100, 200] {
            for line in table.lines(Some(columns)) {
                assert!(width(&line) <= columns, "{columns}: {line}");
            }
        }
        let plain = |columns| {
            let lines = table.lines(Some(columns));
            lines.iter().map(|line| strip_str(line).to_string()).collect::<Vec<_>>()
        };
        assert_eq!(plain(72)[1], "1   observation  2026-03-10 09:15  A title that is longer than a narrow…");
        assert_eq!(plain(50)[1], "1   observation  2026-03-10 09:15");
        assert_eq!(plain(50)[2], "    A title that is longer than a narrow terminal");
    }

    #[test]
    fn text_is_broken_between_words_and_commands_stay_whole() {
        let text = "Install it again: `remora install --host claude-code`, then look once more";
        let lines = hanging("hint: ", text, Some(50));
        assert_eq!(
            lines,
            [
                "hint: Install it again:",
                "      `remora install --host claude-code`, then",
                "      look once more"
            ]
        );
        assert_eq!(hanging("hint: ", text, None), [format!("hint: {text}")]);
        let long =
            "Run `one command that is longer than a line of thirty` first, and then take some more words.";
        assert!(
            hanging("", long, Some(30)).iter().all(|line| line.len() <= 30),
            "{:?}",
            hanging("", long, Some(30))
        );
        assert_eq!(hanging("", "  two  words", Some(40)), ["  two words"]);
        assert_eq!(hanging("", "", Some(40)), [""]);
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
