use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use remora_app::records;
use remora_client::{Daemon, launch, presence};
use remora_store::DataDir;
use serde_json::json;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, say};

/// Open the pages in your browser: what was learned, and what was injected.
///
/// The link works once, within five minutes. After that the browser stays signed in for a year. The daemon serves the pages, on
/// this machine only; the command starts it if it is not running.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora ui            Open the home page
  remora ui 123        Open observation 123
  remora ui --print    Print the link, for another browser or a forwarded port")]
pub(crate) struct Ui {
    /// The record to open, by the id that search prints: an observation, or the session of a summary, turn or event.
    id: Option<String>,
    /// Print the link and open nothing.
    #[arg(long)]
    print: bool,
}

/// Timeout for a daemon to open its port.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(app: &App, arguments: &Ui) -> Result<()> {
    let to = arguments.id.as_deref().map(|id| page_of(app, id)).transpose()?.unwrap_or_default();
    if presence::find(&app.dir)?.is_none() {
        app.dir.create()?;
        launch::start(&app.dir)?;
    }
    // Also needed if a hook has just started it.
    super::daemon::wait_until_started(&app.dir)?;
    let no_port =
        || CliError::internal("the daemon has no port, so there are no pages").hint("see why: `remora logs`");
    let port = port(&app.dir)?.ok_or_else(no_port)?;
    let path = Daemon::find(&app.dir).and_then(|daemon| daemon.ui_link()).ok_or_else(no_port)?;
    let to = if to.is_empty() { to } else { format!("&to={to}") };
    let link = format!("http://127.0.0.1:{port}{path}{to}");
    if app.json {
        return output::json(&json!({ "link": link }));
    }
    if arguments.print || !opened(&link) {
        say(&link);
    } else if std::io::stdout().is_terminal() {
        say("Opened in your browser. For another one: `remora ui --print`");
    }
    Ok(())
}

/// The daemon's port. It is published a moment after the daemon listens for hooks.
fn port(dir: &DataDir) -> Result<Option<u16>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let port = presence::find(dir)?.and_then(|daemon| daemon.port);
        if port.is_some() || Instant::now() >= deadline {
            return Ok(port);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The page that shows a record.
fn page_of(app: &App, id: &str) -> Result<String> {
    let store = app.open()?;
    let session = |id: i64| format!("/sessions/{id}");
    Ok(match records::record(&store, id)? {
        records::Record::Observation(row) => format!("/observations/{}", row.id.0),
        records::Record::Summary(row) => session(row.session_id.0),
        records::Record::Turn(row) => format!("/sessions/{}?turn={}", row.session_id.0, row.prompt_number),
        records::Record::Event(row) => session(row.session_id.0),
        records::Record::Session(whole) => session(whole.session.id.0),
        // The sign of a fragment is encoded, because the address of the page is a parameter of the link.
        records::Record::Fact(row) => format!("/memory%23fact-f{}", row.id),
        records::Record::Note(_) => "/memory%23notes".to_owned(),
    })
}

/// Opens the link. Returns whether a browser took it.
fn opened(link: &str) -> bool {
    ["xdg-open", "open", "wslview"].into_iter().any(|program| {
        let mut command = Command::new(program);
        command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
