use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use remora_client::control::{self, Message};
use remora_client::presence::DaemonLock;
use remora_client::{launch, presence};
use remora_server::daemon::{self, End};
use remora_server::shared::Load;
use remora_store::{DataDir, log, problems};
use serde_json::json;

use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, say, talk};

#[derive(Args)]
pub(crate) struct Daemon {
    #[command(subcommand)]
    action: Option<DaemonAction>,
}

#[derive(Subcommand)]
enum DaemonAction {
    /// Run the daemon in the foreground until it is stopped.
    Run {
        /// Detach from the terminal and from inherited files; used by `start` and by hooks.
        #[arg(long, hide = true)]
        detached: bool,
    },
    /// Start the daemon in the background; hooks do this by themselves.
    Start,
    /// Stop the daemon after its current work.
    Stop,
    /// Stop the daemon and start it again.
    Restart,
    /// Show whether a daemon is running; the exit code is 1 if none is.
    Status,
}

/// Timeout for a daemon to start or stop.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(app: &App, arguments: &Daemon) -> Result<ExitCode> {
    match arguments.action {
        // Exit code 0, because it is for people; `status` is for scripts.
        None => status(app).map(|_| ExitCode::SUCCESS),
        Some(DaemonAction::Run { detached }) => serve(app, detached),
        Some(DaemonAction::Start) => start(app),
        Some(DaemonAction::Stop) => stop(app).map(|()| ExitCode::SUCCESS),
        Some(DaemonAction::Restart) => {
            if presence::find(&app.dir)?.is_some() {
                stop(app)?;
            }
            start(app)
        }
        Some(DaemonAction::Status) => status(app),
    }
}

/// Runs the daemon. Losing the race for the data directory is not an error.
fn serve(app: &App, detached: bool) -> Result<ExitCode> {
    log::set_origin(log::DAEMON);
    let inherited = if detached {
        remora_sys::process::detach()?;
        Some(remora_sys::process::take_stdin()?)
    } else {
        None
    };
    let run = || -> Result<Option<End>> {
        app.dir.create()?;
        let hold = match inherited {
            Some(file) => DaemonLock::inherit(&app.dir, file)?,
            None => DaemonLock::take(&app.dir)?,
        };
        let Some(hold) = hold else { return Ok(None) };
        hold.keep_until_exit();
        let _tracing = remora_server::trace::start(&app.dir)?;
        let dir = app.dir.clone();
        let load: Load = Arc::new(move || app::settings(&dir).0);
        Ok(Some(daemon::run(hold, &app.dir, &load)?))
    };
    // In the background, nobody sees stderr.
    let end = run().inspect_err(|error| {
        problems::report(Some(&app.dir), &format!("daemon: {}", error.message()));
    })?;
    if !detached {
        talk(end.map_or("not needed: another daemon serves this data directory", End::reason));
    }
    Ok(ExitCode::SUCCESS)
}

fn start(app: &App) -> Result<ExitCode> {
    app.dir.create()?;
    launch::start(&app.dir)?;
    wait_until_started(&app.dir)?;
    status(app)
}

fn stop(app: &App) -> Result<()> {
    if presence::find(&app.dir)?.is_none() {
        return Err(CliError::not_found("no daemon runs").hint("hooks start one: `remora daemon status`"));
    }
    ask_to_stop(app)?;
    if !app.json {
        say("Stopped.");
    }
    Ok(())
}

/// Stops the daemon, and returns when it has ended: then its lock is free.
pub(super) fn ask_to_stop(app: &App) -> Result<()> {
    let is_over = || {
        // It may not have opened its socket yet, and a hook may start the next one.
        let _ = control::send(&app.dir, &Message::Stop);
        Ok(presence::find(&app.dir)?.is_none())
    };
    wait_until(is_over, "the daemon does not stop")
}

/// A daemon has started when it listens.
pub(crate) fn wait_until_started(dir: &DataDir) -> Result<()> {
    let listens = || Ok(control::send(dir, &Message::Poke(String::new())).is_ok());
    wait_until(listens, "the daemon does not start")
}

fn wait_until(is_so: impl Fn() -> Result<bool>, otherwise: &str) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so()? {
        if Instant::now() >= deadline {
            return Err(CliError::internal(otherwise).hint("look for the reason: `remora doctor`"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Returns exit code 1 if no daemon is running.
fn status(app: &App) -> Result<ExitCode> {
    let found = presence::find(&app.dir)?;
    if app.json {
        output::json(&json!({
            "running": found.is_some(),
            "pid": found.as_ref().map(|daemon| daemon.pid),
            "port": found.as_ref().and_then(|daemon| daemon.port),
            "version": found.as_ref().map(|daemon| &daemon.version),
            "started_at": found.as_ref().map(|daemon| daemon.started_at.iso()),
            "started_at_epoch": found.as_ref().map(|daemon| daemon.started_at),
        }))?;
    } else {
        say(&match &found {
            Some(daemon) => describe(daemon),
            None => absent(app.settings.daemon.autostart).to_owned(),
        });
    }
    Ok(if found.is_some() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The state without a daemon, and how it comes to run.
pub(crate) fn absent(autostart: bool) -> &'static str {
    if autostart {
        "not running; the next hook starts it"
    } else {
        "not running, and no hook starts it: daemon.autostart is false; start it: `remora daemon start`"
    }
}

pub(crate) fn describe(daemon: &presence::Presence) -> String {
    if daemon.pid == 0 {
        return "starting".to_owned();
    }
    let started = output::local(daemon.started_at);
    let port = daemon.port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
    format!("running since {started}, process {}, {port}, version {}", daemon.pid, daemon.version)
}
