//! The search for secrets, before anything is written.
//!
//! A hook runs for about a millisecond and mostly sees text without secrets, so the cheapest checks come first. One
//! pass over the text searches for the keywords of all rules ([`prefilter`], a table built at compile time). A few
//! byte comparisons check each hit ([`Find`]). Only if they hold is a regular expression compiled (about 40 µs each,
//! 250 µs for the first) and tried at that position. Secrets revealed by names and assignments (`password = …`) are
//! read by hand-written code ([`assignment`], [`table`]), as are blocks and URLs ([`blocks`]): their keywords are too
//! common to pay for an expression each time. If a text has escapes, the search is repeated on the unescaped text
//! ([`view`]).
//!
//! The work is linear in the length of the text: every keyword hit examines a bounded range around itself
//! ([`SEARCH_RANGE`]), except for the few rules that read the whole text, and those do it once.

mod assignment;
mod blocks;
mod header;
mod lines;
mod literal;
mod names;
mod prefilter;
mod table;
mod value;
mod view;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

use crate::rules::{COUNT, RULES, SHAPES};

use view::View;

pub use names::names_a_secret;

/// One format of secrets.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Used in `[redacted:kind]`; several rules may share it.
    pub kind: &'static str,
    /// One of these must occur in the text, in any case. At least three bytes each.
    pub keywords: &'static [&'static str],
    /// The condition on the text around a keyword.
    pub find: Find,
    /// An expression over bytes, with ASCII classes only. If it has a group named `secret`, only that group is
    /// replaced. Empty if hand-written code reads the rule.
    pub pattern: &'static str,
    /// Texts that this rule redacts.
    pub samples: &'static [&'static str],
    /// The secret in the sample at the same index; empty if each sample is a secret as a whole.
    pub secrets: &'static [&'static str],
}

/// The check at a keyword before the pattern is compiled and tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// The keyword begins a word, at least this many letters, digits, `_` or `-` follow it, and the pattern matches
    /// at the keyword.
    At(usize),
    /// Like `At`, for tokens in base64: `+`, `/`, `=` and `%` also count.
    Encoded(usize),
    /// The keyword begins a word. A number of letters and digits (at least, at most) and then a dot follow it, and
    /// the pattern matches at the keyword.
    Dotted(usize, usize),
    /// The pattern matches at this many bytes before the keyword.
    Behind(usize),
    /// The keyword begins a word, one of these literals follows on the same line, and the pattern matches at the
    /// keyword.
    With(&'static [&'static str]),
    /// The keyword is part of a name, and the pattern matches the entire value assigned to that name.
    Value,
    /// The pattern matches anywhere in the text.
    Text,
    /// Hand-written code reads it.
    Hand(Reader),
}

/// The code that reads a rule without a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Assignment,
    PrivateKey,
    UrlPassword,
    KubernetesSecret,
}

/// Search range around a keyword, in bytes. A longer secret is followed to its end afterwards.
const SEARCH_RANGE: usize = 1024;

/// Length limit for a command line, in bytes.
const MAX_LINE_LEN: usize = 4096;

/// Redaction changes the neighbours of the remaining text, so it is repeated until nothing is found. Only text made
/// for the purpose takes more rounds than this.
const ROUNDS: usize = 8;

/// How many layers of escapes are removed: an entity within a URL within JSON.
const ESCAPED: usize = 3;

const MARK: &str = "[redacted:";

/// Replaces every secret in `text` by `[redacted:kind]`; `Cow::Borrowed` if there is none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut redacted = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let found = secrets_in(&redacted);
        if found.is_empty() {
            break;
        }
        redacted = Cow::Owned(replace(&redacted, &found));
    }
    redacted
}

/// The table, for tests and docs.
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// A range of the text that is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    range: Range<usize>,
    kind: &'static str,
}

/// All secrets of the text in order. None overlaps another one or a mark of an earlier redaction.
fn secrets_in(text: &str) -> Vec<Secret> {
    let found = search(text, ESCAPED);
    if found.is_empty() {
        return found;
    }
    without_marks(text, merged(found))
}

/// The secrets of the text and of its unescaped view, which may be escaped up to `again` times.
fn search(text: &str, again: usize) -> Vec<Secret> {
    let mut search = Search {
        text,
        found: Vec::new(),
        read_to: 0,
        header_to: 0,
        read_whole: Vec::new(),
        key_marks: Vec::new(),
    };
    prefilter::for_each_hit(text.as_bytes(), |rule, hit| search.try_rule(rule, hit));
    blocks::private_keys(text, &search.key_marks, &mut search.found);
    let mut found = search.found;
    if again > 0
        && let Some(view) = View::of(text)
    {
        let behind = self::search(&view.text, again - 1).into_iter();
        found.extend(behind.map(|secret| Secret { range: view.original(&secret.range), kind: secret.kind }));
    }
    found
}

struct Search<'t> {
    text: &'t str,
    found: Vec<Secret>,
    /// How far assignments were read, because a name may contain several keywords.
    read_to: usize,
    /// The end of the last line that was checked as the header of a table.
    header_to: usize,
    /// Rules that were already tried on the whole text.
    read_whole: Vec<usize>,
    /// Positions of `PRIVATE KEY`.
    key_marks: Vec<Range<usize>>,
}

impl Search<'_> {
    fn try_rule(&mut self, index: usize, hit: Range<usize>) {
        let shape = &SHAPES[index];
        let bytes = self.text.as_bytes();
        match shape.find {
            Find::At(least) => {
                if begins_word(bytes, hit.start) && word_length(&bytes[hit.end..], least) >= least {
                    self.try_pattern(index, hit.start, SEARCH_RANGE);
                }
            }
            Find::Encoded(least) => {
                let body = bytes[hit.end..].iter().take(least).take_while(|byte| is_token(**byte)).count();
                if begins_word(bytes, hit.start) && body == least {
                    self.try_pattern(index, hit.start, SEARCH_RANGE);
                }
            }
            Find::Dotted(least, most) => {
                let after = &bytes[hit.end..];
                let length = word_length(after, most);
                if (least..=most).contains(&length)
                    && after.get(length) == Some(&b'.')
                    && begins_word(bytes, hit.start)
                {
                    self.try_pattern(index, hit.start, SEARCH_RANGE);
                }
            }
            Find::Behind(before) => {
                if let Some(start) = hit.start.checked_sub(before)
                    && bytes[start..hit.start].iter().all(u8::is_ascii_graphic)
                {
                    self.try_pattern(index, start, SEARCH_RANGE);
                }
            }
            Find::With(literals) => {
                if begins_word(bytes, hit.start) {
                    let line = line_from(bytes, hit.end);
                    if literals.iter().any(|literal| memmem::find(line, literal.as_bytes()).is_some()) {
                        self.try_pattern(index, hit.start, MAX_LINE_LEN);
                    }
                }
            }
            Find::Value => self.try_value(index, &hit),
            Find::Text => {
                if !self.read_whole.contains(&index) {
                    self.read_whole.push(index);
                    self.try_everywhere(index);
                }
            }
            Find::Hand(Reader::Assignment) => {
                if hit.start >= self.header_to && assignment::may_be_column(self.text, &hit) {
                    self.header_to = table::columns(self.text, &hit, &mut self.found);
                }
                if hit.start >= self.read_to
                    && !self.is_found(hit.start)
                    && let Some(name_end) = assignment::read(self.text, &hit, &mut self.found)
                {
                    self.read_to = name_end;
                }
            }
            Find::Hand(Reader::PrivateKey) => self.key_marks.push(hit),
            Find::Hand(Reader::UrlPassword) => blocks::url_password(self.text, &hit, &mut self.found),
            Find::Hand(Reader::KubernetesSecret) => {
                if !self.read_whole.contains(&index) {
                    self.read_whole.push(index);
                    blocks::kubernetes_secrets(self.text, &mut self.found);
                }
            }
        }
    }

    /// Whether a position is inside the last secret found. Prefixes repeated within a secret are not tried again, so
    /// that no text is followed to its end more than once.
    fn is_found(&self, at: usize) -> bool {
        self.found.last().is_some_and(|secret| secret.range.contains(&at))
    }

    /// Matches a rule at `start`.
    fn try_pattern(&mut self, index: usize, start: usize, reach: usize) {
        let kind = SHAPES[index].kind;
        if self.is_found(start) && self.found.last().is_some_and(|secret| secret.kind == kind) {
            return;
        }
        let bytes = self.text.as_bytes();
        let end = bytes.len().min(start + reach);
        let Some(regex) = pattern(index) else { return };
        let Some(found) = match_in(regex, &bytes[start..end]) else { return };
        let range = start + found.start..start + found.end;
        let is_cut = range.end == end;
        self.add(range.start..if is_cut { end_of_token(bytes, end) } else { range.end }, kind);
    }

    fn try_everywhere(&mut self, index: usize) {
        let Some(regex) = pattern(index) else { return };
        for captures in regex.captures_iter(self.text.as_bytes()) {
            if let Some(secret) = captures.name("secret").or_else(|| captures.get(0)) {
                self.add(secret.range(), SHAPES[index].kind);
            }
        }
    }

    fn try_value(&mut self, index: usize, hit: &Range<usize>) {
        let Some(range) = assignment::value_of_name(self.text, hit) else { return };
        if !value::is_random(&self.text[range.clone()]) {
            return;
        }
        let value = &self.text.as_bytes()[range.clone()];
        if pattern(index).is_some_and(|regex| regex.is_match(value)) {
            self.add(range, SHAPES[index].kind);
        }
    }

    /// Adds a secret. Patterns are over bytes, so a bounded negated class may end within a character.
    fn add(&mut self, range: Range<usize>, kind: &'static str) {
        let range = self.text.floor_char_boundary(range.start)..self.text.ceil_char_boundary(range.end);
        self.found.push(Secret { range, kind });
    }
}

/// The compiled pattern of a rule. It is anchored at the start, or at both ends for a value, unless it is for the
/// whole text. A test checks that all patterns compile.
fn pattern(index: usize) -> Option<&'static Regex> {
    static COMPILED: [OnceLock<Option<Regex>>; COUNT] = [const { OnceLock::new() }; COUNT];
    COMPILED[index]
        .get_or_init(|| {
            let shape = &SHAPES[index];
            let source = match shape.find {
                Find::Text => Cow::Borrowed(shape.pattern),
                Find::Value => Cow::Owned(format!("^(?:{})$", shape.pattern)),
                _ => Cow::Owned(format!("^(?:{})", shape.pattern)),
            };
            RegexBuilder::new(&source).unicode(false).build().ok()
        })
        .as_ref()
}

/// The range of the secret in the match at the start of `bytes`.
fn match_in(regex: &Regex, bytes: &[u8]) -> Option<Range<usize>> {
    if regex.captures_len() == 1 {
        return regex.find(bytes).map(|found| found.range());
    }
    let captures = regex.captures(bytes)?;
    captures.name("secret").or_else(|| captures.get(0)).map(|found| found.range())
}

/// Merges overlapping secrets into one. It is named after the leftmost and longest, and among equals after the rule
/// that comes first: the table is ordered from specific to general.
fn merged(mut found: Vec<Secret>) -> Vec<Secret> {
    found.retain(|secret| !secret.range.is_empty());
    found.sort_by(|a, b| {
        let order = |secret: &Secret| SHAPES.iter().position(|shape| shape.kind == secret.kind);
        (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)).then_with(|| order(a).cmp(&order(b)))
    });
    let mut apart: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match apart.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
            }
            _ => apart.push(secret),
        }
    }
    apart
}

/// Excludes the marks of earlier redactions from the secrets, so that redaction is idempotent.
fn without_marks(text: &str, found: Vec<Secret>) -> Vec<Secret> {
    let marks: Vec<Range<usize>> = marks_in(text).collect();
    if marks.is_empty() {
        return found;
    }
    let mut left = Vec::with_capacity(found.len());
    let mut passed = 0;
    for Secret { mut range, kind } in found {
        passed += marks[passed..].iter().take_while(|mark| mark.end <= range.start).count();
        for mark in marks[passed..].iter().take_while(|mark| mark.start < range.end) {
            if range.start < mark.start {
                left.push(Secret { range: range.start..mark.start, kind });
            }
            range.start = mark.end;
        }
        if range.start < range.end {
            left.push(Secret { range, kind });
        }
    }
    left
}

/// Ranges of `[redacted:kind]`.
fn marks_in(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    memmem::find_iter(bytes, MARK).filter_map(move |start| {
        let kind = start + MARK.len();
        let length = bytes[kind..].iter().take(48).take_while(|byte| is_word(**byte)).count();
        (length > 0 && bytes.get(kind + length) == Some(&b']')).then_some(start..kind + length + 1)
    })
}

fn replace(text: &str, found: &[Secret]) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut kept = 0;
    for secret in found {
        redacted.push_str(&text[kept..secret.range.start]);
        redacted.push_str(MARK);
        redacted.push_str(secret.kind);
        redacted.push(']');
        kept = secret.range.end;
    }
    redacted.push_str(&text[kept..]);
    redacted
}

/// Whether a word begins at `at`. Escapes do not count as part of a word: the `n` of `\n` in JSON, the `20` of `%20`
/// in a URL, the `0026` of `\u0026`, and the `m` that ends a terminal colour.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    if !bytes[at].is_ascii_alphanumeric() {
        return true;
    }
    match &bytes[at.saturating_sub(8)..at] {
        [.., b'\\', b'n' | b'r' | b't']
        | [.., b'%', _, b'0'..=b'9' | b'A'..=b'F']
        | [.., b'\\', b'u', b'0', b'0', _, _] => true,
        [escape @ .., b'm'] if escape.contains(&0x1b) => true,
        before => before.last().is_none_or(|last| !last.is_ascii_alphanumeric()),
    }
}

/// Number of leading letters, digits, `_` and `-`, counted up to `enough`.
fn word_length(bytes: &[u8], enough: usize) -> usize {
    bytes.iter().take(enough + 1).take_while(|byte| is_word(**byte)).count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Bytes that occur in tokens, including encodings.
fn is_token(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
}

/// The end of a token that continues at `at`.
fn end_of_token(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_token(**byte)).count()
}

/// The rest of the line, up to the length limit.
fn line_from(bytes: &[u8], at: usize) -> &[u8] {
    let rest = &bytes[at..bytes.len().min(at + MAX_LINE_LEN)];
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}
