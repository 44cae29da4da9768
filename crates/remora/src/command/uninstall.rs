use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use remora_app::install;
use remora_client::presence;
use remora_core::host::Host;
use remora_core::time::Time;
use remora_install::uninstall::{Back, HostRemoval, Removal};
use serde_json::json;

use super::install::{confirmed, host, print_diff, surroundings, this_project};
use crate::app::App;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, prose_below, say, talk};

/// Remove Remora from the agents on this machine.
///
/// A file that has not changed since `remora install` is restored byte for byte. From a file that has changed, exactly
/// Remora's entries are removed. The memory stays, unless you give `--purge`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  Remove it from every agent, and keep the memory:
    remora uninstall

  Remove it from one:
    remora uninstall --host codex --yes

  Remove it, and delete the memory:
    remora uninstall --purge")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Uninstall {
    /// The agent to remove it from; may be given several times. Without it, all agents.
    #[arg(long = "host", value_name = "HOST", value_parser = host)]
    hosts: Vec<Host>,
    /// Only what was installed for the project you are in.
    #[arg(long)]
    project: bool,
    /// Also delete the memory: the data directory with everything in it.
    #[arg(long, conflicts_with_all = ["hosts", "project"])]
    purge: bool,
    /// With `--purge`, keep no backup beside the data directory.
    #[arg(long, requires = "purge")]
    no_backup: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, arguments: &Uninstall) -> Result<ExitCode> {
    let around = surroundings(app)?;
    let project = if arguments.project { Some(this_project()?) } else { None };
    let removal = install::plan_removal(&around, &arguments.hosts, project.as_deref())?;
    let is_something = !removal.is_empty() || arguments.purge;
    if !app.json {
        removal.hosts.iter().for_each(print);
        if arguments.purge {
            say(&format!(
                "{}  {}, with everything Remora knows",
                paint(RED, "delete"),
                app.dir.path().display()
            ));
        }
    }
    if arguments.dry_run {
        if app.json {
            output::json(&json!({ "dry_run": true, "plan": removal, "refused": [], "purged": false }))?;
        } else if is_something {
            talk("\nNothing was changed. The same command without `--dry-run` removes it.");
        } else {
            say("Remora is not installed in any agent.");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let command = if arguments.purge { "remora uninstall --purge --yes" } else { "remora uninstall --yes" };
    if is_something && !arguments.yes && !confirmed(app, "Make these changes?", command)? {
        say("Nothing was changed.");
        return Ok(ExitCode::SUCCESS);
    }
    let refused = install::remove(&around, &app.dir, &removal)?;
    // Without hooks, the daemon has nothing to do.
    if arguments.hosts.is_empty()
        && !arguments.project
        && presence::find(&app.dir).unwrap_or_default().is_some()
    {
        super::daemon::ask_to_stop(app)?;
    }
    let purged = arguments.purge && refused.is_empty() && app.dir.path().exists();
    let backup = if purged && !arguments.no_backup { last_backup(app) } else { None };
    if purged {
        fs::remove_dir_all(app.dir.path())?;
    }
    if app.json {
        output::json(
            &json!({ "dry_run": false, "plan": removal, "refused": refused, "purged": purged, "backup": backup }),
        )?;
    } else {
        for undone in &refused {
            let reason = format!("{}: {}", undone.path.display(), undone.refused);
            prose_below(&format!("{}  ", paint(RED, "refused")), &reason);
        }
        if refused.is_empty() {
            say(&out_of(arguments, is_something.then_some(&removal)));
        } else {
            talk("\nRefused files were not touched. Fix them and repeat: `remora uninstall`");
        }
        if let Some(backup) = &backup {
            let path = backup.display();
            talk(&format!(
                "A last backup of the memory is {path}. To bring it back: `remora restore {path}`"
            ));
            talk(&format!("Delete that backup, too: `rm {path}`"));
        }
        if !purged && app.dir.database().exists() {
            talk(&format!(
                "The memory stays in {}; delete it, too: `remora uninstall --purge`",
                app.dir.path().display()
            ));
        }
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Says where Remora was removed, naming only the agents concerned.
fn out_of(arguments: &Uninstall, removal: Option<&Removal>) -> String {
    let is_all = arguments.hosts.is_empty() && !arguments.project;
    match removal {
        Some(_) if is_all => "Remora is out of your agents.".to_owned(),
        Some(removal) => {
            let mut names: Vec<&str> = removal.hosts.iter().map(|host| host.name).collect();
            names.dedup();
            let place = if arguments.project { " for this project" } else { "" };
            format!("Remora is out of {}{place}.", names.join(", "))
        }
        None if is_all => "Remora is not installed in any agent.".to_owned(),
        None => "Remora is not installed there.".to_owned(),
    }
}

/// Makes a backup beside the data directory before it is deleted. A memory that cannot be read is deleted
/// anyway.
fn last_backup(app: &App) -> Option<PathBuf> {
    let now = Time::now();
    let mut path = app.dir.path().as_os_str().to_owned();
    path.push(format!("-{}.db", now.format_utc("%Y%m%dT%H%M%SZ")));
    match install::back_up(&app.dir, Some(Path::new(&path)), now) {
        Ok(backup) => backup,
        Err(error) => {
            talk(&format!("warning: no backup was made: {error}"));
            None
        }
    }
}

fn print(host: &HostRemoval) {
    let place =
        host.project.as_ref().map_or_else(String::new, |project| format!(" in {}", project.display()));
    say(&paint(BOLD, &format!("{}{place}", host.name)));
    for file in &host.files {
        let path = file.path.display();
        match &file.change {
            Back::None => say(&format!("  {}  {path}", paint(DIM, "unchanged"))),
            Back::Delete => say(&format!("  {}     {path}", paint(GREEN, "delete"))),
            Back::Restore { diff } => {
                say(&format!("  {}    {path}: becomes what it was", paint(GREEN, "restore")));
                print_diff(diff);
            }
            Back::Clean { diff } => {
                prose_below(
                    &format!("  {}      ", paint(YELLOW, "clean")),
                    &format!("{path}: others have changed it, so only Remora's entries go"),
                );
                print_diff(diff);
            }
            Back::Refused { reason } => {
                prose_below(&format!("  {}    ", paint(RED, "refused")), &format!("{path}: {reason}"));
            }
        }
    }
}
