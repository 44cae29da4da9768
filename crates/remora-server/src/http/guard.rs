//! The guard in front of every route. It decides by the head of a request, so that the body of an unknown
//! client is never read.
//!
//! A page in a browser can send requests to this machine. It cannot know the token, and three headers expose
//! it: `Host` if a domain name was rebound to this address, `Origin` and `Sec-Fetch-Site` if the page is from
//! another site.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::header::{
    HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use remora_client::token::Token;
use remora_store::DataDir;

use super::Http;
use super::error::{ApiError, Failure, Reason};
use super::pages;
use super::strangers::Authenticated;
use super::visitor::{Root, Visitor};

/// Upper limit for a request body, in bytes.
pub(super) const MAX_BODY_BYTES: u64 = 16 << 20;
/// Why a link on another site is refused.
pub(super) const OTHER_SITE: &str = "it comes from another site";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) struct Guard {
    token: Token,
    dir: DataDir,
    port: u16,
}

impl Guard {
    pub(super) fn new(token: Token, dir: DataDir, port: u16) -> Self {
        Self { token, dir, port }
    }

    fn check(&self, request: &Request) -> Result<Option<Visitor>, ApiError> {
        let headers = request.headers();
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        if !peer.is_some_and(|ConnectInfo(peer)| peer.ip().is_loopback()) {
            return Err(ApiError::Forbidden("it comes from another machine"));
        }
        let host = single(headers, &HOST)?.filter(|host| is_loopback(host));
        let named = request.uri().authority().is_none_or(|named| is_loopback(named.as_str()));
        let Some(host) = host.filter(|_| named) else {
            return Err(ApiError::Forbidden("it is meant for another host"));
        };
        if single(headers, &ORIGIN)?.is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
            return Err(ApiError::Forbidden("it comes from another origin"));
        }
        let changes = ![Method::GET, Method::HEAD].contains(request.method());
        let root = request.extensions().get::<Root>();
        // A one-time link is its own proof, which its handler checks. A file leads to it, which is another site.
        let is_link = request.uri().path() == pages::ENTER && root.is_none() && !changes;
        let site = single(headers, &SEC_FETCH_SITE)?;
        if !is_link && !site.is_none_or(|site| ["same-origin", "none"].contains(&site)) {
            return Err(ApiError::Forbidden(OTHER_SITE));
        }
        let visitor = if is_link {
            single(headers, &AUTHORIZATION)?;
            None
        } else {
            Some(self.identify(headers, root, changes)?)
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

    /// Identifies the client: a program with the token, or a browser with a cookie below its root. To change
    /// something, a browser must also come from one of our pages.
    fn identify(&self, headers: &HeaderMap, root: Option<&Root>, changes: bool) -> Result<Visitor, ApiError> {
        if let Some(offered) = single(headers, &AUTHORIZATION)? {
            let offered = offered.strip_prefix("Bearer ");
            let is_ours = offered.is_some_and(|offered| self.token.is(offered));
            return if is_ours { Ok(Visitor::with_token()) } else { Err(ApiError::Unauthorized) };
        }
        match root.and_then(|root| Visitor::of(headers, root, &self.token, &self.dir)) {
            None => Err(ApiError::Unauthorized),
            Some(visitor) if changes && !visitor.sent(headers) => {
                Err(ApiError::Forbidden("it does not come from a page of Remora"))
            }
            Some(visitor) => Ok(visitor),
        }
    }
}

/// Whether a host, as a client calls this server, is this machine. The port may be another one: that of an SSH tunnel. A
/// name that was rebound to this address is not accepted.
fn is_loopback(host: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    ["127.0.0.1", "localhost", "[::1]"].contains(&name)
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
    if length.is_some_and(|length| length > MAX_BODY_BYTES) { Err(ApiError::TooLarge) } else { Ok(()) }
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

/// Logs a request by its route, never by its address, which may have words of a query in it. Accepted events are left
/// out: they may be thousands a second, and the observer logs their turns.
fn trace(method: &Method, route: Option<&MatchedPath>, response: &Response, began: Instant) {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let method = known.iter().find(|known| *known == method).map_or("other method", Method::as_str);
    let route = route.map_or("no route", MatchedPath::as_str);
    let (status, took) = (response.status().as_u16(), began.elapsed().as_millis());
    if status == 200 && method == "POST" && route.starts_with("/api/sessions/") {
        return;
    }
    tracing::debug!("http: {method} {route}: {status} in {took} ms");
}

pub(super) async fn admit(State(http): State<Arc<Http>>, mut request: Request, next: Next) -> Response {
    let (began, method) = (Instant::now(), request.method().clone());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let root = request.extensions().get::<Root>().cloned();
    let root = root.as_ref().map_or("", Root::as_str);
    let address = request.uri().path_and_query().map_or("/", |address| address.as_str());
    let address = pages::is_for_people(&request).then(|| format!("{root}{address}"));
    let mut known = None;
    let mut response = match http.guard.check(&request) {
        Ok(visitor) => {
            known.clone_from(&visitor);
            if let Some(visitor) = visitor {
                request.extensions_mut().insert(visitor);
            }
            if let Some(standing) = request.extensions().get::<Authenticated>() {
                standing.identified();
            }
            http.shared.activity.touch();
            next.run(request).await
        }
        Err(ApiError::Unauthorized) if pages::is_for_people(&request) => pages::sign_in(),
        Err(refusal) => refusal.into_response(),
    };
    if let Some(Reason(reason)) = response.extensions_mut().remove() {
        tracing::error!("http: {reason}");
    }
    if let (Some(address), Some(Failure(message))) = (address, response.extensions_mut().remove()) {
        response = pages::failure(&http, known.as_ref(), response.status(), &message, &address).await;
    }
    if known.is_some() {
        response = pages::below(root, response).await;
    }
    trace(&method, route.as_ref(), &response, began);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The root of the pages is a secret.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
