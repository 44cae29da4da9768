//! What somebody says of an observation.

use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use remora_core::feedback::Verdict;
use remora_core::ids::ObservationId;
use remora_core::time::Time;
use remora_store::Judged;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::routes::Routes;
use super::{Http, project};

const LARGEST_BODY: usize = 64 << 10;
const HINT: &str =
    r#"send {"verdict": "useful"}, or "wrong", "pin", "unpin"; with "undo": true it is taken back"#;

pub(super) fn router() -> Routes {
    Routes::default().post("/api/observations/{id}/feedback", judge)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    verdict: Verdict,
    #[serde(default)]
    undo: bool,
    /// Only if it is an observation of this one.
    project: Option<String>,
}

#[derive(Debug, Serialize)]
struct Answer {
    id: ObservationId,
    #[serde(flatten)]
    judged: Judged,
}

async fn judge(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Answer>, ApiError> {
    let id = observation(request.uri().path())?;
    let body = to_bytes(request.into_body(), LARGEST_BODY).await.map_err(|_| ApiError::TooLarge)?;
    let said: Said =
        serde_json::from_slice(&body).map_err(|error| ApiError::invalid(error.to_string(), HINT))?;
    let only = match said.project {
        Some(name) => Some(project::find(&http, name).await?),
        None => None,
    };
    let judged = http.shared.writer.call(move |store| {
        let belongs = match only {
            Some(project) => store.observation(id)?.is_some_and(|found| found.project_id == project),
            None => true,
        };
        if belongs { store.judge(id, said.verdict, said.undo, Time::now()) } else { Ok(None) }
    });
    let judged = judged.await?.ok_or_else(|| {
        ApiError::NotFound(format!("no observation has the id {id}; `GET /api/search` finds ids"))
    })?;
    Ok(Json(Answer { id, judged }))
}

/// The number in `/api/observations/12/feedback`.
fn observation(path: &str) -> Result<ObservationId, ApiError> {
    let id = path.split('/').rev().nth(1).unwrap_or_default();
    let wrong =
        || ApiError::invalid(format!("`{id}` is no observation's id"), "an id is a number, such as 12");
    id.parse().map(ObservationId).map_err(|_| wrong())
}
