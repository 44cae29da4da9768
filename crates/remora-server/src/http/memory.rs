//! The whole memory: search, counts and the log of injections. Without a project, these cover all projects.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::retrievals::{self, RetrievalsRequest, Retrieved};
use remora_app::stats::{self, MemoryStats};
use remora_search::Results;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Query, Within};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::search::SearchQuery;
use super::{Http, project};

const USUAL_LIMIT: u32 = 20;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .get("/api/memory/search", search)
        .get("/api/memory/stats", count)
        .get("/api/memory/retrievals", log)
}

async fn search(
    State(http): State<Arc<Http>>,
    Query(asked): Query<SearchQuery>,
) -> Result<Json<Results>, ApiError> {
    let selector = project::whose_or_all(asked.project.clone(), asked.cwd.clone())?;
    Ok(Json(http.search(asked.request(selector)).await?))
}

async fn count(State(http): State<Arc<Http>>) -> Result<Json<MemoryStats>, ApiError> {
    Ok(Json(http.read(stats::memory).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WhichInjections {
    /// The project: an id, an absolute path or a unique name. Without it: all of them
    project: Option<String>,
    /// The session's id, or its host's
    session: Option<String>,
    limit: Option<Within<1, 100>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Injections {
    /// Newest first.
    retrievals: Vec<Retrieved>,
}

async fn log(
    State(http): State<Arc<Http>>,
    Query(asked): Query<WhichInjections>,
) -> Result<Json<Injections>, ApiError> {
    let request = RetrievalsRequest {
        selector: project::whose_or_all(asked.project, None)?,
        session: asked.session,
        limit: asked.limit.map_or(USUAL_LIMIT, |Within(limit)| limit),
    };
    let retrievals = http.read(move |rt| retrievals::retrievals(rt, &request)).await?;
    Ok(Json(Injections { retrievals }))
}
