//! Verdicts on observations and facts.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::judge::{self, JudgeRequest, JudgedRecord};
use remora_core::feedback::Verdict;
use schemars::JsonSchema;
use serde::Deserialize;

use super::asked::{Body, JsonBody, PathId};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;
use super::{Http, project};

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().post("/api/observations/{id}/feedback", give)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerdictBody {
    verdict: Verdict,
    #[serde(default)]
    undo: bool,
    /// Fails if the observation belongs to another project.
    project: Option<String>,
}

impl Body for VerdictBody {
    const HINT: &'static str =
        r#"send {"verdict": "useful"}, or "wrong", "pin", "unpin"; with "undo": true it is taken back"#;
}

async fn give(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    PathId(id): PathId,
    JsonBody(said): JsonBody<VerdictBody>,
) -> Result<Json<JudgedRecord>, ApiError> {
    let VerdictBody { verdict, undo, project } = said;
    let only = project.map(project::named).transpose()?;
    let request = JudgeRequest { id, verdict, undo, by: visitor.speaks_as(), only };
    http.write(move |rt| judge::judge(rt, &request)).await
}
