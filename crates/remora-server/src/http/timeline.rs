//! Records before and after a point in time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::timeline::{DEFAULT_LENGTH, MAX_LEN, Timeline, TimelineQuery, around};
use remora_core::document::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::asked::{One, Query, Within};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::{Http, project};

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().get("/api/timeline", timeline)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AroundQuery {
    /// The record in the middle: an id from search
    anchor: Option<One<RecordId>>,
    /// Instead of `anchor`: a record's id, or a query whose best hit is in the middle; or `q`
    #[serde(alias = "q")]
    query: Option<String>,
    /// The project: an id, an absolute path or a unique name
    project: Option<String>,
    /// Instead of `project`: the caller's directory, absolute
    cwd: Option<String>,
    before: Option<Within<0, MAX_LEN>>,
    after: Option<Within<0, MAX_LEN>>,
}

async fn timeline(
    State(http): State<Arc<Http>>,
    Query(asked): Query<AroundQuery>,
) -> Result<Json<Timeline>, ApiError> {
    let AroundQuery { anchor, query, project, cwd, before, after } = asked;
    let length = |length: Option<Within<0, MAX_LEN>>| length.map_or(DEFAULT_LENGTH, |Within(length)| length);
    let anchor = anchor.map(|One(record)| record);
    // An id implies its project.
    let only = if project.is_some() || cwd.is_some() || anchor.is_none() {
        Some(project::scope_of(project, cwd)?)
    } else {
        None
    };
    let (before, after) = (length(before), length(after));
    let query = TimelineQuery { only, here: None, anchor, text: query, before, after };
    Ok(Json(http.shared.find(query.text.clone().into(), move |rt| around(rt, &query)).await?))
}
