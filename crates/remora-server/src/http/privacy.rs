//! Decisions about one's own data: pause, try the redaction, see what was changed, erase everything.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use remora_app::AppError;
use remora_app::pause::{self, Paused, Where};
use remora_app::privacy::{self, ErasedEverything, Redaction};
use remora_core::time::Time;
use remora_store::pause::Pause;
use remora_store::{AuditRow, DataDir, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::routes::Routes;
use super::{Http, body, project};

/// Entries of the audit log in one answer.
const MOST: u32 = 500;

pub(super) fn router() -> Routes {
    Routes::default()
        .post("/api/v1/pause", stop)
        .post("/api/v1/resume", resume)
        .post("/api/v1/redact", redact)
        .get("/api/v1/audit", audit)
        .post("/api/v1/erase", erase)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    project: Option<String>,
}

impl Place {
    fn place(self) -> Result<Where, ApiError> {
        let Some(name) = self.project else { return Ok(Where::Everywhere) };
        // The rules for names are the same everywhere.
        project::named(name.clone())?;
        Ok(Where::Project(name))
    }
}

const PLACE: &str = r#"send {} for everywhere, or {"project": "NAME"}"#;

async fn stop(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Pause>, ApiError> {
    let place = body::<Place>(request, PLACE).await?.place()?;
    let dir = http.shared.dir.clone();
    change(&http, move |store| pause::pause(&dir, Some(store), &place, Time::now())).await
}

async fn resume(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Pause>, ApiError> {
    let place = body::<Place>(request, PLACE).await?.place()?;
    let dir = http.shared.dir.clone();
    change(&http, move |store| pause::resume(&dir, Some(store), &place)).await
}

async fn change(
    http: &Http,
    work: impl FnOnce(&mut Store) -> Result<Paused, AppError> + Send + 'static,
) -> Result<Json<Pause>, ApiError> {
    let paused = http.shared.writer.call(move |store| Ok(work(store))).await??;
    http.shared.announce_news();
    Ok(Json(paused.pause))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

/// Nothing of the text is stored or logged.
async fn redact(request: Request) -> Result<Json<Redaction>, ApiError> {
    let Text { text } = body(request, r#"send {"text": …}"#).await?;
    Ok(Json(privacy::try_redaction(&text)))
}

#[derive(Debug, Serialize)]
struct Audit {
    entries: Vec<AuditRow>,
}

async fn audit(State(http): State<Arc<Http>>) -> Result<Json<Audit>, ApiError> {
    let entries = http.read(|store| privacy::audit_log(store, MOST)).await?;
    Ok(Json(Audit { entries }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    word: String,
}

async fn erase(State(http): State<Arc<Http>>, request: Request) -> Result<Json<ErasedEverything>, ApiError> {
    let Confirmed { word } = body(request, r#"send {"word": "erase"}"#).await?;
    let dir = http.shared.dir.clone();
    // Not on a store thread: those answer hooks and pages meanwhile.
    let erased = tokio::task::spawn_blocking(move || everything(&dir, &word)).await;
    let erased = erased.unwrap_or(Err(AppError::Store(StoreError::Closed)))?;
    http.shared.finder.unload().await?;
    http.shared.announce();
    Ok(Json(erased))
}

fn everything(dir: &DataDir, word: &str) -> Result<ErasedEverything, AppError> {
    privacy::erase_everything(&mut Store::open(dir)?, word)
}
