//! Stores events. Status 200 means that the event is on disk, or that it is not to be kept.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures_util::StreamExt;
use remora_app::capture::{self, Door, LeftOut};
use remora_core::event::Event;
use remora_core::host::Host;
use remora_core::ids::EventId;
use remora_core::intake::{Document, Intake};
use remora_hosts::Reading;
use remora_hosts::generic::{Complete, Init, Message, Observations, Summarize, Whole};
use remora_store::Enqueued;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use super::error::ApiError;
use super::guard::MAX_BODY_BYTES;
use super::operation::{Operation, OperationPart, Schemas};
use super::routes::ApiRoutes;
use super::{BODY_TIMEOUT, Http};

/// Limit for events that are being stored, in portions of [`PORTION`] bytes: 1024 small events, or fewer large ones.
pub(super) const ROOM: usize = 1024;
const PORTION: u64 = 64 << 10;
/// Limit for the portions of one body. A larger body does not need more memory.
const MAX_PORTIONS: u64 = 40;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .post("/api/sessions/init", take_in::<Init>)
        .post("/api/sessions/observations", take_in::<Observations>)
        .post("/api/sessions/summarize", take_in::<Summarize>)
        .post("/api/sessions/complete", take_in::<Complete>)
}

/// A message of type `M`. Its body is parsed as it arrives, as a hook parses its input.
struct EventBody<M>(Request, PhantomData<M>);

impl<S: Sync, M> FromRequest<S> for EventBody<M> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self(request, PhantomData))
    }
}

impl<M: Message> OperationPart for EventBody<M> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        operation.body = Some(schemas.asked::<Whole<M>>());
    }
}

/// The result for one event.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Acknowledged {
    stored: bool,
    /// Whether the event had been stored before.
    duplicate: bool,
    id: Option<EventId>,
    /// Why it was not stored.
    reason: Option<LeftOut>,
}

async fn take_in<M: Message>(
    State(http): State<Arc<Http>>,
    EventBody(request, _): EventBody<M>,
) -> Result<Json<Acknowledged>, ApiError> {
    let room = Arc::new(reserve(&http, request.headers())?);
    let body = tokio::time::timeout(BODY_TIMEOUT, read(request.into_body()));
    let document = body.await.map_err(|_| ApiError::Slow)??;
    let event = match remora_hosts::read(Host::Generic, Some(M::NAME), document) {
        Reading::Event(event) => placed(&http, *event).await?,
        Reading::Malformed(reason) => return Err(ApiError::invalid(reason, "docs/http.md shows the bodies")),
        Reading::Synthetic { .. } | Reading::FileAhead(_) | Reading::Nothing => {
            return Ok(Json(Acknowledged { reason: Some(LeftOut::NotAnEvent), ..Acknowledged::default() }));
        }
    };
    let is_tool = event.body.tool().is_some();
    let acknowledged = match http.capture.ingest(event, Arc::clone(&room)).await? {
        Ok(Enqueued::Stored(id)) => {
            // A tool call does not end a turn, so the observer need not start at once.
            if is_tool {
                http.shared.announce_for_later();
            } else {
                http.shared.announce();
            }
            Acknowledged { stored: true, id: Some(id), ..Acknowledged::default() }
        }
        Ok(Enqueued::Duplicate) => Acknowledged { duplicate: true, ..Acknowledged::default() },
        Err(reason) => Acknowledged { reason: Some(reason), ..Acknowledged::default() },
    };
    Ok(Json(acknowledged))
}

/// Reserves room for a body, by the length it announces.
fn reserve(http: &Http, headers: &HeaderMap) -> Result<OwnedSemaphorePermit, ApiError> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let portions = length.map_or(MAX_PORTIONS, |length| (length / PORTION + 1).min(MAX_PORTIONS));
    Arc::clone(&http.room)
        .try_acquire_many_owned(u32::try_from(portions).unwrap_or(u32::MAX))
        .map_err(|_| ApiError::Unavailable("too much is coming in at once"))
}

/// Reads the body as a hook reads its input: bounded, private parts dropped on the way.
async fn read(body: Body) -> Result<Document, ApiError> {
    let malformed = |reason: String| ApiError::invalid(reason, "send one JSON object");
    let mut chunks = body.into_data_stream();
    let mut intake = Intake::default();
    let mut length = 0;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| malformed("the body broke off".to_owned()))?;
        length += chunk.len() as u64;
        if length > MAX_BODY_BYTES {
            return Err(ApiError::TooLarge);
        }
        intake.push(&chunk).map_err(|error| malformed(error.to_string()))?;
    }
    intake.finish().map_err(|error| malformed(error.to_string()))
}

/// Adds a directory to an event that has none. Settings and pauses depend on it.
async fn placed(http: &Http, mut event: Event) -> Result<Event, ApiError> {
    let wrong = |message: &str| ApiError::invalid(message, "send the directory the agent works in as `cwd`");
    if event.cwd.is_empty() {
        let session = event.session.clone();
        let known = http.shared.reader.call(move |store| store.sessions().origin(&session)).await?;
        let known = known.map(|session| session.root);
        let placed =
            capture::directory(&http.shared.dir, event.session.host, event.cwd, Door::Request(known));
        event.cwd = placed.ok_or_else(|| wrong("cwd is missing, and the session is not known yet"))?;
    } else if !Path::new(&event.cwd).is_absolute() {
        return Err(wrong("cwd is not an absolute path"));
    }
    Ok(event)
}
