//! Secrets with their own structure: key files, URLs and Kubernetes secrets.

use std::ops::Range;

use memchr::memmem;

use super::value::is_placeholder;
use super::{Secret, is_token, is_word};

/// Minimum run of base64 characters for a line of a key. Full lines have 64, but the text may end within one.
const KEY_LINE: usize = 40;

/// Maximum distance between a frame and the first line of its key: headers come in between.
const KEY_HEADERS: usize = 512;

/// Finds the private keys whose frames are at `marks` (positions of `PRIVATE KEY`), in one pass over them.
///
/// The text may be the head or the tail of a longer one. So a key without an end extends to the end of the text, and
/// an end without a beginning extends back to the start. Code that only mentions a frame has no key line next to it
/// and is left alone.
pub(super) fn private_keys(text: &str, marks: &[Range<usize>], found: &mut Vec<Secret>) {
    let mut begin: Option<usize> = None;
    let mut add = |range: Range<usize>| found.push(Secret { range, kind: "private-key" });
    let mut end_of_last = 0;
    for mark in marks {
        let Some(frame) = Frame::around(text.as_bytes(), mark) else { continue };
        if frame.range.start < end_of_last {
            continue;
        }
        if frame.begins {
            if begin.is_none() && has_key_after(text.as_bytes(), frame.range.end) {
                begin = Some(frame.range.start);
            }
        } else if let Some(start) = begin.take() {
            end_of_last = frame.range.end;
            add(start..frame.range.end);
        } else if end_of_last == 0 && has_key_before(text.as_bytes(), frame.range.start) {
            end_of_last = frame.range.end;
            add(0..frame.range.end);
        }
    }
    if let Some(start) = begin {
        add(start..text.len());
    }
}

/// `-----BEGIN RSA PRIVATE KEY-----`, and the same with `END`.
struct Frame {
    range: Range<usize>,
    begins: bool,
}

impl Frame {
    fn around(bytes: &[u8], mark: &Range<usize>) -> Option<Self> {
        let before = &bytes[..mark.start];
        let words = before
            .iter()
            .rev()
            .take(48)
            .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ')
            .count();
        let label = bytes[mark.start - words..mark.start].trim_ascii_start();
        let dashes =
            before[..before.len() - words].iter().rev().take(5).take_while(|byte| **byte == b'-').count();
        let begins = label.starts_with(b"BEGIN");
        if dashes < 4 || !(begins || label.starts_with(b"END")) {
            return None;
        }
        let after = &bytes[mark.end..];
        let tail =
            after.iter().take(16).take_while(|byte| byte.is_ascii_uppercase() || **byte == b' ').count();
        let closing = after[tail..].iter().take(5).take_while(|byte| **byte == b'-').count();
        // The text may end within the frame.
        if closing < 4 && tail + closing < after.len() {
            return None;
        }
        Some(Frame { range: mark.start - words - dashes..mark.end + tail + closing, begins })
    }
}

fn has_key_after(bytes: &[u8], at: usize) -> bool {
    let near = &bytes[at..bytes.len().min(at + KEY_HEADERS)];
    let near = &near[..memmem::find(near, b"-----").unwrap_or(near.len())];
    let mut lines = near.split(|byte| !is_base64(*byte));
    let longest = lines.clone().map(<[u8]>::len).max().unwrap_or(0);
    let cut_within_line =
        at + near.len() == bytes.len() && lines.next_back().is_some_and(|line| line.len() > 8);
    longest >= KEY_LINE || cut_within_line || at == bytes.len()
}

fn has_key_before(bytes: &[u8], at: usize) -> bool {
    let near = &bytes[at.saturating_sub(KEY_HEADERS)..at];
    let near = &near[memmem::rfind(near, b"-----").unwrap_or(0)..];
    let mut lines = near.split(|byte| !is_base64(*byte));
    let longest = lines.clone().map(<[u8]>::len).max().unwrap_or(0);
    let cut_within_line = near.len() == at && lines.next().is_some_and(|line| line.len() > 8);
    longest >= KEY_LINE || cut_within_line
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The password in `scheme://user:password@host`, or a token in `https://token@host`. `colon` is the position of
/// `://`.
pub(super) fn url_password(text: &str, colon: &Range<usize>, found: &mut Vec<Secret>) {
    let bytes = text.as_bytes();
    let rest = &bytes[colon.end..bytes.len().min(colon.end + 512)];
    let authority = rest.iter().position(|byte| ends_authority(*byte)).unwrap_or(rest.len());
    let mut user_end = memchr::memrchr(b'@', &rest[..authority]);
    // A password may contain an unencoded slash; a port is a number.
    if user_end.is_none()
        && rest.get(authority) == Some(&b'/')
        && let Some(port) = memchr::memchr(b':', &rest[..authority])
        && rest[port + 1..authority].iter().any(|byte| !byte.is_ascii_digit())
    {
        let word = rest.iter().position(|byte| *byte != b'/' && ends_authority(*byte)).unwrap_or(rest.len());
        user_end = memchr::memchr(b'@', &rest[..word]);
    }
    let Some(user_end) = user_end else { return };
    let user_info = colon.end..colon.end + user_end;
    let Some(info) = text.get(user_info.clone()) else { return };
    // Skips expressions that match URLs, and URL templates.
    if info.contains(['(', ')', '[', ']', '{', '}', '^', '|', '*', '<', '>']) {
        return;
    }
    let (user, password) = info.split_once(':').unwrap_or((info, ""));
    let is_token_like = user.len() >= 16
        && user.bytes().all(is_token)
        && user.bytes().filter(u8::is_ascii_digit).count() >= 2
        && user.bytes().any(|byte| byte.is_ascii_alphabetic());
    let range = if is_token_like {
        user_info
    } else if !password.is_empty() && !is_placeholder(password) {
        user_info.start + user.len() + 1..user_info.end
    } else {
        return;
    };
    found.push(Secret { range, kind: "url-password" });
}

fn ends_authority(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"/?\"'`<>\\".contains(&byte)
}

/// The values below `data:` and `stringData:` in the YAML documents of `kind: Secret`.
pub(super) fn kubernetes_secrets(text: &str, found: &mut Vec<Secret>) {
    let mut document = Vec::new();
    for line in lines(text) {
        if text[line.clone()].trim_end() == "---" {
            secrets_of_document(text, &document, found);
            document.clear();
        } else {
            document.push(line);
        }
    }
    secrets_of_document(text, &document, found);
}

/// The lines of a text that may be escaped.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let end = rest.find('\n').unwrap_or(rest.len());
        let (length, skipped) = match rest[..end].find("\\n") {
            Some(escaped) => (escaped, 2),
            None => (end, 1),
        };
        let line = start..start + length;
        start += length + skipped;
        Some(line)
    })
}

fn secrets_of_document(text: &str, lines: &[Range<usize>], found: &mut Vec<Secret>) {
    const MARGIN: [char; 3] = ['+', '-', ' '];
    let is_secret = lines.iter().any(|line| {
        let kind = text[line.clone()].trim_start_matches(MARGIN).strip_prefix("kind:");
        kind.is_some_and(|kind| kind.trim().trim_matches('"') == "Secret")
    });
    if !is_secret {
        return;
    }
    let mut data_indent = None;
    for line in lines {
        let whole = &text[line.clone()];
        let content = whole.trim_start_matches(MARGIN);
        let indent = whole.len() - content.len();
        let content = content.trim_end();
        if matches!(content, "data:" | "stringData:") {
            data_indent = Some(indent);
        } else if data_indent.is_some_and(|data| indent <= data) && !content.is_empty() {
            data_indent = None;
        } else if data_indent.is_some() {
            // A value may continue over several lines, which have no key.
            let key = content.bytes().take_while(|byte| is_word(*byte) || *byte == b'.').count();
            let value = content[key..].strip_prefix(':').map_or(content, str::trim_start);
            if !matches!(value, "" | "|" | ">" | "|-" | ">-") && !is_placeholder(value) {
                let end = line.start + indent + content.len();
                found.push(Secret { range: end - value.len()..end, kind: "kubernetes-secret" });
            }
        }
    }
}
