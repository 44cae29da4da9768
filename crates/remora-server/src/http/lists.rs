//! Records in pages, latest first.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use remora_app::records;
use remora_core::ids::{ObservationId, SessionId};
use remora_core::time::Time;
use remora_store::{
    ObservationRow, Page, PromptRow, Selection, SessionRow, Store, StoreError, SummaryRow, WhichSession,
};
use serde::{Deserialize, Serialize};

use super::Http;
use super::error::ApiError;
use super::project;
use super::routes::Routes;

const DEFAULT_LIMIT: u32 = 20;
const LARGEST_LIMIT: u32 = 100;

pub(super) fn router() -> Routes {
    Routes::default()
        .get("/api/observations", observations)
        .get("/api/summaries", summaries)
        .get("/api/prompts", prompts)
        .get("/api/sessions", sessions)
}

/// Refuses unknown parameters. A mistyped one would show the memory of all projects.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
    project: Option<String>,
    session: Option<String>,
    /// Of observations only.
    ids: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing<T> {
    items: Vec<T>,
    total: i64,
    limit: u32,
    offset: u32,
    has_more: bool,
}

type Asked = Result<Query<Parameters>, QueryRejection>;
type Answer<T> = Result<Json<Listing<T>>, ApiError>;

async fn observations(State(http): State<Arc<Http>>, asked: Asked) -> Answer<ObservationRow> {
    let Query(parameters) = asked?;
    let Some(ids) = &parameters.ids else { return list(&http, parameters, Store::list_observations).await };
    let ids = ids_of(ids)?;
    let only = parameters.project.map(project::named).transpose()?;
    let items = http.read(move |store| {
        let only = only.map(|whose| remora_app::project(store, &whose)).transpose()?;
        records::observations(store, &ids, only)
    });
    let items: Vec<ObservationRow> = items.await?;
    count_fetched(&http, &items);
    let total = items.len();
    Ok(Json(Listing {
        items,
        total: i64::try_from(total).unwrap_or(i64::MAX),
        limit: LARGEST_LIMIT,
        offset: 0,
        has_more: false,
    }))
}

/// Counts a fetch by id as a use. The caller does not wait for that write.
fn count_fetched(http: &Http, items: &[ObservationRow]) {
    let ids: Vec<ObservationId> = items.iter().map(|item| item.id).collect();
    let writer = http.shared.writer.clone();
    tokio::spawn(async move {
        let counted = writer.call(move |store| {
            store.count_fetched(&ids, Time::now());
            Ok(())
        });
        // The thread logs what it cannot count, and is gone only when the daemon ends.
        let _ = counted.await;
    });
}

async fn summaries(State(http): State<Arc<Http>>, asked: Asked) -> Answer<SummaryRow> {
    list(&http, without_ids(asked)?, Store::list_summaries).await
}

async fn prompts(State(http): State<Arc<Http>>, asked: Asked) -> Answer<PromptRow> {
    list(&http, without_ids(asked)?, Store::list_prompts).await
}

async fn sessions(State(http): State<Arc<Http>>, asked: Asked) -> Answer<SessionRow> {
    list(&http, without_ids(asked)?, Store::list_sessions).await
}

type Lister<T> = fn(&Store, &Selection) -> Result<Page<T>, StoreError>;

async fn list<T: Send + 'static>(http: &Http, parameters: Parameters, lister: Lister<T>) -> Answer<T> {
    let Parameters { limit, offset, project, session, .. } = parameters;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=LARGEST_LIMIT).contains(&limit) {
        return Err(ApiError::invalid(
            format!("limit is {limit}"),
            format!("ask for 1 to {LARGEST_LIMIT}, and for more with offset"),
        ));
    }
    let whose = project.map(project::named).transpose()?;
    let page = http.read(move |store| {
        let project = whose.map(|whose| remora_app::project(store, &whose)).transpose()?;
        let selection = Selection { project, session: session.map(which_session), limit, offset };
        Ok(lister(store, &selection)?)
    });
    let page = page.await?;
    let end = i64::from(offset) + i64::try_from(page.items.len()).unwrap_or(i64::MAX);
    Ok(Json(Listing { has_more: end < page.total, items: page.items, total: page.total, limit, offset }))
}

fn which_session(name: String) -> WhichSession {
    match name.parse() {
        Ok(id) => WhichSession::Row(SessionId(id)),
        Err(_) => WhichSession::Named(name),
    }
}

fn ids_of(list: &str) -> Result<Vec<ObservationId>, ApiError> {
    let wrong = || ApiError::invalid("ids is not a list of numbers", "such as `ids=12,15`, at most 100");
    let ids: Option<Vec<_>> = list.split(',').map(|id| id.trim().parse().ok().map(ObservationId)).collect();
    ids.filter(|ids| ids.len() <= LARGEST_LIMIT as usize).ok_or_else(wrong)
}

fn without_ids(asked: Asked) -> Result<Parameters, ApiError> {
    let Query(parameters) = asked?;
    match parameters.ids {
        Some(_) => Err(ApiError::invalid("ids is for observations", "leave it out here")),
        None => Ok(parameters),
    }
}
