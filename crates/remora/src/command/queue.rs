use clap::{Args, Subcommand};
use remora_app::AppError;
use remora_app::Runtime;
use remora_app::queue::{self, DrainReport, Turns};
use remora_core::event::Body;
use remora_store::EventRow;
use serde_json::json;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, Table, brief, count, prose, say, talk};

#[derive(Args)]
pub(crate) struct Queue {
    #[command(subcommand)]
    action: Option<QueueAction>,
    #[command(flatten)]
    listing: Listing,
}

#[derive(Args)]
struct Listing {
    /// Limit for the number of events listed; 20 by default.
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<u32>,
}

#[derive(Subcommand)]
enum QueueAction {
    /// List queued events, oldest first (the default).
    List(Listing),
    /// Turn queued events into observations and summaries now, with the built-in observer.
    ///
    /// A turn that is not over is skipped: it ends with the agent's closing message, the next prompt, the
    /// end of the session, or silence (`observer.turn_silence`, 5 minutes by default).
    Drain {
        /// Include turns that are not over.
        #[arg(long)]
        all: bool,
    },
    /// Try failed events again.
    Retry(Failed),
    /// Drop failed events: their payloads are deleted, their traces (when, which tool, which files) stay.
    Drop(Failed),
}

#[derive(Args)]
struct Failed {
    /// The events, such as `e12`.
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Every failed event.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

pub(crate) fn run(app: &App, arguments: &Queue) -> Result<()> {
    let limit = |listing: &Listing| listing.limit.or(arguments.listing.limit).unwrap_or(20);
    match &arguments.action {
        None => list(app, limit(&arguments.listing)),
        Some(QueueAction::List(listing)) => list(app, limit(listing)),
        Some(QueueAction::Drain { all }) => drain(app, *all),
        Some(QueueAction::Retry(failed)) => change(app, failed, queue::retry, "queued again"),
        Some(QueueAction::Drop(failed)) => change(app, failed, queue::give_up, "dropped"),
    }
}

fn drain(app: &App, all: bool) -> Result<()> {
    let mut rt = app.open_caught_up()?;
    let owner = format!("drain-{}", std::process::id());
    let turns = if all { Turns::All } else { Turns::Ended(app.settings.observer.turn_silence) };
    let DrainReport { drained, pending: left } = queue::drain(&mut rt, &owner, turns, &app.settings.capture)?;
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    if app.json {
        return output::json(&json!({
            "turns": drained.turns,
            "events": drained.events,
            "observations": drained.observations,
            "summaries": drained.summaries,
            "pending": left,
        }));
    }
    say(&format!(
        "{} in {} became {} and {}.",
        count(number(drained.events), "event"),
        count(number(drained.turns), "turn"),
        count(number(drained.observations), "observation"),
        count(number(drained.summaries), "summary"),
    ));
    if left > 0 {
        let waits = if left == 1 { "1 event waits".to_owned() } else { format!("{left} events wait") };
        talk(&format!("{waits} for the end of the turn; `remora queue drain --all` takes everything now"));
    }
    Ok(())
}

fn change(
    app: &App,
    failed: &Failed,
    change: fn(&mut dyn Runtime, &queue::FailedEvents) -> std::result::Result<usize, AppError>,
    outcome: &str,
) -> Result<()> {
    let mut rt = app.open_caught_up()?;
    let which =
        if failed.all { queue::FailedEvents::All } else { queue::FailedEvents::Named(failed.ids.clone()) };
    let changed = change(&mut rt, &which)?;
    if changed == 0 {
        return Err(CliError::not_found("no such event has failed").hint("see what has: `remora queue`"));
    }
    if app.json {
        return output::json(&json!({ "changed": changed }));
    }
    say(&format!("{} {outcome}.", count(i64::try_from(changed).unwrap_or(i64::MAX), "event")));
    Ok(())
}

fn list(app: &App, limit: u32) -> Result<()> {
    let rt = app.open_caught_up()?;
    let mut queue = queue::list(&rt, limit)?;
    let reach = App::caller(&rt)?.reach;
    if reach.is_limited() {
        let mut own = Vec::new();
        for event in queue.events {
            if reach.has_id(rt.store(), &format!("e{}", event.id))? {
                own.push(event);
            }
        }
        queue.events = own;
    }
    if app.json {
        return output::json(&queue);
    }
    let queue::Queue { total, events, .. } = queue;
    if total == 0 {
        prose("The queue is empty: every event has been observed, or none was captured yet.");
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

/// Describes an event in one line, for the queue and for a session's page.
pub(crate) fn what(event: &EventRow) -> String {
    let short = |text: &str| brief(text, 60);
    let line = match &event.payload {
        Some(Body::SessionStarted { source }) => format!("session started ({})", source.name()),
        Some(Body::PromptSubmitted { text }) => format!("prompt: {}", short(text)),
        Some(Body::ToolUsed(tool)) => used(event, &short(tool.call.subject())),
        Some(Body::TurnEnded { message, .. }) => format!("turn ended: {}", short(message)),
        Some(Body::SubagentEnded { message, .. }) => format!("subagent ended: {}", short(message)),
        Some(Body::Compacted { summary, .. }) => format!("compacted: {}", short(summary)),
        Some(Body::SessionEnded { reason }) => format!("session ended ({reason})"),
        Some(Body::PromptWithheld) => "a private turn, of which nothing was kept".to_owned(),
        None if event.kind == "tool_used" => used(event, event.subject.as_deref().unwrap_or_default()),
        None => event.kind.replace('_', " "),
    };
    line.trim_end_matches(": ").to_owned()
}

fn used(event: &EventRow, subject: &str) -> String {
    let subject = event.files.first().map_or(subject, String::as_str);
    let failed = event.outcome.as_deref().filter(|outcome| *outcome != "ok");
    let failed = failed.map(|outcome| format!(" ({outcome})")).unwrap_or_default();
    format!("{} {subject}{failed}", event.tool.as_deref().unwrap_or("tool")).trim_end().to_owned()
}
