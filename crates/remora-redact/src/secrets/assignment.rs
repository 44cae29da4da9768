//! Secrets recognised by the name they are assigned to: `password = "…"`, `DB_PASSWORD=…`, `"client_secret": "…"`,
//! `--token …`, `Authorization: Bearer …`.
//!
//! The search starts at a keyword such as `pass` or `token`. Most of these occur in prose and in longer names, so the
//! cheapest check comes first: does an assignment follow the name?

use std::ops::Range;

use memchr::memmem;

use super::header::{authorization, cookies};
use super::lines::{block_scalar, break_length};
use super::literal::{Ends, bare, cell, ends_line, gap_length, quote_length, quoted, typed, wrapped};
use super::names::{Class, classify, is_in, last_word};
use super::table::may_follow_column;
use super::value::{Place, is_secret};
use super::{SEARCH_RANGE, Secret, end_of_token, is_token, is_word};

/// Longer names are skipped.
const MAX_NAME_LEN: usize = 64;

/// Length limit for a remark between a password's name and the colon.
const MAX_REMARK_LEN: usize = 48;

/// How much of the line before a name is examined.
const MAX_LEAD_LEN: usize = 160;

/// Last words of names whose random values are public: `HEROKU_APP_ID`, `SENTRY_RELEASE`.
const PUBLIC: &str = "arn build checksum commit digest domain endpoint etag hash host id image integrity org \
                      project release rev revision sha sha1 sha256 site tag url version zone";

/// Words and marks that may precede a name at the start of a line.
const LINE_PREFIXES: &str = "# ## $ % * + - -- / // < > | -x $env: ARG ENV SET declare env export global local readonly set \
                     setx typeset";

/// Reads the assignment to the name around `keyword`, if there is one. Returns the end of the name, so that its other
/// keywords can be skipped.
pub(super) fn read(text: &str, keyword: &Range<usize>, found: &mut Vec<Secret>) -> Option<usize> {
    let name = Name::around(text, keyword)?;
    let operator = Operator::after(&name)?;
    let class = name.class()?;
    let is_header = matches!(operator.sign, Sign::Equals | Sign::Colon | Sign::Comma);
    match class {
        Class::Authorization if is_header => authorization(text, name.lead(), operator.value, found),
        Class::Cookie if is_header => cookies(text, operator.value, found),
        Class::Authorization | Class::Cookie => {}
        _ => {
            if operator.sign == Sign::Colon
                && let Some(block) = block_scalar(text, name.lead(), operator.value)
            {
                let first = text[block.clone()].split(['\n', '\r', '\\']).next().unwrap_or("").trim_end();
                let place = if class == Class::Password { Place::Quoted } else { Place::Bare };
                if is_secret(class, place, first) {
                    found.push(Secret { range: block, kind: class.kind() });
                }
            } else if let Some((value, place)) = value_at(&name, &operator, class)
                && is_secret(class, place, &text[value.clone()])
            {
                let is_cut = value.len() + 4 > SEARCH_RANGE;
                let end = if is_cut { end_of_token(text.as_bytes(), value.end) } else { value.end };
                found.push(Secret { range: value.start..end, kind: class.kind() });
            }
        }
    }
    Some(name.end)
}

/// Whether the name around `keyword` may be a column name.
pub(super) fn may_be_column(text: &str, keyword: &Range<usize>) -> bool {
    Name::around(text, keyword).is_some_and(|name| may_follow_column(&text.as_bytes()[name.end..]))
}

/// The value assigned to the name around `keyword`, for any name except those whose values are public.
pub(super) fn value_of_name(text: &str, keyword: &Range<usize>) -> Option<Range<usize>> {
    let name = Name::around(text, keyword)?;
    let operator = Operator::after(&name)?;
    // `arn:aws:iam`
    let is_path = operator.sign == Sign::Colon && !operator.gap_after && !operator.name_quoted;
    if is_path || is_in(PUBLIC, &last_word(name.word())) {
        return None;
    }
    let bare = || {
        let length = text.as_bytes()[operator.value..]
            .iter()
            .take(SEARCH_RANGE)
            .take_while(|byte| is_token(**byte))
            .count();
        operator.value..operator.value + length
    };
    let value = quoted(text, operator.value).unwrap_or_else(bare);
    (!value.is_empty()).then_some(value)
}

/// The name around a keyword.
#[derive(Debug)]
struct Name<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    /// Number of dashes before it: one may be a diff marker, two make it a flag.
    dashes: usize,
}

impl<'t> Name<'t> {
    fn around(text: &'t str, keyword: &Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes();
        let after = bytes[keyword.end..].iter().take(MAX_NAME_LEN).take_while(|byte| is_word(**byte)).count();
        let before = bytes[..keyword.start].iter().rev().take(MAX_NAME_LEN);
        let before = before.take_while(|byte| is_word(**byte)).count();
        if after == MAX_NAME_LEN || before == MAX_NAME_LEN {
            return None;
        }
        let mut start = keyword.start - before;
        let mut end = keyword.end + after;
        while bytes[end - 1] == b'-' {
            end -= 1;
        }
        // The `n` of an escaped line break is not part of the name after it.
        if start < keyword.start && start > 0 && bytes[start - 1] == b'\\' && b"nrt".contains(&bytes[start]) {
            start += 1;
        }
        let dashes = bytes[start..keyword.start].iter().take_while(|byte| **byte == b'-').count();
        Some(Name { text, start: start + dashes, end, dashes })
    }

    fn word(&self) -> &'t str {
        &self.text[self.start..self.end]
    }

    /// The class of the name. In prose a name may contain a space: `API key`.
    fn class(&self) -> Option<Class> {
        if !self.word().eq_ignore_ascii_case("key") {
            return classify(self.word());
        }
        let owner =
            self.lead().strip_suffix([' ', '.'])?.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
        classify(&format!("{owner}_key"))
    }

    fn is_shouted(&self) -> bool {
        self.word().len() > 3 && !self.word().bytes().any(|byte| byte.is_ascii_lowercase())
    }

    /// The text before the name on its line, without the name's dashes. An escaped line break also begins a line.
    fn lead(&self) -> &'t str {
        let end = self.start - self.dashes;
        let start = self.text.floor_char_boundary(end.saturating_sub(MAX_LEAD_LEN));
        let lead = &self.text[start..end];
        let line = memchr::memrchr(b'\n', lead.as_bytes()).map_or(0, |at| at + 1);
        let escaped = memmem::rfind(&lead.as_bytes()[line..], b"\\n").map_or(0, |at| line + at + 2);
        &lead[line.max(escaped)..]
    }
}

/// The sign between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equals,
    Colon,
    /// The opening parenthesis of a call.
    Call,
    /// The name and the value are adjacent in a list of strings.
    Comma,
    /// The name is the tag of an element.
    Tag,
    /// Only white space.
    Gap,
    /// The border of a table, or the end of one element and the start of the next.
    Border,
    /// `is` or an arrow: the value itself must look like a secret.
    Prose,
}

/// The position of a value relative to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Behind,
    OnNextLine,
    /// After a prompt for it.
    AtPrompt,
}

#[derive(Debug)]
struct Operator {
    sign: Sign,
    /// Start of the value.
    value: usize,
    /// Whether there is white space before the sign.
    gap_before: bool,
    /// Whether there is white space after the sign.
    gap_after: bool,
    position: Position,
    name_quoted: bool,
}

impl Operator {
    fn after(name: &Name) -> Option<Self> {
        let bytes = name.text.as_bytes();
        let mut at = name.end;
        let closing_quote = quote_length(&bytes[at..]);
        let name_quoted = closing_quote > 0;
        at += closing_quote;
        // `config["password"]`, `config[:password]`, `user[password]`
        let is_index = name_quoted || name.lead().ends_with("[:") || name.lead().ends_with('[');
        at += suffix_length(&bytes[at..], is_index);
        let gap = gap_length(&bytes[at..]);
        at += gap;
        let remark = remark_length(&bytes[at..]);
        at += remark;
        let (sign, length) = match &bytes[at..] {
            // `password:: x` is a field in notes, `password::x` is a path in code.
            [b':', b':', b' ', ..] => (Sign::Colon, 2),
            [b':', b':', ..] => return None,
            // The last one is a shell here-string: `--with-token <<< "…"`.
            [b'=' | b'!', b'=', b'=', ..] | [b'?' | b'|', b'?' | b'|', b'=', ..] | [b'<', b'<', b'<', ..] => {
                (Sign::Equals, 3)
            }
            [b'=', b'>' | b'=', ..] | [b':' | b'+' | b'?' | b'!', b'=', ..] | [b'<', b'-', ..] => {
                (Sign::Equals, 2)
            }
            [b'=', ..] => (Sign::Equals, 1),
            [b':', ..] => (Sign::Colon, 1),
            [b'(', ..] if gap == 0 && !name_quoted => (Sign::Call, 1),
            rest if let Some(length) = value_member(rest) => (Sign::Equals, length),
            [b',', ..] => (Sign::Comma, 1),
            [b'>', ..] if gap == 0 && (name_quoted || name.lead().ends_with('<')) => (Sign::Tag, 1),
            // `<wsse:Password Type="x">`
            rest if gap == 1
                && name.lead().ends_with(['<', ':'])
                && let Some(length) = attributes_length(rest) =>
            {
                (Sign::Tag, length)
            }
            [b'<', b'/', ..]
                if gap == 0
                    && let Some(length) = next_element(&bytes[at..]) =>
            {
                (Sign::Border, length)
            }
            rest if !name_quoted && let Some(length) = copula_length(rest, gap) => (Sign::Prose, length),
            [b'-', b'>', ..] if gap > 0 => (Sign::Prose, 2),
            [b'-', b' ', ..] if gap == 1 => (Sign::Prose, 1),
            [b'|', ..] if gap > 0 || name.lead().contains('|') => (Sign::Border, 1),
            // An arrow, the border of a box, and the full-width colon and equals sign of Chinese and Japanese.
            [0xe2, 0x86, 0x92, ..] => (Sign::Prose, 3),
            [0xe2, 0x94, 0x82, ..] => (Sign::Border, 3),
            [0xef, 0xbc, 0x9a, ..] => (Sign::Colon, 3),
            [0xef, 0xbc, 0x9d, ..] => (Sign::Equals, 3),
            // `var password string = "…"`
            [b's', b't', b'r', b'i', b'n', b'g', b' ', b'=', ..] if gap == 1 => (Sign::Equals, 8),
            [_, ..] if gap > 0 && !name_quoted => (Sign::Gap, 0),
            _ => return None,
        };
        at += length;
        if bytes[at..].starts_with(b"** ") {
            // `**Password:** x`
            at += 2;
        }
        let gap_after = gap_length(&bytes[at..]);
        at += gap_after;
        if sign == Sign::Colon {
            at += anchor_length(&bytes[at..]);
        }
        let mut position = if remark > 0 { Position::AtPrompt } else { Position::Behind };
        if matches!(sign, Sign::Equals | Sign::Colon) {
            // A backslash continues a shell line.
            let continued =
                usize::from(bytes[at..].starts_with(b"\\\n") || bytes[at..].starts_with(b"\\\\n"));
            let line_break = break_length(&bytes[at + continued..]);
            if line_break > 0 {
                position = Position::OnNextLine;
                at += continued + line_break;
                let margin = bytes[at..].iter().take(64).take_while(|byte| b" \t+".contains(byte)).count();
                at += margin;
                // Without an indent, the next line belongs to something else.
                if quote_length(&bytes[at..]) == 0 && margin == 0 {
                    return None;
                }
            }
        }
        let operator = Operator {
            sign,
            value: at,
            gap_before: gap > 0,
            gap_after: gap_after > 0,
            position,
            name_quoted,
        };
        (at < bytes.len()).then_some(operator)
    }
}

/// Length of an anchor or string type before a YAML value: `token: &name x`.
fn anchor_length(rest: &[u8]) -> usize {
    if rest.starts_with(b"!!str ") {
        return 6;
    }
    let [b'&', name @ ..] = rest else { return 0 };
    let length = name.iter().take(MAX_NAME_LEN).take_while(|byte| is_word(**byte)).count();
    // In `password: &str = "x"` it is a type.
    match &name[length..] {
        [b' ', next, ..] if length > 0 && *next != b'=' => length + 2,
        _ => 0,
    }
}

/// Length of a prompt's remark between a name and its colon: `AWS Secret Access Key [None]: `, `Password (root): `.
fn remark_length(rest: &[u8]) -> usize {
    let end = match rest.first() {
        Some(b'[') => b']',
        Some(b'(') => b')',
        _ => return 0,
    };
    let Some(length) = rest.iter().take(MAX_REMARK_LEN).position(|byte| *byte == end) else { return 0 };
    if rest[length + 1..].starts_with(b": ") { length + 1 } else { 0 }
}

/// Length of a verb that connects a name with its value: `is`, `was set to`, `lautet`.
fn copula_length(rest: &[u8], gap: usize) -> Option<usize> {
    const VERBS: &str = "is was now ist lautet est es to";
    const BEFORE_VERBS: &str = "set changed reset been has be";
    const GLUED: [&str; 4] = ["\u{662f}", "\u{4e3a}", "\u{306f}", "\u{70ba}"];
    if let Some(glued) = GLUED.iter().find(|glued| rest.starts_with(glued.as_bytes())) {
        return Some(glued.len());
    }
    let mut length = 0;
    let mut ends_in_verb = false;
    while gap == 1 && length < 24 {
        let word = rest[length..].iter().take(8).take_while(|byte| byte.is_ascii_lowercase()).count();
        let text = std::str::from_utf8(&rest[length..length + word]).unwrap_or("");
        let is_verb = is_in(VERBS, text);
        if !(is_verb || is_in(BEFORE_VERBS, text)) || !matches!(rest.get(length + word), Some(b' ' | b':')) {
            break;
        }
        ends_in_verb = is_verb;
        length += word + 1;
    }
    // French has a space before its colon.
    let colon = if rest[length..].starts_with(b": ") { 2 } else { 0 };
    ends_in_verb.then_some(length + colon)
}

/// Length of the attributes of a tag, including its end.
fn attributes_length(rest: &[u8]) -> Option<usize> {
    let end = rest.iter().take(128).position(|byte| b">\n".contains(byte))?;
    (rest[end] == b'>' && rest[..end].contains(&b'=') && rest[..end].ends_with(b"\"")).then_some(end + 1)
}

/// Distance to the text of the next element: `<key>password</key> <string>x</string>`, `<td>password</td><td>x</td>`.
fn next_element(rest: &[u8]) -> Option<usize> {
    let closing = rest.iter().take(32).position(|byte| *byte == b'>')? + 1;
    let mut opening = closing;
    while opening < closing + 64 {
        let line_break = break_length(rest.get(opening..)?);
        opening += match rest.get(opening)? {
            _ if line_break > 0 => line_break,
            b'\\' if rest.get(opening + 1) == Some(&b't') => 2,
            b' ' | b'\t' | b'+' | b'-' => 1,
            _ => break,
        };
    }
    if rest.get(opening) != Some(&b'<') || !rest.get(opening + 1)?.is_ascii_alphabetic() {
        return None;
    }
    let length = rest[opening..].iter().take(128).position(|byte| *byte == b'>')?;
    Some(opening + length + 1)
}

/// Distance to the value of a name that is itself a value: `{"name": "PASSWORD", "value": "x"}`, `- name: PASSWORD`
/// and on the next line `value: x`, `<add key="Password" value="x"/>`.
fn value_member(rest: &[u8]) -> Option<usize> {
    let gap = rest
        .iter()
        .take(48)
        .take_while(|byte| byte.is_ascii_whitespace() || b",+-\\\"'".contains(byte))
        .count();
    // The `n` of an escaped line break.
    let gap = if gap > 0 && rest[gap - 1] == b'\\' && rest.get(gap) == Some(&b'n') {
        gap + 1 + gap_length(&rest[gap + 1..])
    } else {
        gap
    };
    let member = rest[gap..].get(..5)?;
    if !member.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let mut at = gap + 5;
    at += quote_length(&rest[at..]);
    at += gap_length(&rest[at..]);
    matches!(rest.get(at), Some(b':' | b'=')).then_some(at + 1)
}

/// Length of a suffix that is not part of the name: `config["password"]`, `char password[32]`, `password?:`,
/// `**Password**:`.
fn suffix_length(bytes: &[u8], is_index: bool) -> usize {
    match bytes {
        [b']', ..] if is_index => 1,
        [b'?' | b'!', b':', ..] => 1,
        [b'*', b'*', b':', ..] => 2,
        [b'[', size @ ..] => {
            let digits = size.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
            if size.get(digits) == Some(&b']') { digits + 2 } else { 0 }
        }
        _ => 0,
    }
}

/// The value of an assignment, and the place it is in.
fn value_at(name: &Name, operator: &Operator, class: Class) -> Option<(Range<usize>, Place)> {
    let Name { text, .. } = *name;
    let at = operator.value;
    let is_chosen = matches!(class, Class::Password | Class::Secret);
    match operator.sign {
        Sign::Equals | Sign::Colon => {
            if operator.position == Position::OnNextLine && quote_length(&text.as_bytes()[at..]) == 0 {
                let value = bare(text, at, Ends::Line);
                return ends_line(&text.as_bytes()[value.end..]).then_some((value, Place::Loose));
            }
            if let Some(value) = quoted(text, at).or_else(|| wrapped(text, at)) {
                let is_variable =
                    name.is_shouted() && !is_chosen && text[value.clone()].contains(char::is_numeric);
                return Some((value, if is_variable { Place::Variable } else { Place::Quoted }));
            }
            if operator.sign == Sign::Colon
                && let Some(value) = typed(text, at)
            {
                return Some((value, Place::Quoted));
            }
            Some(bare_value(name, operator, class))
        }
        // `test.pass("…")`, `get_secret("…")`
        Sign::Call if !is_chosen || name.word().ends_with("pass") || is_fetching(name.word()) => None,
        // `assert_eq!(password, "…")`
        Sign::Comma if !is_chosen && !operator.name_quoted => None,
        Sign::Call | Sign::Comma => Some((quoted(text, at)?, Place::Listed)),
        Sign::Tag => {
            let rest = &text.as_bytes()[at..];
            let length = rest.iter().take(512).take_while(|byte| !b"<\n".contains(byte)).count();
            rest[length..].starts_with(b"</").then_some((at..at + length, Place::Quoted))
        }
        Sign::Gap => after_gap(name, operator, class),
        Sign::Border => Some((cell(text, at), Place::Cell)),
        Sign::Prose => {
            Some(remarked(name, at, class).unwrap_or_else(|| (bare(text, at, Ends::Prose), Place::Loose)))
        }
    }
}

/// Whether a call takes the name of a secret instead of the secret.
fn is_fetching(call: &str) -> bool {
    ["get", "read", "load", "fetch", "find", "delete", "list", "describe", "resolve"]
        .iter()
        .any(|verb| call.starts_with(verb))
}

/// A password after a remark in prose: `a password was generated for root: x`.
fn remarked(name: &Name, at: usize, class: Class) -> Option<(Range<usize>, Place)> {
    let rest = &name.text.as_bytes()[at..];
    let is_remark = |byte: &u8| is_word(*byte) || b" @.()".contains(byte) || !byte.is_ascii();
    let length = rest.iter().take(MAX_REMARK_LEN).take_while(|byte| is_remark(byte)).count();
    if class != Class::Password || length == 0 {
        return None;
    }
    if rest[length..].starts_with(b"= '") {
        // `SET PASSWORD FOR jo = 'x'`
        return quoted(name.text, at + length + 2).map(|value| (value, Place::Quoted));
    }
    let value = if rest[length..].starts_with(b": ") {
        length + 2
    } else {
        // `la contrase\u{f1}a del usuario es x`
        let verb =
            |verb: &&str| memmem::find(&rest[..length], verb.as_bytes()).map(|found| found + verb.len());
        [" is ", " es ", " est ", " ist ", " lautet "].iter().find_map(verb)?
    };
    Some((bare(name.text, at + value, Ends::Prose), Place::Loose))
}

/// A value after white space: a flag (`--password hunter2`), a line of `.netrc` (`login x password y`) or of
/// `redis.conf` (`requirepass y`), or SQL (`PASSWORD 'y'`).
fn after_gap(name: &Name, operator: &Operator, class: Class) -> Option<(Range<usize>, Place)> {
    let Name { text, .. } = *name;
    let at = operator.value;
    let lead = name.lead();
    // Lists of options have more than one space between a flag and its description.
    let is_flag = at == name.end + 1
        && (name.dashes > 1 || name.dashes == 1 && class == Class::Password)
        && lead.bytes().next_back().is_none_or(|byte| b" \t\"'[`+".contains(&byte));
    if is_flag {
        let string = quoted(text, at).map(|value| (value, Place::Quoted));
        return string.or_else(|| Some((bare(text, at, Ends::Shell), Place::Bare)));
    }
    let mut words = lead.split_ascii_whitespace().rev();
    let in_netrc = words.next().is_some() && matches!(words.next(), Some("login" | "machine"));
    let in_redis =
        matches!(name.word(), "requirepass" | "masterauth" | "bindpw" | "rootpw") && begins_line(lead);
    // `npm config set //registry/:_authToken x`, `aws configure set aws_secret_access_key x`
    let is_configured = lead.contains("config") && (lead.contains(" set ") || lead.contains(" create "));
    if in_netrc || in_redis || is_configured {
        return Some((bare(text, at, Ends::Shell), Place::Bare));
    }
    if matches!(lead.trim_matches(['+', '-', ' ', '\t']), "ENV" | "setx") && name.is_shouted() {
        return Some((bare(text, at, Ends::Line), Place::Variable));
    }
    if lead.trim().ends_with("#define") {
        return quoted(text, at).map(|value| (value, Place::Quoted));
    }
    let in_sql = name.word().eq_ignore_ascii_case("password") && text.as_bytes()[at] == b'\'';
    if in_sql {
        return quoted(text, at).map(|value| (value, Place::Quoted));
    }
    if begins_line(lead)
        && let Some(value) = alone_on_line(text, at)
    {
        // A line of a file (`password x`), or two columns (`password    x`).
        let is_column = at > name.end + 1 || text.as_bytes()[name.end] == b'\t';
        if class == Class::Password || is_column {
            return Some((value, if is_column { Place::Cell } else { Place::Loose }));
        }
    }
    if class == Class::Password {
        // `use the password x`, `username jo password 0 x`
        let value = at + encryption_length(&text.as_bytes()[at..]);
        return remarked(name, at, class).or_else(|| Some((bare(text, value, Ends::Prose), Place::Loose)));
    }
    let encrypted = encryption_length(&text.as_bytes()[at..]);
    if class == Class::Secret && encrypted > 0 {
        // `username jo secret 0 x`
        return Some((bare(text, at + encrypted, Ends::Prose), Place::Cell));
    }
    // `my API key x`
    Some((bare(text, at, Ends::Prose), Place::Loose))
}

/// Routers put the type of encryption before a password: `password 0 x`.
fn encryption_length(rest: &[u8]) -> usize {
    if matches!(rest, [b'0'..=b'9', b' ', byte, ..] if byte.is_ascii_graphic()) { 2 } else { 0 }
}

/// A value at the end of its line, quoted or not.
fn alone_on_line(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let at = at + encryption_length(&bytes[at..]);
    let value = quoted(text, at).unwrap_or_else(|| bare(text, at, Ends::Line));
    let closing = quote_length(&bytes[value.end..]);
    (!value.is_empty() && ends_line(&bytes[value.end + closing..])).then_some(value)
}

/// A value without quotes. It counts as a value only if the syntax uses bare values. Anywhere else it is more likely
/// a variable or prose, and must itself look like a secret.
fn bare_value(name: &Name, operator: &Operator, class: Class) -> (Range<usize>, Place) {
    let Name { text, .. } = *name;
    let at = operator.value;
    let lead = name.lead();
    let before = lead.bytes().next_back();
    let equals = operator.sign == Sign::Equals;
    if operator.position == Position::AtPrompt {
        return (
            bare(text, at, Ends::Line),
            if class == Class::Password { Place::Loose } else { Place::Bare },
        );
    }
    if !equals && !operator.gap_after && before == Some(b':') {
        // `arn:aws:secretsmanager:eu-west-1:1234:secret:name`
        return (at..at, Place::Loose);
    }
    if equals && !operator.gap_before && !operator.gap_after {
        match before {
            Some(b'?' | b'&') => return (bare(text, at, Ends::Query), Place::Bare),
            Some(b';') => return (bare(text, at, Ends::Connection), Place::Bare),
            _ => {}
        }
        if name.is_shouted() && before.is_none_or(|byte| b" \t\"'`(+:".contains(&byte)) {
            return (bare(text, at, Ends::Shell), Place::Variable);
        }
        let (earlier, own_word) = lead.split_at(lead.rfind([' ', '\t']).map_or(0, |space| space + 1));
        let last_word = earlier.split_ascii_whitespace().next_back().unwrap_or("");
        let is_flag = own_word.starts_with('-') || last_word.starts_with('-') || name.dashes > 1;
        // `host=db password=x`
        let is_pair = own_word.is_empty() && last_word.contains('=') && !last_word.ends_with([',', '(', '{']);
        if is_flag || is_pair {
            return (bare(text, at, Ends::Shell), Place::Bare);
        }
        if let Some(quote @ (b'"' | b'\'')) = before {
            // A string that contains only this pair.
            let value = bare(text, at, Ends::Connection);
            let is_whole = text.as_bytes().get(value.end) == Some(&quote);
            return (value, if is_whole && class == Class::Password { Place::Bare } else { Place::Loose });
        }
        // `login failed for jo: password=x`, but not `f(user, password=x)`.
        let is_logged = own_word.is_empty() && before == Some(b' ') && !last_word.ends_with([',', '(', '{']);
        if class == Class::Password && is_logged && !lead.contains(['(', '<']) {
            return (bare(text, at, Ends::Shell), Place::Bare);
        }
        if begins_line(lead) {
            return (bare(text, at, Ends::Shell), Place::Bare);
        }
    }
    if !equals && !operator.name_quoted && matches!(before, Some(b'"' | b'\'')) {
        // `-H "X-Api-Key: x"`. For a password, the string must contain only this pair, and not a label.
        let value = bare(text, at, Ends::Connection);
        let is_whole = text.as_bytes().get(value.end).is_some_and(|byte| Some(*byte) == before);
        let is_label = text[value.clone()].bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_loose = class == Class::Password && (!is_whole || is_label);
        return (value, if is_loose { Place::Loose } else { Place::Bare });
    }
    if equals && class != Class::Token && lead.trim_end().ends_with(';') {
        // `Server=x; Password=y;`
        return (bare(text, at, Ends::Connection), Place::Bare);
    }
    let is_setting = equals || operator.gap_after;
    if is_setting && begins_line(lead) {
        let value = bare(text, at, Ends::Line);
        if ends_line(&text.as_bytes()[value.end..]) {
            return (value, Place::Bare);
        }
    }
    (bare(text, at, Ends::Prose), Place::Loose)
}

/// Whether the name begins a line of settings: indented, exported, listed, added or removed in a diff, commented out,
/// numbered, or after the path it belongs to (`spring.datasource.password`).
fn begins_line(lead: &str) -> bool {
    let lead = lead.trim_end_matches(['"', '\'', '\\']);
    let glued = !lead.ends_with([' ', '\t']);
    let mut words = lead.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_last = words.peek().is_none();
        let is_object = matches!(word, "self." | "this." | "cls.");
        let is_path = is_last && glued && !is_object && word.ends_with(['.', ':', '/', '$']);
        let is_number =
            word.trim_end_matches(['\u{2192}', '|', ':', '-']).bytes().all(|byte| byte.is_ascii_digit());
        let is_file = !(is_last && glued) && word.ends_with(':') && word.contains(['.', '/']);
        if !(is_path || is_number || is_file || is_in(LINE_PREFIXES, word)) {
            return false;
        }
    }
    true
}
