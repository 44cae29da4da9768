use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use remora_app::install::{LastBackup, Left};
use remora_app::{context_files, install};
use remora_client::presence;
use remora_core::host::Host;
use remora_install::uninstall::{Back, HostRemoval, Removal};
use remora_sys::process::quoted;
use serde_json::json;

use super::install::{confirmed, host, print_diff, surroundings, this_project};
use super::questions::OnEnter;
use crate::app::App;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, prose_below, say, talk};

/// Remove Remora from the agents on this machine.
///
/// A file that has not changed since `remora install` is restored byte for byte. If a file has changed, only Remora's
/// entries are removed from it. Unless you name an agent or a project, Remora's section is also removed from all context
/// files. The memory stays, unless you give `--purge`.
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
    /// Only what was installed for the project you are in, or in another directory: `--project=DIR`.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    project: Option<PathBuf>,
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
    let project = arguments.project()?;
    // The lock is not held while a user is asked. Files that others change meanwhile are refused.
    let lock =
        if arguments.yes && !arguments.dry_run { Some(install::lock_to_remove(&app.dir)?) } else { None };
    let removal = install::plan_removal(&around, &arguments.hosts, project.as_deref())?;
    let files = context_files(app);
    let with_files = if arguments.is_everywhere() { &files[..] } else { &[] };
    let is_something = !removal.is_empty() || !with_files.is_empty() || arguments.purge;
    if !app.json {
        removal.hosts.iter().for_each(print);
        print_files(with_files);
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
            output::json(
                &json!({ "dry_run": true, "plan": removal, "context_files": with_files, "refused": [], "purged": false }),
            )?;
        } else if is_something {
            talk("\nNothing was changed. The same command without `--dry-run` removes it.");
        } else {
            say("Remora is not installed in any agent.");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if is_something && !arguments.yes && !arguments.is_confirmed(app)? {
        say("Nothing was changed.");
        return Ok(ExitCode::SUCCESS);
    }
    let lock = lock.map_or_else(|| install::lock_to_remove(&app.dir), Ok)?;
    let refused = install::remove(&around, &app.dir, &removal, &lock)?;
    // Without hooks, the daemon has nothing to do.
    if arguments.is_everywhere() && presence::find(&app.dir).unwrap_or_default().is_some() {
        super::daemon::ask_to_stop(app)?;
    }
    let left =
        Left { refused, context_files: if with_files.is_empty() { Vec::new() } else { remove_files(app)? } };
    let purged =
        if arguments.purge { install::purge(&app.dir, &left, arguments.last_backup())? } else { None };
    let backup = purged.as_ref().and_then(|purged| purged.backup.as_ref());
    if app.json {
        output::json(&json!({
            "dry_run": false, "plan": removal, "context_files": with_files, "refused": left.refused,
            "context_files_left": left.context_files, "purged": purged.is_some(), "backup": backup,
        }))?;
    } else {
        for undone in &left.refused {
            let reason = format!("{}: {}", undone.path.display(), undone.refused);
            prose_below(&format!("{}  ", paint(RED, "refused")), &reason);
        }
        for path in &left.context_files {
            let reason = format!("{}: it still has a section of Remora", path.display());
            prose_below(&format!("{}  ", paint(RED, "refused")), &reason);
        }
        if left.is_empty() {
            say(&out_of(arguments, is_something.then_some(&removal)));
        } else {
            talk(&format!(
                "\nRefused files were not touched. Fix them and repeat: `{}`",
                arguments.command()
            ));
        }
        if with_files.len() < files.len() {
            talk(
                "Context files stay; see them: `remora context-files`; remove them: `remora context-files disable`",
            );
        }
        if let Some(backup) = backup {
            let path = backup.display();
            talk(&format!(
                "A last backup of the memory is {path}. To bring it back: `remora restore {path}`"
            ));
            talk(&format!("Delete that backup, too: `rm {path}`"));
        }
        if purged.is_none() && app.dir.database().exists() {
            talk(&format!(
                "The memory stays in {}; delete it, too: `remora uninstall --purge`",
                app.dir.path().display()
            ));
        }
    }
    Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Uninstall {
    /// Whether Remora is removed from every agent, and not only from some or from one project.
    fn is_everywhere(&self) -> bool {
        self.hosts.is_empty() && self.project.is_none()
    }

    fn last_backup(&self) -> LastBackup {
        if self.no_backup { LastBackup::None } else { LastBackup::BesideDirectory }
    }

    /// The directory of the project, which may be gone.
    fn project(&self) -> Result<Option<PathBuf>> {
        match &self.project {
            None => Ok(None),
            Some(here) if here == Path::new(".") => Ok(Some(this_project()?)),
            Some(named) => Ok(Some(std::path::absolute(named)?)),
        }
    }

    fn is_confirmed(&self, app: &App) -> Result<bool> {
        let command = format!("{} --yes", self.command());
        if self.purge {
            return confirmed(app, "Make these changes, and delete the memory?", OnEnter::No, &command);
        }
        confirmed(app, "Make these changes?", OnEnter::Yes, &command)
    }

    /// This command, with the options that decide what is removed.
    fn command(&self) -> String {
        let mut command = "remora uninstall".to_owned();
        for host in &self.hosts {
            command.extend([" --host ", host.name()]);
        }
        match &self.project {
            None => {}
            Some(here) if here == Path::new(".") => command.push_str(" --project"),
            Some(named) => command.extend([" --project=", &quoted(&named.to_string_lossy())]),
        }
        for (option, is_given) in [(" --purge", self.purge), (" --no-backup", self.no_backup)] {
            command.push_str(if is_given { option } else { "" });
        }
        command
    }
}

/// Says where Remora was removed, naming only the agents concerned.
fn out_of(arguments: &Uninstall, removal: Option<&Removal>) -> String {
    let is_all = arguments.is_everywhere();
    match removal {
        Some(removal) if is_all && removal.hosts.iter().any(is_gone) => {
            "Remora is out of your agents, except in projects that were moved.".to_owned()
        }
        Some(_) if is_all => "Remora is out of your agents.".to_owned(),
        Some(removal) => {
            let mut names: Vec<&str> = removal.hosts.iter().map(|host| host.name).collect();
            names.dedup();
            let place = if arguments.project.is_some() { " for this project" } else { "" };
            format!("Remora is out of {}{place}.", names.join(", "))
        }
        None if is_all => "Remora is not installed in any agent.".to_owned(),
        None => "Remora is not installed there.".to_owned(),
    }
}

/// The context files in all repositories. Their list is in the database; if that cannot be read, hooks can still be
/// removed.
fn context_files(app: &App) -> Vec<PathBuf> {
    if !app.dir.database().exists() {
        return Vec::new();
    }
    match app.local().and_then(|rt| context_files::everywhere(&rt)) {
        Ok(files) => files,
        Err(error) => {
            talk(&format!("warning: context files in repositories are not known, and stay: {error}"));
            Vec::new()
        }
    }
}

/// Removes the sections from all context files. Returns the files that still have one.
fn remove_files(app: &App) -> Result<Vec<PathBuf>> {
    let left = context_files::disable_everywhere(&mut app.open_caught_up()?)?;
    let (left, gone): (Vec<PathBuf>, Vec<PathBuf>) = left.into_iter().partition(|path| path.exists());
    for path in gone {
        talk(&format!(
            "warning: {} is not there; if it was moved, its context files still have their section",
            path.display()
        ));
    }
    Ok(left)
}

fn print_files(files: &[PathBuf]) {
    if files.is_empty() {
        return;
    }
    say(&paint(BOLD, "Context files"));
    for path in files {
        say(&format!("  {}      {}: the section of Remora goes", paint(YELLOW, "clean"), path.display()));
    }
}

/// Whether the directory of the project is not there.
fn is_gone(host: &HostRemoval) -> bool {
    host.project.as_ref().is_some_and(|project| !project.is_dir())
}

fn print(host: &HostRemoval) {
    let place =
        host.project.as_ref().map_or_else(String::new, |project| format!(" in {}", project.display()));
    say(&paint(BOLD, &format!("{}{place}", host.name)));
    if is_gone(host) {
        prose_below(
            &format!("  {}    ", paint(YELLOW, "missing")),
            "the directory is not there; if it was moved, its hooks are in its new place, and `remora uninstall --project` removes them there",
        );
    }
    for file in &host.files {
        let path = file.path.display();
        match &file.change {
            Back::None if is_gone(host) => {}
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
