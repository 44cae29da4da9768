use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use remora_app::backup;
use remora_store::backup::Backup as Copy;
use remora_store::{DataError, StoreError, backup as copies};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, Table, say, talk};

/// Make a backup of the database now, or list the backups.
///
/// The daemon makes one every day (`backup.enabled`). All backups of 48 hours, seven daily and four weekly ones are kept,
/// within `backup.most_mb`. A backup blocks no hook, so agents can work meanwhile. Every copy is verified before it counts.
/// `remora restore` brings one back.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  remora backup                      Into the data directory, with rotation
  remora backup --to /mnt/usb/r.db   Into a file of your own
  remora backup list                 List the backups"
)]
pub(crate) struct Backup {
    /// Write the backup to this file, which must not exist yet. No other backup is removed.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<BackupAction>,
}

#[derive(Subcommand)]
enum BackupAction {
    /// Show the backups in the data directory, newest first.
    List,
}

pub(crate) fn run(app: &App, arguments: &Backup) -> Result<()> {
    match (&arguments.action, &arguments.to) {
        (Some(BackupAction::List), _) => list(app),
        (None, Some(path)) => make_to(app, path),
        (None, None) => make(app),
    }
}

fn make(app: &App) -> Result<()> {
    let made = backup::make(&app.dir, &app.settings.backup)?;
    warn(&made);
    if app.json {
        let removed: Vec<Value> = made.removed.iter().map(as_json).collect();
        return output::json(&json!({ "backup": as_json(&made.backup), "removed": removed }));
    }
    say(&format!("Backed up to {} ({}).", made.backup.path.display(), output::bytes(made.backup.bytes)));
    if !made.removed.is_empty() {
        let count = i64::try_from(made.removed.len()).unwrap_or(i64::MAX);
        say(&format!("Rotation removed {}.", output::count(count, "older backup")));
    }
    Ok(())
}

pub(super) fn warn(made: &backup::Made) {
    for warning in made.warnings() {
        talk(&format!("warning: {warning}"));
    }
}

fn make_to(app: &App, path: &Path) -> Result<()> {
    let made = copies::make_to(&app.dir, path).map_err(|error| match error {
        StoreError::Data(DataError::File { path, source }) => {
            CliError::usage(format!("cannot write a backup to {}: {source}", path.display()))
                .hint("name a new file in a directory you can write to: `remora backup --to FILE`")
        }
        inside @ StoreError::InDataDir { .. } => CliError::usage(inside.to_string())
            .hint("name a file elsewhere, or let Remora name it: `remora backup`"),
        other => other.into(),
    })?;
    if app.json {
        return output::json(&super::verify::as_json(&made));
    }
    say(&format!("Backed up to {} ({}).", path.display(), output::bytes(made.bytes)));
    Ok(())
}

fn list(app: &App) -> Result<()> {
    let backups = copies::list(&app.dir)?;
    if app.json {
        return output::json(&backups.iter().map(as_json).collect::<Vec<_>>());
    }
    if backups.is_empty() {
        say("No backups yet. Make one: `remora backup`");
        return Ok(());
    }
    let mut table = Table::new(&["MADE", "SIZE", "FILE"]);
    for backup in &backups {
        let file = backup.path.display().to_string();
        table.row(vec![output::local(backup.made_at), output::bytes(backup.bytes), file]);
    }
    table.print();
    Ok(())
}

pub(super) fn as_json(backup: &Copy) -> Value {
    json!({
        "path": backup.path,
        "made_at": backup.made_at.iso(),
        "made_at_epoch": backup.made_at,
        "bytes": backup.bytes,
        "before_migration": backup.before_migration,
    })
}
