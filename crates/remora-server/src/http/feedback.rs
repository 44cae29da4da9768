//! Verdicts about observations.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::judge::{
    JudgeError, JudgeRequest, Judged, JudgedRetelling, is_retelling, judge as judge_observation, judge_fact,
    judge_retelling,
};
use remora_app::records::record_id;
use remora_core::document::RecordKind;
use remora_core::feedback::Verdict;
use remora_core::time::Time;
use remora_store::FactRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, Id, Sent};
use super::error::ApiError;
use super::routes::Api;
use super::{Http, project};

pub(super) fn router() -> Api {
    Api::default().post("/api/observations/{id}/feedback", judge)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    verdict: Verdict,
    #[serde(default)]
    undo: bool,
    /// Fails if the observation belongs to another project.
    project: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Answer {
    Observation(Box<Judged>),
    Fact(Box<FactRow>),
    Retelling(JudgedRetelling),
}

impl Body for Said {
    const HINT: &'static str =
        r#"send {"verdict": "useful"}, or "wrong", "pin", "unpin"; with "undo": true it is taken back"#;
}

async fn judge(
    State(http): State<Arc<Http>>,
    Id(id): Id,
    Sent(said): Sent<Said>,
) -> Result<Json<Answer>, ApiError> {
    let Said { verdict, undo, project } = said;
    let only = project.map(project::named).transpose()?;
    let request = JudgeRequest { id, verdict, undo, only };
    let record = record_id(&request.id);
    let is_fact = record.is_some_and(|record| record.kind == RecordKind::Fact);
    let judged = http.shared.writer.call(move |store| {
        let now = Time::now();
        Ok(if is_fact {
            judge_fact(store, &request, now).map(|row| Answer::Fact(Box::new(row)))
        } else if record.is_some_and(is_retelling) {
            judge_retelling(store, &request, now).map(Answer::Retelling)
        } else {
            judge_observation(store, &request, now).map(|judged| Answer::Observation(Box::new(judged)))
        })
    });
    let judged = judged.await?.map_err(|error| match error {
        JudgeError::App(error) => error.into(),
        // Memory of other projects does not exist for the caller.
        JudgeError::OtherProject(row) => {
            ApiError::NotFound(format!("no observation has the id {}; `GET /api/search` finds ids", row.id))
        }
        JudgeError::RetellingOfOtherProject { id, .. } => {
            ApiError::NotFound(format!("nothing has the id {id}; `GET /api/search` finds ids"))
        }
        JudgeError::FactOfOtherProject(row) => {
            ApiError::NotFound(format!("no fact has the id f{}; `GET /api/search` finds ids", row.id))
        }
    })?;
    // Wakes the update of context files.
    http.shared.announce_news();
    Ok(Json(judged))
}
