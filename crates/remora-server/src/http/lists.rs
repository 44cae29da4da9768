//! Lists of records, newest first, with paging.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::present::{ObservationJson, SessionJson, SummaryJson, TurnJson};
use remora_app::{AppError, Runtime, records};
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_store::{Page, Selection, SessionQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Http;
use super::asked::{List, Query, Within};
use super::error::ApiError;
use super::project;
use super::routes::ApiRoutes;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .get("/api/observations", observations)
        .get("/api/summaries", summaries)
        .get("/api/prompts", prompts)
        .get("/api/sessions", sessions)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    limit: Option<Within<1, MAX_LIMIT>>,
    offset: Option<Within<0, { u32::MAX }>>,
    /// The project: an id, an absolute path or a unique name
    project: Option<String>,
    /// The session's number, or the beginning of its host's id
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfObservations {
    limit: Option<Within<1, MAX_LIMIT>>,
    offset: Option<Within<0, { u32::MAX }>>,
    /// The project: an id, an absolute path or a unique name
    project: Option<String>,
    /// The session's number, or the beginning of its host's id
    session: Option<String>,
    /// Only these observations; counts as a use
    ids: Option<List<ObservationId>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Listing<T> {
    items: Vec<T>,
    total: i64,
    limit: u32,
    offset: u32,
    has_more: bool,
}

type ListAnswer<T> = Result<Json<Listing<T>>, ApiError>;

async fn observations(
    State(http): State<Arc<Http>>,
    Query(asked): Query<OfObservations>,
) -> ListAnswer<ObservationJson> {
    let OfObservations { limit, offset, project, session, ids } = asked;
    let Some(List(ids)) = ids else {
        let parameters = ListQuery { limit, offset, project, session };
        return list(&http, parameters, |rt, scope| rt.store().records().observations(&scope.selection()))
            .await;
    };
    if ids.len() > MAX_LIMIT as usize {
        return Err(ApiError::invalid("ids has too many", format!("ask for at most {MAX_LIMIT}")));
    }
    let only = project.map(project::named).transpose()?;
    let fetch = move |rt: &mut dyn Runtime| records::observations(rt, &ids, only.as_ref());
    let items = http.shared.write(fetch).await?;
    let total = items.len();
    Ok(Json(Listing {
        items: items.into_iter().map(ObservationJson::from).collect(),
        total: i64::try_from(total).unwrap_or(i64::MAX),
        limit: MAX_LIMIT,
        offset: 0,
        has_more: false,
    }))
}

async fn summaries(State(http): State<Arc<Http>>, Query(asked): Query<ListQuery>) -> ListAnswer<SummaryJson> {
    list(&http, asked, |rt, scope| rt.store().records().summaries(&scope.selection())).await
}

async fn prompts(State(http): State<Arc<Http>>, Query(asked): Query<ListQuery>) -> ListAnswer<TurnJson> {
    list(&http, asked, |rt, scope| rt.store().records().prompts(&scope.selection())).await
}

async fn sessions(State(http): State<Arc<Http>>, Query(asked): Query<ListQuery>) -> ListAnswer<SessionJson> {
    list(&http, asked, |rt, scope| records::sessions(rt, scope.sessions())).await
}

/// What a list is of, and which part of it.
struct ListScope {
    project: Option<ProjectId>,
    session: Option<SessionId>,
    limit: u32,
    offset: u32,
}

impl ListScope {
    fn selection(&self) -> Selection {
        let &Self { project, session, limit, offset } = self;
        Selection::of_project(project).in_session(session).limit(limit).offset(offset).counted()
    }

    fn sessions(&self) -> SessionQuery {
        let &Self { project, session, limit, offset } = self;
        let projects = project.map(|project| vec![project]);
        SessionQuery { id: session, projects, limit, offset, ..SessionQuery::default() }
    }
}

type Lister<R, E> = fn(&dyn Runtime, &ListScope) -> Result<Page<R>, E>;

async fn list<T, R, E>(http: &Http, parameters: ListQuery, lister: Lister<R, E>) -> ListAnswer<T>
where
    T: From<R>,
    R: Send + 'static,
    E: 'static,
    AppError: From<E>,
{
    let ListQuery { limit, offset, project, session } = parameters;
    let limit = limit.map_or(DEFAULT_LIMIT, |Within(limit)| limit);
    let offset = offset.map_or(0, |Within(offset)| offset);
    let selector = project.map(project::named).transpose()?;
    let page = http.read(move |rt| {
        let project = selector.map(|selector| remora_app::project(rt.store(), &selector)).transpose()?;
        let session = session.map(|name| remora_app::session_id(rt.store(), &name)).transpose()?;
        Ok(lister(rt, &ListScope { project, session, limit, offset })?)
    });
    let page = page.await?;
    let end = i64::from(offset) + i64::try_from(page.items.len()).unwrap_or(i64::MAX);
    let items = page.items.into_iter().map(T::from).collect();
    Ok(Json(Listing { has_more: end < page.total, items, total: page.total, limit, offset }))
}
