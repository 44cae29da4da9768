//! Control over one's own data: pause, test the redaction, read the audit log, erase everything.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::pause::{self, Paused, Where};
use remora_app::present::AuditJson;
use remora_app::privacy::{self, ErasedEverything, Redaction};
use remora_app::{AppError, Runtime};
use remora_store::pause::Pause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, JsonBody};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;
use super::{Http, project};

/// Maximum number of audit log entries in one response.
const MAX_ENTRIES: u32 = 500;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .post("/api/v1/pause", stop)
        .post("/api/v1/resume", resume)
        .post("/api/v1/redact", redact)
        .get("/api/v1/audit", audit)
        .post("/api/v1/erase", erase)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Place {
    project: Option<String>,
}

impl Place {
    fn place(self) -> Result<Where, ApiError> {
        let Some(name) = self.project else { return Ok(Where::Everywhere) };
        // Checks the name as all other routes do.
        project::named(name.clone())?;
        Ok(Where::Project(name))
    }
}

impl Body for Place {
    const HINT: &'static str = r#"send {} for everywhere, or {"project": "NAME"}"#;
}

/// Where capture is paused.
#[derive(Debug, Serialize, JsonSchema)]
struct Off {
    /// Since when, in milliseconds; `null` if not paused.
    everywhere_since: Option<i64>,
    /// Names of paused projects.
    projects: Vec<String>,
}

impl From<Pause> for Off {
    fn from(pause: Pause) -> Self {
        let projects = pause.projects.into_iter().map(|project| project.name).collect();
        Self { everywhere_since: pause.everywhere_since.map(|since| since.0), projects }
    }
}

async fn stop(
    State(http): State<Arc<Http>>,
    JsonBody(place): JsonBody<Place>,
) -> Result<Json<Off>, ApiError> {
    let place = place.place()?;
    let dir = http.shared.dir.clone();
    change(&http, move |rt| pause::pause(&dir, Some(rt.store()), &place)).await
}

async fn resume(
    State(http): State<Arc<Http>>,
    JsonBody(place): JsonBody<Place>,
) -> Result<Json<Off>, ApiError> {
    let place = place.place()?;
    let dir = http.shared.dir.clone();
    change(&http, move |rt| pause::resume(&dir, Some(rt.store()), &place)).await
}

async fn change(
    http: &Http,
    work: impl FnOnce(&mut dyn Runtime) -> Result<Paused, AppError> + Send + 'static,
) -> Result<Json<Off>, ApiError> {
    let paused = http.shared.write(work).await?;
    http.shared.announce_news();
    Ok(Json(paused.pause.into()))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

impl Body for Text {
    const HINT: &'static str = r#"send {"text": …}"#;
}

/// Stores and logs nothing of the text.
async fn redact(JsonBody(Text { text }): JsonBody<Text>) -> Result<Json<Redaction>, ApiError> {
    Ok(Json(privacy::try_redaction(&text)))
}

#[derive(Debug, Serialize, JsonSchema)]
struct Audit {
    entries: Vec<AuditJson>,
}

async fn audit(State(http): State<Arc<Http>>) -> Result<Json<Audit>, ApiError> {
    let entries = http.read(|rt| privacy::audit_log(rt, MAX_ENTRIES)).await?;
    Ok(Json(Audit { entries: entries.into_iter().map(AuditJson::from).collect() }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    word: String,
}

impl Body for Confirmed {
    const HINT: &'static str = r#"send {"word": "erase"}"#;
}

async fn erase(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(Confirmed { word }): JsonBody<Confirmed>,
) -> Result<Json<ErasedEverything>, ApiError> {
    let by = visitor.speaks_as();
    let erased = http.shared.apart(move |rt| privacy::erase_everything(rt, &word, by)).await?;
    http.shared.finder.unload().await?;
    Ok(Json(erased))
}
