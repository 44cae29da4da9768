//! Errors of the HTTP interface, as a client sees them.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use remora_app::{AppError, ErrorKind};
use remora_store::{DataError, StoreError};
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;

#[derive(Debug)]
pub(super) enum ApiError {
    /// The token is missing or wrong.
    Unauthorized,
    /// The request comes from a place that is not allowed.
    Forbidden(&'static str),
    NotFound(String),
    /// The same, with a hint of its own.
    Unknown {
        message: String,
        hint: &'static str,
    },
    MethodNotAllowed,
    /// Contradicts a statement that has precedence.
    Conflict(String),
    /// The body did not arrive in time.
    Slow,
    TooLarge,
    NotJson,
    Invalid {
        message: String,
        hint: String,
    },
    /// Nothing was stored; the same request may succeed in a moment.
    Unavailable(&'static str),
    /// The reason is only logged.
    Internal(String),
}

#[derive(Serialize, JsonSchema)]
struct ErrorBody<'a> {
    error: Error<'a>,
}

#[derive(Serialize, JsonSchema)]
struct Error<'a> {
    code: &'a str,
    message: &'a str,
    hint: &'a str,
}

/// Attached to a response for the guard, which logs it.
#[derive(Debug, Clone)]
pub(super) struct Reason(pub(super) String);

/// Attached to every error response for the guard, which shows people a page instead.
#[derive(Debug, Clone)]
pub(super) struct Failure(pub(super) String);

impl ApiError {
    pub(super) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), hint: hint.into() }
    }

    /// Every status an operation may fail with. 405 is missing, because it is not about an operation.
    pub(super) const STATUSES: [(u16, &str); 10] = [
        (401, "The token is missing or wrong"),
        (403, "Another machine, host, origin or site; or a duplicate header"),
        (404, "No such route, project or record"),
        (408, "The body did not arrive within 30 seconds"),
        (409, "A person has set another value, which stays"),
        (413, "The body is too large"),
        (415, "The body is not declared as JSON"),
        (422, "The body or a parameter cannot be used; the message says which"),
        (500, "An internal error; `remora doctor` shows the reason"),
        (503, "Nothing was stored; the same request may succeed in a moment"),
    ];

    /// The schema of an error response.
    pub(super) fn schema() -> Schema {
        let mut generator = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        generator.contract = Contract::Serialize;
        generator.into_generator().into_root_schema_for::<ErrorBody<'_>>()
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) | Self::Unknown { .. } => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// An error code for programs, a message, and a hint.
    fn parts(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Unauthorized => (
                "unauthorized",
                "the token is missing or wrong",
                "send `Authorization: Bearer TOKEN` with what is in the file `token` of the data directory",
            ),
            Self::Forbidden(why) => {
                ("forbidden", why, "send it from this machine, to the address and port of the daemon itself")
            }
            Self::NotFound(what) => {
                ("not_found", what, "`GET /api/search` finds ids; docs/http.md lists the routes")
            }
            Self::Unknown { message, hint } => ("not_found", message, hint),
            Self::MethodNotAllowed => {
                ("method_not_allowed", "this address takes another method", "see the header `Allow`")
            }
            Self::Conflict(what) => (
                "conflict",
                what,
                "`\"replace\": true` replaces what a program said; what a person said needs `remora facts set`",
            ),
            Self::Slow => ("timeout", "the body did not come in time", "send it again"),
            Self::TooLarge => ("too_large", "the body is too large", "send at most 16 MiB"),
            Self::NotJson => {
                ("unsupported_media_type", "the body is not JSON", "send `Content-Type: application/json`")
            }
            Self::Invalid { message, hint } => ("invalid", message, hint),
            Self::Unavailable(why) => ("unavailable", why, "send it again in a moment"),
            Self::Internal(_) => {
                ("internal", "something went wrong inside", "look for the reason: `remora doctor`")
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (code, message, hint) = self.parts();
        let failure = Failure(message.to_owned());
        let body = Json(ErrorBody { error: Error { code, message, hint } });
        let mut response = (self.status(), body).into_response();
        response.extensions_mut().insert(failure);
        match self {
            Self::Unauthorized => {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::Unavailable(_) => {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::Internal(reason) => {
                response.extensions_mut().insert(Reason(reason));
            }
            _ => {}
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Unavailable("the database is busy"),
            StoreError::Data(DataError::DiskFull) => Self::Unavailable("the disk is full"),
            StoreError::ReadOnly { .. } => Self::Unavailable("the disk is full or cannot be written"),
            StoreError::Closed => Self::Unavailable("the daemon is ending"),
            other => Self::Internal(other.to_string()),
        }
    }
}

impl From<AppError> for ApiError {
    fn from(error: AppError) -> Self {
        let message = error.to_string();
        let hint = hint(&error);
        match error {
            AppError::Store(error) => error.into(),
            AppError::Config(error) => error.into(),
            AppError::NotADate { option, text } => {
                let name = if option == "from" { "dateFrom" } else { "dateTo" };
                Self::invalid(format!("{name} is `{text}`"), hint)
            }
            AppError::BadSetting { .. } => Self::invalid(format!("{message}; nothing was changed"), hint),
            // Memory of other projects does not exist for the caller.
            AppError::OtherProject { record, .. } => Self::NotFound(format!(
                "no {} has the id {record}; `GET /api/search` finds ids",
                record.kind.name()
            )),
            AppError::UnknownProject(_) | AppError::UnknownDirectory(_) => Self::Unknown {
                message,
                hint: "name a project by its id, its name or an absolute path; `GET /api/sessions` has names",
            },
            AppError::UnknownFact(_) => {
                Self::Unknown { message, hint: "`GET /api/memory/facts` lists them; `project` says whose" }
            }
            other => match other.kind() {
                ErrorKind::NotFound => Self::NotFound(message),
                ErrorKind::Usage => Self::invalid(message, hint),
                ErrorKind::Conflict => Self::Conflict(message),
                ErrorKind::Internal => Self::Internal(message),
            },
        }
    }
}

/// The next step as a request. Without one, it is the command for a person.
fn hint(error: &AppError) -> String {
    let hint = match error {
        AppError::AmbiguousSession { .. } => {
            return format!("name one of them: {}", error.choices().join(", "));
        }
        AppError::NeedsPerson { command, .. } => {
            return format!(
                "ask the user to run `{command}` in a terminal of their own, or to use the pages"
            );
        }
        AppError::NeedsOneProject => "name one with `project`",
        AppError::NotADate { .. } => "expected a date such as 2026-03-01, yesterday or `2 weeks ago`",
        AppError::NotAnObservation(_)
        | AppError::NotAnEvent(_)
        | AppError::SaysTheSame(_)
        | AppError::ReplacesItself(_)
        | AppError::OtherProjects(..) => "`GET /api/search` finds ids",
        AppError::UnknownSetting { nearest: None, .. } => "list the settings: `GET /api/settings`",
        AppError::NothingToSave | AppError::AllPrivate => "send a text outside of `<private>`",
        AppError::Forgotten => "save it at a terminal: `remora save`",
        AppError::EmptyFact => "send both; `DELETE` ends a fact",
        AppError::FactTooLong => "save a text instead: `POST /api/v1/memories`",
        AppError::NothingToForget => {
            "send `ids`, `topic`, `file`, `session`, `dateFrom`, `dateTo` or `everything`"
        }
        AppError::IdsWithConditions => "send `ids` alone, or leave them out",
        AppError::NotTheWord => r#"send {"word": "erase"}"#,
        AppError::TopicTooShort => "send more of it, or `ids`",
        _ => return error.hint(),
    };
    hint.to_owned()
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::invalid(rejection.body_text(), "docs/http.md lists the parameters")
    }
}
