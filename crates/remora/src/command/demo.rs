use remora_store::backup::integrity_problems;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use anstyle::Style;
use clap::Args;
use remora_app::capture::{self, Decision, LeftOut};
use remora_app::import::{self, Request};
use remora_app::present::{CountsJson, SessionJson};
use remora_app::recall::prompt::PromptRequest;
use remora_app::{Local, Runtime as _};
use remora_core::event::{Body, How, Outcome, ToolCall};
use remora_core::host::Host;
use remora_core::intake::Intake;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_data::Clock;
use remora_search::index_next;
use remora_store::{
    Counts, DataDir, Enqueued, EventRow, SavedBy, Selection, SessionQuery, SessionRow, Store,
};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::app::App;
use crate::command::hook;
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, CYAN, DIM, GREEN, YELLOW, brief, count, paint, prose, say};
use crate::runtime;

/// Two sessions of an agent at work, in Claude Code's wire format. The first is shown.
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

/// The part of a message that the demo reads itself. The hook's adapter reads the rest.
#[derive(Deserialize)]
struct Message {
    session_id: String,
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
    let dir = env::data_at(temporary.path());
    let store = Store::open(&dir)?;
    let mut tally = Tally::default();
    for (number, lines) in sessions()?.iter().enumerate() {
        let is_shown = number == 0 && !app.json;
        replay(&dir, &store, lines, &mut tally)?;
        let session =
            store.sessions().list(&SessionQuery::latest(1))?.into_iter().next().filter(|_| is_shown);
        // Observing deletes the tool calls that are shown here.
        if let Some(session) = &session {
            print_session(&store, session)?;
        }
        remora_observer::drain(&store, "demo", Duration::ZERO)?;
        if let Some(session) = &session {
            print_learned(&store, session)?;
            print_recalled(&store, session)?;
        }
    }
    let (counts, sessions) = (store.counts()?, store.sessions().list(&SessionQuery::latest(10))?);
    if let Temporary::Kept(_) = temporary {
        bring_past(&dir, &store)?;
    }
    if app.json {
        let sessions: Vec<SessionJson> = sessions.into_iter().map(SessionJson::from).collect();
        return output::json(&json!({
            "messages": tally.messages,
            "stored": tally.stored,
            "left_out": tally.left_out,
            "counts": CountsJson::from(counts),
            "sessions": sessions,
        }));
    }
    print_end(&store, &counts, &tally, &temporary)
}

/// Imports the history of another project.
fn bring_past(dir: &DataDir, store: &Store) -> Result<()> {
    let settings = Settings::default();
    let request = Request {
        by: SavedBy::Program,
        dir,
        settings: &settings,
        home: None,
        directories: HashMap::new(),
        dry_run: false,
        outside: &runtime::COMMAND,
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
fn replay(dir: &DataDir, store: &Store, lines: &[Line<'_>], tally: &mut Tally) -> Result<()> {
    for line in lines {
        let at = line.at()?;
        let mut intake = Intake::default();
        let document = intake.push(line.stdin.get().as_bytes()).and_then(|_| intake.finish());
        let document = document.map_err(|error| CliError::internal(error.to_string()))?;
        tally.messages += 1;
        let reading = hook::read(dir, Host::ClaudeCode, None, document);
        let left_out = match capture::decide(dir, &Settings::default(), None, reading, at)? {
            Decision::Store(record) => {
                if store.queue().enqueue(&record)? != Enqueued::Duplicate {
                    tally.stored += 1;
                }
                continue;
            }
            Decision::LeftOut(LeftOut::PrivateTurn) => "event of a private turn",
            Decision::LeftOut(LeftOut::Synthetic) => "notification that no user typed",
            // A file ahead is not shown, because the demo is about capture.
            Decision::LeftOut(LeftOut::NotAnEvent) | Decision::Inject(_) => {
                "message of a kind Remora does not need"
            }
            Decision::LeftOut(_) => "call of a skipped tool",
            Decision::Malformed(reason) => return Err(CliError::internal(reason)),
        };
        *tally.left_out.entry(left_out).or_default() += 1;
    }
    Ok(())
}

/// Prints the turns of a session: prompt, tool calls, closing message.
fn print_session(store: &Store, session: &SessionRow) -> Result<()> {
    prose(&paint(BOLD, "A session of a coding agent, replayed through Remora's hooks"));
    let day = output::format_local(session.started_at, "%A %-d %B %Y");
    let events = count(session.events, "event");
    prose(&paint(DIM, &format!("{} · {day} · {} · {events}", session.project, session.host)));
    say("");
    let all = Selection::of_session(session.id);
    let events = store.records().events(&all)?.items;
    let prompts = store.records().prompts(&all)?.items;
    for number in 1..=session.prompts {
        let Some(turn) = prompts.iter().find(|turn| turn.prompt_number == number) else {
            prose(&format!("  {}", paint(YELLOW, "■ a private turn: nothing of it was stored")));
            continue;
        };
        say(&format!("  {} {}", paint(CYAN, "›"), brief(&turn.text, room(4))));
        let own: Vec<&EventRow> = events.iter().filter(|event| event.prompt_number == number).collect();
        print_below("    ", &steps(&own, &session.project), DIM, MAX_LINES);
        let secrets = own.iter().filter_map(|event| event.payload.as_ref()).map(redacted).sum();
        if secrets > 0 {
            say(&format!("    {}", paint(YELLOW, &format!("{} redacted", count(secrets, "secret")))));
        }
        if let Some(message) = &turn.closing_message {
            say(&format!("  {} {}", paint(GREEN, "✓"), brief(message, room(4))));
        }
    }
    say("");
    Ok(())
}

/// The tool calls of a turn in a few words, as `read a, b · ran cargo test`.
fn steps(events: &[&EventRow], project: &str) -> String {
    let mut steps: Vec<(&str, Vec<String>)> = Vec::new();
    for (verb, what) in events.iter().filter_map(|event| step(event, project)) {
        match steps.last_mut() {
            Some((last, all)) if *last == verb => all.push(what),
            _ => steps.push((verb, vec![what])),
        }
    }
    steps.iter().map(|(verb, all)| format!("{verb} {}", all.join(", "))).collect::<Vec<_>>().join(" · ")
}

/// A tool call: what was done, and with what.
fn step(event: &EventRow, project: &str) -> Option<(&'static str, String)> {
    let inside = |path: &str| {
        let marker = format!("/{project}/");
        path.split_once(&marker).map_or(path, |(_, inside)| inside).to_owned()
    };
    let Body::ToolUsed(tool) = event.payload.as_ref()? else { return None };
    Some(match &tool.call {
        ToolCall::Run { command, .. } => {
            let verb = if tool.outcome == Outcome::Ok { "ran" } else { "failed" };
            (verb, brief(command, MAX_COMMAND))
        }
        ToolCall::Read { file, .. } => ("read", inside(file)),
        ToolCall::Edit { changes } => {
            let change = changes.first()?;
            let verb = if change.how == How::Created { "wrote" } else { "edited" };
            (verb, inside(&change.path))
        }
        _ => ("used", tool.tool.clone()),
    })
}

fn redacted(payload: &Body) -> i64 {
    let text = serde_json::to_string(payload).unwrap_or_default();
    i64::try_from(text.matches("[redacted:").count()).unwrap_or_default()
}

/// Prints the observations of a session.
fn print_learned(store: &Store, session: &SessionRow) -> Result<()> {
    prose(&paint(BOLD, "What the built-in observer learned, without a model"));
    for row in store.records().observations(&Selection::of_session(session.id))?.items {
        let observation = &row.observation;
        let title = format!("{} #{} {}", observation.kind.emoji(), row.id, observation.title);
        print_below("  ", &title, Style::new(), 1);
        print_below("     ", &observation.narrative, DIM, MAX_LINES);
    }
    say("");
    Ok(())
}

/// Prints what prompts of a session two days later get: one that memory answers, and one that it does not.
fn print_recalled(store: &Store, session: &SessionRow) -> Result<()> {
    let settings = Settings::default();
    let Some(mut embedder) = remora_embedders::open(&settings.search) else { return Ok(()) };
    let mut index =
        || index_next(store, embedder.as_mut(), true).map_err(|error| CliError::internal(error.to_string()));
    while index()? > 0 {}
    let later = Clock::Fixed(session.started_at.after(TWO_DAYS));
    let later = Local::new(Store::open(&store.dir().clone().with_clock(later))?, settings, &runtime::COMMAND);
    prose(&paint(BOLD, "Two days later: what the agent gets with the prompts of a new session"));
    for question in [ANSWERED, STRANGE] {
        say(&format!("  {} {}", paint(CYAN, "›"), brief(question, room(4))));
        let request = PromptRequest::of_new_session(question, session.project_id);
        let injection = later.explain(&request)?.injection;
        let text = injection.as_ref().map_or("nothing, because memory does not answer it", |i| &i.text);
        for line in text.lines() {
            print_below("    ", line, GREEN, usize::MAX);
        }
    }
    say("");
    Ok(())
}

/// Width of the output if the terminal's is unknown, and limit if it is wider.
const WIDTH: usize = 80;
/// Limit for a command in a turn's steps, in characters.
const MAX_COMMAND: usize = 28;
/// Limit for the steps of a turn and for an observation's text, in lines.
const MAX_LINES: usize = 2;
const TWO_DAYS: Duration = Duration::from_hours(48);
/// A question that the first session answers with its reason.
const ANSWERED: &str = "Why is Money no longer an f64?";
/// A question about something that no session was about.
const STRANGE: &str = "How do I rotate the signing key of the mobile app?";

/// The number of characters that fit after `indent`.
fn room(indent: usize) -> usize {
    output::columns().unwrap_or(WIDTH).min(WIDTH).saturating_sub(indent).max(20)
}

/// Prints a text after `indent`, wrapped; at most `most` lines of it.
fn print_below(indent: &str, text: &str, style: Style, most: usize) {
    let lines = output::hanging("", text, Some(room(indent.len() + 1)));
    for (number, line) in (1..).zip(lines.iter().take(most)) {
        let mark = if number == most && lines.len() > most { "…" } else { "" };
        say(&format!("{indent}{}", paint(style, &format!("{line}{mark}"))));
    }
}

fn print_end(store: &Store, counts: &Counts, tally: &Tally, place: &Temporary) -> Result<()> {
    let sound = if integrity_problems(&store.dir().database())?.is_empty() {
        "the database is sound"
    } else {
        "DAMAGED"
    };
    say(&paint(BOLD, "In all"));
    prose(&format!(
        "  {} from the agent, {} stored, {} learned; {sound}.",
        count(tally.messages, "message"),
        count(tally.stored, "event"),
        count(counts.observations, "observation")
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
