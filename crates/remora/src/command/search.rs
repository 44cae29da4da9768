use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use remora_app::Runtime as _;
use remora_app::present::{IdStyle, Remarks};
use remora_app::search::SearchRequest;
use remora_app::{ProjectSelector, Reach, records};
use remora_core::document::RecordKind;
use remora_core::host::Host;
use remora_core::memory::ObservationType;
use remora_search::{Facets, Hit, Mode, Results, Sort};
use remora_store::{Store, Tuning};
use serde_json::json;

use super::save::observation_type;
use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, BOLD, DIM, Table, brief, count, paint, say, talk};

/// Find what was learned: by words, by meaning, by file, date or kind.
///
/// Searches the project you are in. Without a query, the newest records come first. A query is plain text. It may have "quoted
/// phrases", prefix*, title:word (also narrative:, facts:, concepts: and learned:), parentheses, and AND, OR, NOT in capitals.
/// `remora show ID` shows a hit. The exit code is 1 if nothing is found.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora search why are totals off by a cent
  remora search 'jwt AND (clock OR skew)' --type bugfix
  remora search --file src/auth.rs --from '2 weeks ago'")]
pub(crate) struct Search {
    /// What to look for. Write `--` before words that begin with a dash.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Another project than the one you are in: its name, id, or a directory.
    #[arg(long, short, conflicts_with = "all")]
    project: Option<String>,
    /// All projects.
    #[arg(long)]
    all: bool,
    /// Only observations of this type.
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_parser = observation_type())]
    types: Vec<ObservationType>,
    /// Only observations with this concept.
    #[arg(long = "concept", value_name = "CONCEPT")]
    concepts: Vec<String>,
    /// Only what is about a file whose path contains this.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// Only records since this date: `2026-03-01`, `yesterday`, `2 weeks ago`.
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Only records until this date, inclusive.
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Only from this agent program or channel, such as claude-code or whatsapp.
    #[arg(long, value_parser = host)]
    host: Option<Host>,
    /// Only from this session: the beginning of its id.
    #[arg(long)]
    session: Option<String>,
    /// Only records of this kind: observation, summary, turn, fact, note or event.
    #[arg(long = "kind", value_name = "KIND", value_parser = record_kind)]
    kinds: Vec<RecordKind>,
    /// Limit for the number of hits, 1 to 100.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    /// Number of hits to skip.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=10_000))]
    offset: u16,
    /// Search by words (text), by meaning (semantic), or both (hybrid); auto uses what is available.
    #[arg(long, value_enum, default_value = "auto")]
    mode: ModeArg,
    /// The best hits first, or the best hits in order of date, newest first.
    #[arg(long, value_enum, default_value = "relevance")]
    sort: Order,
    /// Show why each hit was found.
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    Auto,
    Hybrid,
    Semantic,
    Text,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    Relevance,
    Date,
}

/// Maximum number of concepts in the line of facets.
const MAX_CONCEPTS: usize = 5;

pub(crate) fn run(app: &App, arguments: &Search) -> Result<ExitCode> {
    // The process is about to end, and the kernel closes files faster than SQLite does.
    let rt = ManuallyDrop::new(app.open()?);
    let store = rt.store();
    store.tune(Tuning::MappedFile)?;
    let reach = App::caller(&rt)?.reach;
    let request = request(store, &reach, arguments)?;
    let Some(found) = app::if_known(store, rt.search(&request))? else {
        if app.json {
            output::json(&json!({ "hits": [], "total": 0 }))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    if app.json {
        output::json(&found)?;
    } else if !found.hits.is_empty() {
        print(&found, &request, arguments);
    }
    if let Some(id) = records::named(store, &request.text, &request.selector)? {
        talk(&format!("To see the record of this id: `remora show {id}`"));
    }
    if found.hits.is_empty() {
        talk(&nothing(store, &request, &found, reach.is_limited(), arguments)?);
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

/// Converts the arguments to a search request.
fn request(store: &Store, reach: &Reach, arguments: &Search) -> Result<SearchRequest> {
    let selector = match app::scope_of(arguments.project.as_deref(), arguments.all)? {
        ProjectSelector::All => app::all_within(reach, store)?,
        selector => reach.scope_of(store, selector)?,
    };
    Ok(SearchRequest {
        selector,
        text: arguments.query.join(" "),
        types: arguments.types.clone(),
        kinds: arguments.kinds.clone(),
        concepts: arguments.concepts.clone(),
        files: arguments.files.clone(),
        from: arguments.from.clone(),
        until: arguments.to.clone(),
        host: arguments.host,
        session: arguments.session.as_deref().map(|session| reach.session(store, session)).transpose()?,
        mode: match arguments.mode {
            ModeArg::Auto => Mode::Auto,
            ModeArg::Hybrid => Mode::Hybrid,
            ModeArg::Semantic => Mode::Semantic,
            ModeArg::Text => Mode::Text,
        },
        sort: match arguments.sort {
            Order::Relevance => Sort::Relevance,
            Order::Date => Sort::Date,
        },
        limit: usize::from(arguments.limit),
        offset: usize::from(arguments.offset),
        narrows: false,
    })
}

/// Parses the name of a host or a channel.
pub(super) fn host(name: &str) -> std::result::Result<Host, String> {
    let known = || Host::ALL.iter().map(Host::name).collect::<Vec<_>>().join(", ");
    Host::named(name).ok_or_else(|| {
        format!("unknown host; use {}, or a channel in lowercase letters, digits, `.`, `-`, `_`", known())
    })
}

fn record_kind(word: &str) -> std::result::Result<RecordKind, String> {
    RecordKind::from_name(word)
        .ok_or_else(|| "use observation, summary, turn, fact, note or event".to_owned())
}

/// Prints one row per hit, with the matching text below.
fn print(page: &Results, request: &SearchRequest, arguments: &Search) {
    let names_project = request.selector == ProjectSelector::All;
    let mut header = vec!["ID", "KIND", "WHEN"];
    header.extend(names_project.then_some("PROJECT"));
    header.push("TITLE");
    let mut table = Table::new(&header);
    for hit in &page.hits {
        let kind = hit.observation_type.map_or(hit.kind.name(), ObservationType::name);
        let mut cells = vec![hit.id.to_string(), kind.to_owned(), output::local(hit.created_at)];
        cells.extend(names_project.then(|| brief(hit.project.as_deref().unwrap_or("every project"), 20)));
        cells.push(format!("{}{}", brief(&hit.title, 100), paint(DIM, &remarks(hit))));
        table.row(cells);
        let snippet = highlighted(hit);
        if !snippet.is_empty() {
            table.below(&snippet);
        }
        if arguments.explain {
            table.below(&paint(DIM, &why(hit)));
        }
    }
    table.print();
    say("");
    for line in output::hanging("", &facets(page), output::columns()) {
        say(&paint(DIM, &line));
    }
    if arguments.explain {
        talk(&how(page));
    }
    let end = request.offset + page.hits.len();
    if end < page.total {
        talk(&format!("{} to {end} of {}; more with `--offset {end}`", request.offset + 1, page.total));
    }
}

fn remarks(hit: &Hit) -> String {
    let text = Remarks::from(hit).text(IdStyle::Plain);
    if text.is_empty() { text } else { format!("  ({text})") }
}

/// The snippet on one line, with matching words in bold. Empty if it repeats the title.
fn highlighted(hit: &Hit) -> String {
    if brief(&hit.snippet.text, usize::MAX) == brief(&hit.title, usize::MAX) {
        return String::new();
    }
    let mut line = String::new();
    let mut at = 0;
    for &(start, end) in &hit.snippet.highlights {
        let (Some(before), Some(word)) = (hit.snippet.text.get(at..start), hit.snippet.text.get(start..end))
        else {
            continue;
        };
        line.push_str(&plain(before));
        line.push_str(&paint(BOLD, &plain(word)));
        at = end;
    }
    line.push_str(&plain(hit.snippet.text.get(at..).unwrap_or_default()));
    line.trim().to_owned()
}

/// Replaces control characters, which a terminal would interpret.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect()
}

pub(super) fn why(hit: &Hit) -> String {
    let why = &hit.why;
    let mut parts = vec![format!("score {:.2}", hit.score)];
    if !hit.part.is_empty() {
        parts.push(format!("in {}", hit.part));
    }
    if !why.matched.is_empty() {
        let place = why.lexical_rank.map(|rank| format!("no. {rank} by words: ")).unwrap_or_default();
        parts.push(format!(
            "{place}{} ({:.0} % of the question)",
            why.matched.join(", "),
            why.coverage * 100.0
        ));
    }
    if let Some(cosine) = why.cosine {
        let place = why.semantic_rank.map(|rank| format!("no. {rank} by meaning, ")).unwrap_or_default();
        parts.push(format!("{place}cosine {cosine:.2}"));
    }
    if why.recency >= 0.005 {
        parts.push(format!("recent +{:.0} %", why.recency * 100.0));
    }
    if why.used.abs() >= 0.005 {
        let what = if why.used > 0.0 { "used before" } else { "injected but unused, or wrong" };
        parts.push(format!("{what} {:+.0} %", why.used * 100.0));
    }
    brief(&parts.join(", "), 400)
}

fn how(page: &Results) -> String {
    match &page.plan.no_vectors {
        Some(reason) => format!("Searched by words alone: {reason}."),
        None => format!("Searched by {}.", page.plan.way()),
    }
}

fn facets(page: &Results) -> String {
    let Facets { types, kinds, projects, concepts, hosts, .. } = &page.facets;
    let more = if page.more { " or more" } else { "" };
    let mut parts = vec![format!("{}{more} found", page.total)];
    parts.extend(counted("kinds", kinds, usize::MAX));
    parts.extend(counted("types", types, usize::MAX));
    parts.extend(counted("projects", projects, MAX_CONCEPTS).filter(|_| projects.len() > 1));
    parts.extend(counted("hosts", hosts, MAX_CONCEPTS).filter(|_| hosts.len() > 1));
    parts.extend(counted("concepts", concepts, MAX_CONCEPTS));
    parts.join(" · ")
}

fn counted(label: &str, counts: &BTreeMap<String, usize>, most: usize) -> Option<String> {
    let mut all: Vec<(&String, &usize)> = counts.iter().collect();
    all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let parts: Vec<String> =
        all.into_iter().take(most).map(|(name, count)| format!("{} {count}", brief(name, 30))).collect();
    (!parts.is_empty()).then(|| format!("{label}: {}", parts.join(", ")))
}

/// A message for an empty result: where was searched, and what to try next.
fn nothing(
    store: &Store,
    request: &SearchRequest,
    page: &Results,
    is_limited: bool,
    arguments: &Search,
) -> Result<String> {
    let place = match &request.selector {
        ProjectSelector::All => "all projects".to_owned(),
        selector => {
            let id = remora_app::project_or_global(store, selector)?;
            let known = store.projects().list()?.into_iter().find(|project| project.id == id);
            // A directory without memory is no project yet.
            known.map_or_else(|| "this directory".to_owned(), |project| format!("project {}", project.name))
        }
    };
    if page.total > 0 {
        return Ok(format!(
            "Only {} in {place}: nothing is left after --offset {}.",
            count(i64::try_from(page.total).unwrap_or(i64::MAX), "record"),
            request.offset
        ));
    }
    let text = brief(&request.text, 60);
    if text.is_empty() {
        let next = if request.is_narrow() { "; try fewer filters" } else { "" };
        return Ok(format!("Nothing found in {place}{next}."));
    }
    let mut next = Vec::new();
    if request.is_narrow() {
        next.push("fewer filters");
    }
    if request.selector != ProjectSelector::All && !is_limited {
        next.push("`--all` for every project");
    }
    let by_meaning = match (&page.plan.no_vectors, arguments.mode) {
        // Operators restrict a semantic search, too.
        _ if page.plan.syntax => {
            next.push("no AND or NOT");
            String::new()
        }
        (None, _) | (_, ModeArg::Text) => String::new(),
        (Some(_), ModeArg::Auto) => {
            next.push("`--mode hybrid` to search by meaning too");
            String::new()
        }
        (Some(reason), _) => {
            next.push("`remora index rebuild --resume`, which makes the vectors that are missing");
            format!(" ({reason})")
        }
    };
    next.push("other words");
    Ok(format!(
        "Nothing found for `{text}` in {place}, searched by {}{by_meaning}; try {}.",
        page.plan.way(),
        next.join(", ")
    ))
}
