use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use remora_app::remedy;
use remora_core::time::Time;
use remora_store::backup::{self, Contents, Verified};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::output::{self, BOLD, GREEN, RED, paint, prose, prose_below, talk};

/// Check that the database, or a backup, is sound.
///
/// Reads every page, and checks for the tables and rows that Remora needs. Nothing is changed. The exit code is 1 if
/// something is wrong.
#[derive(Args)]
#[command(after_help = "\
Examples:
  remora verify                    Check the database
  remora verify /mnt/usb/r.db      Check a backup")]
pub(crate) struct Verify {
    /// A backup or another database of Remora; without it, the one in use.
    file: Option<PathBuf>,
}

pub(crate) fn run(app: &App, arguments: &Verify) -> Result<ExitCode> {
    let path = arguments.file.clone().unwrap_or_else(|| app.dir.database());
    let verified = backup::verify(&path)?;
    let hint = match &arguments.file {
        Some(_) => "see which backups there are: `remora backup list`".to_owned(),
        None if !path.exists() && backup::list(&app.dir)?.is_empty() => {
            "nothing was captured yet; the first hook makes it".to_owned()
        }
        None if verified.is_index_alone() => {
            "only the search index is damaged; rebuild it: `remora index rebuild`".to_owned()
        }
        None => remedy::damaged(&path),
    };
    if app.json {
        let mut answer = as_json(&verified);
        answer["hint"] = if verified.is_sound() { Value::Null } else { hint.into() };
        output::json(&answer)?;
    } else {
        print(&verified, &hint);
    }
    Ok(if verified.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(verified: &Verified, hint: &str) {
    print_state(verified);
    if !verified.is_sound() {
        talk(&format!("\n{} {hint}", paint(BOLD, "hint:")));
    }
}

pub(super) fn print_state(verified: &Verified) {
    let path = verified.path.display();
    if verified.is_sound() {
        let contents = verified.contents.as_ref().map(|contents| format!("; {}", contents_text(contents)));
        let size = output::bytes(verified.bytes);
        let state = paint(GREEN, "sound");
        prose(&format!(
            "{path}: {state}, schema {}, {size}{}",
            verified.schema,
            contents.unwrap_or_default()
        ));
        return;
    }
    prose(&format!("{path}: {}", paint(RED, "damaged")));
    for problem in &verified.problems {
        prose_below("  ", problem);
    }
}

pub(super) fn as_json(verified: &Verified) -> Value {
    json!({
        "path": verified.path,
        "ok": verified.is_sound(),
        "bytes": verified.bytes,
        "schema": verified.schema,
        "contents": verified.contents.as_ref().map(contents_json),
        "problems": verified.problems,
    })
}

pub(super) fn contents_json(contents: &Contents) -> Value {
    json!({
        "sessions": contents.sessions,
        "prompts": contents.prompts,
        "observations": contents.observations,
        "last_activity_at": contents.last_activity_at.map(Time::iso),
        "last_activity_at_epoch": contents.last_activity_at,
    })
}

pub(super) fn contents_text(contents: &Contents) -> String {
    let Contents { sessions, prompts, observations, last_activity_at } = contents;
    let last = last_activity_at.map(|at| format!(", the last event at {}", output::local(at)));
    format!(
        "{}, {}, {}{}",
        output::count(*sessions, "session"),
        output::count(*prompts, "prompt"),
        output::count(*observations, "observation"),
        last.unwrap_or_default()
    )
}
