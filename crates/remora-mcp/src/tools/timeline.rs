use std::collections::BTreeMap;

use remora_app::present::{IdStyle, Remarks};
use remora_app::records::record_id;
use remora_app::timeline::{MAX_LEN, Timeline, TimelineEntry, TimelineQuery, around};
use remora_app::{AppError, Runtime, records};
use remora_core::document::{RecordId, RecordKind};
use remora_core::memory::ObservationType;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{nothing_yet, reading};
use crate::Memory;
use crate::answer::{Answer, LEGEND, Line};
use crate::arguments::{Id, One, given, read};
use crate::asker::Asker;
use crate::failure::Failure;

pub(super) const NAME: &str = "timeline";

const EXAMPLE: &str = r#"{"anchor": "123", "before": 5, "after": 5}"#;

pub(super) fn definition() -> Tool {
    reading::<TimelineArguments>(
        NAME,
        "Timeline of memory",
        "What was learned before and after a record, oldest first: how something came about, and what became of it. \
         Without anchor and query: the latest.",
    )
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TimelineArguments {
    /// Id from search: 123, s12, t34
    #[serde(alias = "id")]
    anchor: Option<One<Id>>,
    /// Around the best hit for this
    query: Option<One<String>>,
    /// Default 5
    before: Option<One<u32>>,
    /// Default 5
    after: Option<One<u32>>,
    /// As in search
    project: Option<One<String>>,
}

/// Default number of records on each side.
const DEFAULT_LENGTH: u32 = 5;

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let arguments: TimelineArguments = read(arguments, EXAMPLE)?;
    let length = |number: Option<One<u32>>| number.map_or(DEFAULT_LENGTH, |One(number)| number).min(MAX_LEN);
    let anchor = arguments.anchor.map(|One(Id(id))| id).filter(|id| !id.is_empty());
    let anchor = anchor.map(|id| record_id(&id).ok_or(AppError::UnknownRecord(id))).transpose()?;
    let named = given(arguments.project);
    let mut only = match named.as_deref() {
        Some(name) => Some(asker.scope_of(Some(name)).await?),
        None => None,
    };
    let mut here = None;
    // Other kinds of records are on no timeline.
    if let Some(id) = anchor
        .filter(|id| matches!(id.kind, RecordKind::Observation | RecordKind::Summary | RecordKind::Turn))
    {
        // An id alone identifies the project.
        asker.check_reach(id.to_string()).await?;
    } else if only.is_none() && anchor.is_none() {
        let own = Some(asker.scope_of(None).await?);
        // A query may be an id, too.
        let is_limited = asker.reach().await?.is_limited();
        (only, here) = if is_limited { (own, None) } else { (None, own) };
    }
    let query = TimelineQuery {
        here,
        only,
        anchor,
        text: given(arguments.query),
        before: length(arguments.before),
        after: length(arguments.after),
    };
    match answer(asker, query).await {
        Err(AppError::UnknownDirectory(_)) => Ok(nothing_yet(json!({ "items": [] }))),
        other => Ok(other?),
    }
}

async fn answer<M: Memory>(asker: &Asker<M>, query: TimelineQuery) -> Result<Answer, AppError> {
    let text = query.text.clone();
    let find = move |rt: &dyn Runtime| {
        let timeline = around(rt, &query)?;
        let ids: Vec<RecordId> = timeline.items.iter().map(|moment| moment.id).collect();
        let costs = records::costs(rt, &ids)?;
        Ok((timeline, costs))
    };
    let (timeline, costs) = asker.memory.find(text, find).await?;
    Ok(shown(&timeline, &costs))
}

fn shown(timeline: &Timeline, costs: &BTreeMap<RecordId, u64>) -> Answer {
    let items: Vec<(bool, Line)> = timeline
        .items
        .iter()
        .map(|moment| (Some(moment.id) == timeline.anchor, line(moment, costs)))
        .collect();
    let structured = json!({
        "anchor": timeline.anchor,
        "items": items.iter().map(|(_, line)| line).collect::<Vec<_>>(),
    });
    if items.is_empty() {
        return Answer::of_ours("Nothing was learned in this project yet.", structured);
    }
    let body: Vec<String> = items
        .iter()
        .map(|(is_anchor, line)| format!("{}{line}", if *is_anchor { "> " } else { "" }))
        .collect();
    let mark = if timeline.anchor.is_some() { "; `>` is the anchor" } else { "" };
    Answer::of_memory(&format!("Oldest first{mark}. Each: {LEGEND}"), &body.join("\n"), structured)
}

fn line(moment: &TimelineEntry, costs: &BTreeMap<RecordId, u64>) -> Line {
    Line {
        id: moment.id.to_string(),
        kind: moment.observation_type.map_or(moment.kind.name(), ObservationType::name),
        date: moment.created_at.format("%Y-%m-%d %H:%M"),
        tokens: costs.get(&moment.id).copied().unwrap_or_default(),
        project: None,
        title: moment.title.clone(),
        snippet: String::new(),
        remark: Remarks::from(moment).text(IdStyle::Hash),
    }
    .fitted()
}
