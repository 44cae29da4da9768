//! The guard before every route. It decides by what came ahead of the body, so that a stranger's body is never read.
//!
//! A page in a browser can send requests to this machine. It cannot know the token, and three headers give it away
//! besides: `Host` when a name was bent to point here, `Origin` and `Sec-Fetch-Site` when it is another's page.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::header::{HeaderMap, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use remora_client::token::Token;
use remora_store::problems;

use super::Http;
use super::error::{ApiError, Reason};
use super::strangers::Standing;

/// The largest body that is taken in.
pub(super) const LARGEST_BODY: u64 = 16 << 20;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) struct Guard {
    token: Token,
    /// What may stand in `Host`.
    hosts: [String; 3],
}

impl Guard {
    pub(super) fn new(token: Token, port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        Self { token, hosts }
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
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
            return Err(ApiError::Forbidden("it comes from another site"));
        }
        self.identify(headers)?;
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            check_body(headers)?;
        }
        Ok(())
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own == host)
    }

    /// Who asks. The session cookie of the pages will be another answer to this question, here and nowhere else.
    fn identify(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let offered = single(headers, &AUTHORIZATION)?.and_then(|value| value.strip_prefix("Bearer "));
        if offered.is_some_and(|offered| self.token.is(offered)) {
            Ok(())
        } else {
            Err(ApiError::Unauthorized)
        }
    }
}

/// What a body announces of itself.
fn check_body(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = single(headers, &CONTENT_TYPE)?.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(ApiError::NotJson);
    }
    let length = single(headers, &CONTENT_LENGTH)?.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > LARGEST_BODY) { Err(ApiError::TooLarge) } else { Ok(()) }
}

/// The one value of a header. Where there are two, each of us might believe another.
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

pub(super) async fn admit(State(http): State<Arc<Http>>, request: Request, next: Next) -> Response {
    let mut response = match http.guard.check(&request) {
        Ok(()) => {
            if let Some(standing) = request.extensions().get::<Standing>() {
                standing.identified();
            }
            http.shared.activity.touch();
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    if let Some(Reason(reason)) = response.extensions_mut().remove() {
        problems::report(Some(&http.shared.dir), &format!("http: {reason}"));
    }
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
