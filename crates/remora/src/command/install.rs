use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use remora_app::install;
use remora_core::host::Host;
use remora_core::settings::Provider;
use remora_install::install::{Change, FilePlan, HostPlan, Plan};
use remora_install::{InstallEnv, RECIPES};
use remora_store::worktree;
use serde_json::json;

use super::questions::{self, OnEnter};
use crate::app::App;
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, prose_below, say, talk};

/// Install Remora in the agents on this machine: its hooks, and its tools (MCP).
///
/// The command shows every file with the exact change, and asks. Installing keeps comments, order and other programs' hooks. A
/// copy of each file is kept, and `remora uninstall` undoes everything. Running it again changes nothing, unless there is
/// something new to install.
///
/// At a terminal it also asks which observer writes the memory, with the cost of each. It offers to import past sessions and a
/// claude-mem database, and to keep context files. Without a terminal, or with `--yes`, none of that happens unless an option
/// says so.
///
/// The agent may then read memory without asking you: with the read-only tools, and with `remora show`, `search` and
/// `timeline`. `--no-allow` leaves these permissions out.
#[derive(Args)]
#[command(after_help = "\
Examples:
  See what would change, in every agent that is found:
    remora install --dry-run

  Install in one agent, without a question:
    remora install --host claude-code --yes

  The same with a model as the observer, through your own Claude Code login:
    remora install --yes --provider claude-cli

  Install for the project you are in, and nowhere else:
    remora install --project")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Install {
    /// The agent to install in, such as `claude-code` or `codex`; may be given several times. Without it, every agent
    /// that is found.
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
    /// Do not let the agent read memory without asking.
    #[arg(long)]
    no_allow: bool,
    /// Who writes the memory: `builtin` (free, offline) or a model through `claude-cli`, `anthropic`, `gemini`, `openrouter`
    /// or `openai`.
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    provider: Option<Provider>,
    /// Keep memory in a file of the project you are in, too: a rule for Cursor if it is installed, otherwise a section in
    /// CLAUDE.md.
    #[arg(long)]
    context_files: bool,
}

fn provider(name: &str) -> std::result::Result<Provider, String> {
    let setting = remora_app::settings::find("observer.provider").map_err(|error| error.to_string())?;
    remora_app::settings::parse(setting, name).map_err(|error| error.to_string())?;
    Provider::ALL.iter().copied().find(|provider| provider.as_str() == name).ok_or_else(|| name.to_owned())
}

/// Parses the name of a host that can be installed in.
pub(super) fn host(name: &str) -> std::result::Result<Host, String> {
    let known = RECIPES.iter().map(|recipe| recipe.host).find(|host| host.name() == name);
    let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.host.name()).collect();
    known.ok_or_else(|| format!("unknown agent; use {}", names.join(", ")))
}

pub(crate) fn run(app: &App, arguments: &Install) -> Result<ExitCode> {
    let around = surroundings(app)?;
    let project = if arguments.project { Some(this_project()?) } else { None };
    let make_plan = || install::plan(&around, &arguments.hosts, project.as_deref(), !arguments.no_allow);
    let mut plan = make_plan()?;
    if arguments.dry_run || plan.is_empty() || plan.hosts.iter().all(HostPlan::is_refused) {
        let code = report(app, &plan, arguments)?;
        let hosts: Vec<Host> = plan.hosts.iter().map(|host| host.host).collect();
        if !arguments.dry_run {
            apply_options(app, arguments, &hosts)?;
        }
        return Ok(code);
    }
    let mut lock = None;
    if arguments.yes {
        // Others may have installed since.
        lock = Some(install::lock(&app.dir)?);
        plan = make_plan()?;
    }
    if !app.json {
        plan.hosts.iter().for_each(print);
    }
    if !arguments.yes
        && !confirmed(
            app,
            "Make these changes?",
            OnEnter::Yes,
            &format!("{} --yes", arguments.command(&arguments.hosts)),
        )?
    {
        say("Nothing was changed.");
        return Ok(ExitCode::SUCCESS);
    }
    let next: Vec<(Host, &str, Option<&str>)> =
        plan.hosts.iter().map(|host| (host.host, host.name, host.next_step)).collect();
    let shown = serde_json::to_value(&plan)?;
    if let Some(made) = install::back_up(&app.dir)? {
        talk(&format!("A backup of the memory is in {}", made.backup.path.display()));
        super::backup::warn(&made);
    }
    let lock = lock.map_or_else(|| install::lock(&app.dir), Ok)?;
    let done = install::apply(&around, &app.dir, plan, &lock)?;
    drop(lock);
    if app.json {
        output::json(&json!({ "dry_run": false, "plan": shown, "done": done }))?;
    } else {
        say("");
        for (done, (_, name, next_step)) in done.iter().zip(&next) {
            match &done.refused {
                None => say(&format!("{}  {name}", paint(GREEN, "installed"))),
                Some(reason) => {
                    prose_below(&format!("{}    ", paint(RED, "refused")), &format!("{name}: {reason}"));
                }
            }
            if let (None, Some(step)) = (&done.refused, next_step) {
                prose_below("           ", &format!("{step}."));
            }
        }
    }
    let hosts: Vec<Host> = done.iter().filter(|done| done.refused.is_none()).map(|done| done.host).collect();
    apply_options(app, arguments, &hosts)?;
    if !arguments.yes && !hosts.is_empty() && questions::can_ask(app) {
        ask(app, arguments, &hosts)?;
    }
    if !app.json {
        let refused: Vec<Host> =
            done.iter().filter(|done| done.refused.is_some()).map(|done| done.host).collect();
        if !refused.is_empty() {
            talk(&put_right(&arguments.command(&refused)));
        }
        if !hosts.is_empty() && around.has_own_data_dir() {
            talk(&format!(
                "\nHooks use the memory in {}. Commands that you or an agent type use it while REMORA_DATA_DIR is set.",
                around.data_dir.display()
            ));
        }
        if !hosts.is_empty() {
            talk(
                "\nWork with your agent as usual; `remora status` shows what it learns. Undo it: `remora uninstall`",
            );
        }
    }
    Ok(if done.iter().any(|done| done.refused.is_some()) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The next step after a refusal.
fn put_right(command: &str) -> String {
    format!(
        "\nRefused files were not touched, nor were the other files of these agents. Fix them and repeat: `{command}`"
    )
}

impl Install {
    /// This command for some hosts, with the options that decide what is installed.
    fn command(&self, hosts: &[Host]) -> String {
        let mut command = "remora install".to_owned();
        for host in hosts {
            command.extend([" --host ", host.name()]);
        }
        for (option, is_given) in [(" --project", self.project), (" --no-allow", self.no_allow)] {
            command.push_str(if is_given { option } else { "" });
        }
        command
    }
}

/// Applies the choices made by options.
fn apply_options(app: &App, arguments: &Install, hosts: &[Host]) -> Result<()> {
    if let Some(provider) = arguments.provider {
        questions::use_observer(app, provider)?;
    }
    if arguments.context_files {
        questions::enable_context_files(app, &this_project()?, hosts.contains(&Host::Cursor))?;
    }
    Ok(())
}

/// Asks the remaining questions after the hooks are installed. No default answer changes anything outside the
/// memory.
fn ask(app: &App, arguments: &Install, hosts: &[Host]) -> Result<()> {
    if arguments.provider.is_none()
        && let Some(provider) = questions::observer(app)?
    {
        questions::use_observer(app, provider)?;
    }
    questions::fill(app)?;
    if !arguments.context_files {
        questions::context_files(app, hosts)?;
    }
    Ok(())
}

/// Prints the plan if nothing is to be changed.
fn report(app: &App, plan: &Plan, arguments: &Install) -> Result<ExitCode> {
    let dry_run = arguments.dry_run;
    if app.json {
        output::json(&json!({ "dry_run": dry_run, "plan": plan, "done": [] }))?;
    } else {
        plan.hosts.iter().for_each(print);
        if plan.is_empty() {
            say("Everything is installed.");
        } else if dry_run {
            talk("\nNothing was changed. The same command without `--dry-run` installs it.");
        }
        if plan.is_refused() {
            talk(&put_right(&arguments.command(&arguments.hosts)));
        }
    }
    Ok(if plan.is_refused() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn print(host: &HostPlan) {
    say(&paint(BOLD, host.name));
    // If one file is refused, no file of its host is written, so only the refused ones are shown.
    let is_shown = |file: &&FilePlan| !host.is_refused() || matches!(file.change, Change::Refused { .. });
    for file in host.files.iter().filter(is_shown) {
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
            Change::Refused { reason } => {
                prose_below(&format!("  {}    ", paint(RED, "refused")), &format!("{path}: {reason}"));
            }
        }
        if let Some(warning) = &file.warning {
            prose_below(&format!("  {}    ", paint(YELLOW, "warning")), warning);
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

/// Asks the user at the terminal. Without a terminal this is an error, so that nothing changes without
/// consent.
pub(super) fn confirmed(app: &App, question: &str, on_enter: OnEnter, command: &str) -> Result<bool> {
    if !questions::can_ask(app) {
        return Err(CliError::usage(
            "this needs an answer, and there is no terminal to ask at; nothing was changed",
        )
        .hint(format!("answer in advance: `{command}`")));
    }
    questions::agrees(question, on_enter)
}

/// The environment that recipes work in.
pub(crate) fn surroundings(app: &App) -> Result<InstallEnv<'static>> {
    Ok(install::surroundings(&app.dir, &env::variable)?)
}

/// The repository of the current directory, or the directory itself.
pub(super) fn this_project() -> Result<PathBuf> {
    let here = std::env::current_dir()?;
    Ok(worktree(&here).unwrap_or(here))
}
