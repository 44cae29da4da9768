use clap::{Args, Subcommand};
use remora_app::ProjectSelector;
use remora_app::context_files::{self, Kept, RefreshReport};
use remora_context_files::{Outcome, Report, What};
use remora_store::context_files::Forms;
use serde_json::json;

use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, DIM, GREEN, YELLOW, paint, prose, prose_below, say, talk};

/// Keep memory in files of the repository, for hosts that only read files.
///
/// Remora writes a marked section into CLAUDE.md, into the CLAUDE.md of active folders, or into a rule for Cursor, and keeps it up
/// to date. Off by default: if a host runs hooks, they inject all this and more, and the repository stays clean. Nothing outside
/// the marks is ever changed. Files with nothing but a section are kept out of `git status`. `disable` restores every file.
#[derive(Args)]
pub(crate) struct ContextFiles {
    #[command(subcommand)]
    action: Option<ContextFilesAction>,
}

#[derive(Subcommand)]
enum ContextFilesAction {
    /// Write memory into files of this project; without a form (`--folders`, `--cursor`), into CLAUDE.md.
    Enable(WhichFiles),
    /// Remove the sections and restore every file; without a form, all of them.
    Disable(WhichFiles),
    /// List the files, and those that could not be written.
    Status(Where),
    /// Update the files now.
    Refresh(Where),
}

#[derive(Args)]
struct Where {
    /// A project by its directory, name or id; without it, the one you are in.
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
}

#[derive(Args)]
struct WhichFiles {
    /// A section `## Recent Memory` in the project's CLAUDE.md.
    #[arg(long)]
    claude_md: bool,
    /// Small sections in the CLAUDE.md of active folders.
    #[arg(long)]
    folders: bool,
    /// A rule for Cursor: .cursor/rules/remora-context.mdc.
    #[arg(long)]
    cursor: bool,
    #[command(flatten)]
    place: Where,
}

impl Where {
    fn scope_of(&self) -> Result<ProjectSelector> {
        app::scope_of(self.project.as_deref(), false)
    }
}

impl WhichFiles {
    fn forms(&self, without: Forms) -> Forms {
        let forms = Forms { claude_md: self.claude_md, folders: self.folders, cursor: self.cursor };
        if forms.any() { forms } else { without }
    }
}

pub(crate) fn run(app: &App, arguments: &ContextFiles) -> Result<()> {
    match &arguments.action {
        Some(ContextFilesAction::Enable(which)) => enable(app, which),
        Some(ContextFilesAction::Disable(which)) => disable(app, which),
        Some(ContextFilesAction::Status(place)) => status(app, place),
        Some(ContextFilesAction::Refresh(place)) => refresh(app, place),
        None => status(app, &Where { project: None }),
    }
}

fn enable(app: &App, which: &WhichFiles) -> Result<()> {
    let mut rt = app.open_caught_up()?;
    let forms = which.forms(Forms { claude_md: true, ..Forms::default() });
    let report = context_files::enable(&mut rt, &which.place.scope_of()?, forms)?;
    if app.json {
        return output::json(&report);
    }
    print(&report);
    if !report.files.iter().any(|file| matches!(file.what, What::Written | What::Unchanged)) {
        prose("Nothing is written yet. It will be when something is learned here.");
    }
    talk("\nThey are kept up to date from now on. Remove them: `remora context-files disable`");
    Ok(())
}

fn disable(app: &App, which: &WhichFiles) -> Result<()> {
    let mut rt = app.open_caught_up()?;
    let all = Forms { claude_md: true, folders: true, cursor: true };
    let (report, others_stay) = context_files::disable(&mut rt, &which.place.scope_of()?, which.forms(all))?;
    if app.json {
        return output::json(&report);
    }
    print(&report);
    if report.files.iter().any(|file| matches!(file.what, What::Refused(_))) {
        talk(
            "\nRefused files still have their section. Fix the reason and repeat: `remora context-files disable`",
        );
    } else if others_stay {
        talk("\nThe other forms stay: `remora context-files status`");
    } else {
        prose("No context files are left here.");
    }
    Ok(())
}

fn status(app: &App, place: &Where) -> Result<()> {
    let rt = app.open()?;
    let Kept { root, files: all } = context_files::list(&rt, &place.scope_of()?)?;
    if app.json {
        return output::json(&json!({ "root": root, "context_files": all }));
    }
    if all.is_empty() {
        prose("Context files are off here: hooks inject memory, and the repository stays clean.");
        talk(
            "For hosts that only read files: `remora context-files enable [--claude-md] [--folders] [--cursor]`",
        );
    }
    for at in &all {
        say(&format!("{}  {}", at.root, paint(DIM, &forms(at.forms))));
        for file in &at.files {
            say(&format!("  {file}"));
        }
        for problem in &at.problems {
            let refused = format!("  {}  ", paint(YELLOW, "refused"));
            prose_below(&refused, &format!("{}: {}", problem.path, problem.reason));
        }
        if at.files.is_empty() && at.problems.is_empty() {
            prose("  nothing is written yet; it will be when something is learned here");
        }
        if !at.problems.is_empty() {
            talk("  fix that, then: `remora context-files refresh`");
        }
    }
    Ok(())
}

fn refresh(app: &App, place: &Where) -> Result<()> {
    let mut rt = app.open_caught_up()?;
    let reports = context_files::refresh(&mut rt, &place.scope_of()?)?;
    if app.json {
        return output::json(&reports);
    }
    reports.iter().for_each(print);
    Ok(())
}

/// Warns of files that could not be updated after memory changed.
pub(crate) fn warn(followed: &RefreshReport) {
    for problem in &followed.problems {
        talk(&format!("warning: {problem}; see `remora context-files status`"));
    }
    if let Some(error) = &followed.error {
        talk(&format!("warning: context files were not updated: {error}"));
    }
}

fn forms(forms: Forms) -> String {
    let names = [(forms.claude_md, "--claude-md"), (forms.folders, "--folders"), (forms.cursor, "--cursor")];
    let on: Vec<&str> = names.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name).collect();
    if on.is_empty() { "being removed".to_owned() } else { on.join(" ") }
}

fn print(report: &Report) {
    for Outcome { path, what } in &report.files {
        let path = if path.is_empty() { &report.root } else { path };
        let (mark, reason) = match what {
            What::Written => (paint(GREEN, "written  "), ""),
            What::Unchanged => (paint(DIM, "unchanged"), ""),
            What::Removed => (paint(GREEN, "removed  "), ""),
            What::Restored => (paint(GREEN, "restored "), "as it was"),
            What::Skipped(reason) => (paint(DIM, "skipped  "), reason.as_str()),
            What::Refused(reason) => (paint(YELLOW, "refused  "), reason.as_str()),
        };
        let path = output::brief(path, 200);
        let text = if reason.is_empty() { path } else { format!("{path}: {reason}") };
        prose_below(&format!("{mark}  "), &text);
    }
}
