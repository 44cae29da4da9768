//! Facts: those of a project, or without one those that hold everywhere.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::ProjectSelector;
use remora_app::facts::{self, Entry, Set, SetRequest};
use remora_app::present::FactJson;
use remora_core::fact::FactKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, JsonBody, One, PathId, Query};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;
use super::{Http, project};

const CHANGE_HINT: &str = r#"send {"value": "pnpm"} or {"confirm": true}, with "project" as for the others"#;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .get("/api/memory/facts", list)
        .post("/api/memory/facts", set)
        .patch("/api/memory/facts/{key}", change)
        .delete("/api/memory/facts/{key}", remove)
        .post("/api/v1/facts/undo", undo)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListFactsParameters {
    /// The project: an id, an absolute path or a unique name. Without it: facts that hold everywhere
    project: Option<String>,
    /// If given: all statements about this key
    key: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FactListing {
    facts: Vec<Entry>,
}

async fn list(
    State(http): State<Arc<Http>>,
    Query(ListFactsParameters { project, key }): Query<ListFactsParameters>,
) -> Result<Json<FactListing>, ApiError> {
    let selector = scope_of(project)?;
    let facts = http.read(move |rt| match key {
        Some(key) => facts::history(rt, &selector, &key),
        None => facts::list(rt, &selector),
    });
    Ok(Json(FactListing { facts: facts.await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetFactBody {
    key: String,
    value: String,
    kind: Option<One<FactKind>>,
    project: Option<String>,
    #[serde(default)]
    replace: bool,
}

impl Body for SetFactBody {
    const HINT: &'static str = r#"send {"key": "package manager", "value": "pnpm", "project": "NAME"}; without "project" it holds everywhere"#;
}

async fn set(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(said): JsonBody<SetFactBody>,
) -> Result<Json<Set>, ApiError> {
    let SetFactBody { key, value, kind, project, replace } = said;
    let kind = kind.map(|One(kind)| kind);
    let request =
        SetRequest { selector: scope_of(project)?, key, value, kind, by: visitor.speaks_as(), replace };
    http.write(move |rt| facts::set(rt, &request)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeFactBody {
    value: Option<String>,
    kind: Option<One<FactKind>>,
    #[serde(default)]
    confirm: bool,
    project: Option<String>,
}

impl Body for ChangeFactBody {
    const HINT: &'static str = CHANGE_HINT;
}

async fn change(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    PathId(key): PathId,
    JsonBody(change): JsonBody<ChangeFactBody>,
) -> Result<Json<Entry>, ApiError> {
    let ChangeFactBody { value, kind, confirm, project } = change;
    let (selector, by) = (scope_of(project)?, visitor.speaks_as());
    match (value, confirm) {
        (Some(value), false) => {
            let kind = kind.map(|One(kind)| kind);
            let request = SetRequest { selector, key, value, kind, by, replace: true };
            http.write(move |rt| Ok(facts::change(rt, &request)?.fact)).await
        }
        (None, true) => http.write(move |rt| facts::confirm(rt, &selector, &key, by)).await,
        _ => Err(ApiError::invalid("either value or confirm is needed", CHANGE_HINT)),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FactScopeParameters {
    /// The project it holds in. Without it: the fact that holds everywhere
    project: Option<String>,
}

async fn remove(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    PathId(key): PathId,
    Query(FactScopeParameters { project }): Query<FactScopeParameters>,
) -> Result<Json<FactJson>, ApiError> {
    let selector = scope_of(project)?;
    let by = visitor.speaks_as();
    http.write(move |rt| Ok(facts::remove(rt, &selector, &key, by)?.into())).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoFactBody {
    /// The statement that was ended or replaced
    id: String,
}

impl Body for UndoFactBody {
    const HINT: &'static str = r#"send {"id": "f5"}, the statement that was ended or replaced"#;
}

async fn undo(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(UndoFactBody { id }): JsonBody<UndoFactBody>,
) -> Result<Json<Entry>, ApiError> {
    let by = visitor.speaks_as();
    http.write(move |rt| facts::undo(rt, &id, by)).await
}

fn scope_of(project: Option<String>) -> Result<ProjectSelector, ApiError> {
    project.map_or(Ok(ProjectSelector::All), project::named)
}
