//! The command line: parses the arguments and runs the command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use remora_sys::memory;

use crate::app::App;
use crate::bugs;
use crate::command::{
    backup, completions, config, context, context_files, daemon, demo, doctor, edit, export, facts, feedback,
    forget, import, index, install, logs, man, mcp, notes, pause, project, queue, restore, retrievals, save,
    search, sessions, show, status, timeline, ui, uninstall, update, verify, why,
};
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, RED, paint};

/// Lasting memory for AI coding agents.
///
/// Remora attaches to the agents you already use (Claude Code, Codex, Gemini CLI and others; see `remora install`), watches
/// their work through hooks, and stores what was learned. Everything stays in one directory on this machine: `~/.remora`, or
/// `REMORA_DATA_DIR`.
#[derive(Parser)]
#[command(name = "remora", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    /// Answer in JSON, for programs.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Replay a recorded story in a temporary directory: see what is captured, learned and injected.
    Demo(demo::Demo),
    Install(install::Install),
    Uninstall(uninstall::Uninstall),
    /// Show what was captured, what is queued, and whether anything is wrong.
    Status,
    Search(search::Search),
    Timeline(timeline::Timeline),
    /// List the captured sessions, latest first.
    Sessions(sessions::Sessions),
    #[command(alias = "projects")]
    Project(project::Project),
    /// Show whole records by id: observations, summaries, turns, facts, notes, events, sessions.
    Show(show::Show),
    Context(context::Context),
    ContextFiles(context_files::ContextFiles),
    /// List all injections: what was injected, when and why.
    Retrievals(retrievals::Retrievals),
    Why(why::Why),
    Save(save::Save),
    Edit(edit::Edit),
    Facts(facts::Facts),
    Feedback(feedback::Given),
    Forget(forget::Forget),
    /// List queued events, or drain, retry or drop them.
    Queue(queue::Queue),
    /// Show the state of the search index, or rebuild it.
    Index(index::Index),
    Notes(notes::Notes),
    Mcp(mcp::Mcp),
    Ui(ui::Ui),
    /// Stop capture, everywhere or in one project, until `remora resume`.
    Pause(pause::PausedPlace),
    /// Continue capture after `remora pause`.
    Resume(pause::PausedPlace),
    /// Start, stop or check the background process that turns events into observations.
    Daemon(daemon::Daemon),
    Config(config::Config),
    Logs(logs::Logs),
    Doctor(doctor::Doctor),
    Import(import::Import),
    Export(export::Export),
    Backup(backup::Backup),
    Verify(verify::Verify),
    Restore(restore::Restore),
    /// Print the version, the schema of the database and the platform.
    Version,
    /// Print a completion script for your shell.
    Completions(completions::Completions),
    Man(man::Man),
    Update(update::Update),
    /// Capture one event from an agent's hook (JSON on standard input).
    ///
    /// Agents run this, not people. It always exits with 0 and never prints an error; `remora doctor` shows problems.
    Hook {
        /// The agent program: claude-code, codex, gemini, qwen, copilot, opencode, cursor, windsurf, or generic for programs
        /// that send Remora's own format.
        #[arg(value_name = "HOST")]
        _host: String,
        /// The event's name, for hosts that do not send one; overrides the name in the message.
        #[arg(long = "event", value_name = "NAME")]
        _event: Option<String>,
        /// The data directory, instead of `REMORA_DATA_DIR` or `~/.remora`.
        #[arg(long = "data-dir", value_name = "DIR")]
        _data_dir: Option<PathBuf>,
    },
}

pub(crate) fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(&cli).and_then(written) {
        Ok(code) => code,
        Err(error) => {
            output::talk(&format!("{} {}", paint(RED.bold(), "error:"), error.message()));
            if let Some(hint) = error.hint_text() {
                output::talk(&format!("\n{} {hint}", paint(BOLD, "hint:")));
            }
            error.exit_code()
        }
    }
}

fn dispatch(cli: &Cli) -> Result<ExitCode> {
    if !matches!(cli.command, Command::Daemon(_) | Command::Mcp(_)) {
        memory::keep_until_the_end();
    }
    let app = App::new(cli.json)?;
    bugs::log_panics(Some(app.dir.clone()), |place| {
        output::talk(&format!("{} a bug in Remora, at {place}", paint(RED.bold(), "error:")));
        output::talk(&format!("\n{} please report this place and what you did", paint(BOLD, "hint:")));
    });
    match &cli.command {
        Command::Demo(demo) => demo::run(&app, demo).map(done),
        Command::Install(install) => install::run(&app, install),
        Command::Uninstall(uninstall) => uninstall::run(&app, uninstall),
        Command::Status => status::run(&app),
        Command::Search(search) => search::run(&app, search),
        Command::Timeline(timeline) => timeline::run(&app, timeline).map(done),
        Command::Sessions(sessions) => sessions::run(&app, sessions).map(done),
        Command::Project(project) => project::run(&app, project).map(done),
        Command::Show(show) => show::run(&app, show).map(done),
        Command::Context(context) => context::run(&app, context),
        Command::ContextFiles(files) => context_files::run(&app, files).map(done),
        Command::Retrievals(retrievals) => retrievals::run(&app, retrievals).map(done),
        Command::Why(why) => why::run(&app, why).map(done),
        Command::Save(save) => save::run(&app, save).map(done),
        Command::Edit(edit) => edit::run(&app, edit).map(done),
        Command::Facts(facts) => facts::run(&app, facts).map(done),
        Command::Feedback(given) => feedback::run(&app, given).map(done),
        Command::Forget(forget) => forget::run(&app, forget).map(done),
        Command::Queue(queue) => queue::run(&app, queue).map(done),
        Command::Index(index) => index::run(&app, index).map(done),
        Command::Notes(notes) => notes::run(&app, notes).map(done),
        Command::Mcp(mcp) => mcp::run(app, mcp).map(done),
        Command::Ui(ui) => ui::run(&app, ui).map(done),
        Command::Pause(which) => pause::pause(&app, which).map(done),
        Command::Resume(which) => pause::resume(&app, which).map(done),
        Command::Daemon(daemon) => daemon::run(&app, daemon),
        Command::Config(config) => config::run(&app, config).map(done),
        Command::Logs(logs) => logs::run(&app, logs).map(done),
        Command::Doctor(doctor) => doctor::run(&app, doctor),
        Command::Import(import) => import::run(&app, import).map(done),
        Command::Export(export) => export::run(&app, export).map(done),
        Command::Backup(backup) => backup::run(&app, backup).map(done),
        Command::Verify(verify) => verify::run(&app, verify),
        Command::Restore(restore) => restore::run(&app, restore).map(done),
        Command::Version => version(&app).map(done),
        Command::Completions(completions) => {
            completions::run(completions);
            Ok(ExitCode::SUCCESS)
        }
        Command::Man(man) => man::run(man).map(done),
        Command::Update(update) => update::run(&app, update).map(done),
        // Handled before arguments are parsed.
        Command::Hook { .. } => Ok(ExitCode::SUCCESS),
    }
}

fn version(app: &App) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let schema = remora_store::SCHEMA_VERSION;
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    if app.json {
        let about = serde_json::json!({ "version": version, "schema": schema, "platform": platform });
        return output::json(&about);
    }
    output::say(&format!("remora {version} (schema {schema}, {platform})"));
    Ok(())
}

/// Fails if the answer could not be written.
fn written(code: ExitCode) -> Result<ExitCode> {
    match output::failure() {
        None => Ok(code),
        Some(error) => Err(CliError::internal(format!("the answer cannot be written: {error}"))
            .hint("check where standard output goes; the command itself has run")),
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
