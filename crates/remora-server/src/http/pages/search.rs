//! Search as you type. The script fetches only the results.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::search::SearchRequest;
use remora_core::document::RecordKind;
use remora_core::host::Host;
use remora_core::ids::ObservationId;
use remora_core::memory::ObservationType;
use remora_search::{Facets, Hit, Mode, Results, SPANS, Sort};
use remora_store::{ObservationRow, ProjectRow, Selection};
use serde::Deserialize;

use super::judged::Judge;
use super::look::{When, highlighted, line, marked};
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const EACH: usize = 20;
/// Maximum number of values per facet.
const MAX_VALUES: usize = 8;
/// A shorter excerpt keeps the concepts and files behind it, because they are what was found.
const MIN_PROSE: usize = 20;

pub(super) fn router() -> Routes {
    Routes::default().get("/search", search)
}

#[derive(Debug, Default, Deserialize)]
struct SearchParameters {
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
    /// A date in any form that search accepts.
    #[serde(default)]
    since: String,
    /// The agent program of the session.
    #[serde(default)]
    host: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    offset: usize,
    project: Option<i64>,
    /// Requests the results without the page around them.
    #[serde(default)]
    part: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    found: Found,
    /// Name in the URL, label on the page, and whether it is selected.
    modes: Vec<(&'static str, &'static str, bool)>,
}

#[derive(Template)]
#[template(path = "results.html")]
struct SearchPart {
    found: Found,
}

/// Search results, formatted for the page.
struct Found {
    hits: Vec<HitShown>,
    summary: String,
    facets: Vec<Facet>,
    /// Active filters, each with the URL without it.
    filters: Vec<(String, String)>,
    /// The URL without any filter, if several are active.
    unfiltered: Option<String>,
    older: Option<String>,
    newer: Option<String>,
    is_asked: bool,
}

struct HitShown {
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
    values: Vec<Value>,
}

struct Value {
    name: String,
    /// Shown on hover: the full path of a file.
    title: String,
    count: usize,
    link: String,
}

async fn search(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<SearchParameters>,
) -> Result<Response, ApiError> {
    let mut frame = Frame::new(&http, &visitor, "Search", "search", asked.project).await?;
    frame.query = asked.q.clone();
    let mut request = SearchRequest::new(frame.scope_of());
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
    request.narrows = true;
    let results = http.search(request).await?;
    let ids: Vec<ObservationId> = results.hits.iter().filter_map(observation_id).collect();
    let rows =
        http.read(move |rt| Ok(rt.store().records().observations(&Selection::of_ids(ids))?.items)).await?;
    let found = found(&results, &rows, &asked, &frame.projects);
    if asked.part == "results" {
        return show(&SearchPart { found });
    }
    let modes = [("auto", "words and meaning"), ("semantic", "meaning"), ("text", "words")];
    let is_chosen = |name: &str| name == or(&asked.mode, "auto");
    let modes = modes.map(|(name, says)| (name, says, is_chosen(name)));
    show(&SearchPage { frame, found, modes: modes.to_vec() })
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn filled(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text.to_owned()] }
}

fn found(
    results: &Results,
    rows: &[ObservationRow],
    asked: &SearchParameters,
    projects: &[ProjectRow],
) -> Found {
    let more = results.total > asked.offset + EACH;
    let at = |offset: usize| address(asked, &[("offset", &offset.to_string())]);
    let many = if results.more { "+" } else { "" };
    let filters = filters(asked, projects);
    Found {
        hits: results
            .hits
            .iter()
            .map(|hit| shown(hit, rows.iter().find(|row| Some(row.id) == observation_id(hit))))
            .collect(),
        summary: match results.total {
            // The text below says so.
            0 => String::new(),
            1 => "1 result".to_owned(),
            total => format!("{total}{many} results"),
        },
        facets: facets(results, asked, projects),
        unfiltered: (filters.len() > 1).then(|| {
            let none: Vec<_> = FILTERS.iter().chain(&["offset"]).map(|name| (*name, "")).collect();
            address(asked, &none)
        }),
        filters,
        older: more.then(|| at(asked.offset + EACH)),
        newer: (asked.offset > 0).then(|| at(asked.offset.saturating_sub(EACH))),
        is_asked: !asked.q.trim().is_empty(),
    }
}

/// Filters of a search, by name in the URL.
const FILTERS: [&str; 7] = ["type", "record", "project", "host", "file", "concept", "since"];

/// Active filters, each with the URL without it.
fn filters(asked: &SearchParameters, projects: &[ProjectRow]) -> Vec<(String, String)> {
    let filter = |name: &'static str| {
        let says = match name {
            "project" => {
                let project = projects.iter().find(|project| Some(project.id.0) == asked.project)?;
                format!("project: {}", line(&project.name, 60))
            }
            "since" if !asked.since.is_empty() => within(&asked.since),
            name => Some(value(asked, name))
                .filter(|value| !value.is_empty())
                .map(|value| format!("{name}: {}", line(value, 60)))?,
        };
        Some((says, address(asked, &[(name, ""), ("offset", "")])))
    };
    FILTERS.into_iter().filter_map(filter).collect()
}

/// Filters to narrow the search, with counts. Values that every hit has are left out, and so are facets whose
/// filter is active.
fn facets(results: &Results, asked: &SearchParameters, projects: &[ProjectRow]) -> Vec<Facet> {
    let Facets { types, kinds, projects: by_project, concepts, files, hosts, dates } = &results.facets;
    let narrows = |count: usize| count > 0 && count < results.total;
    let counted = |name: &'static str, key: &'static str, counts: &BTreeMap<String, usize>| {
        let one = |(value, count): (&String, &usize)| Value {
            name: if key == "file" { file_name(value) } else { line(value, 60) },
            title: line(value, 300),
            count: *count,
            link: address(asked, &[(key, value), ("offset", "")]),
        };
        let mut values: Vec<Value> = counts.iter().filter(|(_, count)| narrows(**count)).map(one).collect();
        values.sort_by_key(|value| Reverse(value.count));
        values.truncate(MAX_VALUES);
        Facet { name, values: if value(asked, key).is_empty() { values } else { Vec::new() } }
    };
    // The URL has the project's id, which is also the scope of all other pages.
    let mut of_projects: Vec<Value> = projects
        .iter()
        .filter(|_| asked.project.is_none())
        .filter_map(|project| {
            let count = by_project.get(&project.name).copied().filter(|count| narrows(*count))?;
            let link = address(asked, &[("project", &project.id.to_string()), ("offset", "")]);
            let name = line(&project.name, 60);
            Some(Value { title: name.clone(), name, count, link })
        })
        .collect();
    of_projects.sort_by_key(|value| Reverse(value.count));
    of_projects.truncate(MAX_VALUES);
    let spans = SPANS.into_iter().filter(|_| asked.since.is_empty()).filter_map(|span| {
        let count = dates.get(span).copied().filter(|count| narrows(*count))?;
        let name = within(span);
        let link = address(asked, &[("since", span), ("offset", "")]);
        Some(Value { title: name.clone(), name, count, link })
    });
    let mut facets = vec![
        counted("Type", "type", types),
        counted("Record", "record", kinds),
        Facet { name: "Project", values: of_projects },
        counted("Host", "host", hosts),
        Facet { name: "Date", values: spans.collect() },
        counted("File", "file", files),
        counted("Concept", "concept", concepts),
    ];
    facets.retain(|facet| !facet.values.is_empty());
    facets
}

/// A short form of a path: the file and its directory.
fn file_name(path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(3, '/').collect();
    match parts.as_slice() {
        [file, directory, _] => format!("…/{}/{}", line(directory, 40), line(file, 60)),
        _ => line(path, 80),
    }
}

/// A start date in words.
fn within(since: &str) -> String {
    match since {
        "7 days ago" => "last 7 days".to_owned(),
        "30 days ago" => "last 30 days".to_owned(),
        "365 days ago" => "last 365 days".to_owned(),
        other => format!("since {}", line(other, 40)),
    }
}

fn observation_id(hit: &Hit) -> Option<ObservationId> {
    (hit.id.kind == RecordKind::Observation).then_some(ObservationId(hit.id.number))
}

fn shown(hit: &Hit, row: Option<&ObservationRow>) -> HitShown {
    let id = hit.id.to_string();
    let kind = hit.observation_type.map_or_else(|| hit.kind.name().to_owned(), |kind| kind.name().to_owned());
    HitShown {
        link: record_link(&id, hit.session_id.map(|session| session.0)),
        id,
        kind,
        title: highlighted(&hit.title, 160, &hit.why.matched),
        text: marked(
            row.map_or(&hit.snippet.text, |row| prose(&hit.snippet.text, row)),
            &hit.snippet.highlights,
        ),
        project: hit.project.clone().unwrap_or_default(),
        when: When::new(hit.created_at),
        score: format!("{:.2}", hit.score),
        why: reasons(hit),
        superseded: hit.superseded,
        judge: row.map(Judge::of),
    }
}

/// The excerpt without the concepts and files that the index stores behind an observation's text.
fn prose<'a>(text: &'a str, row: &ObservationRow) -> &'a str {
    let o = &row.observation;
    let labels = [&o.concepts, &o.files_modified, &o.files_read];
    let Some(first) = labels.into_iter().find_map(|list| list.first()) else { return text };
    match text.find(&format!(" {}", first.replace('-', " "))) {
        Some(end) if end >= MIN_PROSE => &text[..end],
        _ => text,
    }
}

/// Why a hit is where it is, in words.
fn reasons(hit: &Hit) -> String {
    let why = &hit.why;
    let mut reasons = Vec::new();
    if !why.matched.is_empty() {
        let words: Vec<String> = why.matched.iter().map(|word| line(word, 40)).collect();
        reasons.push(format!("It contains {}.", words.join(", ")));
    }
    match why.lexical_rank {
        Some(1) => reasons.push("No other result matches the words better.".to_owned()),
        Some(rank) => reasons.push(format!("It is number {rank} by words.")),
        None => {}
    }
    match why.semantic_rank {
        Some(1) => reasons.push("No other result is closer in meaning.".to_owned()),
        Some(rank) => reasons.push(format!("It is number {rank} by meaning.")),
        None => {}
    }
    reasons.join(" ")
}

/// The page of a record: its own for an observation, the memory page for facts and notes, that of its session
/// for others.
pub(super) fn record_link(id: &str, session: Option<i64>) -> String {
    match (id.as_bytes().first(), session) {
        (Some(b'f'), _) => format!("/memory#fact-{id}"),
        (Some(b'n'), _) => "/memory#notes".to_owned(),
        (Some(first), Some(session)) if !first.is_ascii_digit() => format!("/sessions/{session}"),
        _ => format!("/observations/{id}"),
    }
}

/// A text parameter of the URL.
fn value<'a>(asked: &'a SearchParameters, name: &str) -> &'a str {
    match name {
        "q" => &asked.q,
        "mode" => &asked.mode,
        "type" => &asked.kind,
        "record" => &asked.record,
        "host" => &asked.host,
        "file" => &asked.file,
        "concept" => &asked.concept,
        "since" => &asked.since,
        "sort" => &asked.sort,
        _ => "",
    }
}

/// The URL of this search with changed parameters. Empty ones are left out.
fn address(asked: &SearchParameters, changes: &[(&str, &str)]) -> String {
    let project = asked.project.map(|id| id.to_string()).unwrap_or_default();
    let offset = if asked.offset == 0 { String::new() } else { asked.offset.to_string() };
    let names = ["q", "mode", "sort"].into_iter().chain(FILTERS).chain(["offset"]);
    let pairs = names.filter_map(|name| {
        let value = match name {
            "project" => &project,
            "offset" => &offset,
            name => value(asked, name),
        };
        let value = changes.iter().find(|(changed, _)| *changed == name).map_or(value, |(_, value)| value);
        (!(value.is_empty() || name == "offset" && value == "0"))
            .then(|| format!("{name}={}", encoded(value)))
    });
    format!("/search?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// Percent-encodes a text for a URL.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
