//! Search as you type. The script asks for the part with the results alone.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Query, State};
use axum::response::Response;
use remora_app::search::SearchRequest;
use remora_core::document::RecordKind;
use remora_core::host::Host;
use remora_core::memory::ObservationType;
use remora_search::{Hit, Mode, Results, Sort};
use remora_store::ProjectRow;
use serde::Deserialize;

use super::judged::Judge;
use super::look::{When, marked, title};
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const EACH: usize = 20;

pub(super) fn router() -> Routes {
    Routes::default().get("/search", search)
}

#[derive(Debug, Default, Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
    #[serde(default)]
    mode: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    record: String,
    #[serde(default)]
    concept: String,
    #[serde(default)]
    file: String,
    /// A date as people write it.
    #[serde(default)]
    since: String,
    /// The program of the session.
    #[serde(default)]
    host: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    offset: usize,
    project: Option<i64>,
    /// The results without the page around them.
    #[serde(default)]
    part: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct Page {
    frame: Frame,
    found: Found,
    modes: Vec<(&'static str, bool)>,
}

#[derive(Template)]
#[template(path = "results.html")]
struct Part {
    found: Found,
}

/// What was found, ready to be shown.
struct Found {
    hits: Vec<Shown>,
    summary: String,
    facets: Vec<Facet>,
    /// Filters in force, each with the address without it.
    filters: Vec<(String, String)>,
    older: Option<String>,
    newer: Option<String>,
    is_asked: bool,
}

struct Shown {
    id: String,
    kind: String,
    title: Safe<String>,
    text: Safe<String>,
    project: String,
    when: When,
    score: String,
    why: String,
    link: String,
    superseded: bool,
    judge: Option<Judge>,
}

struct Facet {
    name: &'static str,
    /// Name, how many, address.
    values: Vec<(String, Option<usize>, String)>,
}

async fn search(
    (State(http), axum::Extension(visitor)): Seen,
    Query(asked): Query<Asked>,
) -> Result<Response, ApiError> {
    let mut frame = Frame::new(&http, &visitor, "Search", "search", asked.project).await?;
    frame.query = asked.q.clone();
    let mut request = SearchRequest::new(frame.whose());
    request.text = asked.q.clone();
    request.mode = Mode::ALL.into_iter().find(|mode| mode.name() == asked.mode).unwrap_or_default();
    request.types = ObservationType::named(&asked.kind).into_iter().collect();
    request.kinds = RecordKind::from_name(&asked.record).into_iter().collect();
    request.concepts = filled(&asked.concept);
    request.files = filled(&asked.file);
    request.from = Some(asked.since.clone()).filter(|since| !since.trim().is_empty());
    request.host = Some(asked.host.as_str()).filter(|host| !host.is_empty()).and_then(Host::named);
    request.sort = if asked.sort == "date" { Sort::Date } else { Sort::Relevance };
    (request.limit, request.offset) = (EACH, asked.offset.min(10_000));
    let results = http.search(request).await?;
    let found = found(&results, &asked, &frame.projects);
    if asked.part == "results" {
        return show(&Part { found });
    }
    let modes = ["auto", "hybrid", "semantic", "text"].map(|name| (name, name == or(&asked.mode, "auto")));
    show(&Page { frame, found, modes: modes.to_vec() })
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn filled(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text.to_owned()] }
}

fn found(results: &Results, asked: &Asked, projects: &[ProjectRow]) -> Found {
    let facets = [
        ("type", &results.facets.types, "type", &asked.kind),
        ("record", &results.facets.kinds, "record", &asked.record),
        ("concept", &results.facets.concepts, "concept", &asked.concept),
    ];
    let facets = facets.into_iter().filter(|(_, values, _, chosen)| !values.is_empty() && chosen.is_empty());
    let facets = facets.map(|(name, values, key, _)| {
        let mut values: Vec<(String, Option<usize>, String)> = values
            .iter()
            .map(|(value, count)| {
                (value.clone(), Some(*count), address(asked, &[(key, value), ("offset", "")]))
            })
            .collect();
        values.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        values.truncate(8);
        Facet { name, values }
    });
    let filters = [
        ("type", &asked.kind),
        ("record", &asked.record),
        ("concept", &asked.concept),
        ("file", &asked.file),
        ("since", &asked.since),
        ("host", &asked.host),
    ];
    let filters = filters.into_iter().filter(|(_, value)| !value.is_empty());
    let more = results.total > asked.offset + EACH;
    let at = |offset: usize| address(asked, &[("offset", &offset.to_string())]);
    let many = if results.more { "more than " } else { "" };
    Found {
        hits: results.hits.iter().map(shown).collect(),
        summary: match results.total {
            0 => "Nothing found".to_owned(),
            1 => "1 result".to_owned(),
            total => format!("{many}{total} results"),
        },
        facets: facets.chain(projects_of(results, asked, projects)).chain(dates(asked)).collect(),
        filters: filters
            .map(|(name, value)| (format!("{name}: {value}"), address(asked, &[(name, "")])))
            .collect(),
        older: more.then(|| at(asked.offset + EACH)),
        newer: (asked.offset > 0).then(|| at(asked.offset.saturating_sub(EACH))),
        is_asked: !asked.q.trim().is_empty(),
    }
}

/// Projects to narrow down to, where all are searched. The address has their ids.
fn projects_of(results: &Results, asked: &Asked, projects: &[ProjectRow]) -> Option<Facet> {
    let counts = &results.facets.projects;
    if asked.project.is_some() || counts.len() < 2 {
        return None;
    }
    let value = |project: &ProjectRow| {
        let count = counts.get(&project.name)?;
        let link = address(asked, &[("project", &project.id.to_string()), ("offset", "")]);
        Some((project.name.clone(), Some(*count), link))
    };
    Some(Facet { name: "project", values: projects.iter().filter_map(value).take(8).collect() })
}

/// Times to narrow down to. Nobody counts them: a record is in several.
fn dates(asked: &Asked) -> Option<Facet> {
    let spans = [("7 days", "7 days ago"), ("30 days", "30 days ago"), ("a year", "365 days ago")];
    let values = spans
        .map(|(name, since)| (name.to_owned(), None, address(asked, &[("since", since), ("offset", "")])));
    asked.since.is_empty().then(|| Facet { name: "within", values: values.to_vec() })
}

fn shown(hit: &Hit) -> Shown {
    let id = hit.id.to_string();
    let kind = hit.observation_type.map_or_else(|| hit.kind.name().to_owned(), |kind| kind.name().to_owned());
    let mut why = Vec::new();
    if let Some(rank) = hit.why.lexical_rank {
        why.push(format!("words: place {rank}"));
    }
    if let (Some(rank), Some(cosine)) = (hit.why.semantic_rank, hit.why.cosine) {
        why.push(format!("meaning: place {rank}, cosine {cosine:.2}"));
    }
    Shown {
        link: record_link(&id, hit.session_id.map(|session| session.0)),
        id,
        kind,
        title: title(&hit.title, 160),
        text: marked(&hit.snippet.text, &hit.snippet.highlights),
        project: hit.project.clone().unwrap_or_default(),
        when: When::new(hit.created_at),
        score: format!("{:.2}", hit.score),
        why: why.join(" · "),
        superseded: hit.superseded,
        judge: (hit.kind == RecordKind::Observation)
            .then(|| Judge::new(hit.id.to_string(), &hit.feedback, false)),
    }
}

/// Where a record is shown: an observation on its own page, the rest with its session.
pub(super) fn record_link(id: &str, session: Option<i64>) -> String {
    match session {
        Some(session) if !id.starts_with(|c: char| c.is_ascii_digit()) => format!("/sessions/{session}"),
        _ => format!("/observations/{id}"),
    }
}

/// The address of this search with some of it changed; what is empty is left out.
fn address(asked: &Asked, changes: &[(&str, &str)]) -> String {
    let project = asked.project.map(|id| id.to_string()).unwrap_or_default();
    let offset = if asked.offset == 0 { String::new() } else { asked.offset.to_string() };
    let now = [
        ("q", asked.q.as_str()),
        ("mode", &asked.mode),
        ("type", &asked.kind),
        ("record", &asked.record),
        ("concept", &asked.concept),
        ("file", &asked.file),
        ("since", &asked.since),
        ("host", &asked.host),
        ("sort", &asked.sort),
        ("project", &project),
        ("offset", &offset),
    ];
    let pairs = now.into_iter().filter_map(|(name, value)| {
        let value = changes.iter().find(|(changed, _)| *changed == name).map_or(value, |(_, value)| value);
        (!(value.is_empty() || name == "offset" && value == "0"))
            .then(|| format!("{name}={}", encoded(value)))
    });
    format!("/search?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
