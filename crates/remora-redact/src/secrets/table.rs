//! Table columns that contain secrets: a header row of names, with rows of values below it.
//!
//! Columns are separated by borders (Markdown, `psql`, `mysql`), by commas, semicolons or tabs (exports), or by
//! spaces (`kubectl`, PowerShell).

use std::ops::Range;

use memchr::memmem;

use super::Secret;
use super::lines::{line_at, next_line};
use super::names::{Class, classify};
use super::value::{Place, is_secret};

/// Maximum distance between the start of a row and a name in it.
const MAX_ROW_LEN: usize = 512;

/// Limit for the rows read of a table.
const MAX_ROWS: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parting {
    Border,
    Sign(u8),
    Spaces,
}

/// Reads the table that has a column name at `name`, if there is one. Returns the end of that line, so that it is not
/// checked again.
pub(super) fn columns(text: &str, name: &Range<usize>, found: &mut Vec<Secret>) -> usize {
    let Some(header) = header_around(text, name) else { return name.end };
    read_below(text, &header, found);
    header.end
}

fn read_below(text: &str, header: &Range<usize>, found: &mut Vec<Secret>) -> Option<()> {
    let row = &text[header.clone()];
    let parting = Parting::of(row);
    let names = parting.cells(row);
    if names.iter().filter(|cell| !cell.is_empty()).count() < 2
        || !names.iter().all(|cell| is_label(&row[cell.clone()]))
    {
        return None;
    }
    let classes: Vec<(usize, Class)> = names
        .iter()
        .enumerate()
        .filter_map(|(at, cell)| Some((at, class_of_label(&row[cell.clone()])?)))
        .collect();
    if classes.is_empty() {
        return None;
    }
    // All rows begin at the same offset in their line as the header: after a diff marker, or at once.
    let margin = header.start - line_start(text, header.start);
    let string = text[..header.start].chars().next_back().filter(|before| "\"'`".contains(*before));
    let mut next = next_line(text, header);
    let mut has_ruler = false;
    for _ in 0..MAX_ROWS {
        let Some(line) = line_at(text, next) else { break };
        next = next_line(text, &line);
        let start = if margin <= 1 { (line.start + margin).min(line.end) } else { line.start };
        let Some(row) = text.get(start..line.end) else { break };
        // A string around the whole table may end here.
        let row = &row[..string.and_then(|quote| row.find(quote)).unwrap_or(row.len())];
        if is_ruler(row) {
            has_ruler = true;
            continue;
        }
        if parting == Parting::Spaces
            && !has_ruler
            && text[header.clone()].contains(|c: char| c.is_ascii_lowercase())
        {
            break;
        }
        let cells = if parting == Parting::Spaces { aligned(row, &names) } else { parting.cells(row) };
        if cells.len() != names.len() {
            break;
        }
        let place = if has_ruler { Place::Bare } else { Place::Cell };
        for (at, class) in &classes {
            let value = unquoted(row, cells[*at].clone());
            if !value.is_empty() && is_secret(*class, place, &row[value.clone()]) {
                found.push(Secret { range: start + value.start..start + value.end, kind: class.kind() });
            }
        }
    }
    Some(())
}

impl Parting {
    fn of(row: &str) -> Self {
        let has = |sign: u8| memchr::memchr(sign, row.as_bytes()).is_some();
        if has(b'|') || row.contains('\u{2502}') {
            return Parting::Border;
        }
        [b'\t', b',', b';'].into_iter().find(|sign| has(*sign)).map_or(Parting::Spaces, Parting::Sign)
    }

    /// The cells of a row, trimmed.
    fn cells(self, row: &str) -> Vec<Range<usize>> {
        let mut cells = Vec::new();
        let mut start = 0;
        let mut in_quotes = false;
        let bytes = row.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let length = match self {
                Parting::Border if bytes[at] == b'|' => 1,
                Parting::Border if bytes[at..].starts_with("\u{2502}".as_bytes()) => 3,
                Parting::Sign(sign) if bytes[at] == sign && !in_quotes => 1,
                Parting::Spaces if bytes[at..].starts_with(b"  ") => {
                    bytes[at..].iter().take_while(|byte| **byte == b' ').count()
                }
                _ => 0,
            };
            in_quotes ^= bytes[at] == b'"';
            if length > 0 {
                cells.push(trimmed(row, start..at));
                start = at + length;
            }
            at += length.max(1);
        }
        cells.push(trimmed(row, start..bytes.len()));
        if self == Parting::Spaces {
            cells.retain(|cell| !cell.is_empty());
        }
        cells
    }
}

/// The cells of a row below column names that are separated by spaces.
fn aligned(row: &str, names: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = names.iter().map(|name| name.start);
    let ends = names.iter().skip(1).map(|name| name.start).chain([row.len()]);
    let is_aligned = |at: usize| at == 0 || row.as_bytes().get(at - 1).is_none_or(|byte| *byte == b' ');
    if starts.clone().all(|start| row.is_char_boundary(start.min(row.len())) && is_aligned(start)) {
        let columns = starts.zip(ends).map(|(start, end)| start.min(row.len())..end.min(row.len()));
        return columns.map(|column| trimmed(row, column)).collect();
    }
    Parting::Spaces.cells(row)
}

fn trimmed(row: &str, cell: Range<usize>) -> Range<usize> {
    let whole = &row[cell.clone()];
    let start = cell.end - whole.trim_start().len();
    start..start + row[start..cell.end].trim_end().len()
}

fn unquoted(row: &str, cell: Range<usize>) -> Range<usize> {
    let bytes = &row.as_bytes()[cell.clone()];
    match bytes {
        [first @ (b'"' | b'\'' | b'`'), .., last] if first == last => cell.start + 1..cell.end - 1,
        _ => cell,
    }
}

/// The row around a name. The text may be a string in JSON, or a diff.
fn header_around(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let start = line_start(text, name.start);
    let line = line_at(text, start).filter(|line| line.end >= name.end)?;
    let mut start = line.start;
    // An operator precedes the quote that begins a string; a comma precedes a quote within a row of strings. A string
    // that is not closed on its line contains the table.
    let is_open = text[line.clone()].bytes().filter(|byte| *byte == b'"').count() % 2 == 1;
    if let Some(quote) = text[start..name.start].rfind(['"', '\'', '`'])
        && (is_open || text[start..start + quote].trim_end().ends_with(['(', ':', '=', '[']))
    {
        start += quote + 1;
    }
    let row = &text[start..line.end];
    let is_marked = row.starts_with(['+', '-']) && !row[1..].starts_with(['+', '-']);
    (name.start - start <= MAX_ROW_LEN).then_some(start + usize::from(is_marked)..line.end)
}

/// The start of the line around `at`, or the limit of the search.
fn line_start(text: &str, at: usize) -> usize {
    let from = text.floor_char_boundary(at.saturating_sub(MAX_ROW_LEN));
    let before = &text[from..at];
    let line = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |found| found + 1);
    let escaped = memmem::rfind(&before.as_bytes()[line..], b"\\n").map_or(0, |found| line + found + 2);
    from + line.max(escaped)
}

/// Whether a cell may be a column name.
fn is_label(cell: &str) -> bool {
    let label = cell.trim_matches(['"', '\'', '`', '*']);
    label.len() <= 40
        && !label.starts_with(|c: char| c.is_ascii_digit())
        && label.chars().all(|c| c.is_alphanumeric() || " _-.()#".contains(c))
}

fn class_of_label(cell: &str) -> Option<Class> {
    let label = cell.trim_matches(['"', '\'', '`', '*']);
    let class = classify(label).or_else(|| classify(&label.replace(' ', "_")))?;
    matches!(class, Class::Password | Class::Secret | Class::Token | Class::Key).then_some(class)
}

/// `|---|:--:|`, `-----+-----`, `===  ===`.
fn is_ruler(row: &str) -> bool {
    row.contains(['-', '=', '\u{2500}', '\u{2550}'])
        && row.chars().all(|c| " \t-=+|:".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c))
}

/// Whether `rest` may follow a column name.
pub(super) fn may_follow_column(rest: &[u8]) -> bool {
    let rest = match rest {
        [b'"' | b'`' | b'*' | b')', rest @ ..] => rest,
        _ => rest,
    };
    matches!(
        rest,
        [] | [b'|' | b',' | b';' | b'\t' | b'\n' | b'\r', ..]
            | [b'\\', b'n' | b'r', ..]
            | [b' ', b' ' | b'|' | b'\n' | b'\r' | b'\\' | 0xe2, ..]
    )
}
