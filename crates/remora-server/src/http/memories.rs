//! Remembering what a program says.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::save::{SaveRequest, SavedFor};
use remora_core::ids::{ObservationId, ProjectId};
use remora_core::memory::ObservationType;
use remora_store::{Saved, SavedBy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, Sent};
use super::error::ApiError;
use super::routes::Api;
use super::{Http, project};

pub(super) fn router() -> Api {
    Api::default().post("/api/v1/memories", save)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    text: String,
    title: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    facts: Vec<String>,
    #[serde(default)]
    files: Vec<PathBuf>,
    project: Option<String>,
    cwd: Option<String>,
}

impl Body for Said {
    const HINT: &'static str =
        r#"send {"project": "NAME", "text": "WORDS"}; "cwd" works instead of "project""#;
}

#[derive(Debug, Serialize, JsonSchema)]
struct Remembered {
    id: ObservationId,
    project_id: ProjectId,
    /// Whether it was not there before.
    new: bool,
}

async fn save(State(http): State<Arc<Http>>, Sent(said): Sent<Said>) -> Result<Json<Remembered>, ApiError> {
    let kind = match said.kind {
        None => ObservationType::Discovery,
        Some(name) => ObservationType::named(&name).ok_or_else(|| {
            let names = ObservationType::ALL.map(ObservationType::name).join(", ");
            ApiError::invalid(format!("type is `{name}`"), format!("expected {names}"))
        })?,
    };
    let request = SaveRequest {
        whose: project::whose(said.project, said.cwd)?,
        text: said.text,
        title: said.title,
        kind,
        facts: said.facts,
        files: said.files,
        // Whoever holds the token is a program. Only what is typed at a terminal is a person's word.
        by: SavedBy::Program,
    };
    let SavedFor { saved, project } = http.shared.save(request).await?;
    Ok(Json(Remembered { id: saved.id(), project_id: project, new: matches!(saved, Saved::New(_)) }))
}
