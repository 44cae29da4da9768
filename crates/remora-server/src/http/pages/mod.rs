//! Pages for people: rendered by the server, with small scripts, and nothing loaded from elsewhere.
//!
//! Every page calls a use case and shows the result; none has queries of its own. A page is a struct and a
//! template of the same name in `templates/`.

mod assets;
mod chart;
mod costs;
mod failure;
mod files;
mod health;
mod home;
mod judged;
mod look;
mod memory;
mod observation;
mod playground;
mod privacy;
mod queue;
mod search;
mod session;
mod settings;
mod sign_in;
mod timeline;

use std::sync::Arc;

use askama::Template;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use remora_app::{ProjectSelector, feed};
use remora_core::time::Time;
use remora_store::ProjectRow;
use serde::de::DeserializeOwned;

pub(super) use failure::failure;
pub(super) use sign_in::{ENTER, sign_in};

use super::Http;
use super::asked::PathId;
use super::error::ApiError;
use super::routes::Routes;
use super::stream::StreamPlace;
use super::visitor::Visitor;

pub(super) fn router() -> Routes {
    Routes::default()
        .merge(assets::router())
        .merge(sign_in::router())
        .merge(home::router())
        .merge(search::router())
        .merge(timeline::router())
        .merge(session::router())
        .merge(observation::router())
        .merge(judged::router())
        .merge(files::router())
        .merge(privacy::router())
        .merge(queue::router())
        .merge(health::router())
        .merge(memory::router())
        .merge(playground::router())
        .merge(costs::router())
        .merge(settings::router())
}

/// Allows nothing from other sites, and no inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Whether a browser requests a page, rather than a program data.
pub(super) fn is_for_people(request: &Request) -> bool {
    wants_page(request.headers()) && !request.uri().path().starts_with("/api/")
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

/// The parts that all pages share.
#[derive(Debug)]
pub(super) struct Frame {
    title: String,
    /// The current entry of the navigation.
    here: &'static str,
    /// The secret that a change from this page is sent with.
    page: String,
    /// The position in the stream that this page was rendered at, so that the stream continues from there.
    place: StreamPlace,
    projects: Vec<ProjectRow>,
    /// The selected project.
    project: Option<i64>,
    query: String,
    /// The time zone of all times, so that the script does not mix in the browser's.
    zone: String,
    version: &'static str,
}

impl Frame {
    async fn new(
        http: &Http,
        visitor: &Visitor,
        title: &str,
        here: &'static str,
        project: Option<i64>,
    ) -> Result<Self, ApiError> {
        // The position is read first: a row stored during the rendering is rather sent twice than never.
        let (latest, projects) =
            http.read(|rt| Ok((feed::latest(rt.store())?, rt.store().projects().list()?))).await?;
        Ok(Self {
            title: title.to_owned(),
            here,
            page: visitor.page().to_owned(),
            place: StreamPlace(latest),
            // An unknown project is ignored.
            project: project.filter(|id| projects.iter().any(|project| project.id.0 == *id)),
            projects,
            query: String::new(),
            zone: Time::zone().unwrap_or_default(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// A link that keeps the selected project.
    fn link(&self, path: &str) -> String {
        let joint = if path.contains('?') { '&' } else { '?' };
        self.project.map_or_else(|| path.to_owned(), |project| format!("{path}{joint}project={project}"))
    }

    fn is_in(&self, project: &ProjectRow) -> bool {
        self.project == Some(project.id.0)
    }

    fn scope_of(&self) -> ProjectSelector {
        self.project.map_or(ProjectSelector::All, |project| ProjectSelector::Project(project.to_string()))
    }
}

fn show(page: &impl Template) -> Result<Response, ApiError> {
    let text = page.render().map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(html(StatusCode::OK, text, POLICY))
}

fn html(status: StatusCode, text: String, policy: &'static str) -> Response {
    let mut response = (status, text).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

/// Attributes of the pages that have an address.
const ADDRESSES: [&str; 5] = ["href", "src", "action", "data-load", "data-address"];

/// Puts the visitor's root before every address of a page. Templates do not know it, so none can forget it.
pub(super) async fn below(root: &str, response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if root.is_empty() || !kind.is_some_and(|kind| kind.starts_with("text/html")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return ApiError::Internal("a page could not be read back".to_owned()).into_response();
    };
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(placed(&String::from_utf8_lossy(&bytes), root)))
}

/// Only tags are changed: in texts, `<` is escaped.
fn placed(page: &str, root: &str) -> String {
    let mut out = String::with_capacity(page.len() + page.len() / 8);
    for (number, piece) in page.split('<').enumerate() {
        let end = if number == 0 { 0 } else { piece.find('>').unwrap_or(piece.len()) };
        let (tag, text) = piece.split_at(end);
        out.push_str(if number == 0 { "" } else { "<" });
        out.push_str(&ADDRESSES.iter().fold(tag.to_owned(), |tag, name| {
            tag.replace(&format!(" {name}=\"/"), &format!(" {name}=\"{root}/"))
        }));
        out.push_str(text);
    }
    out
}

/// Query parameters of a page. Those that cannot be read are an error of this interface, not of the framework.
struct PageQuery<T>(T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for PageQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let axum::extract::Query(parameters) = axum::extract::Query::try_from_uri(&parts.uri)?;
        Ok(Self(parameters))
    }
}

/// A number in the path of a page. Anything else names nothing.
struct Number(i64);

impl<S: Send + Sync> FromRequestParts<S> for Number {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let PathId(name) = PathId::from_request_parts(parts, state).await?;
        let number = name.parse().map_err(|_| ApiError::NotFound(format!("nothing is known as `{name}`")))?;
        Ok(Self(number))
    }
}

/// Arguments of every page handler: the shared state and the visitor.
type Seen = (axum::extract::State<Arc<Http>>, axum::Extension<Visitor>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_tags_are_placed_below_the_root_and_texts_stay() {
        let page = "a href=\"/x <a class=\"t\" href=\"/\">b href=\"/x</a><form action=\"/search\"><input value=\"/home\">";
        assert_eq!(
            placed(page, "/0a"),
            "a href=\"/x <a class=\"t\" href=\"/0a/\">b href=\"/x</a><form action=\"/0a/search\"><input value=\"/home\">"
        );
        assert_eq!(
            placed("<a href=\"#main\">é</a><a href=\"https://a.example/\">", "/0a"),
            "<a href=\"#main\">é</a><a href=\"https://a.example/\">"
        );
    }
}
