//! Errors as pages, for people who followed a link or typed an address.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::look::{escape, line, title};
use super::sign_in::plain;
use super::{Frame, POLICY, html};
use crate::http::Http;
use crate::http::guard::OTHER_SITE;
use crate::http::visitor::Visitor;

/// Longest message on the page, in characters.
const MAX_LEN: usize = 300;

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    frame: Frame,
    /// Both as HTML.
    message: String,
    hint: String,
}

/// The page for an error. A visitor who is signed in gets the navigation, too.
pub(in crate::http) async fn failure(
    http: &Http,
    visitor: Option<&Visitor>,
    status: StatusCode,
    message: &str,
    address: &str,
) -> Response {
    let (name, hint) = words(status);
    let (is_other_site, hint) = (message == OTHER_SITE, title(hint, MAX_LEN).0);
    let message = title(&sentence(message), MAX_LEN).0;
    if let Some(visitor) = visitor
        && let Ok(frame) = Frame::new(http, visitor, name, "", None).await
        && let Ok(text) = (FailurePage { frame, message: message.clone(), hint: hint.clone() }).render()
    {
        return html(status, text, POLICY);
    }
    let mut main = format!("<h1>{name}</h1><p>");
    if is_other_site {
        // The cookie is sent only from a page of our own, such as this one.
        main.push_str(
            "A link on another site led here. If you want to see this page of Remora, go on: <a href=\"",
        );
        escape(address, &mut main);
        main.push_str("\">open it</a></p>");
    } else {
        main.extend([message.as_str(), "</p><p>", hint.as_str(), "</p>"]);
    }
    plain(status, &main)
}

/// The title, and what to do.
fn words(status: StatusCode) -> (&'static str, &'static str) {
    match status {
        StatusCode::FORBIDDEN => ("Not from here", "Open the pages with `remora ui`, in a terminal."),
        StatusCode::NOT_FOUND => {
            ("Not found", "It may have been forgotten, or there is a mistake in the address.")
        }
        StatusCode::UNPROCESSABLE_ENTITY => {
            ("This address cannot be read", "There is a mistake in the part after the question mark.")
        }
        StatusCode::SERVICE_UNAVAILABLE => ("Not right now", "Reload this page in a moment."),
        StatusCode::INTERNAL_SERVER_ERROR => {
            ("Something went wrong", "The page Health and `remora doctor` show the reason.")
        }
        _ => ("This did not work", "Go back, and try it from a page."),
    }
}

/// A message as a sentence.
fn sentence(message: &str) -> String {
    let message = line(message, MAX_LEN);
    let mut rest = message.trim_end_matches('.').chars();
    let Some(first) = rest.next() else { return String::new() };
    format!("{}{}.", first.to_uppercase(), rest.as_str())
}
