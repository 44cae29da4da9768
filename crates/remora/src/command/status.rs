//! `remora status`: counts, the queue, and the health of all parts.

use std::process::ExitCode;

use remora_app::projects;
use remora_app::status::{self, Bytes, Capture, DaemonStatus, Embedding, NotesStatus, Observer, Status};
use remora_app::{Local, Runtime as _};
use remora_client::presence::{self, Presence};
use remora_core::settings::{Provider, Settings};
use remora_install::state::{self, Hooks, HostState};
use remora_notes::Access;
use remora_store::{Counts, Spent};

use super::install::surroundings;
use crate::app::App;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, RED, YELLOW, count, paint, prose, prose_below, say};

/// Reports a damaged database instead of failing: events in the spool still count.
pub(crate) fn run(app: &App) -> Result<ExitCode> {
    let settings = &app.settings;
    let presence = presence::find(&app.dir).unwrap_or_default();
    let (rt, error) = match app.open_caught_up() {
        Ok(rt) => (Some(rt), None),
        Err(error) => (None, Some(error)),
    };
    let notes = match &rt {
        Some(rt) => notes(app, rt)?,
        None => None,
    };
    let opened = match (&rt, &error) {
        (Some(rt), _) => Ok(rt.store()),
        (None, error) => Err(error.as_ref().map_or_else(String::new, |error| error.message().to_owned())),
    };
    let daemon = daemon(presence.as_ref());
    let status = status::status(&app.dir, opened, settings, daemon, notes)?;
    let hosts = surroundings(app).map(|around| state::hosts(&around)).unwrap_or_default();
    if app.json {
        let mut status = serde_json::to_value(&status)?;
        status["hosts"] = serde_json::to_value(&hosts)?;
        output::json(&status)?;
    } else {
        print(&status, presence.as_ref(), settings, &hosts);
        if let (Ok(here), Some(rt)) = (std::env::current_dir(), &rt)
            && let Some(joined) = projects::joined(rt, &here)?
        {
            let root = joined.root;
            let why = if here.starts_with(&root) {
                "because it is inside it"
            } else {
                "because it has the same origin"
            };
            say("");
            prose(&format!(
                "This directory shares the memory of {root} {why}; `remora project split` separates them."
            ));
        }
    }
    match error {
        Some(error) => Err(error),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn notes(app: &App, rt: &Local) -> Result<Option<NotesStatus>> {
    let Some(access) = Access::new(&app.settings.memory, &app.dir) else { return Ok(None) };
    let problem = remora_app::notes::problem(rt);
    Ok(Some(NotesStatus { source: access.name(), known: rt.store().notes().known()?.len(), problem }))
}

pub(crate) fn daemon(presence: Option<&Presence>) -> DaemonStatus {
    presence.map_or_else(DaemonStatus::default, |presence| DaemonStatus {
        running: true,
        pid: Some(presence.pid),
        port: presence.port,
        version: Some(presence.version.clone()),
        observer: presence.observer.clone(),
        embedder: presence.embedder.clone(),
    })
}

fn print(status: &Status, daemon: Option<&Presence>, settings: &Settings, hosts: &[HostState]) {
    let Counts {
        sessions,
        prompts,
        observations,
        summaries,
        facts,
        pending,
        processing,
        awaiting_model,
        failed,
        private_turns,
    } = status.counts;
    let line =
        |label: &str, text: String| prose_below(&format!("  {}", paint(DIM, &format!("{label:<11}"))), &text);
    say(&format!("{} {}", paint(BOLD, "Remora"), status.version));
    say("");
    let projects = count(i64::try_from(status.projects.len()).unwrap_or_default(), "project");
    line("captured", format!("{}, {} in {projects}", count(sessions, "session"), count(prompts, "prompt")));
    if private_turns > 0 {
        line("", format!("{} left out", count(private_turns, "private turn")));
    }
    if status.spool.lost > 0 {
        let lost = count(i64::try_from(status.spool.lost).unwrap_or(i64::MAX), "event");
        line("", format!("{} lost; `remora doctor` says more", paint(RED, &lost)));
    }
    let mut waiting = vec![format!("{} pending", count(pending, "event"))];
    if processing > 0 {
        waiting.push(format!("{processing} processing"));
    }
    if awaiting_model > 0 {
        waiting.push(format!("{awaiting_model} observed and waiting for the model"));
    }
    if failed > 0 {
        waiting.push(paint(RED, &format!("{failed} failed")));
    }
    if status.spool.records > 0 {
        waiting.push(format!("{} of them in the spool", status.spool.records));
    }
    line("queue", waiting.join(", "));
    line(
        "knowledge",
        format!(
            "{}, {}, {}",
            count(observations, "observation"),
            count(summaries, "summary"),
            count(facts, "fact")
        ),
    );
    line("capture", capture_text(&status.capture));
    line("observer", observer_text(&status.observer));
    line("embedder", embedding_text(settings, daemon, &status.embedder));
    if let Some(notes) = &status.notes {
        line("notes", notes_text(notes));
    }
    line(
        "daemon",
        daemon.map_or_else(
            || super::daemon::absent(settings.daemon.autostart).to_owned(),
            super::daemon::describe,
        ),
    );
    line("data", format!("{} ({})", status.data_dir, bytes_text(&status.bytes)));
    if let Some(time) = status.last_activity_at_epoch {
        line("last event", output::local(time));
    }
    if !hosts.is_empty() || sessions == 0 {
        line("agents", hooks_text(hosts));
    }
    if sessions == 0 && status.database.ok {
        let is_installed = hosts.iter().any(|host| host.hooks != Hooks::Missing);
        say("");
        prose(if is_installed {
            "Nothing captured yet: work with your agent as usual. See what it will look like: `remora demo`"
        } else {
            "Next: put Remora into your agent: `remora install`. See what it will look like: `remora demo`"
        });
    }
    if status.observer.provider == Provider::Builtin.as_str() && status.database.ok {
        say("");
        prose(
            "The built-in observer records what was said and done, free and offline. A model also records why:",
        );
        prose(
            "`remora config set observer.provider claude-cli` uses your Claude Code login, within a daily budget.",
        );
    }
}

/// The hosts that have hooks, and the next command if they are missing.
fn hooks_text(hosts: &[HostState]) -> String {
    let names = |wanted: &dyn Fn(&Hooks) -> bool| {
        let names: Vec<String> =
            hosts.iter().filter(|host| wanted(&host.hooks)).map(HostState::place).collect();
        names.join(", ")
    };
    let missing = names(&|hooks| *hooks == Hooks::Missing);
    let is_fine =
        |hooks: &Hooks| matches!(hooks, Hooks::Missing | Hooks::Untrusted | Hooks::Installed | Hooks::Plugin);
    let troubled = names(&|hooks| !is_fine(hooks));
    let untrusted = names(&|hooks| *hooks == Hooks::Untrusted);
    let installed = names(&|hooks| matches!(hooks, Hooks::Installed | Hooks::Plugin));
    let mut parts = Vec::new();
    if !installed.is_empty() {
        parts.push(format!("hooks installed in {installed}"));
    }
    if !untrusted.is_empty() {
        parts.push(paint(
            YELLOW,
            &format!("{untrusted} runs them once you have reviewed them there: `/hooks`"),
        ));
    }
    if !troubled.is_empty() {
        parts.push(paint(YELLOW, &format!("hooks not in order in {troubled}; `remora doctor` says more")));
    }
    if !missing.is_empty() {
        parts.push(paint(YELLOW, &format!("hooks not installed in {missing}: `remora install`")));
    }
    if hosts.is_empty() {
        parts.push(paint(YELLOW, "hooks not installed: `remora install`"));
    }
    parts.join("; ")
}

fn notes_text(notes: &NotesStatus) -> String {
    match &notes.problem {
        Some(problem) => paint(YELLOW, &format!("{} known, but {problem}", notes.known)),
        None => format!("{} of {}", notes.known, notes.source),
    }
}

fn capture_text(capture: &Capture) -> String {
    if let Some(since) = capture.paused.everywhere_since {
        return paint(
            YELLOW,
            &format!("paused since {}; continue with `remora resume`", output::local(since)),
        );
    }
    let names: Vec<&str> = capture.paused.projects.iter().map(|project| project.name.as_str()).collect();
    if names.is_empty() { "on".to_owned() } else { format!("on, paused in {}", names.join(", ")) }
}

fn embedding_text(settings: &Settings, daemon: Option<&Presence>, embedding: &Embedding) -> String {
    let health = super::index::health_of(&settings.search, daemon);
    let name = super::index::embedder_text(&settings.search, health.as_ref());
    let Embedding { documents, vectors, .. } = embedding;
    if *documents == 0 { name } else { format!("{name}; {vectors} of {documents} documents have a vector") }
}

fn observer_text(observer: &Observer) -> String {
    if observer.provider == Provider::Builtin.as_str() {
        return "built in".to_owned();
    }
    let model = observer.model.as_deref().filter(|model| !model.is_empty());
    let name =
        model.map_or_else(|| observer.provider.to_owned(), |model| format!("{}, {model}", observer.provider));
    if let Some(trouble) = &observer.trouble {
        let (since, next) = (output::local(trouble.since), output::local(trouble.next_try));
        return paint(YELLOW, &format!("{name}: waits since {since}, next try {next}: {}", trouble.reason));
    }
    if let Some(waiting) = &observer.waiting {
        return paint(
            YELLOW,
            &format!("{name}: waits since {}: {}", output::local(waiting.since), waiting.reason),
        );
    }
    let Spent { calls, tokens, usd } = observer.spent_today;
    let calls = count(i64::try_from(calls).unwrap_or(i64::MAX), "call");
    let limit = match observer.daily_tokens {
        0 => String::new(),
        limit => format!(" of {limit}"),
    };
    let money = if usd > 0.0 { format!(", ${usd:.2}") } else { String::new() };
    format!("{name}: {calls}, {tokens}{limit} tokens{money} today")
}

fn bytes_text(bytes: &Bytes) -> String {
    let kinds = [
        ("queue", bytes.queue),
        ("failed", bytes.failed),
        ("backups", bytes.backups),
        ("spool", bytes.spool),
        ("log", bytes.log),
    ];
    let mut parts = vec![output::bytes(bytes.total)];
    for (name, size) in kinds {
        if size > 0 {
            parts.push(format!("{name} {}", output::bytes(size)));
        }
    }
    parts.join(", ")
}
