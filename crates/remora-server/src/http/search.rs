//! Search.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::ProjectSelector;
use remora_app::search::{MAX_LIMIT, MAX_OFFSET, SearchRequest};
use remora_core::document::RecordKind;
use remora_core::host::Host;
use remora_core::memory::ObservationType;
use remora_search::{Mode, Results, Sort};
use schemars::JsonSchema;
use serde::Deserialize;

use super::asked::{Body, JsonBody, List, One, Query, Within};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::{Http, project};

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().get("/api/search", by_parameters).post(remora_client::SEARCH, by_body)
}

async fn by_parameters(
    State(http): State<Arc<Http>>,
    Query(asked): Query<SearchQuery>,
) -> Result<Json<Results>, ApiError> {
    let selector = project::scope_of(asked.project.clone(), asked.cwd.clone())?;
    Ok(Json(http.search(asked.request(selector)).await?))
}

impl Body for SearchRequest {
    const HINT: &'static str =
        r#"send {"whose": {"project": "NAME"}, "text": "WORDS"}; docs/http.md has the rest"#;
}

/// Search with the request as a JSON body.
async fn by_body(
    State(http): State<Arc<Http>>,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Json<Results>, ApiError> {
    Ok(Json(http.search(request).await?))
}

impl Http {
    /// Searches with the current settings.
    pub(super) async fn search(&self, request: SearchRequest) -> Result<Results, ApiError> {
        self.shared.refresh_settings().await;
        Ok(self.shared.finder.search(request, self.shared.settings()).await?)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "both are small")]
const MAX_HITS: u32 = MAX_LIMIT as u32;
#[expect(clippy::cast_possible_truncation, reason = "both are small")]
const FURTHEST: u32 = MAX_OFFSET as u32;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SearchQuery {
    /// The query, or `q`; without it the newest records come first
    #[serde(alias = "q", default)]
    query: String,
    /// The project: an id, an absolute path, a unique name, or `all`
    pub(super) project: Option<String>,
    /// Instead of `project`: the caller's directory, absolute
    pub(super) cwd: Option<String>,
    #[serde(default)]
    r#type: List<ObservationType>,
    #[serde(default)]
    kind: List<RecordKind>,
    #[serde(default)]
    concepts: List<String>,
    /// One concept, which may contain commas
    #[serde(default)]
    concept: Vec<String>,
    /// Parts of paths
    #[serde(default)]
    files: List<String>,
    /// Part of one path, which may contain commas
    #[serde(default)]
    file: Vec<String>,
    /// `2026-03-01`, `2026-03-01T10:00:00Z`, `yesterday`, `2 weeks ago`
    date_from: Option<String>,
    /// The same; a day includes its end
    date_to: Option<String>,
    /// The agent program
    host: Option<One<Host>>,
    /// The session's id, or its host's
    session: Option<String>,
    limit: Option<Within<1, MAX_HITS>>,
    offset: Option<Within<0, FURTHEST>>,
    mode: Option<One<Mode>>,
    sort: Option<One<Sort>>,
}

impl SearchQuery {
    pub(super) fn request(self, selector: ProjectSelector) -> SearchRequest {
        let usual = SearchRequest::new(selector);
        SearchRequest {
            text: self.query,
            types: self.r#type.0,
            kinds: self.kind.0,
            concepts: [self.concepts.0, self.concept].concat(),
            files: [self.files.0, self.file].concat(),
            from: self.date_from,
            until: self.date_to,
            host: self.host.map(|One(host)| host),
            session: self.session,
            mode: self.mode.map_or(usual.mode, |One(mode)| mode),
            sort: self.sort.map_or(usual.sort, |One(sort)| sort),
            limit: self.limit.map_or(usual.limit, |Within(limit)| limit as usize),
            offset: self.offset.map_or(usual.offset, |Within(offset)| offset as usize),
            ..usual
        }
    }
}
