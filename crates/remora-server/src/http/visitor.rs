//! Who looks at the pages: a browser that came by a one-time link and holds a cookie.
//!
//! The cookie is signed with the token, so that it outlives the daemon, and nothing is stored for it. Cookies of this machine
//! reach every local port. So a change needs a second sign, which only our own pages have in their text.

use std::collections::VecDeque;
use std::hash::Hasher as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::{COOKIE, HeaderMap, HeaderName};
use remora_client::token::Token;
use remora_core::time::Time;
use remora_store::{SavedBy, hex};
use siphasher::sip128::{Hasher128 as _, SipHasher24};

const NAME: &str = "remora_session";
pub(super) const PAGE_HEADER: HeaderName = HeaderName::from_static("x-remora-page");
const LIFETIME: Duration = Duration::from_hours(24 * 365);
/// How long a link works that nobody has followed.
const LINK_LIFETIME: Duration = Duration::from_mins(5);
const MOST_LINKS: usize = 16;

/// Links that were given out and not followed yet.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<VecDeque<(String, Time)>>);

impl Links {
    /// A new link's code.
    pub(super) fn make(&self, now: Time) -> Result<String, getrandom::Error> {
        let code = random()?;
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, until)| *until > now);
        while links.len() >= MOST_LINKS {
            links.pop_front();
        }
        links.push_back((code.clone(), now.after(LINK_LIFETIME)));
        Ok(code)
    }

    /// Whether the code is good. It is so once.
    pub(super) fn follow(&self, code: &str, now: Time) -> bool {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = links.iter().position(|(known, until)| is_same(known, code) && *until > now);
        place.is_some_and(|place| links.remove(place).is_some())
    }
}

/// Who was let in: a browser, or somebody with the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Visitor {
    /// Empty for somebody with the token, who needs no sign.
    page: String,
}

impl Visitor {
    pub(super) fn with_token() -> Self {
        Self { page: String::new() }
    }

    pub(super) fn has_token(&self) -> bool {
        self.page.is_empty()
    }

    /// Whose word a change is: whoever holds the token is a program, and a page is used by a person.
    pub(super) fn speaks_as(&self) -> SavedBy {
        if self.has_token() { SavedBy::Program } else { SavedBy::Person }
    }

    /// What the pages of this visitor have in their text, and send with every change.
    pub(super) fn page(&self) -> &str {
        &self.page
    }

    /// Whether a change comes from one of our pages.
    pub(super) fn sent(&self, headers: &HeaderMap) -> bool {
        let offered = headers.get(PAGE_HEADER).and_then(|value| value.to_str().ok());
        offered.is_some_and(|offered| is_same(offered, &self.page))
    }

    /// The visitor that a cookie names, if it is ours and not too old.
    pub(super) fn of(headers: &HeaderMap, token: &Token, now: Time) -> Option<Self> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = cookies.flat_map(|line| line.split(';')).filter_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == NAME).then_some(value)
        });
        values.find_map(|value| {
            let (signed, sign) = value.rsplit_once('.')?;
            let (nonce, until) = signed.split_once('.')?;
            let is_ours = is_same(sign, &signature(token, &["session", nonce, until]));
            let is_young = until.parse().is_ok_and(|until| Time(until) > now);
            (is_ours && is_young).then(|| Self { page: signature(token, &["page", nonce]) })
        })
    }
}

/// The header that makes a browser a visitor.
pub(super) fn cookie(token: &Token, now: Time) -> Result<String, getrandom::Error> {
    let nonce = random()?;
    let until = now.after(LIFETIME).0.to_string();
    let sign = signature(token, &["session", &nonce, &until]);
    let seconds = LIFETIME.as_secs();
    Ok(format!("{NAME}={nonce}.{until}.{sign}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"))
}

fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

/// A keyed hash of the parts. Each is ended by a byte that none of them has.
fn signature(token: &Token, parts: &[&str]) -> String {
    // Half of the token is the key, the other half the beginning of what is hashed.
    let (key, rest) = token.as_str().split_at(32);
    let key = u128::from_str_radix(key, 16).unwrap_or_default().to_be_bytes();
    let mut hash = SipHasher24::new_with_key(&key);
    hash.write(rest.as_bytes());
    for part in parts {
        hash.write(part.as_bytes());
        hash.write_u8(0);
    }
    hex(&hash.finish128().as_bytes())
}

/// Compares in a time that does not tell how much was right.
fn is_same(own: &str, offered: &str) -> bool {
    let pairs = own.bytes().zip(offered.bytes());
    let differences = pairs.fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
    own.len() == offered.len() && differences == 0
}
