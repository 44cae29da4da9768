//! Browsers that view the pages: each came by a one-time link and holds a cookie.
//!
//! The cookie is signed with the token, so that it outlives the daemon and nothing is stored for it. Browsers
//! send cookies of this machine to every local port. So a change also needs a second secret, which only the
//! text of our own pages contains.

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
/// Lifetime of an unused link.
const LINK_LIFETIME: Duration = Duration::from_mins(5);
const MOST_LINKS: usize = 16;

/// Links that were issued and not used yet.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<VecDeque<(String, Time)>>);

impl Links {
    /// Issues a code for a new link.
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

    /// Uses up a code. Returns whether it was valid.
    pub(super) fn follow(&self, code: &str, now: Time) -> bool {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = links.iter().position(|(known, until)| is_same(known, code) && *until > now);
        place.is_some_and(|place| links.remove(place).is_some())
    }
}

/// An authenticated client: a browser, or a program with the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Visitor {
    /// The page secret. Empty for a program with the token, which needs none.
    page: String,
}

impl Visitor {
    pub(super) fn with_token() -> Self {
        Self { page: String::new() }
    }

    pub(super) fn has_token(&self) -> bool {
        self.page.is_empty()
    }

    /// The author of a change: a program if it has the token, a person if it is a page.
    pub(super) fn speaks_as(&self) -> SavedBy {
        if self.has_token() { SavedBy::Program } else { SavedBy::Person }
    }

    /// The secret in the text of this visitor's pages, which they send with every change.
    pub(super) fn page(&self) -> &str {
        &self.page
    }

    /// Whether a change comes from one of our pages.
    pub(super) fn sent(&self, headers: &HeaderMap) -> bool {
        let offered = headers.get(PAGE_HEADER).and_then(|value| value.to_str().ok());
        offered.is_some_and(|offered| is_same(offered, &self.page))
    }

    /// The visitor of a cookie, if the signature is valid and it has not expired.
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

/// The `Set-Cookie` value that signs a browser in.
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

/// A keyed hash of the parts, each ended by a zero byte, which none of them contains.
fn signature(token: &Token, parts: &[&str]) -> String {
    // The first half of the token is the key; the second half is hashed first.
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

/// Compares in constant time.
fn is_same(own: &str, offered: &str) -> bool {
    let pairs = own.bytes().zip(offered.bytes());
    let differences = pairs.fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
    own.len() == offered.len() && differences == 0
}
