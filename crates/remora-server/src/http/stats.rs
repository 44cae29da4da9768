//! Counts of records and events.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::present::{CountsJson, QueueCountsJson};
use remora_store::Counts;
use schemars::JsonSchema;
use serde::Serialize;

use super::Http;
use super::error::ApiError;
use super::routes::ApiRoutes;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().get("/api/stats", stats)
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    counts: CountsJson,
    queue: QueueCountsJson,
    database: Database,
}

#[derive(Serialize, JsonSchema)]
struct Database {
    bytes: u64,
}

async fn stats(State(http): State<Arc<Http>>) -> Result<Json<Stats>, ApiError> {
    let stats = http.shared.reader.call(|store| {
        let counts = store.counts()?;
        let Counts { pending, processing, awaiting_model, failed, .. } = counts;
        let queue = QueueCountsJson { pending, processing, awaiting_model, failed };
        Ok(Stats { counts: counts.into(), queue, database: Database { bytes: store.dir().database_bytes() } })
    });
    Ok(Json(stats.await?))
}
