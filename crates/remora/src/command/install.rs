use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use remora_app::install;
use remora_core::host::Host;
use remora_install::install::{Change, HostPlan, Plan};
use remora_install::{RECIPES, Surroundings};
use serde_json::json;

use crate::app::App;
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, say, talk};

/// Put Remora into the agents on this machine: their hooks, and its tools for the Model Context Protocol.
///
/// Shows every file and the exact change first, and asks. What is in a file stays: order, comments, hooks of other
/// programs. A copy of each file is kept, and `remora uninstall` takes everything back. Running it again changes nothing,
/// unless there is something new to install.
///
/// The agent may then read memory without asking you: the tools that only read, and `remora show`, `search` and
/// `timeline`. `--no-allow` leaves those rules out.
#[derive(Args)]
#[command(after_help = "\
Examples:
  See what would change, in every agent that is found:
    remora install --dry-run

  Install in one agent, without a question:
    remora install --host claude-code --yes

  Install for the project you are in, and nowhere else:
    remora install --project")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Install {
    /// The agent to install in, such as `claude-code` or `codex`; may be given several times. Without it, every one that
    /// is found.
    #[arg(long = "host", value_name = "HOST", value_parser = host)]
    hosts: Vec<Host>,
    /// Only for the project you are in.
    #[arg(long)]
    project: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Add no rules that let the agent read memory without asking.
    #[arg(long)]
    no_allow: bool,
}

/// A host that has a recipe.
pub(super) fn host(name: &str) -> std::result::Result<Host, String> {
    let known = RECIPES.iter().map(|recipe| recipe.host).find(|host| host.name() == name);
    let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.host.name()).collect();
    known.ok_or_else(|| format!("there are {}", names.join(", ")))
}

pub(crate) fn run(app: &App, arguments: &Install) -> Result<ExitCode> {
    let around = surroundings(app)?;
    let project = if arguments.project { Some(this_project()?) } else { None };
    let plan = install::plan(&around, &arguments.hosts, project.as_deref(), !arguments.no_allow)?;
    if arguments.dry_run || plan.is_empty() || plan.hosts.iter().all(HostPlan::is_refused) {
        return report(app, &plan, arguments.dry_run);
    }
    if !app.json {
        plan.hosts.iter().for_each(print);
    }
    if !arguments.yes && !confirmed(app, "Make these changes?", "remora install --yes")? {
        say("Nothing was changed.");
        return Ok(ExitCode::SUCCESS);
    }
    let next: Vec<(Host, &str, Option<&str>)> =
        plan.hosts.iter().map(|host| (host.host, host.name, host.next_step)).collect();
    let shown = serde_json::to_value(&plan)?;
    let done = install::apply(&around, &app.dir, plan)?;
    if app.json {
        output::json(&json!({ "dry_run": false, "plan": shown, "done": done }))?;
    } else {
        say("");
        for (done, (_, name, next_step)) in done.iter().zip(&next) {
            match &done.refused {
                None => say(&format!("{}  {name}", paint(GREEN, "installed"))),
                Some(reason) => say(&format!("{}    {name}: {reason}", paint(RED, "refused"))),
            }
            if let (None, Some(step)) = (&done.refused, next_step) {
                say(&format!("           {step}."));
            }
        }
        talk(
            "\nWork with your agent as usual; `remora status` shows what it learns. Take it back: `remora uninstall`",
        );
    }
    Ok(if done.iter().any(|done| done.refused.is_some()) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What there is to say if nothing is to be changed.
fn report(app: &App, plan: &Plan, dry_run: bool) -> Result<ExitCode> {
    if app.json {
        output::json(&json!({ "dry_run": dry_run, "plan": plan, "done": [] }))?;
    } else {
        plan.hosts.iter().for_each(print);
        if plan.is_empty() {
            say("Everything is installed.");
        } else if dry_run {
            talk("\nNothing was changed. Install it: `remora install`");
        }
        if plan.is_refused() {
            talk("\nRefused files were not touched. Put them right and repeat: `remora install`");
        }
    }
    Ok(if plan.is_refused() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn print(host: &HostPlan) {
    say(&paint(BOLD, host.name));
    for file in &host.files {
        let path = file.path.display();
        match &file.change {
            Change::None => say(&format!("  {}  {path}", paint(DIM, "unchanged"))),
            Change::Create { diff } => {
                say(&format!("  {}     {path}", paint(GREEN, "create")));
                print_diff(diff);
            }
            Change::Edit { diff } => {
                say(&format!("  {}     {path}", paint(YELLOW, "change")));
                print_diff(diff);
            }
            Change::Refused { reason } => say(&format!("  {}    {path}: {reason}", paint(RED, "refused"))),
        }
        if let Some(warning) = file.warning {
            say(&format!("  {}    {warning}", paint(YELLOW, "warning")));
        }
    }
}

pub(super) fn print_diff(diff: &str) {
    for line in diff.lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            _ => DIM,
        };
        say(&format!("    {}", paint(style, line)));
    }
}

/// Asks the person at the terminal. Without one, nothing is changed that was not agreed to.
pub(super) fn confirmed(app: &App, question: &str, command: &str) -> Result<bool> {
    if app.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CliError::usage("nobody can be asked here, so nothing was changed")
            .hint(format!("agree to it beforehand: `{command}`")));
    }
    let mut terminal = anstream::stderr();
    write!(terminal, "\n{question} [Y/n] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes") && !answer.is_empty())
}

/// The machine, as recipes see it.
pub(crate) fn surroundings(app: &App) -> Result<Surroundings<'static>> {
    Ok(install::surroundings(&app.dir, &env::variable)?)
}

/// The repository of the current directory, or the directory itself.
pub(super) fn this_project() -> Result<PathBuf> {
    let here = std::env::current_dir()?;
    let above = here.ancestors().find(|folder| folder.join(".git").exists());
    Ok(above.unwrap_or(&here).to_owned())
}
