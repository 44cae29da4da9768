use clap::Args;
use remora_store::EventRow;
use serde_json::json;

use crate::app::App;
use crate::error::Result;
use crate::output::{self, Table, brief, say, talk};

#[derive(Args)]
pub(crate) struct Queue {
    /// How many at most.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: u32,
}

pub(crate) fn run(app: &App, arguments: &Queue) -> Result<()> {
    let store = app.open()?;
    let counts = store.counts()?;
    let events = store.queue(arguments.limit)?;
    let total = counts.pending + counts.processing + counts.failed;
    if app.json {
        return output::json(&json!({
            "pending": counts.pending,
            "processing": counts.processing,
            "failed": counts.failed,
            "total": total,
            "events": events,
        }));
    }
    if total == 0 {
        say("The queue is empty: every event has become knowledge, or none was captured yet.");
        return Ok(());
    }
    let mut table = Table::new(&["EVENT", "TIME", "STATUS", "TURN", "WHAT"]);
    for event in &events {
        table.row(vec![
            format!("e{}", event.id),
            output::local(event.created_at),
            event.status.clone(),
            event.prompt_number.to_string(),
            what(event),
        ]);
    }
    table.print();
    let shown = i64::try_from(events.len()).unwrap_or(i64::MAX);
    if total > shown {
        talk(&format!("\n{shown} of {total}; more with `remora queue --limit {total}`"));
    }
    Ok(())
}

/// One line that tells what an event is, for the queue and for a session's page.
pub(crate) fn what(event: &EventRow) -> String {
    let payload = event.payload.as_ref();
    let text = |pointer: &str| {
        payload
            .and_then(|payload| payload.pointer(pointer)?.as_str())
            .map(|text| brief(text, 60))
            .unwrap_or_default()
    };
    match event.kind.as_str() {
        "prompt_submitted" => format!("prompt: {}", text("/text")),
        "prompt_withheld" => "a private turn, of which nothing was kept".to_owned(),
        "tool_used" => {
            let subject = match event.files.first() {
                Some(file) => file.clone(),
                None => [text("/input/command"), text("/input/description")]
                    .into_iter()
                    .find(|t| !t.is_empty())
                    .unwrap_or_default(),
            };
            let failed = event.outcome.as_deref().filter(|outcome| *outcome != "ok");
            let failed = failed.map(|outcome| format!(" ({outcome})")).unwrap_or_default();
            format!("{} {subject}{failed}", event.tool.as_deref().unwrap_or("tool")).trim_end().to_owned()
        }
        "turn_ended" => format!("turn ended: {}", text("/message")),
        "subagent_ended" => format!("subagent ended: {}", text("/message")),
        "compacted" => format!("compacted: {}", text("/summary")),
        "session_started" => format!("session started ({})", text("/source")),
        "session_ended" => format!("session ended ({})", text("/reason")),
        other => other.to_owned(),
    }
    .trim_end_matches(": ")
    .to_owned()
}
