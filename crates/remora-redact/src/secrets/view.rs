//! The unescaped text, with a map back to the original.
//!
//! Terminal colours, HTML entities and tags, percent-encoding, JSON escapes, doubled quotes in CSV and SQL, and the
//! line prefixes of logs and pagers can separate a name from its value, or split either of them. The rules do not
//! handle any of these. If a text has escapes, the rules are applied again to a view without them, and what they find
//! is redacted in the original. A text without escapes costs one bit test per byte.

use std::ops::Range;

use super::lines::prefix_length;
use super::names::is_in;

/// How much of the text before an escape is in the view: a name, and the beginning of its line.
const BEFORE: usize = 256;

/// How much of the text after an escape is in the view: a value, or the rows of a table.
const BEHIND: usize = 1024;

/// Length limit for the prefix of a line.
const MAX_PREFIX_LEN: usize = 160;

/// Length limit for an HTML tag that only formats text.
const MAX_TAG_LEN: usize = 200;

/// Length limit for a terminal sequence. Those that set a title or a link are longer than any colour.
const MAX_SEQUENCE_LEN: usize = 256;

/// Elements that format or lay out text. Elements of data, such as `<password>`, are not included.
const FORMATTING: &str = "a abbr b br code del div dfn em font h1 h2 h3 h4 h5 h6 i ins kbd label li mark ol p pre q s \
                          samp section small span strong sub sup tt u ul";

/// A text without its escapes.
pub(super) struct View {
    pub(super) text: String,
    pieces: Vec<Piece>,
}

/// A range of the view and its origin. Either both have the same bytes, or the original is an escape.
struct Piece {
    start: usize,
    original: Range<usize>,
    is_escape: bool,
}

impl View {
    /// The text without escapes, if it has any.
    pub(super) fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut view = View { text: String::new(), pieces: Vec::new() };
        let mut copied = line_prefix(text, 0);
        let mut at = copied;
        let mut has_escapes = copied > 0;
        while let Some(next) = next_candidate(bytes, at) {
            let Some(escape) = Escape::at(text, next) else {
                at = next + 1;
                continue;
            };
            view.copy_between(text, copied..next, has_escapes);
            has_escapes = true;
            at = next + escape.length;
            view.decode(escape.meaning, next..at);
            copied = at;
        }
        if !has_escapes {
            return None;
        }
        let end = copied.saturating_add(BEHIND).min(bytes.len());
        view.copy(text, copied..text.ceil_char_boundary(end));
        Some(view)
    }

    /// Copies the text between two escapes, without the middle of a long text, which the rules have already seen.
    fn copy_between(&mut self, text: &str, between: Range<usize>, is_behind: bool) {
        let behind = if is_behind { BEHIND } else { 0 };
        if between.len() <= behind + BEFORE {
            return self.copy(text, between);
        }
        let end = text.floor_char_boundary(between.start + behind);
        let start = text.ceil_char_boundary(between.end - BEFORE);
        self.copy(text, between.start..end);
        // A line break separates both sides, and the second side begins at a line if possible.
        let line = memchr::memchr(b'\n', &text.as_bytes()[start..between.end])
            .map_or(start, |found| start + found + 1);
        self.decode(Some('\n'), end..line);
        self.copy(text, line..between.end);
    }

    fn copy(&mut self, text: &str, original: Range<usize>) {
        if !original.is_empty() {
            self.pieces.push(Piece { start: self.text.len(), original: original.clone(), is_escape: false });
            self.text.push_str(&text[original]);
        }
    }

    fn decode(&mut self, meaning: Option<char>, original: Range<usize>) {
        if let Some(meaning) = meaning {
            self.pieces.push(Piece { start: self.text.len(), original, is_escape: true });
            self.text.push(meaning);
        }
    }

    /// The range of the original that corresponds to a range of the view.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        if range.is_empty() {
            return 0..0;
        }
        let first = self.piece_at(range.start);
        let last = self.piece_at(range.end - 1);
        let start = first.original.start + if first.is_escape { 0 } else { range.start - first.start };
        let end =
            if last.is_escape { last.original.end } else { last.original.start + range.end - last.start };
        start..end
    }

    fn piece_at(&self, at: usize) -> &Piece {
        &self.pieces[self.pieces.partition_point(|piece| piece.start <= at) - 1]
    }
}

/// One bit for each pair of bytes that may begin an escape. A text without escapes costs only this lookup per byte.
static PAIRS: [u64; 1024] = pairs();

#[expect(clippy::cast_possible_truncation, reason = "a pair is two bytes")]
const fn pairs() -> [u64; 1024] {
    let mut pairs = [0; 1024];
    let mut pair = 0;
    while pair < 1 << 16 {
        if begins_escape((pair >> 8) as u8, (pair & 0xff) as u8) {
            pairs[pair / 64] |= 1 << (pair % 64);
        }
        pair += 1;
    }
    pairs
}

const fn begins_escape(first: u8, next: u8) -> bool {
    match first {
        0x1b => true,
        b'"' | b'\'' => next == first,
        b'&' => next == b'#' || next.is_ascii_alphabetic(),
        b'%' => next.is_ascii_hexdigit(),
        b'\\' => matches!(next, b'u' | b'x' | b'0' | b'e' | b'\\' | b'"' | b'\''),
        b'<' => next == b'/' || next.is_ascii_lowercase(),
        b'[' => next.is_ascii_digit(),
        b'^' => next == b'[',
        b'\n' => {
            next.is_ascii_digit() || next.is_ascii_uppercase() || matches!(next, b' ' | b'[' | b'(' | b'<')
        }
        _ => false,
    }
}

/// The position of the next two bytes that may begin an escape.
fn next_candidate(bytes: &[u8], at: usize) -> Option<usize> {
    let found = bytes.get(at..)?.windows(2).position(|two| {
        let pair = usize::from(two[0]) << 8 | usize::from(two[1]);
        PAIRS[pair / 64] >> (pair % 64) & 1 == 1
    });
    found.map(|length| at + length)
}

/// The character that an escape stands for, if any, and its length.
struct Escape {
    meaning: Option<char>,
    length: usize,
}

impl Escape {
    fn at(text: &str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let rest = &bytes[at..];
        match rest {
            [b'\n', ..] => {
                let prefix = line_prefix(text, at + 1);
                (prefix > 0).then_some(Escape { meaning: Some('\n'), length: 1 + prefix })
            }
            [0x1b, ..] => {
                Some(Escape { meaning: None, length: 1 + sequence_length(&rest[1..]).unwrap_or(0) })
            }
            // A terminal escape whose first byte is missing or shown as text.
            [b'^', b'[', b'[', ..] => {
                colour_length(&rest[2..]).map(|length| Escape { meaning: None, length: length + 2 })
            }
            [b'[', ..] => colour_length(rest).map(|length| Escape { meaning: None, length }),
            [b'&', ..] => entity(rest),
            [b'%', ..] => percent(rest),
            [b'"' | b'\'', ..] | [b'\\', b'"' | b'\'', ..] => doubled_quote(bytes, at),
            [b'\\', ..] => backslash(rest),
            [b'<', ..] => tag(rest),
            _ => None,
        }
    }
}

/// Length of a terminal sequence after its escape byte.
fn sequence_length(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'[' => {
            let parameters = rest[1..].iter().take(32).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            matches!(rest.get(1 + parameters)?, 0x40..=0x7e).then_some(parameters + 2)
        }
        // A title or a link, up to a bell or an escaped backslash.
        b']' => {
            let near = &rest[..rest.len().min(MAX_SEQUENCE_LEN)];
            let end = memchr::memchr2(0x07, 0x1b, near)?;
            Some(if near[end] == 0x07 { end + 1 } else { end + 2 }.min(rest.len()))
        }
        b'(' | b')' if rest.get(1).is_some_and(u8::is_ascii_alphanumeric) => Some(2),
        b'7' | b'8' | b'=' | b'>' | b'M' | b'c' => Some(1),
        _ => None,
    }
}

/// Length of `[1;32m`, but not of the `[5m]` of a range.
fn colour_length(rest: &[u8]) -> Option<usize> {
    let parameters =
        rest[1..].iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let end = 1 + parameters;
    (parameters > 0 && rest.get(end) == Some(&b'm') && rest.get(end + 1) != Some(&b']')).then_some(end + 1)
}

fn entity(rest: &[u8]) -> Option<Escape> {
    const NAMED: [(&[u8], char); 16] = [
        (b"quot", '"'),
        (b"apos", '\''),
        (b"lt", '<'),
        (b"gt", '>'),
        (b"amp", '&'),
        (b"nbsp", ' '),
        (b"colon", ':'),
        (b"equals", '='),
        (b"lowbar", '_'),
        (b"period", '.'),
        (b"comma", ','),
        (b"semi", ';'),
        (b"sol", '/'),
        (b"dollar", '$'),
        (b"excl", '!'),
        (b"num", '#'),
    ];
    let end = rest.iter().take(12).position(|byte| *byte == b';')?;
    let name = &rest[1..end];
    let meaning = match name {
        [b'#', b'x' | b'X', hex @ ..] => number(hex, 16)?,
        [b'#', decimal @ ..] => number(decimal, 10)?,
        _ => NAMED.iter().find(|(known, _)| name.eq_ignore_ascii_case(known))?.1,
    };
    let meaning = if meaning == '\u{a0}' { ' ' } else { meaning };
    Some(Escape { meaning: Some(meaning), length: end + 1 })
}

fn percent(rest: &[u8]) -> Option<Escape> {
    let byte = |at: usize| {
        let [b'%', high, low] = rest.get(at * 3..at * 3 + 3)? else { return None };
        Some(hex_digit(*high)? << 4 | hex_digit(*low)?)
    };
    let first = byte(0)?;
    let length = match first {
        b'\t' | b'\n' | b'\r' | 0x20..=0x7e => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let mut character = [first, 0, 0, 0];
    for (at, place) in character.iter_mut().enumerate().take(length).skip(1) {
        *place = byte(at)?;
    }
    let meaning = std::str::from_utf8(&character[..length]).ok()?.chars().next();
    Some(Escape { meaning, length: length * 3 })
}

/// `\u0022`, `\x22`, also escaped again, and the source-code spellings of a terminal escape.
fn backslash(rest: &[u8]) -> Option<Escape> {
    let slashes = rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
    let (code, length) = match &rest[slashes..] {
        [b'u', b'{', ..] => return None,
        [b'u', hex @ ..] => (number(hex.get(..4)?, 16)?, slashes + 5),
        [b'x', hex @ ..] => (number(hex.get(..2)?, 16).filter(char::is_ascii)?, slashes + 3),
        [b'0', b'3', b'3', b'[', ..] => ('\u{1b}', slashes + 3),
        [b'e', b'[', ..] => ('\u{1b}', slashes + 1),
        _ => return None,
    };
    if code == '\u{1b}' {
        let sequence = sequence_length(&rest[length..]).unwrap_or(0);
        return Some(Escape { meaning: None, length: length + sequence });
    }
    (!code.is_control() || matches!(code, '\n' | '\t' | '\r'))
        .then_some(Escape { meaning: Some(code), length })
}

fn number(digits: &[u8], radix: u32) -> Option<char> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).filter(|meaning| *meaning != '\0')
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A tag that only formats: `</span>`.
fn tag(rest: &[u8]) -> Option<Escape> {
    let name_at = if rest.get(1) == Some(&b'/') { 2 } else { 1 };
    let length = rest[name_at..].iter().take(8).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = std::str::from_utf8(&rest[name_at..name_at + length]).ok()?;
    if length == 0 || !is_in(FORMATTING, name) {
        return None;
    }
    let after = &rest[name_at + length..];
    let end = match after.first()? {
        b'>' => 0,
        b' ' | b'/' => {
            let near = &after[..after.len().min(MAX_TAG_LEN)];
            memchr::memchr2(b'>', b'\n', near).filter(|end| near[*end] == b'>')?
        }
        _ => return None,
    };
    let breaks_line =
        matches!(name, "br" | "div" | "li" | "p" | "pre" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
    Some(Escape { meaning: breaks_line.then_some('\n'), length: name_at + length + end + 1 })
}

/// `""name""`: quotes that are doubled because they are inside quotes. An empty string has neither a name before it
/// nor a value after it.
fn doubled_quote(bytes: &[u8], at: usize) -> Option<Escape> {
    // The quote itself may be escaped.
    let quote = &bytes[at..at + 1 + usize::from(bytes[at] == b'\\')];
    let count = bytes[at..].chunks(quote.len()).take(4).take_while(|next| *next == quote).count();
    // Three quotes are a Python string, or begin a CSV field.
    if count != 2 && count != 4 {
        return None;
    }
    let length = count * quote.len();
    let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let behind = bytes.get(at + length).copied().unwrap_or(b' ');
    let opens = behind.is_ascii_alphanumeric() || b"{$#@!^~/".contains(&behind) || !behind.is_ascii();
    let closes = before.is_ascii_alphanumeric() || b"!?#$%^*~@}\\".contains(&before) || !before.is_ascii();
    (before != quote[0] && (opens || closes))
        .then_some(Escape { meaning: Some(char::from(quote[quote.len() - 1])), length })
}

/// Length of the prefix that a log or pager puts before the line at `at`.
fn line_prefix(text: &str, at: usize) -> usize {
    // Most lines do not begin like a prefix, and are not examined further.
    let begins = text.as_bytes()[at..].iter().find(|byte| **byte != b' ');
    if !begins.is_some_and(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || b"[(<".contains(byte))
    {
        return 0;
    }
    let near = &text[at..text.floor_char_boundary(text.len().min(at + MAX_PREFIX_LEN))];
    prefix_length(near.split('\n').next().unwrap_or(""))
}
