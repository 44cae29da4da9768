use clap::Args;
use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Feedback;
use remora_core::ids::{EventId, FactId, NoteId, ObservationId, PromptId, SummaryId};
use remora_core::time::Time;
use remora_store::notes::NoteRow;
use remora_store::{EventRow, FactRow, ObservationRow, PromptRow, SessionRow, Store, SummaryRow};
use serde_json::{Value, json};

use super::queue::what;
use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, DIM, brief, paint, say};

#[derive(Args)]
pub(crate) struct Show {
    /// `123` an observation, `s12` a summary, `t34` a turn, `f5` a fact, `n7` a note, `e56` an event, or the
    /// beginning of a session's id.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

enum Found {
    Observation(Box<ObservationRow>),
    Summary(Box<SummaryRow>),
    Turn(PromptRow),
    Fact(FactRow),
    Note(NoteRow),
    Event(Box<EventRow>),
    Session(Box<SessionRow>),
}

pub(crate) fn run(app: &App, arguments: &Show) -> Result<()> {
    let mut store = app.open()?;
    let found: Vec<Found> = arguments.ids.iter().map(|id| find(&store, id)).collect::<Result<_>>()?;
    store.count_fetched(&observations(&found), Time::now());
    if app.json {
        let records: Vec<Value> = found.iter().map(|found| to_json(&store, found)).collect::<Result<_>>()?;
        return match records.as_slice() {
            [record] => output::json(record),
            _ => output::json(&records),
        };
    }
    for (number, found) in found.iter().enumerate() {
        if number > 0 {
            say("");
        }
        print(&store, found)?;
    }
    Ok(())
}

fn observations(found: &[Found]) -> Vec<ObservationId> {
    let ids = found.iter().map(|found| match found {
        Found::Observation(row) => Some(row.id),
        _ => None,
    });
    ids.flatten().collect()
}

fn find(store: &Store, id: &str) -> Result<Found> {
    if let Some(found) = find_by_number(store, id)? {
        return Ok(found);
    }
    let sessions = store.sessions_named(id)?;
    match sessions.as_slice() {
        [session] => Ok(Found::Session(Box::new(session.clone()))),
        [] => Err(CliError::not_found(format!("nothing is known as `{id}`"))
            .hint("ids are in `remora search`, `remora sessions` and `remora queue`")),
        several => {
            let ids: Vec<&str> = several.iter().map(|session| session.content_session_id.as_str()).collect();
            Err(CliError::usage(format!("`{id}` is the beginning of {} sessions", several.len()))
                .hint(format!("give more of it: {}", ids.join(", "))))
        }
    }
}

fn find_by_number(store: &Store, id: &str) -> Result<Option<Found>> {
    let Some(RecordId { kind, number }) = record_id(id) else { return Ok(None) };
    Ok(match kind {
        RecordKind::Observation => {
            store.observation(ObservationId(number))?.map(|row| Found::Observation(Box::new(row)))
        }
        RecordKind::Summary => store.summary(SummaryId(number))?.map(|row| Found::Summary(Box::new(row))),
        RecordKind::Turn => store.prompt(PromptId(number))?.map(Found::Turn),
        RecordKind::Fact => store.fact(FactId(number))?.map(Found::Fact),
        RecordKind::Note => store.note(NoteId(number))?.map(Found::Note),
        RecordKind::Event => store.event(EventId(number))?.map(|row| Found::Event(Box::new(row))),
    })
}

/// A record by the name it is printed with, or by that of one of its parts: `obs_12_fact_2` is in `12`.
pub(crate) fn record_id(id: &str) -> Option<RecordId> {
    if let Ok(record) = id.parse() {
        return Some(record);
    }
    let mut words = id.split('_');
    let kind = match words.next()? {
        "obs" | "observation" => RecordKind::Observation,
        "sum" | "summary" => RecordKind::Summary,
        "turn" | "prompt" => RecordKind::Turn,
        "fact" => RecordKind::Fact,
        "note" => RecordKind::Note,
        _ => return None,
    };
    words.next()?.parse().ok().map(|number| RecordId { kind, number })
}

/// The whole record, for programs.
pub(crate) fn record(store: &Store, id: &str) -> Result<Value> {
    to_json(store, &find(store, id)?)
}

fn to_json(store: &Store, found: &Found) -> Result<Value> {
    let (kind, mut record) = match found {
        Found::Observation(row) => ("observation", serde_json::to_value(row)?),
        Found::Summary(row) => ("summary", serde_json::to_value(row)?),
        Found::Turn(row) => ("turn", serde_json::to_value(row)?),
        Found::Fact(row) => ("fact", serde_json::to_value(row)?),
        Found::Note(row) => ("note", serde_json::to_value(row)?),
        Found::Event(row) => ("event", serde_json::to_value(row)?),
        Found::Session(row) => {
            let mut record = serde_json::to_value(row)?;
            record["turns"] = serde_json::to_value(store.prompts(row.id)?)?;
            let mut events = serde_json::to_value(store.session_events(row.id)?)?;
            // The list tells what happened; `show e56` gives the whole event.
            for event in events.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                event.remove("payload");
            }
            record["event_list"] = events;
            ("session", record)
        }
    };
    record["kind_of_record"] = json!(kind);
    Ok(record)
}

fn print(store: &Store, found: &Found) -> Result<()> {
    match found {
        Found::Observation(row) => print_observation(row),
        Found::Summary(row) => print_summary(row),
        Found::Turn(row) => print_turn(row, usize::MAX),
        Found::Fact(row) => print_fact(row),
        Found::Note(row) => print_note(row),
        Found::Event(row) => print_event(row)?,
        Found::Session(row) => print_session(store, row)?,
    }
    Ok(())
}

fn field(label: &str, text: &str) {
    if !text.trim().is_empty() {
        say(&format!(
            "{} {}",
            paint(DIM, &format!("{label:<10}")),
            text.trim().replace('\n', "\n           ")
        ));
    }
}

fn print_observation(row: &ObservationRow) {
    let observation = &row.observation;
    say(&paint(BOLD, &observation.title));
    field("type", observation.kind.name());
    field("project", &row.project);
    field("when", &output::local(row.created_at));
    field("", &observation.subtitle);
    field("narrative", &observation.narrative);
    field("facts", &observation.facts.join("\n"));
    field("concepts", &observation.concepts.join(", "));
    field("read", &observation.files_read.join(", "));
    field("modified", &observation.files_modified.join(", "));
    field("use", &of_use(row.pinned_at, &row.feedback));
}

/// What became of an observation, in words; empty where that is nothing.
pub(crate) fn of_use(pinned_at: Option<Time>, feedback: &Feedback) -> String {
    let counted = |count: u32, what: &str| (count > 0).then(|| format!("{what} {count}"));
    let parts = [
        pinned_at.map(|_| "pinned".to_owned()),
        counted(feedback.injected, "told"),
        counted(feedback.fetched, "fetched"),
        counted(feedback.cited, "cited"),
        counted(feedback.useful, "useful"),
        counted(feedback.wrong, "wrong"),
        feedback.last_used_at.map(|at| format!("last used {}", output::local(at))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn print_summary(row: &SummaryRow) {
    let summary = &row.summary;
    say(&paint(BOLD, &summary.request));
    field("project", &row.project);
    field("when", &output::local(row.created_at));
    field("found", &summary.investigated);
    field("learned", &summary.learned);
    field("completed", &summary.completed);
    field("next", &summary.next_steps);
    field("notes", &summary.notes);
    field("read", &summary.files_read.join(", "));
    field("edited", &summary.files_edited.join(", "));
}

fn print_turn(row: &PromptRow, limit: usize) {
    say(&format!("{} {}", paint(BOLD, &format!("t{}", row.id)), paint(DIM, &output::local(row.created_at))));
    let shorten = |text: &str| if limit == usize::MAX { text.to_owned() } else { brief(text, limit) };
    field("prompt", &shorten(&row.text));
    field("answer", &shorten(row.closing_message.as_deref().unwrap_or_default()));
}

fn print_fact(row: &FactRow) {
    say(&paint(BOLD, &row.fact.key));
    field("kind", row.fact.kind.name());
    field("project", row.project.as_deref().unwrap_or("every project"));
    field("since", &output::local(row.valid_from));
    field("until", &row.valid_to.map(output::local).unwrap_or_default());
    field("value", &row.fact.value);
    field("source", &row.fact.source.to_string());
}

fn print_note(row: &NoteRow) {
    say(&paint(BOLD, &row.title));
    field("note", &row.path);
    field("when", &output::local(row.changed_at));
    field("tags", &row.tags.join(", "));
    field("text", &row.text);
}

fn print_event(row: &EventRow) -> Result<()> {
    say(&format!("{} {}", paint(BOLD, &format!("e{}", row.id)), what(row)));
    field("when", &output::local(row.created_at));
    field("status", &row.status);
    field("files", &row.files.join("\n"));
    field("error", row.last_error.as_deref().unwrap_or_default());
    match &row.payload {
        Some(payload) => say(&format!("\n{}", serde_json::to_string_pretty(payload)?)),
        None => field("payload", "gone: it has become knowledge"),
    }
    Ok(())
}

fn print_session(store: &Store, row: &SessionRow) -> Result<()> {
    say(&format!("{} {}", paint(BOLD, &row.content_session_id), paint(DIM, &row.status)));
    field("project", &row.project);
    field("host", &row.host);
    field("started", &output::local(row.started_at));
    field("last", &output::local(row.last_activity_at));
    if row.private_turns > 0 {
        field("private", &format!("{}, of which nothing was kept", output::count(row.private_turns, "turn")));
    }
    let events = store.session_events(row.id)?;
    for turn in store.prompts(row.id)? {
        say("");
        print_turn(&turn, 160);
        for event in events.iter().filter(|event| event.prompt_number == turn.prompt_number) {
            if matches!(event.kind.as_str(), "tool_used" | "subagent_ended" | "compacted") {
                say(&format!(
                    "  {} {}",
                    paint(DIM, &format!("{:>6}", format!("e{}", event.id))),
                    what(event)
                ));
            }
        }
    }
    Ok(())
}
