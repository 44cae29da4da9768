use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use remora_app::Runtime as _;
use remora_app::records;
use remora_client::{Daemon, browsers, launch, presence};
use remora_store::DataDir;
use remora_sys::file::replace;
use serde_json::json;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, Table, say, talk};

/// Open the pages in your browser: what was learned, and what was injected.
///
/// The link works once, within five minutes. After that the browser stays signed in for 30 days. The daemon serves the pages, on
/// this machine only; the command starts it if it is not running.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora ui            Open the home page
  remora ui 123        Open observation 123
  remora ui --print    Print the link, for another browser or a forwarded port
  remora ui --list     List the browsers that are signed in")]
pub(crate) struct Ui {
    /// The record to open, by the id that search prints: an observation, or the session of a summary, turn or event.
    id: Option<String>,
    /// Print the link and open nothing.
    #[arg(long)]
    print: bool,
    /// List the browsers that are signed in.
    #[arg(long, conflicts_with_all = ["id", "print", "revoke"])]
    list: bool,
    /// Sign out a browser, by the beginning of its id in that list, or `all`.
    #[arg(long, value_name = "BROWSER", conflicts_with_all = ["id", "print"])]
    revoke: Option<String>,
}

/// Timeout for a daemon to open its port.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Digits of a browser's id in the list.
const SHORT: usize = 8;

pub(crate) fn run(app: &App, arguments: &Ui) -> Result<()> {
    if arguments.list {
        return list(app);
    }
    if let Some(browser) = &arguments.revoke {
        return revoke(app, browser);
    }
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
    if arguments.print || !opened(&app.dir, &link)? {
        say(&link);
    } else if std::io::stdout().is_terminal() {
        say("Opened in your browser. If it shows no page, or for another one: `remora ui --print`");
    }
    Ok(())
}

fn list(app: &App) -> Result<()> {
    let found = browsers::list(&app.dir, app.dir.now()).map_err(|error| unreadable(&error))?;
    if app.json {
        return output::json(&json!({ "browsers": found }));
    }
    if found.is_empty() {
        say("No browser is signed in. Sign one in: `remora ui`");
        return Ok(());
    }
    let mut table = Table::new(&["ID", "BROWSER", "SIGNED IN", "LAST USED", "UNTIL"]);
    for browser in &found {
        let times = [browser.signed_in_at, browser.last_used_at, browser.until].map(output::local);
        let [signed_in, last_used, until] = times;
        table.row(vec![browser.id[..SHORT].to_owned(), browser.name.clone(), signed_in, last_used, until]);
    }
    table.print();
    talk("Sign one out: `remora ui --revoke ID`");
    Ok(())
}

fn revoke(app: &App, browser: &str) -> Result<()> {
    let mut found = browsers::list(&app.dir, app.dir.now()).map_err(|error| unreadable(&error))?;
    if browser != "all" {
        found.retain(|one| !browser.is_empty() && one.id.starts_with(browser));
        if found.len() != 1 {
            let how = if found.is_empty() { "no browser" } else { "more than one browser" };
            return Err(CliError::not_found(format!(
                "{how} that is signed in has an id that begins with `{browser}`"
            ))
            .hint("see them: `remora ui --list`"));
        }
    }
    for one in &found {
        browsers::sign_out(&app.dir, &one.id).map_err(|error| unreadable(&error))?;
    }
    if app.json {
        return output::json(&json!({ "revoked": found }));
    }
    for one in &found {
        say(&format!("{} {} is signed out.", &one.id[..SHORT], one.name));
    }
    Ok(())
}

fn unreadable(error: &std::io::Error) -> CliError {
    CliError::internal(format!("the list of browsers cannot be used: {error}"))
        .hint("see the directory: `remora doctor`")
}

/// The daemon's port. It is published a moment after the daemon listens for hooks.
fn port(dir: &DataDir) -> Result<Option<u16>> {
    let deadline = Instant::now() + TIMEOUT;
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
    let rt = app.open()?;
    let session = |id: i64| format!("/sessions/{id}");
    Ok(match records::record(rt.store(), id)? {
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

/// Opens the link. Returns whether a browser took it. Other users can read the arguments of every process, so the
/// browser gets a file that leads to the link. The daemon deletes it when the link is used.
fn opened(dir: &DataDir, link: &str) -> Result<bool> {
    let path = dir.entrance();
    // The link has an id of this program and of a record, so nothing in it needs escaping except `&`.
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><title>Remora</title>\n\
         <meta http-equiv=\"refresh\" content=\"0;url={0}\"><a href=\"{0}\">Open Remora</a>\n",
        link.replace('&', "&amp;")
    );
    replace(&path, page.as_bytes())
        .map_err(|error| CliError::internal(format!("{} cannot be written: {error}", path.display())))?;
    let is_open = ["xdg-open", "open", "wslview"].into_iter().any(|program| launched(program, &path));
    if !is_open {
        let _ = std::fs::remove_file(path);
    }
    Ok(is_open)
}

fn launched(program: &str, page: &Path) -> bool {
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
