use std::process::ExitCode;

use clap::Args;
use remora_core::context;
use remora_core::document::ProjectScope;
use remora_core::time::Time;
use remora_store::Recall;
use serde_json::json;

use super::explain::{self, Asker};
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, CYAN, DIM, paint, say, talk};

/// What an agent is told when a session begins here; with --explain, what it is told with a prompt, and why.
///
/// `remora context --explain "why does the clock jump"` lists every memory that was found for the prompt: its score from 0
/// to 1 and what that is made of (the words it has in common with the prompt, how near its meaning is, which part of it
/// fits), and whether it would be told or why not. Then comes the exact text. Nothing of it counts as told. Too much is told?
/// Raise `memory.auto_retrieve_min_score`. Too little? Lower it. Exit code 1 when nothing would be told.
#[derive(Args)]
pub(crate) struct Context {
    /// A project by its name, id or directory; without it, the one you are in.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// As many tokens as this, instead of what the settings say.
    #[arg(long, value_name = "N")]
    tokens: Option<u32>,
    /// Say what would be told with this prompt, and why not the rest.
    #[arg(long, value_name = "PROMPT", conflicts_with = "tokens")]
    explain: Option<String>,
    /// With --explain: as a session that is known (the beginning of its id), which is told nothing twice.
    #[arg(long, value_name = "SESSION", requires = "explain", conflicts_with = "project")]
    session: Option<String>,
}

/// What an agent would be told if a session began here and now, or with a prompt. Exit code 1 when that is nothing.
pub(crate) fn run(app: &App, arguments: &Context) -> Result<ExitCode> {
    let store = app.open()?;
    if let Some(prompt) = &arguments.explain {
        let session =
            arguments.session.as_deref().map(|session| app::session(&store, session)).transpose()?;
        let project = match &session {
            Some(session) => session.project_id,
            None => match app::scope(&store, arguments.project.as_deref(), false)? {
                ProjectScope::One(project) => project,
                ProjectScope::All => return Err(CliError::usage("one project's memory is told at a time")),
            },
        };
        let asker = Asker { project, session: session.as_ref() };
        return explain::run(app, &store, &asker, prompt);
    }
    let (settings, _) = app::settings(&app.dir);
    let wanted = match &arguments.project {
        Some(project) => project.clone(),
        None => std::env::current_dir()?.display().to_string(),
    };
    let project = match app::project(&store, &wanted) {
        Ok(project) => Some(project),
        // Nothing was captured here yet, which is where everybody begins.
        Err(_) if arguments.project.is_none() => None,
        Err(error) => return Err(error),
    };
    let budget = u64::from(arguments.tokens.unwrap_or(settings.context.tokens));
    let told = match &project {
        Some(project) => {
            let mut material = store.material(project.id, Recall::Everything, settings.context.summaries)?;
            if settings.memory.notes_source().is_some() {
                material.notes = store.always_told()?;
            }
            context::render(&material, budget, Time::now())
        }
        None => None,
    };
    if app.json {
        let text = told.as_ref().map(|told| &told.text);
        output::json(&json!({
            "project": project.as_ref().map(|project| &project.name),
            "text": text,
            "tokens": text.map(|text| context::tokens(text)),
            "observations": told.as_ref().map(|told| &told.shown),
        }))?;
    }
    let Some(told) = told else {
        if budget == 0 {
            return Err(CliError::not_found("sessions are told nothing, because context.tokens is 0")
                .hint("tell them again: `remora config set context.tokens 2000`"));
        }
        if !app.json {
            talk(
                "There is no memory of this directory yet. Work with your agent as always: when its first turn ends,",
            );
            talk("something is learned, and from the next session on it is told here.");
        }
        return Ok(ExitCode::from(1));
    };
    if !app.json {
        for line in told.text.lines() {
            say(&painted(line));
        }
        talk(&format!("{} of at most {budget} tokens", context::tokens(&told.text)));
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of what an agent is told, for people.
pub(crate) fn painted(line: &str) -> String {
    if line.starts_with('#') {
        paint(BOLD, line)
    } else if line.starts_with("**") {
        paint(CYAN, line)
    } else if line.starts_with('<') {
        paint(DIM, line)
    } else {
        line.to_owned()
    }
}
