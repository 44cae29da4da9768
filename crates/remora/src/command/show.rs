use clap::Args;
use remora_app::Runtime as _;
use remora_app::caller::REACH_HINT;
use remora_app::present::{IdStyle, PartContent, PartName, RecordJson, RecordPart, RecordView};
use remora_app::records::{self, Record, WholeSession};
use remora_core::event::{Body, ToolCall, ToolUse};
use remora_core::feedback::Feedback;
use remora_core::time::Time;
use remora_store::{EventRow, FactRow, ObservationRow, PromptRow, SummaryRow};
use serde_json::Value;

use super::queue::what;
use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, DIM, brief, paint, prose_below, say};

#[derive(Args)]
pub(crate) struct Show {
    /// The record: `123` is an observation, `s12` a summary, `t34` a turn, `f5` a fact, `n7` a note, `e56` an event; anything
    /// else is the beginning of a session's id.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Exit code 1 if an id is unknown. The others are shown anyway.
pub(crate) fn run(app: &App, arguments: &Show) -> Result<()> {
    let mut rt = app.open()?;
    let reach = App::caller(&rt)?.reach;
    let (found, unknown) = if let [id] = arguments.ids.as_slice() {
        reach.record(rt.store(), id)?;
        (records::records(&mut rt, std::slice::from_ref(id))?, Vec::new())
    } else {
        let batch = records::batch(&mut rt, &arguments.ids, &reach)?;
        (batch.found, batch.unknown)
    };
    if app.json {
        let found: Vec<RecordJson> = found.into_iter().map(RecordJson::from).collect();
        match found.as_slice() {
            [record] if arguments.ids.len() == 1 => output::json(record)?,
            // Without any record, only the error is printed.
            [] => {}
            _ => output::json(&found)?,
        }
    } else {
        for (number, record) in found.iter().enumerate() {
            if number > 0 {
                say("");
            }
            print(record);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown: Vec<String> = unknown.iter().map(|id| format!("`{id}`")).collect();
    let hint = if reach.is_limited() {
        REACH_HINT
    } else {
        "ids are in `remora search`, `remora sessions` and `remora queue`"
    };
    Err(CliError::not_found(format!("nothing is known as {}", unknown.join(", "))).hint(hint))
}

fn print(record: &Record) {
    let view = RecordView::from(record);
    match record {
        Record::Observation(row) => print_observation(row, view),
        Record::Summary(row) => print_summary(row, &view),
        Record::Turn(row) => print_turn(row, usize::MAX),
        Record::Fact(row) => print_fact(row, &view),
        Record::Note(_) => print_note(&view),
        Record::Event(row) => print_event(row),
        Record::Session(row) => print_session(row),
    }
}

fn print_parts(parts: &[RecordPart]) {
    for part in parts {
        let text = match &part.content {
            PartContent::Text(text) => text.clone(),
            PartContent::List(texts) => texts.join("\n"),
            PartContent::Words(words) => words.join(", "),
            PartContent::Record(id) => IdStyle::Plain.id(*id),
            PartContent::Records(ids) => IdStyle::Plain.ids(ids),
            PartContent::Time(at) => output::local(*at),
            PartContent::Turns(turns) => {
                IdStyle::Plain.ids(&turns.iter().map(|(id, _)| *id).collect::<Vec<_>>())
            }
        };
        field(part.name.short_heading(), &text);
    }
}

fn field(label: &str, text: &str) {
    let text = text.trim_end().trim_start_matches('\n');
    for (number, line) in text.lines().enumerate() {
        let label = if number == 0 { label } else { "" };
        prose_below(&paint(DIM, &format!("{label:<10} ")), line);
    }
}

fn print_observation(row: &ObservationRow, mut view: RecordView) {
    let observation = &row.observation;
    title(&view.title);
    field("type", view.kind);
    field("project", &row.project);
    field("when", &output::local(view.at));
    // A terminal has room for one of two sentences that say the same.
    view.parts.retain(|part| {
        part.name != PartName::Subtitle || !observation.narrative.contains(observation.subtitle.trim())
    });
    for part in &mut view.parts {
        if part.name == PartName::Narrative {
            let narrative = without_title(&observation.narrative, &observation.title);
            part.content = PartContent::Text(narrative.to_owned());
        }
    }
    let is_link = |part: &RecordPart| matches!(part.name, PartName::SupersededBy | PartName::Replaces);
    let (links, own): (Vec<_>, Vec<_>) = view.parts.into_iter().partition(is_link);
    print_parts(&own);
    field("use", &of_use(row.pinned_at, &row.feedback));
    print_parts(&links);
}

fn title(text: &str) {
    for line in output::hanging("", text, output::columns()) {
        say(&paint(BOLD, &line));
    }
}

/// The narrative without its first sentence, if that repeats the title.
fn without_title<'a>(narrative: &'a str, title: &str) -> &'a str {
    let title = title.trim().trim_end_matches('.');
    let rest = narrative.trim_start().strip_prefix(title);
    rest.and_then(|rest| rest.strip_prefix('.')).map_or(narrative, str::trim_start)
}

/// How an observation was used, in words; empty if it was not.
pub(crate) fn of_use(pinned_at: Option<Time>, feedback: &Feedback) -> String {
    let counted = |count: u32, what: &str| (count > 0).then(|| format!("{what} {count}"));
    let parts = [
        pinned_at.map(|_| "pinned".to_owned()),
        counted(feedback.injected, "injected"),
        counted(feedback.fetched, "fetched"),
        counted(feedback.cited, "cited"),
        counted(feedback.useful, "useful"),
        counted(feedback.wrong, "wrong"),
        feedback.last_used_at.map(|at| format!("last used {}", output::local(at))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn print_summary(row: &SummaryRow, view: &RecordView) {
    title(&view.title);
    field("project", &row.project);
    field("when", &output::local(view.at));
    print_parts(&view.parts);
}

fn print_turn(row: &PromptRow, limit: usize) {
    say(&format!("{} {}", paint(BOLD, &format!("t{}", row.id)), paint(DIM, &output::local(row.created_at))));
    let shorten = |text: &str| if limit == usize::MAX { text.to_owned() } else { brief(text, limit) };
    field("prompt", &shorten(&row.text));
    field("answer", &shorten(row.closing_message.as_deref().unwrap_or_default()));
}

fn print_fact(row: &FactRow, view: &RecordView) {
    title(&view.title);
    field("kind", row.fact.kind.name());
    field("project", view.project.as_deref().unwrap_or("every project"));
    field("since", &output::local(view.at));
    print_parts(&view.parts);
}

fn print_note(view: &RecordView) {
    title(&view.title);
    field("when", &output::local(view.at));
    print_parts(&view.parts);
}

fn print_event(row: &EventRow) {
    // The payload below shows the details.
    let heading = match &row.payload {
        Some(_) => row.tool.clone().unwrap_or_else(|| row.kind.replace('_', " ")),
        None => what(row),
    };
    say(&format!("{} {heading}", paint(BOLD, &format!("e{}", row.id))));
    field("when", &output::local(row.created_at));
    field("status", &row.status);
    if row.payload.is_none() && row.files.len() > 1 {
        field("files", &row.files.join("\n"));
    }
    field("error", row.last_error.as_deref().unwrap_or_default());
    match &row.payload {
        Some(payload) => print_body(payload),
        None if row.status == "done" => field("payload", "deleted: the event has been observed"),
        None => field("payload", "cannot be read by this version"),
    }
}

fn print_body(body: &Body) {
    match body {
        Body::SessionStarted { source } => field("source", source.name()),
        Body::SessionEnded { reason } => field("reason", reason),
        Body::PromptWithheld => field("prompt", "private: nothing of it was kept"),
        Body::PromptSubmitted { text } => field("prompt", text),
        Body::ToolUsed(tool) => print_tool(tool),
        Body::TurnEnded { message, error } => {
            field("answer", message);
            field("broke off", error.as_deref().unwrap_or_default());
        }
        Body::SubagentEnded { agent_type, message } => {
            field("agent", agent_type);
            field("report", message);
        }
        Body::Compacted { trigger, summary } => {
            field("trigger", trigger);
            field("summary", summary);
        }
    }
}

fn print_tool(tool: &ToolUse) {
    match &tool.call {
        ToolCall::Run { command, output, .. } => {
            field("command", command);
            field("output", output);
        }
        ToolCall::Edit { changes } => {
            for change in changes {
                field("change", &format!("{}\n{}", change.path, change.patch));
            }
        }
        ToolCall::Read { file, text } => {
            field("file", file);
            field("text", text);
        }
        ToolCall::Search { query, within, found } => {
            field("query", query);
            field("in", within);
            field("found", found);
        }
        ToolCall::Fetch { url, question, text } => {
            field("page", url);
            field("question", question);
            field("text", text);
        }
        ToolCall::Ask { questions } => {
            for asked in questions {
                field("question", &asked.question);
                field("options", &asked.options.join("\n"));
                field("answer", &asked.answer);
            }
        }
        ToolCall::Delegate { task, prompt, report } => {
            field("task", task);
            field("prompt", prompt);
            field("report", report);
        }
        ToolCall::Other { input, output } => {
            field("input", &pretty(input));
            field("output", &pretty(output));
        }
    }
    field("failed", tool.error().unwrap_or_default());
}

/// JSON for people: a string without quotes, anything else on several lines.
fn pretty(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

fn print_session(whole: &WholeSession) {
    let row = &whole.session;
    say(&format!("{} {}", paint(BOLD, &row.content_session_id), paint(DIM, &row.status)));
    field("project", &row.project);
    field("host", &row.host);
    field("started", &output::local(row.started_at));
    field("last", &output::local(row.last_activity_at));
    if row.private_turns > 0 {
        field("private", &format!("{}, of which nothing was kept", output::count(row.private_turns, "turn")));
    }
    for turn in &whole.turns {
        say("");
        print_turn(turn, 160);
        for event in whole.events.iter().filter(|event| event.prompt_number == turn.prompt_number) {
            if matches!(event.kind.as_str(), "tool_used" | "subagent_ended" | "compacted") {
                prose_below(&paint(DIM, &format!("  {:>6} ", format!("e{}", event.id))), &what(event));
            }
        }
    }
}
