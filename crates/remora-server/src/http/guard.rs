//! The guard in front of every route. It decides by the head of a request, so that the body of an unknown
//! client is never read.
//!
//! A page in a browser can send requests to this machine. It cannot know the token, and three headers expose
//! it: `Host` if a domain name was rebound to this address, `Origin` and `Sec-Fetch-Site` if the page is from
//! another site.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::header::{HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use remora_client::token::Token;
use remora_core::time::Time;
use remora_store::problems;

use super::Http;
use super::error::{ApiError, Failure, Reason};
use super::pages;
use super::strangers::Standing;
use super::visitor::Visitor;

/// Upper limit for a request body, in bytes.
pub(super) const LARGEST_BODY: u64 = 16 << 20;
/// Why a link on another site is refused.
pub(super) const OTHER_SITE: &str = "it comes from another site";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) struct Guard {
    token: Token,
    /// Allowed values of `Host`.
    hosts: [String; 3],
    port: u16,
}

impl Guard {
    pub(super) fn new(token: Token, port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        Self { token, hosts, port }
    }

    fn check(&self, request: &Request) -> Result<Option<Visitor>, ApiError> {
        let headers = request.headers();
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        if !peer.is_some_and(|ConnectInfo(peer)| peer.ip().is_loopback()) {
            return Err(ApiError::Forbidden("it comes from another machine"));
        }
        let named = request.uri().authority().is_none_or(|named| self.is_own(named.as_str()));
        if !named || !single(headers, &HOST)?.is_some_and(|host| self.is_own(host)) {
            return Err(ApiError::Forbidden("it is meant for another host"));
        }
        let own_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(|host| self.is_own(host));
        if !single(headers, &ORIGIN)?.is_none_or(own_origin) {
            return Err(ApiError::Forbidden("it comes from another origin"));
        }
        if !single(headers, &SEC_FETCH_SITE)?.is_none_or(|site| ["same-origin", "none"].contains(&site)) {
            return Err(ApiError::Forbidden(OTHER_SITE));
        }
        let changes = ![Method::GET, Method::HEAD].contains(request.method());
        // A one-time link is its own proof, which its handler checks.
        let visitor = if request.uri().path() == pages::ENTER && !changes {
            single(headers, &AUTHORIZATION)?;
            None
        } else {
            Some(self.identify(headers, changes)?)
        };
        // Some changes need no body, because the URL says everything.
        if changes && !is_empty(headers) {
            check_body(headers)?;
        }
        Ok(visitor)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own == host)
    }

    /// Identifies the client: a program with the token, or a browser with a cookie. To change something, a
    /// browser must also come from one of our pages.
    fn identify(&self, headers: &HeaderMap, changes: bool) -> Result<Visitor, ApiError> {
        if let Some(offered) = single(headers, &AUTHORIZATION)? {
            let offered = offered.strip_prefix("Bearer ");
            let is_ours = offered.is_some_and(|offered| self.token.is(offered));
            return if is_ours { Ok(Visitor::with_token()) } else { Err(ApiError::Unauthorized) };
        }
        match Visitor::of(headers, &self.token, Time::now()) {
            None => Err(ApiError::Unauthorized),
            Some(visitor) if changes && !visitor.sent(headers) => {
                Err(ApiError::Forbidden("it does not come from a page of Remora"))
            }
            Some(visitor) => Ok(visitor),
        }
    }
}

/// Whether the headers announce no body.
fn is_empty(headers: &HeaderMap) -> bool {
    !headers.contains_key(TRANSFER_ENCODING) && headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0")
}

/// Checks the type and the length that the headers announce.
fn check_body(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = single(headers, &CONTENT_TYPE)?.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(ApiError::NotJson);
    }
    let length = single(headers, &CONTENT_LENGTH)?.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > LARGEST_BODY) { Err(ApiError::TooLarge) } else { Ok(()) }
}

/// Returns a header that may appear once. Duplicates are rejected, because a proxy and this server might each
/// trust a different one.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| ApiError::Forbidden("a header is not text"))
        }
        (Some(_), Some(_)) => Err(ApiError::Forbidden("a header comes twice")),
    }
}

pub(super) async fn admit(State(http): State<Arc<Http>>, mut request: Request, next: Next) -> Response {
    let address = pages::is_for_people(&request).then(|| request.uri().clone());
    let mut known = None;
    let mut response = match http.guard.check(&request) {
        Ok(visitor) => {
            known.clone_from(&visitor);
            if let Some(visitor) = visitor {
                request.extensions_mut().insert(visitor);
            }
            if let Some(standing) = request.extensions().get::<Standing>() {
                standing.identified();
            }
            http.shared.activity.touch();
            next.run(request).await
        }
        Err(ApiError::Unauthorized) if pages::is_for_people(&request) => pages::sign_in(),
        Err(refusal) => refusal.into_response(),
    };
    if let Some(Reason(reason)) = response.extensions_mut().remove() {
        problems::report(Some(&http.shared.dir), &format!("http: {reason}"));
    }
    if let (Some(address), Some(Failure(message))) = (address, response.extensions_mut().remove()) {
        response = pages::failure(&http, known.as_ref(), response.status(), &message, &address).await;
    }
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
