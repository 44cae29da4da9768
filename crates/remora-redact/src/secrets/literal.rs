//! The values of assignments as they are written: strings and bare words.

use std::ops::Range;

use super::lines::break_length;
use super::{SEARCH_RANGE, is_token, is_word};

/// The characters that end a bare value, besides white space.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// None.
    Line,
    Shell,
    Query,
    Connection,
    Prose,
}

pub(super) fn bare(text: &str, start: usize, ends: Ends) -> Range<usize> {
    let bytes = text.as_bytes();
    let rest = &bytes[start..bytes.len().min(start + SEARCH_RANGE)];
    let stops: &[u8] = match ends {
        Ends::Line => b"",
        Ends::Shell => b"\"'`|;<>",
        Ends::Query => b"\"'`&#<>)]},;\\",
        Ends::Connection => b"\"'`;\\",
        Ends::Prose => b"\"'`,;)]}<>&|\\",
    };
    let is_end = |at: usize, byte: u8| {
        byte.is_ascii_whitespace()
            || stops.contains(&byte)
            || closes_string(&rest[at..])
            || ends == Ends::Connection && begins_pair(&rest[at..])
    };
    let mut end = rest.iter().enumerate().position(|(at, byte)| is_end(at, *byte)).unwrap_or(rest.len());
    if ends == Ends::Prose {
        end -= rest[..end].iter().rev().take_while(|byte| b".:!?".contains(byte)).count();
    }
    start..text.floor_char_boundary(start + end)
}

/// The text of a table cell or an element.
pub(super) fn cell(text: &str, at: usize) -> Range<usize> {
    let rest = &text.as_bytes()[at..text.len().min(at + SEARCH_RANGE)];
    let is_end = |at: usize| {
        matches!(rest[at], b'|' | b'\n' | b'\r' | b'<')
            || rest[at..].starts_with("\u{2502}".as_bytes())
            || break_length(&rest[at..]) > 0
    };
    let length = (0..rest.len()).position(is_end).unwrap_or(rest.len());
    let end = text.floor_char_boundary(at + length);
    let whole = text[at..end].trim_end();
    let start = at + whole.len() - whole.trim_start().len();
    let quotes = whole.trim_start().bytes().take_while(|byte| b"\"'`*".contains(byte)).count();
    let closing = whole.bytes().rev().take_while(|byte| b"\"'`*".contains(byte)).count().min(quotes);
    let end = at + whole.len() - closing;
    (start + quotes).min(end)..end
}

/// Whether the string around the value ends, or breaks its line, here: `\n`, `\"`, `"}`.
fn closes_string(rest: &[u8]) -> bool {
    match rest {
        [b'\\', b'n' | b'r' | b't' | b'"' | b'\'', ..] => true,
        [b'"' | b'\'' | b'`', after @ ..] => after.first().is_none_or(|byte| !is_token(*byte)),
        _ => false,
    }
}

/// Whether the next pair of a query begins here: `&name=`.
fn begins_pair(rest: &[u8]) -> bool {
    let [b'&', name @ ..] = rest else { return false };
    let length = name.iter().take_while(|byte| is_word(**byte)).count();
    length > 0 && name.get(length) == Some(&b'=')
}

/// Whether only white space or a comment is left of the line.
pub(super) fn ends_line(rest: &[u8]) -> bool {
    let gap = gap_length(rest);
    match &rest[gap..] {
        [] | [b'\r' | b'\n', ..] => true,
        [b'#', ..] => gap > 0,
        [b'\\', ..] => gap == 0,
        [b'"' | b'\'' | b'`', after @ ..] => {
            gap == 0 && after.first().is_none_or(|byte| b",;)]}\r\n\\".contains(byte))
        }
        _ => false,
    }
}

/// The content of a string, without prefix (`b"…"`, `r#"…"#`) and quotes. The quotes may be escaped, and the text may
/// end before the string does. A long string is cut.
pub(super) fn quoted(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let prefix = bytes[at..].iter().take(3).take_while(|byte| b"bBrRfFuULc@$&#".contains(byte)).count();
    let opening = quote_length(&bytes[at + prefix..]);
    if opening == 0 {
        return None;
    }
    let start = at + prefix + opening;
    let escapes = opening - 1;
    let quote = bytes[start - 1];
    if bytes[at] == b'&' && quote != b'"' {
        // A lifetime.
        return None;
    }
    let is_triple = escapes == 0 && bytes[start..].starts_with(&[quote, quote]);
    let start = if is_triple { start + 2 } else { start };
    let mut backslashes = 0;
    for (length, byte) in bytes[start..].iter().take(SEARCH_RANGE).enumerate() {
        match *byte {
            b'\\' => {
                backslashes += 1;
                continue;
            }
            // An escaped string ends at a quote that is escaped no more than the opening one.
            byte if byte == quote && (backslashes <= escapes && escapes > 0 || backslashes % 2 == 0) => {
                return Some(start..start + length - backslashes.min(escapes));
            }
            b'\n' if quote != b'`' => return None,
            _ => {}
        }
        backslashes = 0;
    }
    Some(start..text.floor_char_boundary(start + SEARCH_RANGE))
}

/// A string inside a wrapper: `Some("…")`, `String::from("…")`.
pub(super) fn wrapped(text: &str, at: usize) -> Option<Range<usize>> {
    const WRAPPERS: [&str; 14] = [
        "",
        "[]byte",
        "Some",
        "Secret",
        "SecretStr",
        "SecretString",
        "String",
        "Zeroizing",
        "bytes",
        "from",
        "from_str",
        "new",
        "str",
        "to_string",
    ];
    let bytes = text.as_bytes();
    let rest = &bytes[at..bytes.len().min(at + 48)];
    let bracket = memchr::memchr(b'(', rest)?;
    let last = text[at..at + bracket].rsplit([':', '.', ' ']).next()?;
    WRAPPERS.contains(&last).then(|| quoted(text, at + bracket + 1)).flatten()
}

/// A string after the type of its variable: `password: &str = "…"`.
pub(super) fn typed(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..bytes.len().min(at + 64)];
    let is_of_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_&<>'[]:.| ?*".contains(byte);
    let length = rest.iter().take_while(|byte| is_of_type(byte)).count();
    if length == 0 || rest.get(length) != Some(&b'=') {
        return None;
    }
    let value = at + length + 1;
    quoted(text, value + gap_length(&bytes[value..]))
}

/// Length of an opening or closing quote, including the backslashes that escape it.
pub(super) fn quote_length(bytes: &[u8]) -> usize {
    let escapes = bytes.iter().take(8).take_while(|byte| **byte == b'\\').count();
    match bytes.get(escapes) {
        Some(b'"' | b'\'') => escapes + 1,
        Some(b'`') if escapes == 0 => 1,
        _ => 0,
    }
}

/// Length of leading white space within a line. French uses non-breaking spaces before a colon.
pub(super) fn gap_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    while length < 64 {
        length += match &bytes[length..] {
            [b' ' | b'\t', ..] => 1,
            [0xc2, 0xa0, ..] => 2,
            [0xe2, 0x80, 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => 3,
            _ => break,
        };
    }
    length
}
