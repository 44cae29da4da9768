//! Answers queries: search here; what else reads memory, one module each.

pub mod feed;
pub mod files;
pub mod records;
pub mod related;
pub(crate) mod repeats;
pub mod retrievals;
pub mod session_summary;
pub mod story;
pub mod timeline;
pub mod why;

use remora_core::document::{ProjectScope, RecordKind};
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_core::memory::ObservationType;
use remora_core::settings;
use remora_core::time::Time;
use remora_search::{Edge, Mode, Results, SearchQuery, Sort, parse_date};
use remora_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AppError, ProjectSelector, SearchBackend, scope, session_id};

/// A search request. If `text` is empty, the newest records come first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    #[serde(rename = "whose")]
    pub selector: ProjectSelector,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub types: Vec<ObservationType>,
    #[serde(default)]
    pub kinds: Vec<RecordKind>,
    #[serde(default)]
    pub concepts: Vec<String>,
    #[serde(default)]
    pub files: Vec<String>,
    /// Dates as people write them: `2026-03-01`, `yesterday`, `2 weeks ago`.
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub until: Option<String>,
    #[serde(default)]
    pub host: Option<Host>,
    /// A session number, or the beginning of the id that its host gave it.
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub mode: Mode,
    #[serde(default)]
    pub sort: Sort,
    #[serde(default = "default_limit")]
    pub limit: usize,
    #[serde(default)]
    pub offset: usize,
    /// Whether filters only choose among the results of the text: see [`SearchQuery::narrows`].
    #[serde(default)]
    pub narrows: bool,
}

/// Upper limits for every caller.
pub const MAX_LIMIT: usize = 100;
pub const MAX_OFFSET: usize = 10_000;

fn default_limit() -> usize {
    20
}

impl SearchRequest {
    pub fn new(selector: ProjectSelector) -> Self {
        Self {
            selector,
            text: String::new(),
            types: Vec::new(),
            kinds: Vec::new(),
            concepts: Vec::new(),
            files: Vec::new(),
            from: None,
            until: None,
            host: None,
            session: None,
            mode: Mode::default(),
            sort: Sort::default(),
            limit: default_limit(),
            offset: 0,
            narrows: false,
        }
    }

    /// Whether a filter might be the reason for an empty result.
    pub fn is_narrow(&self) -> bool {
        let Self { types, kinds, concepts, files, from, until, host, session, .. } = self;
        let lists = !types.is_empty() || !kinds.is_empty() || !concepts.is_empty() || !files.is_empty();
        lists || from.is_some() || until.is_some() || host.is_some() || session.is_some()
    }

    /// The text to embed, if an embedder could help.
    pub fn text_to_embed(&self) -> Option<String> {
        (self.mode != Mode::Text && !self.text.trim().is_empty()).then(|| self.text.clone())
    }
}

/// Searches memory with the parts that a [`Runtime`](crate::Runtime) has. In a directory without memory, finds what holds
/// everywhere.
pub fn search(
    store: &Store,
    engine: SearchBackend<'_>,
    request: &SearchRequest,
    settings: &settings::Search,
    now: Time,
) -> Result<Results, AppError> {
    let _snapshot = store.snapshot()?;
    let (scope, unknown) = match scope(store, &request.selector) {
        Err(unknown @ AppError::UnknownDirectory(_)) => (ProjectScope::One(ProjectId::NONE), Some(unknown)),
        scope => (scope?, None),
    };
    let mut query = query(store, scope, request, now)?;
    query.apply_settings(settings);
    let found = engine.searcher.search(store, engine.embedder, &query)?;
    // Without a hit, callers say that the directory has no memory yet.
    unknown.filter(|_| found.total == 0).map_or(Ok(found), Err)
}

/// Translates a request into a query: resolves sessions and dates.
fn query(
    store: &Store,
    scope: ProjectScope,
    request: &SearchRequest,
    now: Time,
) -> Result<SearchQuery, AppError> {
    let mut query = SearchQuery::new(scope, request.text.clone(), now);
    let filters = &mut query.filters;
    (filters.types, filters.kinds) = (request.types.clone(), request.kinds.clone());
    (filters.concepts, filters.files) = (request.concepts.clone(), request.files.clone());
    filters.from = date("from", request.from.as_deref(), Edge::Start, now)?;
    filters.until = date("until", request.until.as_deref(), Edge::End, now)?;
    filters.host = request.host.map(|host| host.name().to_owned());
    filters.session = request.session.as_deref().map(|name| session_id(store, name)).transpose()?;
    (query.mode, query.sort) = (request.mode, request.sort);
    query.limit = request.limit.min(MAX_LIMIT);
    query.offset = request.offset.min(MAX_OFFSET);
    (query.one_a_turn, query.narrows) = (true, request.narrows);
    Ok(query)
}

pub(crate) fn date(
    option: &'static str,
    text: Option<&str>,
    edge: Edge,
    now: Time,
) -> Result<Option<Time>, AppError> {
    let read = |text: &str| {
        parse_date(text, edge, now).ok_or_else(|| AppError::NotADate { option, text: text.to_owned() })
    };
    text.map(read).transpose()
}
