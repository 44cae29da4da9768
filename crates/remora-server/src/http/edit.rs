//! Corrections of observations.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::edit::{self, Edit};
use remora_app::present::{ObservationJson, RevisionJson};
use remora_core::memory::ObservationType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Http;
use super::asked::{Body, JsonBody, One, PathId, RecordName};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;

const HINT: &str = r#"send {"title": …, "narrative": …, "type": …, "facts": […]}, {"merge": ["15"]} or {"superseded_by": "20"}"#;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .patch("/api/v1/observations/{id}", change)
        .post("/api/v1/observations/{id}/undo", undo)
        .get("/api/v1/observations/{id}/revisions", history)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditBody {
    title: Option<String>,
    narrative: Option<String>,
    #[serde(rename = "type")]
    kind: Option<One<ObservationType>>,
    facts: Option<Vec<String>>,
    #[serde(default)]
    merge: Vec<RecordName>,
    superseded_by: Option<RecordName>,
}

impl Body for EditBody {
    const HINT: &'static str = HINT;
}

async fn change(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    PathId(id): PathId,
    JsonBody(said): JsonBody<EditBody>,
) -> Result<Json<ObservationJson>, ApiError> {
    let EditBody { title, narrative, kind, facts, merge, superseded_by } = said;
    let merge: Vec<String> = merge.into_iter().map(String::from).collect();
    let superseded_by = superseded_by.map(String::from);
    let changes = Edit { title, narrative, kind: kind.map(|One(kind)| kind), facts };
    let by = visitor.speaks_as();
    match (changes.is_empty(), merge.is_empty(), superseded_by) {
        (false, true, None) => http.write(move |rt| Ok(edit::edit(rt, &id, &changes, by)?.row.into())).await,
        (true, false, None) => http.write(move |rt| Ok(edit::merge(rt, &id, &merge, by)?.row.into())).await,
        (true, true, Some(other)) => {
            http.write(move |rt| Ok(edit::supersede(rt, &id, &other, by)?.row.into())).await
        }
        _ => Err(ApiError::invalid("one kind of change is needed", HINT)),
    }
}

async fn undo(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    PathId(id): PathId,
) -> Result<Json<ObservationJson>, ApiError> {
    let by = visitor.speaks_as();
    http.write(move |rt| Ok(edit::undo(rt, &id, by)?.row.into())).await
}

#[derive(Debug, Serialize, JsonSchema)]
struct History {
    revisions: Vec<RevisionJson>,
}

async fn history(State(http): State<Arc<Http>>, PathId(id): PathId) -> Result<Json<History>, ApiError> {
    let revisions = http.read(move |rt| edit::history(rt, &id)).await?;
    Ok(Json(History { revisions: revisions.into_iter().map(RevisionJson::from).collect() }))
}
