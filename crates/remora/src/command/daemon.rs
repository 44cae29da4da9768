use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use remora_client::control::{self, Message};
use remora_client::{launch, presence};
use remora_server::daemon::{self, End};
use remora_store::{DataDir, log, problems};
use serde_json::json;

use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, say, talk};

#[derive(Args)]
pub(crate) struct Daemon {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
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
const PATIENCE: Duration = Duration::from_secs(10);
/// After damage to the database the daemon is restarted. Damage again within this time is treated as the
/// same, and ends it.
const BETWEEN_DAMAGES: Duration = Duration::from_mins(1);

pub(crate) fn run(app: &App, arguments: &Daemon) -> Result<ExitCode> {
    match arguments.action {
        // Exit code 0, because it is for people; `status` is for scripts.
        None => status(app).map(|_| ExitCode::SUCCESS),
        Some(Action::Run { detached }) => serve(app, detached),
        Some(Action::Start) => start(app),
        Some(Action::Stop) => stop(app).map(|()| ExitCode::SUCCESS),
        Some(Action::Restart) => {
            if presence::find(&app.dir)?.is_some() {
                stop(app)?;
            }
            start(app)
        }
        Some(Action::Status) => status(app),
    }
}

/// Runs the daemon. Losing the race for the data directory is not an error.
fn serve(app: &App, detached: bool) -> Result<ExitCode> {
    log::set_origin(log::DAEMON);
    if detached {
        remora_sys::process::detach()?;
    }
    let run = || {
        let dir = app.dir.clone();
        let ran = daemon::run(&app.dir, Box::new(move || app::settings(&dir).0));
        // In the background, nobody sees stderr.
        ran.inspect_err(|error| problems::report(Some(&app.dir), &format!("daemon: {error}")))
    };
    let mut began = Instant::now();
    let mut end = run()?;
    // A database that is damaged again at once needs attention from the user.
    let mut is_first = true;
    while end == End::Damaged && (is_first || began.elapsed() > BETWEEN_DAMAGES) {
        (is_first, began) = (false, Instant::now());
        end = run()?;
    }
    if !detached {
        talk(end.reason());
    }
    Ok(ExitCode::SUCCESS)
}

fn start(app: &App) -> Result<ExitCode> {
    app.dir.create()?;
    if presence::find(&app.dir)?.is_none() {
        launch::start(&app.dir)?;
        wait_until(&app.dir, true)?;
    }
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

/// Stops the running daemon, and returns when it has ended.
pub(super) fn ask_to_stop(app: &App) -> Result<()> {
    // The daemon may not have opened its socket yet.
    let deadline = Instant::now() + PATIENCE;
    while control::send(&app.dir, &Message::Stop).is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    wait_until(&app.dir, false)
}

pub(crate) fn wait_until(dir: &DataDir, running: bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    // A daemon has started when it listens, and has ended when its lock is free.
    while (running && control::send(dir, &Message::Poke(String::new())).is_err())
        || (!running && presence::find(dir)?.is_some())
    {
        if Instant::now() >= deadline {
            let what = if running { "the daemon does not start" } else { "the daemon does not stop" };
            return Err(CliError::internal(what).hint("look for the reason: `remora doctor`"));
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
    let started = output::local(daemon.started_at);
    let port = daemon.port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
    format!("running since {started}, process {}, {port}, version {}", daemon.pid, daemon.version)
}
