use remora_app::caller::REACH_HINT;
use remora_app::records;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::reading;
use crate::Memory;
use crate::answer::Answer;
use crate::arguments::{Id, List, read};
use crate::asker::Asker;
use crate::failure::Failure;
use crate::shown::Shown;

pub(super) const NAME: &str = "get_observations";

const EXAMPLE: &str = r#"{"ids": ["123", "s12"]}"#;

pub(super) fn definition() -> Tool {
    reading::<ObservationsArguments>(
        NAME,
        "Read records",
        "Whole records by their ids, several in one call: the reasoning, facts and files behind a line of search or \
         timeline. Takes 123 (observation), s12 (summary), t34 (turn), f5 (fact), n7 (note).",
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ObservationsArguments {
    /// At most 50
    #[serde(alias = "id")]
    ids: List<Id>,
}

const MAX_IDS: usize = 50;
/// Token limit of one answer. Hosts cut or refuse longer ones.
const MAX_TOKENS: u64 = 10_000;

pub(super) async fn call<M: Memory>(
    asker: &Asker<M>,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    let ObservationsArguments { ids: List(ids) } = read(arguments, EXAMPLE)?;
    let ids: Vec<String> = ids.into_iter().map(|Id(id)| id).filter(|id| !id.is_empty()).collect();
    if ids.is_empty() {
        return Err(Failure::new("`ids` is empty", format!("such as {EXAMPLE}")));
    }
    if ids.len() > MAX_IDS {
        let message = format!("{} ids are too many", ids.len());
        return Err(Failure::new(message, format!("ask for at most {MAX_IDS}, the ones that matter most")));
    }
    let asked = ids.clone();
    let reach = asker.reach().await?;
    let is_limited = reach.is_limited();
    let batch = asker.memory.write(move |rt| records::batch(rt, &asked, &reach)).await?;
    if batch.found.is_empty() {
        let message = format!("nothing is known as {}", list(&batch.unknown));
        let hint = if is_limited { REACH_HINT } else { "ids come from search and timeline" };
        return Err(Failure::new(message, hint));
    }
    let why_unknown = if is_limited { format!(" Note: {REACH_HINT}.") } else { String::new() };
    Ok(answer(batch.found.iter().map(Shown::new).collect(), &batch.unknown, &why_unknown))
}

/// As many complete records as fit. The first is always included, shortened if necessary.
fn answer(found: Vec<Shown>, unknown: &[String], why_unknown: &str) -> Answer {
    let (mut shown, mut left_out, mut cost) = (Vec::new(), Vec::new(), 0);
    for record in found {
        let more = record.cost();
        if shown.is_empty() {
            let record = record.shortened(MAX_TOKENS);
            cost += record.cost();
            shown.push(record);
        } else if cost + more <= MAX_TOKENS {
            cost += more;
            shown.push(record);
        } else {
            left_out.push(record.id);
        }
    }
    let mut heading =
        vec![if shown.len() == 1 { "One record.".to_owned() } else { format!("{} records.", shown.len()) }];
    if !unknown.is_empty() {
        heading.push(format!("Nothing is known as {}.{why_unknown}", list(unknown)));
    }
    if !left_out.is_empty() {
        heading.push(format!("Left out, because the answer would be too long: {}.", list(&left_out)));
    }
    let body: String = shown.iter().map(Shown::text).collect();
    let structured = json!({
        "records": shown.iter().map(Shown::data).collect::<Vec<_>>(),
        "unknown": unknown,
        "left_out": left_out,
    });
    Answer::of_memory(&heading.join(" "), &body, structured)
}

pub(super) fn list(ids: &[String]) -> String {
    let shown: Vec<String> =
        ids.iter().map(|id| format!("#{}", remora_core::context::safe(id, 40))).collect();
    shown.join(", ")
}
