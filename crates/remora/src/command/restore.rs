use std::path::{Path, PathBuf};

use clap::Args;
use remora_app::backup::{self, Recovery};
use remora_client::launch;
use remora_client::presence::{self, DaemonLock};
use remora_core::time::Time;
use remora_store::backup as copies;
use serde_json::json;

use super::backup::as_json;
use super::questions::{self, OnEnter};
use super::{daemon, verify};
use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, say, talk};

/// Restore the database from a backup.
///
/// Uses the newest sound backup, or the file you name, and asks before it replaces a database. The current database is not deleted:
/// it is set aside as `remora.db.replaced-TIME`, or `remora.db.damaged-TIME` if it is damaged, with its write-ahead log. Then the
/// events in the spool are stored. A running daemon is stopped first and started again afterwards.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora backup list               List the backups
  remora restore                   Restore the newest sound one
  remora restore FILE              Restore this one
  remora restore --yes             Restore without a question, for scripts")]
pub(crate) struct Restore {
    /// The backup; without it, the newest sound one in the data directory.
    file: Option<PathBuf>,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, arguments: &Restore) -> Result<()> {
    app.dir.create()?;
    let choice = backup::choose(&app.dir, arguments.file.as_deref())?;
    if !arguments.yes && app.dir.database().exists() && !is_confirmed(app, &choice.path)? {
        return Err(CliError::usage("nothing was restored")
            .hint("to restore without a question: `remora restore --yes`"));
    }
    let was_running = presence::find(&app.dir)?.is_some();
    if was_running {
        talk("Stopping the daemon.");
        daemon::ask_to_stop(app)?;
    }
    // While this process holds the daemon's lock, no hook can start one.
    let Some(hold) = DaemonLock::take(&app.dir)? else {
        return Err(CliError::internal("the daemon is running, and nothing was changed")
            .hint("stop it and try again: `remora daemon stop`, then `remora restore`"));
    };
    let restored = backup::restore(&app.dir, choice);
    drop(hold);
    if was_running {
        launch::start(&app.dir)?;
    }
    let recovery = restored?;
    if app.json {
        return print_json(&recovery);
    }
    print(&recovery);
    Ok(())
}

/// Asks at a terminal, after it has shown both databases. Without one, returns false.
fn is_confirmed(app: &App, from: &Path) -> Result<bool> {
    if !questions::can_ask(app) {
        return Ok(false);
    }
    for path in [from, &app.dir.database()] {
        verify::print_state(&copies::verify(path)?);
    }
    let question = format!("Replace {} with {}?", app.dir.database().display(), from.display());
    questions::agrees(&question, OnEnter::No)
}

fn print(recovery: &Recovery) {
    let Recovery { restored, contents, skipped, taken_in } = recovery;
    for backup in skipped {
        talk(&format!("warning: {} is damaged and was skipped", backup.path.display()));
    }
    say(&format!("Restored {}.", restored.from.display()));
    if let Some(contents) = contents {
        say(&format!("It has {}.", verify::contents_text(contents)));
    }
    if *taken_in > 0 {
        let events = output::count(i64::try_from(*taken_in).unwrap_or(i64::MAX), "event");
        say(&format!("Stored {events} that waited in the spool."));
    }
    if let Some(made_at) = restored.made_at {
        let (from, to) = (output::local(made_at), output::local(restored.restored_at));
        say(&format!("What was stored between {from} and {to} may be missing."));
    }
    if let Some(aside) = &restored.set_aside {
        say(&format!("The database that was there is now {}.", aside.display()));
        if restored.can_go_back {
            say(&format!("It is sound. To go back to it: `remora restore {}`", aside.display()));
        }
    }
}

fn print_json(recovery: &Recovery) -> Result<()> {
    let Recovery { restored, contents, skipped, taken_in } = recovery;
    output::json(&json!({
        "from": restored.from,
        "made_at": restored.made_at.map(Time::iso),
        "made_at_epoch": restored.made_at,
        "restored_at": restored.restored_at.iso(),
        "restored_at_epoch": restored.restored_at,
        "set_aside": restored.set_aside,
        "can_go_back": restored.can_go_back,
        "contents": contents.as_ref().map(verify::contents_json),
        "skipped": skipped.iter().map(as_json).collect::<Vec<_>>(),
        "taken_in": taken_in,
    }))
}
