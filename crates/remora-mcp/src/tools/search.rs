use std::collections::BTreeMap;

use remora_app::present::{IdStyle, Remarks};
use remora_app::search::{MAX_LIMIT, MAX_OFFSET, SearchRequest};
use remora_app::{AppError, ProjectSelector, Runtime, records};
use remora_core::document::RecordId;
use remora_core::memory::ObservationType;
use remora_search::{Hit, Mode, Results};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{nothing_yet, reading};
use crate::Memory;
use crate::answer::{Answer, LEGEND, Line, lines};
use crate::arguments::{List, One, given, read};
use crate::asker::Asker;
use crate::failure::Failure;

pub(super) const NAME: &str = "search";

const EXAMPLE: &str =
    r#"{"query": "why do totals differ", "type": ["bugfix"], "since": "2 weeks ago", "limit": 10}"#;

pub(super) fn definition() -> Tool {
    reading::<SearchArguments>(
        NAME,
        "Search memory",
        "Search what earlier sessions learned here: causes, decisions, traps, the user's preferences. Use it before \
         investigating what may be known already. Returns an index of ids with token costs; read on with \
         timeline, then get_observations for the few ids that matter.",
    )
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SearchArguments {
    /// Words or a question; "phrases", AND, OR, NOT work. Without it: newest first
    query: Option<One<String>>,
    /// auto: words, and meaning where available
    mode: Option<One<Mode>>,
    r#type: List<ObservationType>,
    concepts: List<String>,
    /// Parts of paths
    files: List<String>,
    /// Date: 2026-03-01, yesterday, 2 weeks ago
    since: Option<One<String>>,
    until: Option<One<String>>,
    /// Default 10, at most 100
    limit: Option<One<u32>>,
    offset: Option<One<u32>>,
    /// Name, id or directory; `all`; default: this one
    project: Option<One<String>>,
}

/// Default number of hits in an index.
const DEFAULT_LIMIT: usize = 10;

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let arguments: SearchArguments = read(arguments, EXAMPLE)?;
    let number = |number: Option<One<u32>>| number.map(|One(number)| number as usize);
    let mut request = SearchRequest::new(asker.scope_of(given(arguments.project).as_deref()).await?);
    request.text = given(arguments.query).unwrap_or_default();
    request.mode = arguments.mode.map(|One(mode)| mode).unwrap_or_default();
    request.types = arguments.r#type.0;
    request.concepts = arguments.concepts.0;
    request.files = arguments.files.0;
    (request.from, request.until) = (given(arguments.since), given(arguments.until));
    if matches!(arguments.limit, Some(One(0))) {
        let message = format!("`limit`: expected 1 to {MAX_LIMIT}, not 0");
        return Err(Failure::new(message, format!("such as {EXAMPLE}")));
    }
    request.limit = number(arguments.limit).unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    request.offset = number(arguments.offset).unwrap_or(0).min(MAX_OFFSET);
    index(asker, request).await
}

/// Runs a search and returns the hits as an index.
pub(crate) async fn index<M: Memory>(asker: &Asker<M>, request: SearchRequest) -> Result<Answer, Failure> {
    let asked = request.clone();
    let find = move |rt: &dyn Runtime| {
        let found = rt.search(&asked)?;
        let ids: Vec<RecordId> = found.hits.iter().map(|hit| hit.id).collect();
        Ok((records::costs(rt, &ids)?, found))
    };
    let (costs, found) = match asker.memory.find(request.text_to_embed(), find).await {
        Ok(found) => found,
        Err(AppError::UnknownDirectory(_)) => {
            return Ok(nothing_yet(json!({ "total": 0, "hits": [] })));
        }
        Err(error) => return Err(error.into()),
    };
    let hits: Vec<Line> = found.hits.iter().map(|hit| line(hit, &costs, &request.selector)).collect();
    let end = request.offset + hits.len();
    let next = (end < found.total).then_some(end);
    let structured = json!({
        "total": found.total,
        "mode": found.plan.mode.name(),
        "next_offset": next,
        "hits": hits,
    });
    if hits.is_empty() {
        let is_limited = asker.reach().await?.is_limited();
        return Ok(Answer::of_ours(nothing(&request, &found, is_limited), structured));
    }
    let more = next.map(|next| format!("; more with offset {next}")).unwrap_or_default();
    let heading = format!(
        "{} of {}{} found by {}{more}. Each: {LEGEND}",
        hits.len(),
        found.total,
        if found.more { " or more" } else { "" },
        found.plan.way()
    );
    Ok(Answer::of_memory(&heading, &lines(&hits), structured))
}

fn line(hit: &Hit, costs: &BTreeMap<RecordId, u64>, selector: &ProjectSelector) -> Line {
    // A line has no room for more than one duplicate.
    let duplicates = hit.duplicates.get(..1).unwrap_or_default();
    let remarks = Remarks { duplicates, ..hit.into() };
    let project = hit.project.clone().filter(|_| *selector == ProjectSelector::All);
    Line {
        id: hit.id.to_string(),
        kind: hit.observation_type.map_or(hit.kind.name(), ObservationType::name),
        date: hit.created_at.date(),
        tokens: costs.get(&hit.id).copied().unwrap_or_default(),
        project,
        title: hit.title.clone(),
        snippet: hit.snippet.text.clone(),
        remark: remarks.text(IdStyle::Hash),
    }
    .fitted()
}

fn nothing(request: &SearchRequest, found: &Results, is_limited: bool) -> String {
    if found.total > 0 {
        return format!("Only {} found: nothing is left after offset {}.", found.total, request.offset);
    }
    let mut next = vec!["other words"];
    if request.is_narrow() {
        next.push("fewer filters");
    }
    if request.selector != ProjectSelector::All && !is_limited {
        next.push("project `all`");
    }
    format!("Nothing found, searched by {}. Try {}.", found.plan.way(), next.join(", or "))
}
