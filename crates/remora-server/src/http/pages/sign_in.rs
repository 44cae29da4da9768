//! Sign-in by a one-time link from `remora ui`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use remora_store::DataDir;
use remora_sys::file::read_small;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::look::escape;
use super::{html, wants_page};
use crate::http::Http;
use crate::http::error::ApiError;
use crate::http::routes::{ApiRoutes, Routes};
use crate::http::visitor::{self, Visitor};

pub(in crate::http) const ENTER: &str = "/enter";

/// The style of the pages that strangers see. Its hash is in the policy, so that no other style applies.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:18vh auto;padding:0 1.5rem;\
color:#1d2430;background:#f7f8fa}h1{font-size:1.25rem}code{font:0.95em ui-monospace,monospace;background:#e8ebf0;\
padding:.15em .4em;border-radius:4px}@media(prefers-color-scheme:dark){body{color:#e4e8ef;background:#14181f}code{background:#232a35}}";
const POLICY: &str = "default-src 'none'; style-src 'sha256-3xMlc+j/jMnm2uOJJGdqVo3a2jo7wNuH7HcD22LQAOo='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn router() -> Routes {
    Routes::default().get(ENTER, enter).merge(ApiRoutes::default().post(remora_client::UI_LINK, make))
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
    let code =
        http.links.make(http.shared.dir.now()).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(Json(Link { path: format!("{ENTER}?code={code}") }))
}

#[derive(Debug, Deserialize)]
struct SignInQuery {
    #[serde(default)]
    code: String,
    #[serde(default)]
    to: String,
}

async fn enter(
    State(http): State<Arc<Http>>,
    headers: HeaderMap,
    asked: Result<Query<SignInQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(SignInQuery { code, to }) = asked?;
    let now = http.shared.dir.now();
    if !http.links.follow(&code, now) {
        return if wants_page(&headers) { Ok(sign_in()) } else { Err(ApiError::Unauthorized) };
    }
    let (token, dir) = (http.guard.token(), &http.shared.dir);
    let (root, cookies) = visitor::sign_in(&headers, token, dir)
        .map_err(|error| ApiError::Internal(format!("the browser cannot be remembered: {error}")))?;
    forget_entrance(dir, &code);
    // Leads only to our own pages.
    let is_own =
        to.starts_with('/') && !to.starts_with("//") && !to.contains(|c: char| c == '\\' || c.is_control());
    let mut place = root.as_str().to_owned();
    escape(if is_own { &to } else { "/" }, &mut place);
    // Not a redirect: the browser would not send the new cookie there, because the link came from a file or a terminal.
    let page = format!(
        "<meta http-equiv=\"refresh\" content=\"0;url={place}\"><p>This browser is signed in. <a href=\"{place}\">Go on</a></p>"
    );
    let mut response = plain(StatusCode::OK, &page);
    for cookie in cookies {
        let cookie = HeaderValue::from_str(&cookie).map_err(|error| ApiError::Internal(error.to_string()))?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Deletes the file that led the browser here.
fn forget_entrance(dir: &DataDir, code: &str) {
    let path = dir.entrance();
    if read_small(&path).is_ok_and(|text| text.contains(code)) {
        let _ = std::fs::remove_file(path);
    }
}
