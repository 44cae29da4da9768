//! Lines of a text that may itself be escaped in a string, where `\n` ends a line.

use std::ops::Range;

use super::is_word;
use super::names::is_in;

/// Length limit for a line of a table or of a YAML block.
const MAX_LEN: usize = 2048;

/// Limit for the lines of a block: far more than a key has.
const MAX_LINES: usize = 128;

/// Characters that indent a line, including diff markers.
const MARGIN: [char; 4] = ['+', '-', ' ', '\t'];

/// Length of the line break at the start of `bytes`; 0 if there is none.
pub(super) fn break_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        [b'\\', ..] => {
            let slashes = bytes.iter().take(4).take_while(|byte| **byte == b'\\').count();
            match &bytes[slashes..] {
                [b'n', ..] => slashes + 1,
                [b'r', rest @ ..]
                    if rest.starts_with(&bytes[..slashes]) && rest.get(slashes) == Some(&b'n') =>
                {
                    2 * slashes + 2
                }
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// The line that begins at `at`, without its break. `None` at the end of the text and for lines that are too long.
pub(super) fn line_at(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(at..).filter(|rest| !rest.is_empty())?;
    let mut from = 0;
    while let Some(found) = memchr::memchr3(b'\n', b'\r', b'\\', &rest[from..rest.len().min(MAX_LEN)]) {
        if break_length(&rest[from + found..]) > 0 {
            return Some(at..at + from + found);
        }
        from += found + 1;
    }
    (rest.len() < MAX_LEN).then_some(at..text.len())
}

/// The start of the next line.
pub(super) fn next_line(text: &str, line: &Range<usize>) -> usize {
    line.end + break_length(&text.as_bytes()[line.end..])
}

/// The lines of a YAML block: `password: |` and, indented further, the value. `at` is the position of the sign.
pub(super) fn block_scalar(text: &str, lead: &str, at: usize) -> Option<Range<usize>> {
    // The document may be in a string, and a path may precede the name: `spring.datasource.password`.
    let string = lead.rfind(['"', '\'', '`']);
    let quote = string.and_then(|at| lead[at..].chars().next());
    let lead = &lead[string.map_or(0, |at| at + 1)..];
    let path = lead.trim_start_matches(MARGIN);
    if !path.bytes().all(|byte| is_word(byte) || byte == b'.') {
        return None;
    }
    let indent = lead.len() - path.len();
    let header = line_at(text, at)?;
    let sign = text[header.clone()].trim_end();
    if !sign.starts_with(['|', '>']) || !sign[1..].bytes().all(|byte| b"+-0123456789".contains(&byte)) {
        return None;
    }
    let mut block: Option<Range<usize>> = None;
    let mut next = next_line(text, &header);
    for _ in 0..MAX_LINES {
        let Some(line) = line_at(text, next) else { break };
        let content = text[line.clone()].trim_start_matches(MARGIN);
        let start = line.end - content.len();
        let content = content.trim_end();
        if !content.is_empty() {
            if start - line.start <= indent {
                break;
            }
            // A string around the whole document may end here.
            let closing = quote.and_then(|quote| content.find(quote));
            let end = start + closing.unwrap_or(content.len());
            block = Some(block.map_or(start, |block| block.start)..end);
            if closing.is_some() {
                break;
            }
        }
        next = next_line(text, &line);
    }
    block.filter(|block| !block.is_empty())
}

/// Length of the prefix that a log, pager or editor puts before a line: a number, or a time, a level and a source.
pub(super) fn prefix_length(line: &str) -> usize {
    let numbered = number_length(line.as_bytes());
    if numbered > 0 {
        return numbered;
    }
    let mut rest = line.trim_start_matches([' ', '\t']);
    let mut is_log = false;
    while !rest.is_empty() {
        let word = rest.split([' ', '\t']).next().unwrap_or("");
        let is_source = is_log
            && word.len() > 1
            && word.ends_with([':', ']', '|', ')', '>'])
            && !word.contains(['=', '"']);
        let is_separator = is_log && matches!(word, "-" | "|" | "--" | ":");
        let marks_log = is_time(word) || is_level(word);
        if word.is_empty()
            || word.len() == rest.len()
            || !(marks_log || is_source || is_separator || is_log && is_host(&rest[word.len()..]))
        {
            break;
        }
        is_log = is_log || marks_log;
        // The text after the prefix may be indented.
        rest = &rest[word.len() + 1..];
        if is_log && is_source && !rest.trim_start().starts_with('[') && word.ends_with(':') {
            break;
        }
    }
    if is_log { line.len() - rest.len() } else { 0 }
}

/// `   12\u{2192}`, `12\t`, `  12 | `: line numbers as tools show them.
fn number_length(line: &[u8]) -> usize {
    let margin = line.iter().take(8).take_while(|byte| **byte == b' ').count();
    let digits = line[margin..].iter().take(7).take_while(|byte| byte.is_ascii_digit()).count();
    let at = margin + digits;
    if digits == 0 {
        return 0;
    }
    match &line[at..] {
        [0xe2, 0x86, 0x92, ..] | [b' ', b'|', b' ', ..] => at + 3,
        [b'\t', ..] => at + 1,
        [b' ', 0xe2, 0x94, 0x82, b' ', ..] => at + 5,
        _ => 0,
    }
}

fn is_time(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_of_time = |byte: u8| byte.is_ascii_digit() || b"[]()-/:.,+TZ".contains(&byte);
    digits >= 6 && word.contains([':', '-']) && word.len() <= 40 && word.bytes().all(is_of_time)
}

fn is_level(word: &str) -> bool {
    let level = word.trim_matches(['[', ']', '(', ')', '<', '>', ':', '|']);
    is_in("TRACE DEBUG INFO NOTICE WARN WARNING ERROR FATAL CRITICAL", level)
        || level.len() < word.len()
            && is_in("trace debug info notice warn warning error fatal critical", level)
}

/// A syslog line names its host between the time and the program.
fn is_host(after: &str) -> bool {
    after.trim_start().split(' ').next().is_some_and(|next| next.ends_with("]:"))
}
