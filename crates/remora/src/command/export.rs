use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use remora_app::ProjectSelector;
use remora_app::export::{self, ExportError, Format};
use remora_app::{Local, Runtime as _};
use remora_sys::file::private_file;
use serde_json::json;

use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, count, talk};

/// Write the memory to a file or to standard output: JSON lines, or Markdown.
///
/// The JSON lines are complete and keep every id: `remora import FILE` reads them back, on this machine or another. Markdown is for
/// people. An export does not change the memory.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora export > memory.jsonl
  remora export --project shop --format markdown --out shop.md")]
pub(crate) struct Export {
    /// Only this project: its name, id, or a directory in it.
    #[arg(long, short)]
    project: Option<String>,
    /// The format of the export.
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    format: Form,
    /// Write to this file, which must not exist yet.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// One JSON object per line; see `docs/import.md`.
    Jsonl,
    /// A document with one section per project.
    Markdown,
}

pub(crate) fn run(app: &App, arguments: &Export) -> Result<()> {
    match export::back_up(&app.dir, &app.settings.backup) {
        Ok(made) => made.iter().for_each(super::backup::warn),
        // An export only reads, so it continues without a backup.
        Err(error) => talk(&format!("warning: no backup was made before the export: {error}")),
    }
    let rt = app.open_caught_up()?;
    let reach = App::caller(&rt)?.reach;
    let selector = match &arguments.project {
        Some(name) => reach.scope_of(rt.store(), ProjectSelector::Project(name.clone()))?,
        None => app::all_within(&reach, rt.store())?,
    };
    let format = match arguments.format {
        Form::Jsonl => Format::Lines,
        Form::Markdown => Format::Markdown,
    };
    let Some(path) = &arguments.out else {
        return match export::write(&rt, &selector, format, &mut BufWriter::new(io::stdout().lock())) {
            // The reader closed the pipe, which is not an error.
            Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        };
    };
    let written = to_file(&rt, &selector, format, path)?;
    if app.json {
        return output::json(&json!({ "records": written, "file": path }));
    }
    let records = count(i64::try_from(written).unwrap_or(i64::MAX), "record");
    talk(&format!("Exported {records} to {}.", path.display()));
    Ok(())
}

fn to_file(rt: &Local, selector: &ProjectSelector, format: Format, path: &Path) -> Result<u64> {
    let file = private_file().write(true).create_new(true).open(path).map_err(|error| {
        CliError::usage(format!("cannot write to {}: {error}", path.display()))
            .hint("name a new file in a directory you can write to: `remora export --out FILE`")
    })?;
    let mut out = BufWriter::new(file);
    let written = export::write(rt, selector, format, &mut out).and_then(|count| {
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(count)
    });
    if written.is_err() {
        // A partial export could be mistaken for a whole one.
        let _ = fs::remove_file(path);
    }
    Ok(written?)
}
