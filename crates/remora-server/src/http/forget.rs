//! Forgetting records.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::forget::{self, ForgetRequest, Forgotten, Matching, Plan, THRESHOLD};
use remora_app::present::{ErasedJson, ForgettingJson};
use remora_app::{ProjectSelector, Runtime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, JsonBody, RecordName};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;
use super::{Http, project};

const HINT: &str =
    r#"send {"ids": ["12"]} or {"project": "NAME", "topic": "WORDS"}, and "confirm": true to carry it out"#;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().post("/api/v1/forget", forget_records).post("/api/v1/forget/undo", undo)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForgetBody {
    #[serde(default)]
    ids: Vec<RecordName>,
    topic: Option<String>,
    threshold: Option<f64>,
    file: Option<String>,
    session: Option<String>,
    #[serde(rename = "dateFrom")]
    from: Option<String>,
    #[serde(rename = "dateTo")]
    until: Option<String>,
    project: Option<String>,
    cwd: Option<String>,
    /// Everything in the project.
    #[serde(default)]
    everything: bool,
    #[serde(default)]
    confirm: bool,
    /// Erases at once, without time to undo.
    #[serde(default)]
    now: bool,
}

impl Body for ForgetBody {
    const HINT: &'static str = HINT;
}

#[derive(Debug, Serialize, JsonSchema)]
struct ForgetAnswer {
    dry_run: bool,
    plan: Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<Forgotten>,
    #[serde(skip_serializing_if = "Option::is_none")]
    erased: Option<ErasedJson>,
}

async fn forget_records(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(said): JsonBody<ForgetBody>,
) -> Result<Json<ForgetAnswer>, ApiError> {
    let ForgetBody {
        ids,
        confirm,
        now,
        topic,
        threshold,
        file,
        session,
        from,
        until,
        project,
        cwd,
        everything,
    } = said;
    let ids: Vec<String> = ids.into_iter().map(String::from).collect();
    // Ids need no project.
    let selector = if ids.is_empty() { project::scope_of(project, cwd)? } else { ProjectSelector::All };
    let matching = Matching {
        topic,
        threshold: threshold.unwrap_or(THRESHOLD),
        file,
        session,
        from,
        until,
        everything,
        ..Matching::new(selector)
    };
    let request = ForgetRequest::new(ids, matching)?;
    let plan = http.shared.find(request.text_to_embed().into(), move |rt| forget::plan(rt, &request)).await?;
    if !confirm {
        return Ok(Json(ForgetAnswer { dry_run: true, plan, forgotten: None, erased: None }));
    }
    if plan.is_empty() {
        return Err(ApiError::NotFound("nothing was found that could be forgotten".to_owned()));
    }
    let undo = if now { Duration::ZERO } else { http.shared.settings().forget.undo() };
    let (planned, by) = (plan.clone(), visitor.speaks_as());
    let forget = move |rt: &mut dyn Runtime| forget::forget(rt, &planned, undo, by);
    let mut forgotten =
        if undo.is_zero() { http.shared.apart(forget).await? } else { http.shared.write(forget).await? };
    let erased = forgotten.erased.take().map(ErasedJson::from);
    Ok(Json(ForgetAnswer { dry_run: false, plan, forgotten: Some(forgotten), erased }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoForgettingBody {
    id: Option<i64>,
}

impl Body for UndoForgettingBody {
    const HINT: &'static str = r#"send {}, or {"id": 3}"#;
}

async fn undo(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(UndoForgettingBody { id }): JsonBody<UndoForgettingBody>,
) -> Result<Json<ForgettingJson>, ApiError> {
    let by = visitor.speaks_as();
    http.write(move |rt| Ok(forget::undo(rt, id, by)?.into())).await
}
