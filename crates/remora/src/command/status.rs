use std::fs;
use std::path::Path;
use std::process::ExitCode;

use remora_core::settings::{Provider, Settings};
use remora_core::time::Time;
use remora_net::Trouble;
use remora_notes::Access;
use remora_server::presence::{self, Presence};
use remora_store::pause::{self, Pause};
use remora_store::search::EmbeddingProgress;
use remora_store::{Counts, SCHEMA_VERSION, Spent, spool};
use serde::Serialize;

use super::notes::trouble;
use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, BOLD, DIM, RED, YELLOW, count, paint, say};

#[derive(Serialize)]
struct Status {
    version: &'static str,
    data_dir: String,
    counts: Counts,
    projects: Vec<Project>,
    capture: Capture,
    database: Database,
    spool: Spool,
    daemon: Daemon,
    observer: Observer,
    embedder: Embedding,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Notes>,
    bytes: Bytes,
    last_activity_at: Option<String>,
    last_activity_at_epoch: Option<Time>,
}

#[derive(Serialize)]
struct Project {
    id: remora_core::ids::ProjectId,
    name: String,
    root: String,
}

#[derive(Serialize)]
struct Capture {
    on: bool,
    paused: Pause,
}

#[derive(Serialize)]
struct Database {
    ok: bool,
    schema: i64,
    error: Option<String>,
}

#[derive(Serialize)]
struct Spool {
    records: usize,
    damaged: usize,
}

#[derive(Serialize)]
struct Daemon {
    running: bool,
    pid: Option<u32>,
    port: Option<u16>,
    version: Option<String>,
}

/// Who makes knowledge of events, and what that costs.
#[derive(Serialize)]
struct Observer {
    provider: &'static str,
    model: Option<String>,
    /// Why nobody can be asked at the moment.
    trouble: Option<Trouble>,
    spent_today: Spent,
    daily_tokens: u64,
    daily_usd: f64,
}

/// Who makes vectors of what is known, and how far that is.
#[derive(Serialize)]
struct Embedding {
    provider: &'static str,
    /// Whose vectors there are.
    model: Option<String>,
    /// Why nobody can be asked at the moment.
    trouble: Option<Trouble>,
    documents: usize,
    vectors: usize,
    missing: usize,
}

/// The user's own notes, where there is a source of them.
#[derive(Serialize)]
struct Notes {
    source: String,
    known: u64,
    problem: Option<String>,
}

#[derive(Serialize)]
struct Bytes {
    /// The whole file; what waits and what failed is in it.
    database: u64,
    queue: u64,
    failed: u64,
    backups: u64,
    spool: u64,
    log: u64,
    total: u64,
}

/// A damaged database is part of the answer: what waits in the spool still counts.
pub(crate) fn run(app: &App) -> Result<ExitCode> {
    let (store, error) = match app.open() {
        Ok(store) => (Some(store), None),
        Err(error) => (None, Some(error)),
    };
    let spooled = spool::peek(&app.dir).unwrap_or_default();
    let waiting = i64::try_from(spooled.records.len()).unwrap_or(i64::MAX);
    let mut counts = Counts { pending: waiting, ..Counts::default() };
    let mut projects = Vec::new();
    let mut last_activity = None;
    let mut schema = SCHEMA_VERSION;
    let mut spent = Spent::default();
    let mut payloads = (0, 0);
    let mut index = None;
    let mut notes = None;
    let settings = app::settings(&app.dir).0;
    if let Some(store) = &store {
        counts = store.counts()?;
        projects = store.projects()?;
        last_activity = store.sessions(None, 1)?.first().map(|session| session.last_activity_at);
        schema = store.newer_schema().unwrap_or(SCHEMA_VERSION);
        spent = store.spent(Time::now().start_of_day(), None)?;
        payloads = store.payload_bytes()?;
        index = Some(store.embedding_progress()?);
        if let Some(access) = Access::new(&settings.memory, &app.dir) {
            let problem = trouble(store, &settings.memory);
            notes = Some(Notes { source: access.name(), known: store.count_notes()?, problem });
        }
    }
    let paused = pause::read(&app.dir).unwrap_or_default();
    let daemon = presence::find(&app.dir).unwrap_or_default();
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        data_dir: app.dir.path().display().to_string(),
        counts,
        projects: projects.into_iter().map(|p| Project { id: p.id, name: p.name, root: p.root }).collect(),
        capture: Capture { on: paused.everywhere_since.is_none(), paused },
        database: Database {
            ok: error.is_none(),
            schema,
            error: error.as_ref().map(|error| error.message().to_owned()),
        },
        spool: Spool { records: spooled.records.len(), damaged: spooled.damaged },
        daemon: Daemon {
            running: daemon.is_some(),
            pid: daemon.as_ref().map(|daemon| daemon.pid),
            port: daemon.as_ref().and_then(|daemon| daemon.port),
            version: daemon.as_ref().map(|daemon| daemon.version.clone()),
        },
        observer: observer(&settings, daemon.as_ref(), spent),
        embedder: embedding(&settings, daemon.as_ref(), index),
        notes,
        bytes: measure(app.dir.path(), payloads),
        last_activity_at: last_activity.map(Time::iso),
        last_activity_at_epoch: last_activity,
    };
    if app.json {
        output::json(&status)?;
    } else {
        print(&status, daemon.as_ref(), &settings);
    }
    match error {
        Some(error) => Err(error),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn print(status: &Status, daemon: Option<&Presence>, settings: &Settings) {
    let Counts {
        sessions,
        prompts,
        observations,
        summaries,
        facts,
        pending,
        processing,
        failed,
        private_turns,
    } = status.counts;
    let line = |label: &str, text: String| say(&format!("  {}{text}", paint(DIM, &format!("{label:<11}"))));
    say(&format!("{} {}", paint(BOLD, "Remora"), status.version));
    say("");
    let projects = count(i64::try_from(status.projects.len()).unwrap_or_default(), "project");
    line("captured", format!("{}, {} in {projects}", count(sessions, "session"), count(prompts, "prompt")));
    if private_turns > 0 {
        line("", format!("{} left out", count(private_turns, "private turn")));
    }
    let mut waiting = vec![format!("{} pending", count(pending, "event"))];
    if processing > 0 {
        waiting.push(format!("{processing} processing"));
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
        daemon.map_or_else(|| "not running; the next hook starts it".to_owned(), super::daemon::describe),
    );
    line("data", format!("{} ({})", status.data_dir, bytes_text(&status.bytes)));
    if let Some(time) = status.last_activity_at_epoch {
        line("last event", output::local(time));
    }
    if sessions == 0 && status.database.ok {
        say("");
        say("Nothing captured yet. See what it looks like: `remora demo`");
    }
    if status.observer.provider == Provider::Builtin.as_str() && status.database.ok {
        say("");
        say(
            "The built-in observer keeps what was said and done, free and offline. A model also writes down why:",
        );
        say(
            "`remora config set observer.provider claude-cli` uses your Claude Code login, within a daily budget.",
        );
    }
}

fn notes_text(notes: &Notes) -> String {
    match &notes.problem {
        Some(problem) => paint(YELLOW, &format!("{} known, but {problem}", notes.known)),
        None => format!("{} of {}", notes.known, notes.source),
    }
}

fn capture_text(capture: &Capture) -> String {
    if let Some(since) = capture.paused.everywhere_since {
        return paint(YELLOW, &format!("paused since {}; `remora resume` goes on", output::local(since)));
    }
    let names: Vec<&str> = capture.paused.projects.iter().map(|project| project.name.as_str()).collect();
    if names.is_empty() { "on".to_owned() } else { format!("on, paused in {}", names.join(", ")) }
}

fn observer(settings: &Settings, daemon: Option<&Presence>, spent_today: Spent) -> Observer {
    let provider = settings.observer.provider.as_str();
    // What the daemon says counts while it goes by these settings.
    let health =
        daemon.and_then(|daemon| daemon.observer.clone()).filter(|health| health.provider == provider);
    let (model, trouble) = health.map_or((None, None), |health| (Some(health.model), health.trouble));
    let budget = &settings.budget;
    Observer {
        provider,
        model,
        trouble,
        spent_today,
        daily_tokens: budget.daily_tokens,
        daily_usd: budget.daily_usd,
    }
}

fn embedding(settings: &Settings, daemon: Option<&Presence>, index: Option<EmbeddingProgress>) -> Embedding {
    let health = super::index::health_of(&settings.search, daemon);
    let (documents, vectors, missing) =
        index.as_ref().map_or((0, 0, 0), |index| (index.documents, index.with_vector, index.waiting));
    Embedding {
        provider: settings.search.embedder.as_str(),
        model: index.and_then(|index| index.model),
        trouble: health.and_then(|health| health.trouble),
        documents,
        vectors,
        missing,
    }
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

fn measure(dir: &Path, (queue, failed): (u64, u64)) -> Bytes {
    let size = |name: &str| fs::metadata(dir.join(name)).map_or(0, |file| file.len());
    let database = size("remora.db") + size("remora.db-wal") + size("remora.db-shm");
    let backups = fs::read_dir(dir.join("backups")).map_or(0, |entries| {
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
    });
    let spool = size("spool.jsonl") + size("spool.ingesting");
    let log = size("remora.log") + size("remora.log.1");
    Bytes { database, queue, failed, backups, spool, log, total: database + backups + spool + log }
}
