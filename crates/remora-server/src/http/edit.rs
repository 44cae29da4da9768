//! Observations that a program puts right.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use remora_app::AppError;
use remora_app::edit::{self, Edit};
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use remora_store::{ObservationRow, Revision, SavedBy, Store};
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::routes::Routes;
use super::visitor::Visitor;
use super::{Http, body};

const HINT: &str = r#"send {"title": …, "narrative": …, "type": …, "facts": […]}, {"merge": ["15"]} or {"superseded_by": "20"}"#;

pub(super) fn router() -> Routes {
    Routes::default()
        .patch("/api/v1/observations/{id}", change)
        .post("/api/v1/observations/{id}/undo", undo)
        .get("/api/v1/observations/{id}/revisions", history)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    title: Option<String>,
    narrative: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    facts: Option<Vec<String>>,
    #[serde(default)]
    merge: Vec<String>,
    superseded_by: Option<String>,
}

async fn change(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<ObservationRow>, ApiError> {
    // A change on a page is a person's.
    let is_program = request.extensions().get::<Visitor>().is_none_or(Visitor::has_token);
    let Said { title, narrative, kind, facts, merge, superseded_by } = body(request, HINT).await?;
    let kind = match kind {
        None => None,
        Some(name) => Some(ObservationType::named(&name).ok_or_else(|| {
            let names = ObservationType::ALL.map(ObservationType::name).join(", ");
            ApiError::invalid(format!("type is `{name}`"), format!("expected {names}"))
        })?),
    };
    let changes = Edit { title, narrative, kind, facts };
    let by = if is_program { SavedBy::Program } else { SavedBy::Person };
    let now = Time::now();
    match (changes.is_empty(), merge.is_empty(), superseded_by) {
        (false, true, None) => write(&http, move |store| edit::edit(store, &id, &changes, by, now)).await,
        (true, false, None) => write(&http, move |store| edit::merge(store, &id, &merge, by, now)).await,
        (true, true, Some(other)) => {
            write(&http, move |store| edit::supersede(store, &id, &other, by, now)).await
        }
        _ => Err(ApiError::invalid("one kind of change is needed", HINT)),
    }
}

async fn undo(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
) -> Result<Json<ObservationRow>, ApiError> {
    write(&http, move |store| edit::undo(store, &id, Time::now())).await
}

#[derive(Debug, Serialize)]
struct History {
    revisions: Vec<Revision>,
}

async fn history(State(http): State<Arc<Http>>, Path(id): Path<String>) -> Result<Json<History>, ApiError> {
    let revisions = http.read(move |store| edit::history(store, &id)).await?;
    Ok(Json(History { revisions }))
}

async fn write(
    http: &Http,
    work: impl FnOnce(&mut Store) -> Result<ObservationRow, AppError> + Send + 'static,
) -> Result<Json<ObservationRow>, ApiError> {
    let row = http.shared.writer.call(move |store| Ok(work(store))).await??;
    http.shared.announce();
    Ok(Json(row))
}
