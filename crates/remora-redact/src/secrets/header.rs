//! Secrets in HTTP headers: the credential after `Authorization:`, and the values of cookies.

use std::ops::Range;

use super::literal::{quote_length, quoted};
use super::names::Class;
use super::value::{Place, is_placeholder, is_random, is_secret};
use super::{SEARCH_RANGE, Secret, is_token, is_word};

const SCHEMES: [&str; 24] = [
    "api-key",
    "apikey",
    "apitoken",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "bot",
    "digest",
    "geniekey",
    "hmac",
    "jwt",
    "key",
    "klaviyo-api-key",
    "negotiate",
    "ntlm",
    "oauth",
    "sharedaccesssignature",
    "sharedkey",
    "splunk",
    "sso-key",
    "ssws",
    "token",
    "user-token",
    "x-api-key",
];

/// `Bearer x`, `Basic x`, or a key without a scheme. The scheme is kept. After a scheme, any value counts unless
/// prose follows it, even a short one.
pub(super) fn authorization(text: &str, lead: &str, at: usize, found: &mut Vec<Secret>) {
    // The header may be an entire line, or part of a string.
    let stops: &[u8] = if lead.contains(['"', '\'', '`']) { b"\"'`\r\n\\" } else { b"\r\n\\" };
    let value = quoted(text, at).unwrap_or_else(|| until(text, at, stops));
    let whole = text[value.clone()].trim_end();
    let scheme_length = whole.find(' ').unwrap_or(0);
    let (scheme, rest) = whole.split_at(scheme_length);
    let credential = rest.trim_start();
    let start = value.start + whole.len() - credential.len();
    if credential.is_empty() || is_placeholder(credential) || !scheme.bytes().all(is_word) {
        return;
    }
    let first_word = credential.split([' ', ',']).next().unwrap_or("");
    let is_scheme = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let is_alone = first_word.len() == credential.len() && credential.bytes().all(is_token);
    let looks_secret = |text| is_secret(Class::Authorization, Place::Bare, text);
    let length = if is_alone && (is_scheme || looks_secret(credential)) {
        credential.len()
    } else if is_scheme && credential.contains('=') && credential.contains([',', '"']) {
        // `Digest username="…", response="…"`
        credential.len()
    } else if is_scheme && looks_secret(first_word) {
        // The rest is prose.
        first_word.len()
    } else {
        return;
    };
    found.push(Secret { range: start..start + length, kind: Class::Authorization.kind() });
}

/// Cookie values that look like secrets.
pub(super) fn cookies(text: &str, at: usize, found: &mut Vec<Secret>) {
    let cookies = until(text, at + quote_length(&text.as_bytes()[at..]), b"\"'`\r\n\\");
    let mut start = cookies.start;
    for cookie in text[cookies].split(';') {
        if let Some(equals) = cookie.find('=') {
            let value = cookie[equals + 1..].split(' ').next().unwrap_or("");
            let is_long = value.len() >= 12;
            if is_long && (is_random(value) || is_secret(Class::Token, Place::Quoted, value)) {
                let value_start = start + equals + 1;
                found.push(Secret {
                    range: value_start..value_start + value.len(),
                    kind: Class::Cookie.kind(),
                });
            }
        }
        start += cookie.len() + 1;
    }
}

fn until(text: &str, at: usize, stops: &[u8]) -> Range<usize> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..bytes.len().min(at + SEARCH_RANGE)];
    let length = rest.iter().position(|byte| stops.contains(byte)).unwrap_or(rest.len());
    at..text.floor_char_boundary(at + length)
}
