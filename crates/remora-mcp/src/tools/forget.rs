use remora_app::caller::REACH_HINT;
use remora_app::forget::{self, ForgetRequest, Forgotten, Matching, Plan, check_author};
use remora_app::{AppError, Reach, Runtime};
use remora_core::context::safe_tokens;
use remora_core::time::Time;
use remora_store::{SavedBy, Store};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::deleting;
use super::get_observations::list;
use crate::Memory;
use crate::answer::Answer;
use crate::arguments::{Flag, Id, List, One, given, read};
use crate::asker::Asker;
use crate::failure::Failure;

pub(super) const NAME: &str = "forget";

const EXAMPLE: &str = r#"{"ids": ["123"]} or {"topic": "blue harbour"}, then the same with "confirm": true"#;

const MAX_TITLE_TOKENS: u64 = 32;
/// Larger requests are refused: a single call that deletes more than this is probably a mistake.
const MAX_RECORDS: usize = 20;

pub(super) fn definition() -> Tool {
    deleting::<ForgetArguments>(
        NAME,
        "Forget",
        "Delete from memory, only when the user asks for it: records by id, or what is about a topic. Without `confirm` it \
         only shows what would go; show that to the user first.",
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForgetArguments {
    #[serde(default)]
    ids: List<Id>,
    #[serde(default)]
    topic: Option<One<String>>,
    #[serde(default)]
    confirm: Flag,
    /// As in search
    #[serde(default)]
    project: Option<One<String>>,
}

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let ForgetArguments { ids: List(ids), topic, confirm: Flag(confirm), project } =
        read(arguments, EXAMPLE)?;
    let ids: Vec<String> = ids.into_iter().map(|Id(id)| id).filter(|id| !id.is_empty()).collect();
    let reach = asker.reach().await?;
    let is_limited = reach.is_limited();
    let mut beyond = Vec::new();
    let request = match (ids.is_empty(), given(topic)) {
        (false, None) => {
            let known;
            (known, beyond) = asker.memory.read(move |rt| divided(rt.store(), &reach, ids)).await?;
            ForgetRequest::Ids(known)
        }
        (true, Some(topic)) => ForgetRequest::Matching(Matching {
            topic: Some(topic),
            ..Matching::new(asker.scope_of(given(project).as_deref()).await?)
        }),
        _ => return Err(Failure::new("pass either `ids` or `topic`", format!("such as {EXAMPLE}"))),
    };
    // Events in the spool may be about the topic, too.
    asker.memory.write(|rt| Ok(rt.store().catch_up()?)).await?;
    let mut plan = asker.memory.find(request.text_to_embed(), move |rt| forget::plan(rt, &request)).await?;
    plan.unknown.extend(beyond);
    if plan.is_empty() {
        let hint = if is_limited { REACH_HINT } else { "find ids with search" };
        return Err(Failure::new("nothing was found that could be forgotten", hint));
    }
    let asked = plan.clone();
    asker.memory.read(move |rt| check_author(rt, &asked)).await?;
    if plan.records.len() > MAX_RECORDS {
        let message = format!("that would take {} records; at most {MAX_RECORDS} a call", plan.records.len());
        let hint = "pass ids or a longer topic, or ask the user to run `remora forget`";
        return Err(Failure::new(message, hint));
    }
    if !confirm {
        return Ok(shown(&plan));
    }
    let undo = asker.memory.read(|rt| Ok(rt.settings().forget.undo())).await?;
    let (unknown, not_known) = (plan.unknown.clone(), not_known(&plan.unknown));
    let forget = move |rt: &mut dyn Runtime| forget::forget(rt, &plan, undo, SavedBy::Program);
    let Forgotten { id, records, undo_until, .. } =
        if undo.is_zero() { asker.memory.apart(forget).await? } else { asker.memory.write(forget).await? };
    let way_back = match undo_until {
        Some(until) => format!(" Until {} `remora forget undo {id}` brings it back.", until.iso()),
        None => String::new(),
    };
    let text = format!("Forgot {}.{way_back}{not_known}", count(records, "record"));
    Ok(Answer::of_ours(
        text,
        json!({ "forgotten": records, "id": id, "undo_until": undo_until.map(Time::iso), "unknown": unknown }),
    ))
}

/// The ids within reach, and the others.
fn divided(store: &Store, reach: &Reach, ids: Vec<String>) -> Result<(Vec<String>, Vec<String>), AppError> {
    let (mut known, mut beyond) = (Vec::new(), Vec::new());
    for id in ids {
        if reach.has_id(store, &id)? { known.push(id) } else { beyond.push(id) }
    }
    Ok((known, beyond))
}

fn shown(plan: &Plan) -> Answer {
    let titles: Vec<String> =
        plan.records.iter().map(|record| safe_tokens(&record.title, MAX_TITLE_TOKENS)).collect();
    let body: Vec<String> = plan
        .records
        .iter()
        .zip(&titles)
        .map(|(record, title)| {
            let similar = record.score.map(|score| format!(" (similar, {score:.2})")).unwrap_or_default();
            format!("#{} {}: {title}{similar}", record.id, record.kind.name())
        })
        .collect();
    let data: Vec<Value> = plan
        .records
        .iter()
        .zip(&titles)
        .map(|(record, title)| json!({ "id": record.id, "kind": record.kind, "title": title, "score": record.score }))
        .collect();
    let parts = [(plan.records.len(), "record"), (plan.events, "queued event"), (plan.traces, "trace")];
    let going: Vec<String> =
        parts.iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(*number, noun)).collect();
    let heading = format!(
        "Nothing is forgotten yet. {} would go; the same call with `confirm: true` does it.{}",
        going.join(" and "),
        not_known(&plan.unknown)
    );
    let structured =
        json!({ "dry_run": true, "records": data, "events": plan.events, "unknown": plan.unknown });
    Answer::of_memory(&heading, &body.join("\n"), structured)
}

fn not_known(unknown: &[String]) -> String {
    if unknown.is_empty() { String::new() } else { format!(" Nothing is known as {}.", list(unknown)) }
}

fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or_default();
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
