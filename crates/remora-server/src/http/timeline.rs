//! Records before and after a point in time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::timeline::{Around, DEFAULT_LENGTH, Timeline, TimelineRequest, best_of};
use remora_core::document::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::asked::{Asked, One, Within};
use super::error::ApiError;
use super::routes::Api;
use super::{Http, project};

const MOST: u32 = 100;

pub(super) fn router() -> Api {
    Api::default().get("/api/timeline", timeline)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The record in the middle: an id from search
    anchor: Option<One<RecordId>>,
    /// Instead of `anchor`: a query whose best hit is in the middle; or `q`
    #[serde(alias = "q")]
    query: Option<String>,
    /// The project: an id, an absolute path or a unique name
    project: Option<String>,
    /// Instead of `project`: the caller's directory, absolute
    cwd: Option<String>,
    before: Option<Within<0, MOST>>,
    after: Option<Within<0, MOST>>,
}

async fn timeline(
    State(http): State<Arc<Http>>,
    Asked(asked): Asked<Parameters>,
) -> Result<Json<Timeline>, ApiError> {
    let Parameters { anchor, query, project, cwd, before, after } = asked;
    let length = |length: Option<Within<0, MOST>>| length.map_or(DEFAULT_LENGTH, |Within(length)| length);
    let around = anchor.map_or(Around::Now, |One(record)| Around::Record(record));
    let mut request = TimelineRequest { whose: None, around, before: length(before), after: length(after) };
    // An id implies its project.
    if project.is_some() || cwd.is_some() || request.around == Around::Now {
        request.whose = Some(project::whose(project, cwd)?);
    }
    if let (Around::Now, Some(text)) = (&request.around, query) {
        let found = http.search(best_of(&request, &text)?).await?;
        request.around = Around::best(&found, &text)?;
    }
    let timeline = http.read(move |store| remora_app::timeline::timeline(store, &request)).await?;
    Ok(Json(timeline))
}
