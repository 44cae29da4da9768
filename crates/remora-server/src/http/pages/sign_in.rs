//! Sign-in by a one-time link from `remora ui`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{HeaderValue, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use remora_core::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{html, wants_page};
use crate::http::Http;
use crate::http::error::ApiError;
use crate::http::routes::{Api, Routes};
use crate::http::visitor::{self, Visitor};

pub(in crate::http) const ENTER: &str = "/enter";

/// The style of the pages that strangers see. Its hash is in the policy, so that no other style applies.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:18vh auto;padding:0 1.5rem;\
color:#1d2430;background:#f7f8fa}h1{font-size:1.25rem}code{font:0.95em ui-monospace,monospace;background:#e8ebf0;\
padding:.15em .4em;border-radius:4px}@media(prefers-color-scheme:dark){body{color:#e4e8ef;background:#14181f}code{background:#232a35}}";
const POLICY: &str = "default-src 'none'; style-src 'sha256-3xMlc+j/jMnm2uOJJGdqVo3a2jo7wNuH7HcD22LQAOo='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn router() -> Routes {
    Routes::default().get(ENTER, enter).merge(Api::default().post(remora_client::UI_LINK, make))
}

/// The page for a browser that is not signed in: it explains how to sign in, and nothing else.
pub(in crate::http) fn sign_in() -> Response {
    plain(
        StatusCode::UNAUTHORIZED,
        "<h1>These pages are private</h1><p>Open them with a link that works once. In a terminal:</p>\
         <p><code>remora ui</code></p>",
    )
}

/// A page without scripts, navigation or anything that is stored.
pub(super) fn plain(status: StatusCode, main: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Remora</title><style>{STYLE}</style><main>{main}</main></html>"
    );
    html(status, text, POLICY)
}

#[derive(Debug, Serialize, JsonSchema)]
struct Link {
    path: String,
}

/// Issues a one-time link to a program with the token. Pages may not.
async fn make(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Json<Link>, ApiError> {
    if !visitor.has_token() {
        return Err(ApiError::Forbidden("a page cannot let others in"));
    }
    let code = http.links.make(Time::now()).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(Json(Link { path: format!("{ENTER}?code={code}") }))
}

#[derive(Debug, Deserialize)]
struct Parameters {
    #[serde(default)]
    code: String,
    #[serde(default)]
    to: String,
}

async fn enter(
    State(http): State<Arc<Http>>,
    headers: HeaderMap,
    asked: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(Parameters { code, to }) = asked?;
    let now = Time::now();
    if !http.links.follow(&code, now) {
        return if wants_page(&headers) { Ok(sign_in()) } else { Err(ApiError::Unauthorized) };
    }
    let cookie =
        visitor::cookie(http.guard.token(), now).map_err(|error| ApiError::Internal(error.to_string()))?;
    let cookie = HeaderValue::from_str(&cookie).map_err(|error| ApiError::Internal(error.to_string()))?;
    // Redirects only to our own pages.
    let is_own = to.starts_with('/') && !to.starts_with("//") && !to.contains(['\\', '\r', '\n']);
    let place =
        HeaderValue::from_str(if is_own { &to } else { "/" }).unwrap_or(HeaderValue::from_static("/"));
    Ok((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, place)]).into_response())
}
