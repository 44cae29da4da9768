//! Secrets are found and replaced here, before anything is written.
//!
//! A hook lives for about a millisecond and sees mostly text without any secret, so the order of work is by
//! cost. One pass over the text looks for the keywords of all rules ([`prefilter`], a table built by the
//! compiler). Each hit is then checked by a few byte comparisons ([`Find`]), and only when those hold is a
//! regular expression compiled (about 40 µs each, 250 µs for the first) and tried right there. What names and
//! assignments give away (`password = …`) is read by hand ([`assignment`], [`table`]), as are blocks and URLs
//! ([`blocks`]): their keywords are too common to pay for an expression each time. Where a text has escapes, the same
//! is done once more for what stands behind them ([`view`]).
//!
//! The work is linear in the length of the text: every keyword hit looks at a bounded stretch around itself
//! ([`REACH`]), except for the few rules that read the whole text, and those do it once.

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

/// One shape of secret.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Goes into `[redacted:kind]`; several rules may share it.
    pub kind: &'static str,
    /// One of these, in any case, must be in the text; at least three bytes each.
    pub keywords: &'static [&'static str],
    /// What must hold around a keyword.
    pub find: Find,
    /// An expression over bytes, with ASCII classes only. If it has a group named `secret`, only that is
    /// replaced. Empty if the rule is read by hand.
    pub pattern: &'static str,
    /// Texts this rule redacts.
    pub samples: &'static [&'static str],
    /// The secret in the sample at the same place; empty if each sample is the secret from end to end.
    pub secrets: &'static [&'static str],
}

/// What is checked at a keyword before the pattern is compiled and tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// The keyword begins a word, at least so many letters, digits, `_` or `-` follow it, and the pattern
    /// matches from the keyword on.
    At(usize),
    /// The same for tokens in base64: `+`, `/`, `=` and `%` count, too.
    Encoded(usize),
    /// The keyword begins a word. This many letters and digits (at least, at most) and then a dot follow it, and the
    /// pattern matches from the keyword on.
    Dotted(usize, usize),
    /// The pattern matches from this many bytes before the keyword on.
    Behind(usize),
    /// The keyword begins a word, one of these literals follows on the same line, and the pattern matches from
    /// the keyword on.
    With(&'static [&'static str]),
    /// The keyword is part of a name, and the pattern matches all of the value assigned to that name.
    Value,
    /// The pattern matches anywhere in the text.
    Text,
    /// By hand.
    Hand(Reader),
}

/// What reads the rules that have no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Assignment,
    PrivateKey,
    UrlPassword,
    KubernetesSecret,
}

/// How far from its keyword a secret is looked for. One that is longer is followed to its end afterwards.
const REACH: usize = 1024;

/// How far a command line is followed.
const LONGEST_LINE: usize = 4096;

/// Redaction changes what stands next to the text that is left, so it is repeated until nothing is found;
/// text in which that takes more rounds than this was made to do so.
const ROUNDS: usize = 8;

/// How often a text may have been escaped: an entity within a URL within JSON.
const ESCAPED: usize = 3;

const MARK: &str = "[redacted:";

/// Replaces every secret in `text` by `[redacted:kind]`; `Cow::Borrowed` when nothing was found.
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

/// A stretch of the text that is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    range: Range<usize>,
    kind: &'static str,
}

/// All secrets of the text in order, none of which overlaps another or a mark left by an earlier redaction.
fn secrets_in(text: &str) -> Vec<Secret> {
    let found = search(text, ESCAPED);
    if found.is_empty() {
        return found;
    }
    without_marks(text, merged(found))
}

/// The secrets of the text, and those of the view behind its escapes, which may be escaped `again` themselves.
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
    /// How far assignments were read: a name may hold several keywords.
    read_to: usize,
    /// The end of the last line that was looked at as the first row of a table.
    header_to: usize,
    /// The rules that were tried on the whole text already.
    read_whole: Vec<usize>,
    /// Where `PRIVATE KEY` stands.
    key_marks: Vec<Range<usize>>,
}

impl Search<'_> {
    fn try_rule(&mut self, index: usize, hit: Range<usize>) {
        let shape = &SHAPES[index];
        let bytes = self.text.as_bytes();
        match shape.find {
            Find::At(least) => {
                if begins_word(bytes, hit.start) && word_length(&bytes[hit.end..], least) >= least {
                    self.try_pattern(index, hit.start, REACH);
                }
            }
            Find::Encoded(least) => {
                let body = bytes[hit.end..].iter().take(least).take_while(|byte| is_token(**byte)).count();
                if begins_word(bytes, hit.start) && body == least {
                    self.try_pattern(index, hit.start, REACH);
                }
            }
            Find::Dotted(least, most) => {
                let after = &bytes[hit.end..];
                let length = word_length(after, most);
                if (least..=most).contains(&length)
                    && after.get(length) == Some(&b'.')
                    && begins_word(bytes, hit.start)
                {
                    self.try_pattern(index, hit.start, REACH);
                }
            }
            Find::Behind(before) => {
                if let Some(start) = hit.start.checked_sub(before)
                    && bytes[start..hit.start].iter().all(u8::is_ascii_graphic)
                {
                    self.try_pattern(index, start, REACH);
                }
            }
            Find::With(literals) => {
                if begins_word(bytes, hit.start) {
                    let line = line_from(bytes, hit.end);
                    if literals.iter().any(|literal| memmem::find(line, literal.as_bytes()).is_some()) {
                        self.try_pattern(index, hit.start, LONGEST_LINE);
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

    /// Whether a place is within what was found last. Prefixes that are repeated within a secret are not tried
    /// again, so that no text is followed to its end more than once.
    fn is_found(&self, at: usize) -> bool {
        self.found.last().is_some_and(|secret| secret.range.contains(&at))
    }

    /// Matches a rule from `start` on.
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

    /// Patterns are over bytes, so a bounded negated class may end within a character.
    fn add(&mut self, range: Range<usize>, kind: &'static str) {
        let range = self.text.floor_char_boundary(range.start)..self.text.ceil_char_boundary(range.end);
        self.found.push(Secret { range, kind });
    }
}

/// The compiled pattern of a rule, which matches only from the start of what it is given, or all of a value,
/// unless it is for the whole text. A test sees to it that all patterns compile.
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

/// Where the secret is in the match at the start of `bytes`.
fn match_in(regex: &Regex, bytes: &[u8]) -> Option<Range<usize>> {
    if regex.captures_len() == 1 {
        return regex.find(bytes).map(|found| found.range());
    }
    let captures = regex.captures(bytes)?;
    captures.name("secret").or_else(|| captures.get(0)).map(|found| found.range())
}

/// Overlapping secrets become one, named after the leftmost and longest of them, and among equals after the
/// one whose rule comes first: the table is ordered from the particular to the general.
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

/// Takes the marks of earlier redactions out of the secrets, so that redacting twice is redacting once.
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

/// Where `[redacted:kind]` stands.
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

/// Whether no word runs on into `at`. What was escaped does not count as a word: the `n` of `\n` in JSON, the
/// `20` of `%20` in a URL, the `0026` of `\u0026`, and the `m` that ends a terminal's colour.
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

/// How many letters, digits, `_` and `-` the bytes begin with, counted up to `enough`.
fn word_length(bytes: &[u8], enough: usize) -> usize {
    bytes.iter().take(enough + 1).take_while(|byte| is_word(**byte)).count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// What tokens are made of, encodings included.
fn is_token(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
}

/// Where a token ends that has not ended yet at `at`.
fn end_of_token(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_token(**byte)).count()
}

/// The rest of the line, as far as it is looked at.
fn line_from(bytes: &[u8], at: usize) -> &[u8] {
    let rest = &bytes[at..bytes.len().min(at + LONGEST_LINE)];
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}
