//! Finding what was learned.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use remora_core::document::{ProjectScope, RecordKind};
use remora_core::host::Host;
use remora_core::ids::SessionId;
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use remora_search::{Edge, Mode, Results, SearchQuery, Sort, parse_date};
use remora_store::Store;

use super::error::ApiError;
use super::routes::Routes;
use super::{Http, project};

const LARGEST_LIMIT: usize = 100;
const LARGEST_OFFSET: usize = 10_000;

pub(super) fn router() -> Routes {
    Routes::default().get("/api/search", search)
}

pub(super) type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

async fn search(State(http): State<Arc<Http>>, pairs: Pairs) -> Result<Json<Results>, ApiError> {
    let Query(pairs) = pairs?;
    let mut asked = Asked::default();
    for (name, value) in pairs {
        asked.take(&name, value)?;
    }
    let scope = project::scope(&http, asked.project.take(), asked.cwd.take()).await?;
    let query = asked.question(&http, scope).await?;
    Ok(Json(find(&http, query).await?))
}

/// Searches as the settings say.
pub(super) async fn find(http: &Http, query: SearchQuery) -> Result<Results, ApiError> {
    http.shared.refresh_settings();
    let settings = http.shared.settings();
    Ok(http.shared.finder.search(query, &settings.search).await?)
}

/// What was asked, as far as it can be understood without the store.
#[derive(Debug, Default)]
struct Asked {
    text: String,
    project: Option<String>,
    cwd: Option<String>,
    types: Vec<ObservationType>,
    kinds: Vec<RecordKind>,
    concepts: Vec<String>,
    files: Vec<String>,
    from: Option<Time>,
    until: Option<Time>,
    host: Option<String>,
    session: Option<String>,
    limit: Option<usize>,
    offset: usize,
    mode: Mode,
    sort: Sort,
}

impl Asked {
    /// A parameter nobody knows is refused: one mistyped would quietly find too much.
    fn take(&mut self, name: &str, value: String) -> Result<(), ApiError> {
        match name {
            "query" | "q" => self.text = value,
            "project" => self.project = Some(value),
            "cwd" => self.cwd = Some(value),
            "type" => self.types.extend(each(name, &value, observation_type)?),
            "kind" => self.kinds.extend(each(name, &value, RecordKind::from_name)?),
            // The plural is a list; the singular may have commas in it.
            "concepts" => self.concepts.extend(list(&value).map(str::to_owned)),
            "concept" => self.concepts.push(value),
            "files" => self.files.extend(list(&value).map(str::to_owned)),
            "file" => self.files.push(value),
            "dateFrom" => self.from = Some(date(name, &value, Edge::Start)?),
            "dateTo" => self.until = Some(date(name, &value, Edge::End)?),
            "host" => self.host = Some(one(name, &value, |value| value.parse::<Host>().ok())?.to_string()),
            "session" => self.session = Some(value),
            "limit" => self.limit = Some(one(name, &value, within(1, LARGEST_LIMIT))?),
            "offset" => self.offset = one(name, &value, within(0, LARGEST_OFFSET))?,
            "mode" => self.mode = one(name, &value, mode)?,
            "sort" => self.sort = one(name, &value, sort)?,
            _ => {
                return Err(ApiError::invalid(
                    format!("there is no parameter `{name}`"),
                    "docs/http.md lists the parameters",
                ));
            }
        }
        Ok(())
    }

    async fn question(self, http: &Http, scope: ProjectScope) -> Result<SearchQuery, ApiError> {
        let mut query = SearchQuery::new(scope, self.text);
        let filters = &mut query.filters;
        (filters.types, filters.kinds) = (self.types, self.kinds);
        (filters.concepts, filters.files) = (self.concepts, self.files);
        (filters.from, filters.until, filters.host) = (self.from, self.until, self.host);
        if let Some(name) = self.session {
            filters.session = Some(session(http, name).await?);
        }
        (query.mode, query.sort) = (self.mode, self.sort);
        query.limit = self.limit.unwrap_or(query.limit);
        query.offset = self.offset;
        Ok(query)
    }
}

/// A session by its number, or by the id its host gave it.
async fn session(http: &Http, name: String) -> Result<SessionId, ApiError> {
    if let Ok(number) = name.parse() {
        return Ok(SessionId(number));
    }
    let wanted = name.clone();
    let find = move |store: &mut Store| store.sessions_named(&wanted);
    let found = http.shared.reader.call(find).await?;
    let found = found.into_iter().find(|session| session.content_session_id == name);
    found
        .map(|session| session.id)
        .ok_or_else(|| ApiError::NotFound(format!("no session is known as `{name}`")))
}

pub(super) fn within(least: usize, most: usize) -> impl Fn(&str) -> Option<usize> {
    move |value| value.parse().ok().filter(|number| (least..=most).contains(number))
}

pub(super) fn one<T>(name: &str, value: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ApiError> {
    let wrong = || {
        let expected = match name {
            "limit" => format!("1 to {LARGEST_LIMIT}"),
            "offset" => format!("0 to {LARGEST_OFFSET}"),
            "before" | "after" => format!("0 to {LARGEST_LIMIT}"),
            "mode" => "auto, hybrid, semantic or text".to_owned(),
            "sort" => "relevance or date".to_owned(),
            "type" => "bugfix, feature, refactor, change, discovery or decision".to_owned(),
            "kind" => RecordKind::ALL.map(RecordKind::name).join(", "),
            "host" => Host::ALL.iter().map(|host| host.name()).collect::<Vec<_>>().join(", "),
            "anchor" => "an id that search gave, such as 12, s3 or t4".to_owned(),
            _ => "a date such as 2026-03-01, yesterday or `2 weeks ago`".to_owned(),
        };
        ApiError::invalid(format!("{name} is `{value}`"), format!("expected {expected}"))
    };
    read(value.trim()).ok_or_else(wrong)
}

fn each<T>(name: &str, value: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, ApiError> {
    list(value).map(|value| one(name, value, &read)).collect()
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|value| !value.is_empty())
}

fn date(name: &str, value: &str, edge: Edge) -> Result<Time, ApiError> {
    one(name, value, |value| parse_date(value, edge, Time::now()))
}

/// An unknown word would otherwise be a discovery.
fn observation_type(word: &str) -> Option<ObservationType> {
    Some(ObservationType::from(word)).filter(|kind| kind.name().eq_ignore_ascii_case(word))
}

fn mode(word: &str) -> Option<Mode> {
    Mode::ALL.into_iter().find(|mode| mode.name() == word)
}

fn sort(word: &str) -> Option<Sort> {
    match word {
        "relevance" => Some(Sort::Relevance),
        "date" => Some(Sort::Date),
        _ => None,
    }
}
