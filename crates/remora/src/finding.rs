//! Searching, by way of the daemon where one runs, because it has the model and the vectors at hand; here where none
//! does, which needs neither.

use std::collections::BTreeMap;

use remora_core::document::ProjectScope;
use remora_search::{Embed, Mode, SearchQuery, Searcher, Sort};
use remora_server::embedders;
use remora_store::Store;
use serde::Deserialize;
use serde_json::Value;

use crate::app::{self, App};
use crate::client;
use crate::error::Result;

/// What was found, as the daemon and `--json` tell it.
pub(crate) struct Found {
    pub(crate) json: Value,
    pub(crate) page: Page,
}

#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) hits: Vec<Hit>,
    pub(crate) total: usize,
    #[serde(default)]
    pub(crate) more: bool,
    pub(crate) facets: Facets,
    pub(crate) plan: Plan,
}

#[derive(Deserialize)]
pub(crate) struct Hit {
    pub(crate) id: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) part: String,
    #[serde(rename = "type")]
    pub(crate) observation_type: Option<String>,
    pub(crate) title: String,
    pub(crate) snippet: String,
    #[serde(default)]
    pub(crate) highlights: Vec<(usize, usize)>,
    pub(crate) score: f64,
    pub(crate) why: Why,
    pub(crate) project: Option<String>,
    pub(crate) created_at: String,
    pub(crate) superseded_by: Option<i64>,
    #[serde(default)]
    pub(crate) duplicates: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Why {
    pub(crate) lexical_rank: Option<usize>,
    pub(crate) semantic_rank: Option<usize>,
    pub(crate) cosine: Option<f64>,
    #[serde(default)]
    pub(crate) matched: Vec<String>,
    #[serde(default)]
    pub(crate) coverage: f64,
    #[serde(default)]
    pub(crate) recency: f64,
    #[serde(default)]
    pub(crate) used: f64,
    #[serde(default)]
    pub(crate) waiting: bool,
}

#[derive(Deserialize)]
pub(crate) struct Facets {
    pub(crate) types: BTreeMap<String, usize>,
    pub(crate) kinds: BTreeMap<String, usize>,
    pub(crate) projects: BTreeMap<String, usize>,
    pub(crate) concepts: BTreeMap<String, usize>,
}

#[derive(Deserialize)]
pub(crate) struct Plan {
    pub(crate) mode: String,
    /// Whether operators were followed.
    pub(crate) syntax: bool,
    pub(crate) no_vectors: Option<String>,
}

pub(crate) fn find(app: &App, store: &Store, query: &SearchQuery) -> Result<Found> {
    let told = client::get(&app.dir, "/api/search", &parameters(query));
    let asked = told.and_then(|json| Some(Found { page: Page::deserialize(&json).ok()?, json }));
    match asked {
        Some(found) => Ok(found),
        None => find_here(app, store, query),
    }
}

/// The model is loaded only for one who asks for it by name: it costs more than a search by words.
fn find_here(app: &App, store: &Store, query: &SearchQuery) -> Result<Found> {
    let settings = app::settings(&app.dir).0.search;
    let mut query = query.clone();
    query.follow(&settings);
    let wants_model = matches!(query.mode, Mode::Hybrid | Mode::Semantic);
    let mut embedder = if wants_model { embedders::open(&settings) } else { None };
    let embedder = embedder.as_mut().map(|embedder| &mut **embedder as &mut dyn Embed);
    let json = serde_json::to_value(Searcher::new().search(store, embedder, &query)?)?;
    Ok(Found { page: Page::deserialize(&json)?, json })
}

/// The question as the daemon reads it. Times are told exactly, so that both mean the same.
fn parameters(query: &SearchQuery) -> Vec<(&'static str, String)> {
    let filters = &query.filters;
    let project = match filters.scope {
        ProjectScope::One(project) => project.to_string(),
        ProjectScope::All => "all".to_owned(),
    };
    let sort = match query.sort {
        Sort::Relevance => "relevance",
        Sort::Date => "date",
    };
    let mut all = vec![("query", query.text.clone()), ("project", project)];
    all.extend(filters.types.iter().map(|kind| ("type", kind.name().to_owned())));
    all.extend(filters.kinds.iter().map(|kind| ("kind", kind.name().to_owned())));
    all.extend(filters.concepts.iter().map(|concept| ("concept", concept.clone())));
    all.extend(filters.files.iter().map(|file| ("file", file.clone())));
    all.extend(filters.from.map(|from| ("dateFrom", from.iso())));
    all.extend(filters.until.map(|until| ("dateTo", until.iso())));
    all.extend(filters.host.clone().map(|host| ("host", host)));
    all.extend(filters.session.map(|session| ("session", session.to_string())));
    all.extend([
        ("limit", query.limit.to_string()),
        ("offset", query.offset.to_string()),
        ("mode", query.mode.name().to_owned()),
        ("sort", sort.to_owned()),
    ]);
    all
}
