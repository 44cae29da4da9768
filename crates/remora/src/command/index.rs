use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use remora_core::document::ProjectScope;
use remora_core::settings::Embedder as Choice;
use remora_embed::Embedder;
use remora_search::{IndexError, index_next};
use remora_server::presence;
use remora_store::Store;
use remora_store::search::IndexState;
use serde_json::{Value, json};

use super::hook;
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, DIM, paint, say, talk};

#[derive(Args)]
pub(crate) struct Index {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// How much can be found, and how much of it by meaning.
    Status(Which),
    /// Drop what is derived from the records (documents, full text, vectors) and make it anew.
    ///
    /// The records themselves are not touched. Broken off, nothing is lost: the daemon goes on with it by itself, and
    /// so does `--resume`.
    Rebuild {
        #[command(flatten)]
        which: Which,
        /// Go on with one that was broken off: drop nothing, make what is missing.
        #[arg(long)]
        resume: bool,
    },
}

#[derive(Args)]
struct Which {
    /// Only this project: its name, id, or a directory in it.
    #[arg(long, short)]
    project: Option<String>,
}

/// How often the daemon's progress is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

pub(crate) fn run(app: &App, arguments: &Index) -> Result<()> {
    let mut store = app.open()?;
    match &arguments.action {
        Action::Status(which) => status(app, &store, scope(&store, which)?),
        Action::Rebuild { which, resume } => {
            let scope = scope(&store, which)?;
            if !*resume {
                drop_all(&mut store, scope)?;
            }
            fill(&mut store, scope)?;
            embed(app, &mut store, scope)?;
            status(app, &store, scope)
        }
    }
}

fn scope(store: &Store, which: &Which) -> Result<ProjectScope> {
    app::scope(store, which.project.as_deref(), which.project.is_none())
}

fn status(app: &App, store: &Store, scope: ProjectScope) -> Result<()> {
    let state = store.index_state(scope)?;
    let settings = app::settings(&app.dir).0.search;
    let is_on = settings.embedder == Choice::Builtin;
    if app.json {
        return output::json(&told(&state));
    }
    let line = |label: &str, text: &str| say(&format!("{}{text}", paint(DIM, &format!("{label:<11}"))));
    let missing = state.records.saturating_sub(state.indexed);
    let waiting = if missing > 0 { format!(", {missing} not yet indexed") } else { String::new() };
    line("records", &format!("{}{waiting}", state.records));
    line("documents", &state.documents.to_string());
    let without = state.documents.saturating_sub(state.with_vector);
    let without = match (without, is_on) {
        (0, _) => String::new(),
        (_, true) => format!(", {without} to come"),
        (_, false) => format!(", {without} missing: search.embedder is off"),
    };
    line("vectors", &format!("{}{without}", state.with_vector));
    line("model", state.model.as_deref().unwrap_or("none yet"));
    Ok(())
}

fn told(state: &IndexState) -> Value {
    json!({
        "records": state.records,
        "indexed": state.indexed,
        "documents": state.documents,
        "vectors": state.with_vector,
        "missing": state.documents.saturating_sub(state.with_vector),
        "model": state.model,
    })
}

fn drop_all(store: &mut Store, scope: ProjectScope) -> Result<()> {
    // All of them go at once, those of one project in steps.
    while store.drop_documents(scope)? > 0 && scope != ProjectScope::All {}
    Ok(())
}

fn fill(store: &mut Store, scope: ProjectScope) -> Result<()> {
    let bar = bar("documents");
    loop {
        let state = store.index_state(scope)?;
        bar.set_length(state.records);
        bar.set_position(state.indexed);
        if !store.fill_documents()? {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The daemon makes the vectors where one runs; two at it would do the same work twice.
fn embed(app: &App, store: &mut Store, scope: ProjectScope) -> Result<()> {
    let settings = app::settings(&app.dir).0;
    if settings.search.embedder == Choice::Off {
        talk("search.embedder is off: no vectors are made, and search goes by words.");
        return Ok(());
    }
    let bar = bar("vectors");
    let mut embedder = None;
    loop {
        let state = store.index_state(scope)?;
        bar.set_length(state.documents);
        bar.set_position(state.with_vector);
        if state.with_vector >= state.documents {
            break;
        }
        if presence::find(&app.dir)?.is_some() && hook::poke(&app.dir, false).is_ok() {
            thread::sleep(BETWEEN_LOOKS);
            continue;
        }
        let embedder = embedder.get_or_insert_with(Embedder::new);
        let made = index_next(store, embedder).map_err(|error| match error {
            IndexError::Store(error) => CliError::from(error),
            IndexError::Embed(error) => {
                CliError::internal(error.to_string()).hint("try again: `remora index rebuild --resume`")
            }
        })?;
        if made == 0 {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Only a terminal sees it; a file would keep every step.
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
