//! Waiting and failed events.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::present::EventJson;
use remora_app::queue::{self, FailedEvents, Queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Http;
use super::asked::{Body, JsonBody};
use super::error::ApiError;
use super::routes::ApiRoutes;

const MAX_EVENTS: u32 = 200;
const HINT: &str = r#"send {"ids": ["e12"]}, or {"all": true} for every failed event"#;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .get("/api/v1/queue", list)
        .post("/api/v1/queue/retry", retry)
        .post("/api/v1/queue/drop", give_up)
}

/// The state of the queue.
#[derive(Debug, Serialize, JsonSchema)]
struct WaitingEvents {
    pending: i64,
    processing: i64,
    awaiting_model: i64,
    failed: i64,
    total: i64,
    /// Failed events first, each as in `remora queue list --json`.
    events: Vec<Value>,
}

async fn list(State(http): State<Arc<Http>>) -> Result<Json<WaitingEvents>, ApiError> {
    let Queue { pending, processing, awaiting_model, failed, total, events } =
        http.read(|rt| queue::overview(rt, MAX_EVENTS)).await?;
    let events = events.into_iter().map(EventJson::from).map(serde_json::to_value).collect::<Result<_, _>>();
    let events = events.map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(Json(WaitingEvents { pending, processing, awaiting_model, failed, total, events }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FailedEventsBody {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    all: bool,
}

impl Body for FailedEventsBody {
    const HINT: &'static str = HINT;
}

impl FailedEventsBody {
    fn failed(self) -> Result<FailedEvents, ApiError> {
        match (self.all, self.ids.is_empty()) {
            (true, true) => Ok(FailedEvents::All),
            (false, false) => Ok(FailedEvents::Named(self.ids)),
            _ => Err(ApiError::invalid("nothing says which events are meant", HINT)),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChangedEvents {
    events: usize,
}

async fn retry(
    State(http): State<Arc<Http>>,
    JsonBody(which): JsonBody<FailedEventsBody>,
) -> Result<Json<ChangedEvents>, ApiError> {
    let failed = which.failed()?;
    http.write(move |rt| Ok(ChangedEvents { events: queue::retry(rt, &failed)? })).await
}

async fn give_up(
    State(http): State<Arc<Http>>,
    JsonBody(which): JsonBody<FailedEventsBody>,
) -> Result<Json<ChangedEvents>, ApiError> {
    let failed = which.failed()?;
    http.write(move |rt| Ok(ChangedEvents { events: queue::give_up(rt, &failed)? })).await
}
