//! Records before and after a point in time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::timeline::{DEFAULT_LENGTH, LARGEST_LENGTH, Timeline, TimelineQuery, around, best_of};
use remora_core::document::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::asked::{Asked, One, Within};
use super::error::ApiError;
use super::routes::Api;
use super::{Http, project};

pub(super) fn router() -> Api {
    Api::default().get("/api/timeline", timeline)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The record in the middle: an id from search
    anchor: Option<One<RecordId>>,
    /// Instead of `anchor`: a record's id, or a query whose best hit is in the middle; or `q`
    #[serde(alias = "q")]
    query: Option<String>,
    /// The project: an id, an absolute path or a unique name
    project: Option<String>,
    /// Instead of `project`: the caller's directory, absolute
    cwd: Option<String>,
    before: Option<Within<0, LARGEST_LENGTH>>,
    after: Option<Within<0, LARGEST_LENGTH>>,
}

async fn timeline(
    State(http): State<Arc<Http>>,
    Asked(asked): Asked<Parameters>,
) -> Result<Json<Timeline>, ApiError> {
    let Parameters { anchor, query, project, cwd, before, after } = asked;
    let length =
        |length: Option<Within<0, LARGEST_LENGTH>>| length.map_or(DEFAULT_LENGTH, |Within(length)| length);
    let anchor = anchor.map(|One(record)| record);
    // An id implies its project.
    let only = if project.is_some() || cwd.is_some() || anchor.is_none() {
        Some(project::whose(project, cwd)?)
    } else {
        None
    };
    let (before, after) = (length(before), length(after));
    let query = Arc::new(TimelineQuery { only, here: None, anchor, text: query, before, after });
    let asked = Arc::clone(&query);
    let found = match http.read(move |store| best_of(store, &asked)).await? {
        Some(search) => Some(http.search(search).await?),
        None => None,
    };
    Ok(Json(http.read(move |store| around(store, &query, found.as_ref())).await?))
}
