//! Whether the daemon is running, and which version.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_core::time::Time;
use remora_store::SCHEMA_VERSION;
use schemars::JsonSchema;
use serde::Serialize;

use super::Http;
use super::routes::ApiRoutes;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().get("/api/health", health)
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    status: &'static str,
    version: &'static str,
    pid: u32,
    schema: i64,
    started_at: String,
    started_at_epoch: Time,
    uptime_ms: i64,
    /// Health of the observer's model; `null` if no model is used.
    observer: Option<remora_net::Health>,
    /// Health of the embedder; `null` if none over the network is used.
    embedder: Option<remora_net::Health>,
}

async fn health(State(http): State<Arc<Http>>) -> Json<Health> {
    answer(&http)
}

pub(super) fn answer(http: &Http) -> Json<Health> {
    Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        schema: SCHEMA_VERSION,
        started_at: http.started_at.iso(),
        started_at_epoch: http.started_at,
        uptime_ms: http.shared.dir.now().0.saturating_sub(http.started_at.0),
        observer: http.shared.health.borrow().clone(),
        embedder: http.shared.embedder_health.borrow().clone(),
    })
}
