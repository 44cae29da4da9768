use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use remora_app::index::{self, IndexProgress, Step};
use remora_app::{Local, Runtime as _};
use remora_client::presence::{self, Presence};
use remora_client::{Poked, poke};
use remora_core::document::ProjectScope;
use remora_core::settings::{Embedder, Search};
use remora_net::Health;
use remora_search::{IndexError, index_next};
use remora_store::Store;
use remora_store::search::IndexState;
use serde_json::{Value, json};

use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, DIM, YELLOW, paint, say, talk};

#[derive(Args)]
pub(crate) struct Index {
    #[command(subcommand)]
    action: Option<IndexAction>,
}

#[derive(Subcommand)]
enum IndexAction {
    /// Show how many records are indexed, and how many have vectors (the default).
    Status(WhichIndex),
    /// Drop everything derived from the records (documents, full text, vectors) and rebuild it.
    ///
    /// The records themselves do not change. An interrupted rebuild loses nothing: the daemon continues it by itself, and so
    /// does `--resume`.
    Rebuild {
        #[command(flatten)]
        which: WhichIndex,
        /// Continue an interrupted rebuild: drop nothing, create what is missing.
        #[arg(long)]
        resume: bool,
    },
}

#[derive(Args)]
struct WhichIndex {
    /// Only this project: its name, id, or a directory in it.
    #[arg(long, short)]
    project: Option<String>,
}

/// Interval for checking the daemon's progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

pub(crate) fn run(app: &App, arguments: &Index) -> Result<()> {
    let mut rt = app.open()?;
    match &arguments.action {
        None => status(app, rt.store(), ProjectScope::All),
        Some(IndexAction::Status(which)) => status(app, rt.store(), scope(rt.store(), which)?),
        Some(IndexAction::Rebuild { which, resume }) => {
            rt.store().catch_up()?;
            let scope = scope(rt.store(), which)?;
            if !*resume {
                index::drop_all(&mut rt, scope)?;
            }
            fill(&mut rt, scope)?;
            embed(app, &mut rt, scope)?;
            status(app, rt.store(), scope)
        }
    }
}

fn scope(store: &Store, which: &WhichIndex) -> Result<ProjectScope> {
    Ok(remora_app::scope(store, &app::scope_of(which.project.as_deref(), which.project.is_none())?)?)
}

fn status(app: &App, store: &Store, scope: ProjectScope) -> Result<()> {
    let state = store.index().state(scope)?;
    let settings = &app.settings.search;
    let health = embedder_health(app, settings);
    if app.json {
        return output::json(&as_json(&state, settings, health.as_ref()));
    }
    let line = |label: &str, text: &str| say(&format!("{}{text}", paint(DIM, &format!("{label:<11}"))));
    let missing = state.records.saturating_sub(state.indexed);
    let waiting = if missing > 0 { format!(", {missing} not yet indexed") } else { String::new() };
    line("records", &format!("{}{waiting}", state.records));
    line("documents", &state.documents.to_string());
    line("vectors", &vectors_text(&state, settings));
    line("model", state.model.as_deref().unwrap_or("none yet"));
    line("embedder", &embedder_text(settings, health.as_ref()));
    Ok(())
}

fn vectors_text(state: &IndexState, settings: &Search) -> String {
    let mut parts = vec![state.with_vector.to_string()];
    let left_out = state.documents.saturating_sub(state.with_vector + state.to_embed);
    match (state.to_embed, settings.embedder) {
        (0, _) => {}
        (missing, Embedder::Off) => parts.push(format!("{missing} missing: search.embedder is off")),
        (missing, _) => parts.push(format!("{missing} to come")),
    }
    if left_out > 0 {
        let turns = output::count(i64::try_from(left_out).unwrap_or(i64::MAX), "turn");
        parts.push(format!("{turns} left out: search.index_turns is false"));
    }
    parts.join(", ")
}

/// The daemon's report on the health of the configured embedder.
pub(super) fn embedder_health(app: &App, settings: &Search) -> Option<Health> {
    health_of(settings, presence::find(&app.dir).ok().flatten().as_ref())
}

/// Ignores the daemon's report if it is about another embedder.
pub(super) fn health_of(settings: &Search, daemon: Option<&Presence>) -> Option<Health> {
    let health = daemon.and_then(|daemon| daemon.embedder.clone());
    health.filter(|health| health.provider == settings.embedder.as_str())
}

/// The embedder in words, with its problem if there is one.
pub(super) fn embedder_text(settings: &Search, health: Option<&Health>) -> String {
    let name = match settings.embedder {
        Embedder::Builtin => "built in".to_owned(),
        Embedder::Off => "off: search by words only".to_owned(),
        other => match health.map(|health| health.model.as_str()).filter(|model| !model.is_empty()) {
            Some(model) => format!("{}, {model}", other.as_str()),
            None => other.as_str().to_owned(),
        },
    };
    if settings.misses_key() {
        let hint = "it needs a key: `remora config set search.embedder_api_key -`";
        return paint(YELLOW, &format!("{name}: search by words only, {hint}"));
    }
    let Some(trouble) = health.and_then(|health| health.trouble.as_ref()) else { return name };
    let (since, next) = (output::local(trouble.since), output::local(trouble.next_try));
    let text = format!("{name}: search by words only since {since}, next try {next}: {}", trouble.reason);
    paint(YELLOW, &text)
}

fn as_json(state: &IndexState, settings: &Search, health: Option<&Health>) -> Value {
    json!({
        "records": state.records,
        "indexed": state.indexed,
        "documents": state.documents,
        "vectors": state.with_vector,
        "missing": state.to_embed,
        "model": state.model,
        "embedder": settings.embedder.as_str(),
        "trouble": health.and_then(|health| health.trouble.as_ref()),
    })
}

fn fill(rt: &mut Local, scope: ProjectScope) -> Result<()> {
    let bar = bar("documents");
    index::fill(rt, scope, |progress| show(&bar, progress))?;
    bar.finish_and_clear();
    Ok(())
}

/// Creates the vectors. Left to the daemon if one is running, to avoid doing the work twice.
fn embed(app: &App, rt: &mut Local, scope: ProjectScope) -> Result<()> {
    let settings = &app.settings.search;
    if settings.embedder == Embedder::Off {
        talk("search.embedder is off: no vectors are made, and search is by words only.");
        return Ok(());
    }
    let bar = bar("vectors");
    let mut embedder = None;
    let step = |store: &Store| {
        if presence::find(&app.dir)?.is_some() && poke(&app.dir, false) == Ok(Poked::Heard) {
            if let Some(trouble) = embedder_health(app, settings).and_then(|health| health.trouble) {
                return Err(no_vectors(&trouble.reason));
            }
            thread::sleep(BETWEEN_LOOKS);
            return Ok(Step::More);
        }
        let embedder = match &mut embedder {
            Some(embedder) => embedder,
            none => match remora_embedders::open(settings) {
                Some(opened) => none.insert(opened),
                None => return Ok(Step::Stuck),
            },
        };
        let made = index_next(store, &mut **embedder, settings.index_turns).map_err(|error| match error {
            IndexError::Store(error) => CliError::from(error),
            IndexError::Embed(error) => no_vectors(&error.to_string()),
        })?;
        Ok(if made == 0 { Step::Stuck } else { Step::More })
    };
    index::embed(rt, scope, |progress| show(&bar, progress), step)?;
    bar.finish_and_clear();
    Ok(())
}

fn show(bar: &ProgressBar, IndexProgress { done, all }: IndexProgress) {
    bar.set_length(all as u64);
    bar.set_position(done as u64);
}

fn no_vectors(reason: &str) -> CliError {
    CliError::internal(format!("the vectors cannot be made now: {reason}"))
        .hint("search by words works meanwhile; the daemon continues by itself, and so does `remora index rebuild --resume`")
}

/// A progress bar, hidden outside a terminal, because a file would keep every step.
fn bar(what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:<10} [{bar:40}] {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}
