//! Saving memories.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::Runtime;
use remora_app::save::{SaveRequest, SavedFor};
use remora_core::ids::{ObservationId, ProjectId};
use remora_core::memory::ObservationType;
use remora_store::Saved;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, JsonBody, One};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;
use super::{Http, project};

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().post("/api/v1/memories", save)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SaveBody {
    text: String,
    title: Option<String>,
    #[serde(rename = "type")]
    kind: Option<One<ObservationType>>,
    #[serde(default)]
    facts: Vec<String>,
    #[serde(default)]
    files: Vec<PathBuf>,
    project: Option<String>,
    cwd: Option<String>,
}

impl Body for SaveBody {
    const HINT: &'static str =
        r#"send {"project": "NAME", "text": "WORDS"}; "cwd" works instead of "project""#;
}

#[derive(Debug, Serialize, JsonSchema)]
struct Remembered {
    id: ObservationId,
    project_id: ProjectId,
    /// Whether it did not exist before.
    new: bool,
    /// Bytes that exceed the limits and were not stored.
    left_out: usize,
}

async fn save(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(said): JsonBody<SaveBody>,
) -> Result<Json<Remembered>, ApiError> {
    let request = SaveRequest {
        selector: project::scope_of(said.project, said.cwd)?,
        text: said.text,
        title: said.title,
        kind: said.kind.map_or(ObservationType::Discovery, |One(kind)| kind),
        facts: said.facts,
        files: said.files,
        by: visitor.speaks_as(),
    };
    let save = move |rt: &mut dyn Runtime| remora_app::save::save(rt, &request);
    let SavedFor { saved, project, left_out } = http.shared.write(save).await?;
    Ok(Json(Remembered {
        id: saved.id(),
        project_id: project,
        new: matches!(saved, Saved::New(_)),
        left_out,
    }))
}
