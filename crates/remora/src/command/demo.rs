use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use remora_app::capture::{self, Reason, Taken};
use remora_app::import::{self, Request};
use remora_app::recall::Injection;
use remora_app::recall::prompt::{self, PromptRequest};
use remora_app::recall::start::{self, Reader};
use remora_app::{Engine, Whose};
use remora_core::context::More;
use remora_core::event::{Body, Change, How, Outcome, ToolCall};
use remora_core::host::Host;
use remora_core::intake::Intake;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_search::{Searcher, index_next};
use remora_server::embedders;
use remora_store::{Counts, DataDir, Enqueued, EventRow, SessionRow, Store};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::app::App;
use crate::command::context::painted;
use crate::command::hook;
use crate::error::{CliError, Result};
use crate::output::{
    self, BOLD, CYAN, DIM, GREEN, RED, YELLOW, brief, count, paint, prose, prose_below, say,
};

/// Two sessions of an agent at work, in Claude Code's wire format.
const STORY: &str = include_str!("../demo/story.jsonl");
/// Half a year of another invented project, as lines for `remora import`, to explore.
const PAST: &str = include_str!("../demo/ferries.jsonl");

#[derive(Args)]
pub(crate) struct Demo {
    /// Keep the demo's data in this directory, with half a year of another invented project, so that there is something to
    /// search.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Line<'a> {
    at: String,
    #[serde(borrow)]
    stdin: &'a RawValue,
}

/// The parts of a message that the demo reads itself. The hook's adapter reads the rest.
#[derive(Deserialize)]
struct Message {
    session_id: String,
    prompt: Option<String>,
}

impl Line<'_> {
    fn at(&self) -> Result<Time> {
        Time::from_iso(&self.at).ok_or_else(|| CliError::internal("the story has a bad time"))
    }

    fn message(&self) -> Result<Message> {
        Ok(serde_json::from_str(self.stdin.get())?)
    }
}

/// Counts of the story's messages, by result.
#[derive(Default)]
struct Tally {
    messages: i64,
    stored: i64,
    left_out: BTreeMap<&'static str, i64>,
}

pub(crate) fn run(app: &App, demo: &Demo) -> Result<()> {
    let temporary = Temporary::new(demo.keep.clone())?;
    let dir = DataDir::new(temporary.path());
    let mut store = Store::open(&dir)?;
    let mut tally = Tally::default();
    if !app.json {
        prose(&paint(BOLD, "Two sessions of a coding agent, replayed through Remora's hooks"));
        prose(&paint(DIM, "What follows is read back from the database they were stored in.\n"));
    }
    for (number, lines) in sessions()?.iter().enumerate() {
        if number > 0 && !app.json {
            print_injected(&mut store, lines)?;
        }
        replay(&dir, &mut store, lines, &mut tally)?;
        let session = store.sessions(None, 1)?;
        if !app.json {
            session.iter().try_for_each(|session| print_session(&store, session))?;
        }
        remora_observer::drain(&mut store, "demo", Duration::ZERO)?;
        if !app.json {
            session.iter().try_for_each(|session| print_learned(&store, session))?;
        }
    }
    let (counts, sessions) = (store.counts()?, store.sessions(None, 10)?);
    if let Temporary::Kept(_) = temporary {
        bring_past(&dir, &mut store)?;
    }
    if app.json {
        return output::json(&json!({
            "messages": tally.messages,
            "stored": tally.stored,
            "left_out": tally.left_out,
            "counts": counts,
            "sessions": sessions,
        }));
    }
    print_tally(&store, &counts, &tally, &temporary)
}

/// Imports the history of another project.
fn bring_past(dir: &DataDir, store: &mut Store) -> Result<()> {
    let settings = Settings::default();
    let request = Request {
        dir,
        settings: &settings,
        home: None,
        directories: HashMap::new(),
        dry_run: false,
        now: Time::now(),
    };
    import::carried(&request, store, PAST)?;
    Ok(())
}

/// The story, split by session.
fn sessions() -> Result<Vec<Vec<Line<'static>>>> {
    let mut sessions: Vec<(String, Vec<Line<'_>>)> = Vec::new();
    for line in STORY.lines() {
        let line: Line<'_> = serde_json::from_str(line)?;
        let id = line.message()?.session_id;
        match sessions.last_mut() {
            Some((last, lines)) if *last == id => lines.push(line),
            _ => sessions.push((id, vec![line])),
        }
    }
    Ok(sessions.into_iter().map(|(_, lines)| lines).collect())
}

/// Processes the messages of a session as a hook would.
fn replay(dir: &DataDir, store: &mut Store, lines: &[Line<'_>], tally: &mut Tally) -> Result<()> {
    for line in lines {
        let at = line.at()?;
        let mut intake = Intake::default();
        let document = intake.push(line.stdin.get().as_bytes()).and_then(|_| intake.finish());
        let document = document.map_err(|error| CliError::internal(error.to_string()))?;
        tally.messages += 1;
        let reading = remora_hosts::read(Host::ClaudeCode, None, document);
        let Some(report) = hook::report(dir, reading).map_err(CliError::internal)? else {
            *tally.left_out.entry("message of a kind Remora does not need").or_default() += 1;
            continue;
        };
        let left_out = match capture::take(dir, &Settings::default(), None, report, at)? {
            Taken::Record(record) => {
                if store.enqueue(&record)? != Enqueued::Duplicate {
                    tally.stored += 1;
                }
                continue;
            }
            Taken::LeftOut(Reason::PrivateTurn) => "event of a private turn",
            Taken::LeftOut(_) => "call of a skipped tool",
            Taken::Synthetic => "notification that no user typed",
            // Not shown, because the demo is about capture.
            Taken::FileAhead(_) => "message of a kind Remora does not need",
        };
        *tally.left_out.entry(left_out).or_default() += 1;
    }
    Ok(())
}

/// Prints what the hooks inject at the start of a session and with its first prompt.
fn print_injected(store: &mut Store, lines: &[Line<'_>]) -> Result<()> {
    let Some(project) = store.projects()?.first().map(|project| project.id) else { return Ok(()) };
    let settings = Settings::default();
    let Some(mut embedder) = embedders::open(&settings.search) else { return Ok(()) };
    let mut index =
        || index_next(store, embedder.as_mut(), true).map_err(|error| CliError::internal(error.to_string()));
    while index()? > 0 {}
    if let Some(first) = lines.first() {
        let reader = Reader { limit: settings.context.tokens.into(), more: More::Commands("remora") };
        let whose = Whose::Project(project.to_string());
        let injection = start::preview(store, &whose, &settings, reader, first.at()?)?.injection;
        say(&paint(BOLD, "Two days later another session begins, and gets"));
        print_framed(injection.as_ref());
    }
    for line in lines {
        let Some(text) = line.message()?.prompt else { continue };
        let request = PromptRequest::of_new_session(&text, project);
        let engine = Engine { searcher: &Searcher::new(), embedder: Some(embedder.as_mut()) };
        let explained = prompt::recall(store, engine, &request, &settings, line.at()?)?;
        say(&format!("{} {}", paint(BOLD, "and with its prompt"), paint(CYAN, &brief(&text, room(76, 20)))));
        print_framed(explained.injection.as_ref());
        break;
    }
    Ok(())
}

fn print_framed(injection: Option<&Injection>) {
    for line in injection.map_or("nothing", |injection| &injection.text).lines() {
        for line in wrapped(line, room(101, 2)) {
            say(format!("  {}", painted(&line)).trim_end());
        }
    }
    say("");
}

fn print_learned(store: &Store, session: &SessionRow) -> Result<()> {
    say(&paint(BOLD, "What the built-in observer made of it"));
    prose(&paint(DIM, "No model, no network, no cost; the tool calls above are deleted now, this stays.\n"));
    for row in store.session_observations(session.id)? {
        let observation = &row.observation;
        prose_below(
            &format!("  {} ", observation.kind.emoji()),
            &format!(
                "{}  {}",
                paint(BOLD, &observation.title),
                paint(DIM, &format!("#{} {}", row.id, observation.kind))
            ),
        );
        for line in wrapped(&observation.narrative, room(101, 5)) {
            say(&format!("     {line}"));
        }
        let files = observation.files_modified.join(", ");
        if !files.is_empty() {
            say(&format!("     {}", paint(DIM, &files)));
        }
        say("");
    }
    Ok(())
}

/// The number of characters that fit after `indent`: at most `comfortable`, fewer in a narrow terminal.
fn room(comfortable: usize, indent: usize) -> usize {
    output::columns().map_or(comfortable, |columns| columns.saturating_sub(indent).clamp(20, comfortable))
}

/// Wraps a text into lines.
fn wrapped(text: &str, length: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| output::width(line));
        if line > 0 && line + 1 + output::width(word) > length {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}

fn print_tally(store: &Store, counts: &Counts, tally: &Tally, place: &Temporary) -> Result<()> {
    let sound = if store.integrity_problems()?.is_empty() { "the database is sound" } else { "DAMAGED" };
    say(&paint(BOLD, "In all"));
    prose(&format!(
        "  {} from the agent, {} stored, each in one transaction; {sound}.",
        count(tally.messages, "message"),
        count(tally.stored, "event")
    ));
    let left_out: Vec<String> = tally.left_out.iter().map(|(what, number)| plural(*number, what)).collect();
    prose(&format!("  Left out: {}.", left_out.join(", ")));
    prose(&format!(
        "  Learned: {} and {}.",
        count(counts.observations, "observation"),
        count(counts.summaries, "summary")
    ));
    match place {
        Temporary::Kept(path) => {
            let all = store.counts()?;
            prose(&format!(
                "  Kept, with the past of a second project, `ferries`: {} and {} in all.",
                count(all.sessions, "session"),
                count(all.observations, "observation")
            ));
            let path = path.display();
            prose(&format!(
                "  Look around: `REMORA_DATA_DIR={path} remora ui`, or `… remora search WORDS --all`"
            ));
        }
        Temporary::Removed(_) => prose("  The demo's data was deleted; `remora demo --keep DIR` keeps it."),
    }
    prose(&format!("  {} let your own agent remember: `remora install`", paint(BOLD, "Next:")));
    Ok(())
}

fn print_session(store: &Store, session: &SessionRow) -> Result<()> {
    let time = |time, format| output::format_local(time, format);
    prose(&format!(
        "{}  {}",
        paint(BOLD, &format!("{} · {}", session.project, time(session.started_at, "%A %-d %B %Y"))),
        paint(
            DIM,
            &format!(
                "{} to {} · {} · {}",
                time(session.started_at, "%H:%M"),
                time(session.last_activity_at, "%H:%M"),
                session.host,
                count(session.events, "event")
            )
        )
    ));
    let events = store.session_events(session.id)?;
    let prompts = store.prompts(session.id)?;
    for number in 1..=session.prompts {
        let Some(turn) = prompts.iter().find(|turn| turn.prompt_number == number) else {
            prose(&format!("  {}", paint(YELLOW, "■ a private turn: nothing of it was stored")));
            continue;
        };
        say(&format!("  {} {}", paint(CYAN, "›"), brief(&turn.text, room(96, 4))));
        for event in events.iter().filter(|event| event.prompt_number == number) {
            if let Some(line) = describe(event, &session.project) {
                say(&format!("      {line}"));
            }
        }
        if let Some(message) = &turn.closing_message {
            say(&format!("    {} {}", paint(GREEN, "✓"), brief(message, room(96, 6))));
        }
    }
    say("");
    Ok(())
}

/// Describes a tool call in a few words.
fn describe(event: &EventRow, project: &str) -> Option<String> {
    let payload = event.payload.as_ref()?;
    let redacted = serde_json::to_string(payload).unwrap_or_default().matches("[redacted:").count();
    let note = match redacted {
        0 => String::new(),
        1 => "  1 secret redacted".to_owned(),
        number => format!("  {number} secrets redacted"),
    };
    let room = room(72, 13 + note.len());
    let file = |path: &str| {
        let marker = format!("/{project}/");
        path.split_once(&marker).map_or(path, |(_, inside)| inside).to_owned()
    };
    let line = match payload {
        Body::ToolUsed(tool) => match &tool.call {
            ToolCall::Run { command, .. } if tool.outcome == Outcome::Ok => {
                format!("{:<7}{}", "ran", brief(command, room))
            }
            ToolCall::Run { command, .. } => paint(RED, &format!("{:<7}{}", "failed", brief(command, room))),
            ToolCall::Read { file: path, .. } => format!("{:<7}{}", "read", file(path)),
            ToolCall::Edit { changes } => {
                let Change { path, how, patch } = changes.first()?;
                let marked = |mark: char| patch.lines().filter(|line| line.starts_with(mark)).count();
                match how {
                    How::Created => {
                        format!("{:<7}{} ({})", "wrote", file(path), lines(patch.lines().count()))
                    }
                    How::Edited => format!("{:<7}{} +{} −{}", "edited", file(path), marked('+'), marked('-')),
                }
            }
            _ => format!("{:<7}{}", "used", tool.tool),
        },
        Body::SubagentEnded { message, .. } => format!("{:<7}{}", "agent", brief(message, room)),
        _ => return None,
    };
    Some(format!("{line}{}", paint(YELLOW, &note)))
}

fn lines(number: usize) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX), "line")
}

/// A count with the plural of the first word: `2 calls of a skipped tool`.
fn plural(number: i64, what: &str) -> String {
    match (number, what.split_once(' ')) {
        (1, _) | (_, None) => format!("{number} {what}"),
        (_, Some((noun, rest))) => format!("{number} {noun}s {rest}"),
    }
}

/// The demo's directory. Removed at the end, unless the user wants to keep it.
enum Temporary {
    Kept(PathBuf),
    Removed(PathBuf),
}

impl Temporary {
    fn new(keep: Option<PathBuf>) -> Result<Self> {
        match keep {
            Some(path) if path.join("remora.db").exists() => {
                Err(CliError::usage(format!("{} already holds a memory", path.display()))
                    .hint("give the demo a new directory"))
            }
            Some(path) => Ok(Self::Kept(path)),
            None => {
                Ok(Self::Removed(std::env::temp_dir().join(format!("remora-demo-{}", std::process::id()))))
            }
        }
    }

    fn path(&self) -> &PathBuf {
        let (Self::Kept(path) | Self::Removed(path)) = self;
        path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Self::Removed(path) = self {
            // Best effort: the system clears its temporary directory anyway.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
