use std::process::ExitCode;

use clap::Args;
use remora_app::Runtime as _;
use remora_app::recall::Injection;
use remora_app::recall::start::{self, Preview, Reader};
use remora_core::context::More;
use remora_core::ids::ProjectId;
use serde_json::json;

use super::explain::{self, Asker};
use crate::app::{self, App};
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, CYAN, DIM, paint, say, talk};

/// Show what is injected at the start of a session here, or with a prompt (`--explain`).
///
/// With `--explain PROMPT`, the command lists every candidate for the prompt: its score from 0 to 1 with the parts of that score
/// (shared words, nearness in meaning, the part that fits), and whether it would be injected, or why not. Then comes the exact
/// text. This does not count as an injection. The prompt is treated as the first of a new session, or with `--session` as the
/// next one of an earlier session, with what that session already has in its context. If too much is injected, raise
/// `memory.auto_retrieve_min_score`; if too little, lower it. The exit code is 1 if nothing would be injected.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora context
  remora context --explain \"why does the clock jump in March\"")]
pub(crate) struct Context {
    /// A project by its name, id or directory; without it, the one you are in.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Token limit, instead of the one in the settings.
    #[arg(long, value_name = "N")]
    tokens: Option<u32>,
    /// Show what would be injected with this prompt, and why the rest would not.
    #[arg(long, value_name = "PROMPT", conflicts_with = "tokens")]
    explain: Option<String>,
    /// With --explain: the session that the prompt belongs to, instead of a new one: a prefix of its id, or `latest`.
    #[arg(long, value_name = "SESSION", requires = "explain", conflicts_with = "project")]
    session: Option<String>,
    /// The default. Scripts may still name it.
    #[arg(long, hide = true, requires = "explain", conflicts_with = "session")]
    new: bool,
}

/// Shows what would be injected at a session start, or with a prompt. An empty result in a new project is not
/// an error.
pub(crate) fn run(app: &App, arguments: &Context) -> Result<ExitCode> {
    let rt = app.open()?;
    let reach = App::caller(&rt)?.reach;
    if let Some(prompt) = &arguments.explain {
        let project = || -> Result<ProjectId> {
            let selector = reach.scope_of(rt.store(), app::scope_of(arguments.project.as_deref(), false)?)?;
            Ok(remora_app::project(rt.store(), &selector)?)
        };
        let session = match arguments.session.as_deref() {
            Some("latest") => remora_app::latest_session(rt.store(), project()?)?,
            Some(session) => Some(remora_app::session(rt.store(), &reach.session(rt.store(), session)?)?),
            None => None,
        };
        let asker = match session {
            Some(session) => Asker::Session(Box::new(session)),
            None => Asker::NewIn(project()?),
        };
        return explain::run(app, &rt, &asker, prompt);
    }
    let settings = &app.settings;
    let selector = reach.scope_of(rt.store(), app::scope_of(arguments.project.as_deref(), false)?)?;
    let budget = u64::from(arguments.tokens.unwrap_or(settings.context.tokens));
    let reader = Reader { limit: budget, more: More::Commands(&env::command()) };
    let Preview { project, injection } = start::preview(&rt, &selector, reader)?;
    if app.json {
        let observations: Option<Vec<i64>> = injection.as_ref().map(Injection::observations);
        let names = rt.store().projects().list()?;
        output::json(&json!({
            "project": names.iter().find(|row| row.id == project).map(|row| &row.name),
            "text": injection.as_ref().map(|injection| &injection.text),
            "tokens": injection.as_ref().map(|injection| injection.tokens),
            "observations": observations,
        }))?;
    }
    let Some(injection) = injection else {
        if budget == 0 {
            return Err(CliError::not_found("nothing is injected at the start, because context.tokens is 0")
                .hint("switch it on again: `remora config set context.tokens 2000`"));
        }
        if !app.json {
            talk(
                "There is no memory of this directory yet. Work with your agent as always: when its first turn ends, \
                 something is learned, and the next session gets it at its start.",
            );
        }
        return Ok(ExitCode::SUCCESS);
    };
    if !app.json {
        for line in injection.text.lines() {
            say(&painted(line));
        }
        talk(&format!("{} of at most {budget} tokens", injection.tokens));
    }
    Ok(ExitCode::SUCCESS)
}

/// Colours a line of injected text.
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
