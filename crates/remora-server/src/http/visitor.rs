//! Browsers that view the pages: each came by a one-time link and holds a cookie.
//!
//! Browsers send a cookie of this machine to every local port, also to another user's server. So the pages of a browser
//! lie below a path that nobody can guess, its root, and the cookie is sent there only. Root and cookie are derived from
//! the browser's id and the token, so nothing secret is stored for them. A change also needs a second secret, which only
//! the text of our own pages contains.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::Uri;
use axum::http::header::{COOKIE, HeaderMap, HeaderName, USER_AGENT};
use hmac::{Hmac, KeyInit as _, Mac as _};
use remora_client::browsers::{self, Browser};
use remora_client::token::Token;
use remora_core::time::Time;
use remora_store::{DataDir, SavedBy, hex};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::pages::ENTER;

const NAME: &str = "remora_session";
/// The cookie that recognises a browser that signs in again. It has the id alone, which lets nobody in.
const KNOWN: &str = "remora_browser";
pub(super) const PAGE_HEADER: HeaderName = HeaderName::from_static("x-remora-page");
/// Lifetime of an unused link.
const LINK_LIFETIME: Duration = Duration::from_mins(5);
const MAX_LINKS: usize = 16;
/// Length of a root without its slash, in hexadecimal digits.
const ROOT: usize = 32;

/// Links that were issued and not used yet.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<VecDeque<(String, Time)>>);

impl Links {
    /// Issues a code for a new link.
    pub(super) fn make(&self, now: Time) -> Result<String, getrandom::Error> {
        let code = random()?;
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, until)| *until > now);
        while links.len() >= MAX_LINKS {
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

/// The path below which a request was sent, with a slash before it. The routes do not see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root(String);

impl Root {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes what may be a root off the path of a request.
    pub(super) fn take(uri: &Uri) -> Option<(Self, Uri)> {
        let root = uri.path().get(..=ROOT)?;
        let digits = root.strip_prefix('/')?;
        let is_root = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let rest = &uri.path_and_query()?.as_str()[root.len()..];
        let rest = match rest.chars().next() {
            Some('/') => rest.to_owned(),
            None | Some('?') => format!("/{rest}"),
            Some(_) => return None,
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(rest.parse().ok()?);
        is_root.then_some((Self(root.to_owned()), Uri::from_parts(parts).ok()?))
    }
}

/// An authenticated client: a browser, or a program with the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Visitor {
    /// The page secret. Empty for a program with the token, which needs none.
    page: String,
    /// The id of the browser; empty likewise.
    browser: String,
}

impl Visitor {
    pub(super) fn with_token() -> Self {
        Self { page: String::new(), browser: String::new() }
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

    /// The visitor of a cookie below its root, if it is signed in.
    pub(super) fn of(headers: &HeaderMap, root: &Root, token: &Token, dir: &DataDir) -> Option<Self> {
        let now = dir.now();
        let browser = cookies(headers, NAME).find_map(|value| {
            let (id, sign) = value.split_once('.')?;
            let is_ours =
                is_same(sign, &signature(token, &["browser", id])) && is_same(&root.0, &root_of(token, id));
            if is_ours { browsers::find(dir, id, now) } else { None }
        })?;
        browsers::touch(dir, &browser, now);
        Some(Self { page: signature(token, &["page", &browser.id]), browser: browser.id })
    }

    /// Whether a long answer may go on: a browser may be signed out in the meantime.
    pub(super) fn is_still_in(&self, dir: &DataDir) -> bool {
        self.has_token() || browsers::find(dir, &self.browser, dir.now()).is_some()
    }
}

/// Signs a browser in. Returns its root, and the values of `Set-Cookie`.
pub(super) fn sign_in(headers: &HeaderMap, token: &Token, dir: &DataDir) -> io::Result<(Root, [String; 2])> {
    let now = dir.now();
    let known = cookies(headers, KNOWN).find_map(|id| browsers::find(dir, id, now));
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let Browser { id, .. } = browsers::sign_in(dir, known, &name_of(agent), now)?;
    let root = root_of(token, &id);
    let (seconds, sign) = (browsers::LIFETIME.as_secs(), signature(token, &["browser", &id]));
    let cookies = [
        format!("{NAME}={id}.{sign}; Path={root}; Max-Age={seconds}; HttpOnly; SameSite=Strict"),
        // A link in a file counts as another site.
        format!("{KNOWN}={id}; Path={ENTER}; Max-Age={seconds}; HttpOnly; SameSite=Lax"),
    ];
    Ok((Root(root), cookies))
}

fn root_of(token: &Token, id: &str) -> String {
    format!("/{}", &signature(token, &["root", id])[..ROOT])
}

/// The values of a cookie. There may be several, because any server of this machine can set one.
fn cookies<'a>(headers: &'a HeaderMap, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(move |cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == wanted).then_some(value)
    })
}

/// The name of a browser in the list, from its `User-Agent`. Most claim to be others, so the order counts.
fn name_of(agent: &str) -> String {
    let first = |signs: &[(&'static str, &'static str)]| {
        signs.iter().find(|(sign, _)| agent.contains(sign)).map(|(_, name)| *name)
    };
    let program = first(&[
        ("Firefox/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("iPhone", "iOS"),
        ("iPad", "iOS"),
        ("Android", "Android"),
        ("Mac OS X", "macOS"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    ]);
    let program = program.unwrap_or("Another browser");
    system.map_or_else(|| program.to_owned(), |system| format!("{program} on {system}"))
}

fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

/// HMAC-SHA256 of the parts under the token, in hexadecimal digits. A zero byte, which no part contains, ends each, so
/// that no two lists of parts are the same text.
fn signature(token: &Token, parts: &[&str]) -> String {
    let key = token.as_str().as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part.as_bytes());
        mac.update(&[0]);
    }
    hex(&mac.finalize().into_bytes())
}

/// Compares in constant time, so that timing reveals nothing about a secret.
fn is_same(own: &str, offered: &str) -> bool {
    own.as_bytes().ct_eq(offered.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_segment_of_hexadecimal_digits_is_a_root() {
        let root = format!("/{}", "0a".repeat(16));
        let taken = |address: &str| {
            let (root, rest) = Root::take(&address.parse().unwrap())?;
            Some((root.0, rest.to_string()))
        };
        for (rest, left) in
            [("", "/"), ("/", "/"), ("?q=a", "/?q=a"), ("/feed?before=1", "/feed?before=1"), ("//a", "//a")]
        {
            assert_eq!(taken(&format!("{root}{rest}")), Some((root.clone(), left.to_owned())), "{rest}");
        }
        for other in
            ["/", "/sessions/1", "/api/v1/search", &format!("{root}0"), &root[..32], &root.to_uppercase()]
        {
            assert_eq!(taken(other), None, "{other}");
        }
    }

    #[test]
    fn secrets_of_a_browser_differ_by_purpose_browser_and_token() {
        let tokens = [(); 2].map(|()| {
            let temp = tempfile::tempdir().unwrap();
            remora_client::token::read_or_make(&DataDir::new(temp.path())).unwrap()
        });
        let mut secrets = Vec::new();
        for token in &tokens {
            for id in ["a", "ab"] {
                let root = root_of(token, id);
                assert_eq!(Root::take(&root.parse().unwrap()).unwrap().0, Root(root.clone()));
                secrets.extend([root[1..].to_owned(), signature(token, &["browser", id])]);
                secrets.extend([signature(token, &["page", id]), signature(token, &["pa", "ge", id])]);
            }
        }
        for (place, secret) in secrets.iter().enumerate() {
            let others = secrets.iter().enumerate().filter(|(other, _)| *other != place);
            assert!(others.into_iter().all(|(_, other)| !other.starts_with(secret)), "{secrets:?}");
            assert!(is_same(secret, secret) && !is_same(secret, &secret[1..]) && !is_same(secret, ""));
        }
        // HMAC-SHA256 of "browser\0a\0" by another implementation, so that no release signs everyone out unnoticed.
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        remora_sys::file::replace(&dir.token(), "ab".repeat(32).as_bytes()).unwrap();
        let known = remora_client::token::read_or_make(&dir).unwrap();
        assert_eq!(
            signature(&known, &["browser", "a"]),
            "5bbe58c0f681a00e265c9ad1a9d2e5f924b46300c87aa201cc0bfc6c5b3a305e"
        );
    }

    #[test]
    fn a_browser_has_a_name_for_the_list() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
        let names = [firefox, chrome, "curl/8"].map(name_of);
        assert_eq!(names, ["Firefox on Linux", "Chrome on Windows", "Another browser"]);
    }
}
