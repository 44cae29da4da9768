use clap::{Args, Subcommand};
use remora_app::notes;
use remora_app::{Local, Runtime as _};
use remora_client::poke;
use remora_core::settings::{Memory, NotesSource};
use remora_notes::{Access, Offered, certificate};
use remora_store::notes::NotesState;
use serde_json::json;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, DIM, YELLOW, count, paint, prose, say, talk};

/// Show or sync your own notes, which agents can use as memory.
///
/// Notes come from a folder of Markdown (`remora config set memory.obsidian_vault ~/Notes`), or from Obsidian's Local REST API
/// (`memory.obsidian_api_url`, `memory.obsidian_api_key`). Notes with the tag `#remora`, and those named in
/// `memory.obsidian_context_notes`, are injected into every session. Other notes are found by search, and
/// injected with prompts that they answer.
#[derive(Args)]
pub(crate) struct Notes {
    #[command(subcommand)]
    action: Option<NotesAction>,
}

#[derive(Subcommand)]
enum NotesAction {
    /// Show where notes come from, how many are indexed, and which are always injected (the default).
    Status,
    /// Read changed notes now; a running daemon does this by itself.
    Sync,
    /// Trust the certificate that Obsidian presents now, and no other.
    ///
    /// The first certificate is trusted without a question. A different one is refused until you run this command. Compare
    /// the fingerprint first.
    Trust,
}

pub(crate) fn run(app: &App, arguments: &Notes) -> Result<()> {
    let settings = &app.settings.memory;
    match arguments.action {
        None | Some(NotesAction::Status) => status(app, &app.open()?, settings),
        Some(NotesAction::Sync) => sync(app, settings),
        Some(NotesAction::Trust) => trust(app, settings),
    }
}

fn status(app: &App, rt: &Local, settings: &Memory) -> Result<()> {
    let notes::Notes { state, known, always, .. } = notes::notes(rt)?;
    let access = Access::new(settings, &app.dir);
    let unknown = match access {
        Some(_) => remora_notes::unknown_names(&known, settings),
        None => Vec::new(),
    };
    if app.json {
        return output::json(&json!({
            "source": access.as_ref().map(Access::name),
            "enabled": settings.obsidian_context_enabled,
            "notes": known.len(),
            "always_injected": always.iter().map(|note| json!({
                "id": format!("n{}", note.id), "path": note.path, "title": note.title,
            })).collect::<Vec<_>>(),
            "unknown_names": unknown,
            "synced_at": state.synced_at,
            "problem": state.problem,
            "left_out": state.left_out,
            "certificate": fingerprint(app, settings)?,
        }));
    }
    let line = |label: &str, text: &str| say(&format!("{}{text}", paint(DIM, &format!("{label:<13}"))));
    let Some(access) = access else {
        let none = nothing_set_up(settings);
        prose(&format!(
            "{}. {}",
            capitalised(none.message()),
            capitalised(none.hint_text().unwrap_or_default())
        ));
        return Ok(());
    };
    line("source", &access.name());
    line("notes", &known.len().to_string());
    for (number, note) in always.iter().enumerate() {
        line(if number == 0 { "always" } else { "" }, &format!("n{} {}", note.id, note.path));
    }
    line("last read", &state.synced_at.map_or_else(|| "never".to_owned(), output::local));
    if let Some(fingerprint) = fingerprint(app, settings)? {
        line("certificate", &fingerprint);
    }
    if let Some(problem) = &state.problem {
        line("problem", &paint(YELLOW, problem));
    }
    left_out(&state);
    for name in &unknown {
        talk(&format!(
            "memory.obsidian_context_notes: `{}` matches no note, or more than one; give its path in the vault",
            output::brief(name, 80)
        ));
    }
    if always.is_empty() && state.problem.is_none() {
        let tag = &settings.obsidian_context_tag;
        talk(&format!(
            "No note is injected into every session: give one the tag #{tag}, or name it in memory.obsidian_context_notes."
        ));
    }
    Ok(())
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn left_out(state: &NotesState) {
    for reason in &state.left_out {
        talk(&format!("left out: {}", output::brief(reason, 200)));
    }
}

fn nothing_set_up(settings: &Memory) -> CliError {
    if settings.obsidian_context_enabled {
        CliError::not_found("there is no source of notes")
            .hint("name a folder of Markdown: `remora config set memory.obsidian_vault ~/Notes`")
    } else {
        CliError::not_found("notes are off")
            .hint("switch them on: `remora config set memory.obsidian_context_enabled true`")
    }
}

fn fingerprint(app: &App, settings: &Memory) -> Result<Option<String>> {
    match address(settings) {
        Some(address) => Ok(certificate::trusted(&app.dir, address)?),
        None => Ok(None),
    }
}

fn address(settings: &Memory) -> Option<&str> {
    match settings.notes_source()? {
        NotesSource::Api(address) => Some(address.trim_end_matches('/')),
        NotesSource::Folder(_) => None,
    }
}

fn sync(app: &App, settings: &Memory) -> Result<()> {
    let rt = app.open_caught_up()?;
    let done = remora_notes::sync(rt.store(), settings, |_| {})?;
    // A running daemon creates the vectors. Without one, sending fails, which is fine.
    let _ = poke(&app.dir, false);
    if let Some(problem) = done.problem {
        return Err(CliError::internal(problem.to_string())
            .hint("notes that are indexed stay; see `remora notes status`"));
    }
    if settings.notes_source().is_none() && done.gone == 0 {
        return Err(nothing_set_up(settings));
    }
    let (notes, state) = (rt.store().notes().known()?.len(), rt.store().notes().state()?);
    if app.json {
        return output::json(&json!({
            "notes": notes, "read": done.read, "gone": done.gone, "left_out": state.left_out,
        }));
    }
    let notes = count(i64::try_from(notes).unwrap_or(i64::MAX), "note");
    say(&format!("{notes}: {} read, {} gone", done.read, done.gone));
    left_out(&state);
    Ok(())
}

fn trust(app: &App, settings: &Memory) -> Result<()> {
    let Some(address) = address(settings).filter(|address| address.starts_with("https://")) else {
        return Err(CliError::usage("notes do not come over HTTPS, so there is no certificate to trust")
            .hint("see where they come from: `remora notes status`"));
    };
    app.dir.create()?;
    let before = certificate::trusted(&app.dir, address)?;
    let Offered { fingerprint } = Offered::at(address).map_err(|error| {
        CliError::internal(error.to_string()).hint("start Obsidian, and try again: `remora notes trust`")
    })?;
    certificate::trust(&app.dir, address, &fingerprint)?;
    let is_new = before.as_ref() != Some(&fingerprint);
    if app.json {
        return output::json(&json!({
            "address": address, "certificate": fingerprint, "before": before, "changed": is_new,
        }));
    }
    say(&format!("{address}: {fingerprint}"));
    if let Some(before) = before.filter(|_| is_new) {
        talk(&format!("replaces {before}"));
    }
    let _ = poke(&app.dir, false);
    Ok(())
}
