use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use remora_context_files::{Outcome, Report, What};
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_store::context_files::{FilesAt, Forms};
use remora_store::{Store, locate, log, worktree};
use serde_json::json;

use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, DIM, GREEN, YELLOW, paint, say, talk};

/// Memory in files of the repository, for hosts that read files: a marked section in CLAUDE.md, in the CLAUDE.md of
/// folders that are worked in, or in a rule for Cursor.
///
/// Off by default: where a host runs hooks, they tell its agent all this and more, and the repository stays clean.
/// Sections are kept up to date as things are learned. Nothing outside their marks is ever changed, files that hold
/// nothing else are kept out of `git status`, and `disable` leaves every file as it was.
#[derive(Args)]
pub(crate) struct ContextFiles {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write memory into files of this project and keep it up to date there; without a form, into CLAUDE.md.
    Enable(Which),
    /// Take the sections out again and leave every file as it was; without a form, all of them.
    Disable(Which),
    /// Which files there are, and what could not be written.
    Status(Where),
    /// Bring the files up to date now.
    Refresh(Where),
}

#[derive(Args)]
struct Where {
    /// A project by its directory, name or id; without it, the one you are in.
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
}

#[derive(Args)]
struct Which {
    /// A section `## Recent Memory` in the project's CLAUDE.md.
    #[arg(long)]
    claude_md: bool,
    /// Small sections in the CLAUDE.md of folders that are worked in.
    #[arg(long)]
    folders: bool,
    /// A rule for Cursor: .cursor/rules/remora-context.mdc.
    #[arg(long)]
    cursor: bool,
    #[command(flatten)]
    place: Where,
}

impl Which {
    fn forms(&self, without: Forms) -> Forms {
        let forms = Forms { claude_md: self.claude_md, folders: self.folders, cursor: self.cursor };
        if forms.any() { forms } else { without }
    }
}

pub(crate) fn run(app: &App, arguments: &ContextFiles) -> Result<()> {
    match &arguments.action {
        Action::Enable(which) => enable(app, which),
        Action::Disable(which) => disable(app, which),
        Action::Status(place) => status(app, place),
        Action::Refresh(place) => refresh(app, place),
    }
}

fn enable(app: &App, which: &Which) -> Result<()> {
    let mut store = app.open()?;
    let root = root(&store, &which.place)?;
    remora_context_files::check_root(&root).map_err(|reason| {
        CliError::usage(format!("no context files in {}: {reason}", root.display()))
            .hint("name the directory of a project: `remora context-files enable --project PATH`")
    })?;
    let text = root.to_str().ok_or_else(|| {
        CliError::usage(format!("{} is not UTF-8, so it cannot be noted", root.display()))
            .hint("rename the directory")
    })?;
    let project = match known(&store, &root)? {
        Some(project) => project,
        None => store.adopt_project(&locate(&root), Time::now())?,
    };
    let forms = which.forms(Forms { claude_md: true, ..Forms::default() });
    let report = remora_context_files::enable(&mut store, project, text, forms)?;
    if app.json {
        return output::json(&report);
    }
    print(&report);
    if !report.files.iter().any(|file| matches!(file.what, What::Written | What::Unchanged)) {
        say("Nothing is written yet. It will be when something is learned here.");
    }
    talk("\nThey are kept up to date from now on. Take them away again: `remora context-files disable`");
    Ok(())
}

fn disable(app: &App, which: &Which) -> Result<()> {
    let mut store = app.open()?;
    let (project, root) = enabled(&store, &which.place)?;
    let root = root.to_string_lossy();
    let all = Forms { claude_md: true, folders: true, cursor: true };
    let report = remora_context_files::disable(&mut store, project, &root, which.forms(all))?;
    if app.json {
        return output::json(&report);
    }
    print(&report);
    if report.files.iter().any(|file| matches!(file.what, What::Refused(_))) {
        talk("\nWhat was refused is still there. Put it right and repeat: `remora context-files disable`");
    } else if store.context_files(project)?.iter().any(|at| at.root == root) {
        talk("\nThe other forms stay: `remora context-files status`");
    } else {
        say("No context files are left here.");
    }
    Ok(())
}

fn status(app: &App, place: &Where) -> Result<()> {
    let store = app.open()?;
    let root = root(&store, place)?;
    let all = known(&store, &root)?.map_or(Ok(Vec::new()), |project| store.context_files(project))?;
    if app.json {
        return output::json(&json!({ "root": root, "context_files": all }));
    }
    if all.is_empty() {
        say("Context files are off here: hooks tell agents what is known, and the repository stays clean.");
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
            say(&format!("  {}  {}: {}", paint(YELLOW, "refused"), problem.path, problem.reason));
        }
        if at.files.is_empty() && at.problems.is_empty() {
            say("  nothing is written yet; it will be when something is learned here");
        }
        if !at.problems.is_empty() {
            talk("  put that right, then: `remora context-files refresh`");
        }
    }
    Ok(())
}

fn refresh(app: &App, place: &Where) -> Result<()> {
    let mut store = app.open()?;
    let (project, root) = enabled(&store, place)?;
    let reports = if store.context_files(project)?.iter().any(|at| Path::new(&at.root) == root) {
        remora_context_files::refresh(&mut store, project)?
    } else {
        // It was moved here: whatever it had before goes on.
        vec![remora_context_files::enable(&mut store, project, &root.to_string_lossy(), Forms::default())?]
    };
    if app.json {
        return output::json(&reports);
    }
    reports.iter().for_each(print);
    Ok(())
}

/// After something was learned without a daemon: the files of these projects, or of all that have some. Files that
/// cannot be written are no reason to fail what was asked for.
pub(crate) fn follow(store: &mut Store, only: Option<ProjectId>) {
    if let Err(error) = try_follow(store, only) {
        talk(&format!("warning: context files were not brought up to date: {}", error.message()));
    }
}

fn try_follow(store: &mut Store, only: Option<ProjectId>) -> Result<()> {
    for (project, earlier) in store.all_context_files()? {
        if only.is_none_or(|only| only == project) {
            remora_context_files::refresh(store, project)?;
            for problem in remora_context_files::new_problems(&earlier, &store.context_files(project)?) {
                log::warn(store.dir(), "context-files", &problem);
                talk(&format!("warning: {problem}; see `remora context-files status`"));
            }
        }
    }
    Ok(())
}

/// The directory the files are below: the working tree somebody is in, or that of the project they name.
fn root(store: &Store, place: &Where) -> Result<PathBuf> {
    let directory = match &place.project {
        None => std::env::current_dir()?,
        Some(wanted) if Path::new(wanted).is_dir() => PathBuf::from(wanted),
        Some(wanted) => PathBuf::from(app::project(store, wanted)?.root),
    };
    worktree(&directory).ok_or_else(|| {
        CliError::not_found(format!("{} is not there", directory.display()))
            .hint("name the project's directory: `--project PATH`")
    })
}

fn known(store: &Store, root: &Path) -> Result<Option<ProjectId>> {
    Ok(store.project_at(&locate(root))?.map(|project| project.id))
}

/// The project of a place that has context files, and its directory.
fn enabled(store: &Store, place: &Where) -> Result<(ProjectId, PathBuf)> {
    let root = root(store, place)?;
    if let Some(project) = known(store, &root)? {
        let all = store.context_files(project)?;
        // One that is gone was perhaps moved here.
        let is_here = |at: &&FilesAt| Path::new(&at.root) == root || !Path::new(&at.root).exists();
        if all.iter().any(|at| is_here(&at)) {
            return Ok((project, root));
        }
    }
    Err(CliError::not_found(format!("no context files are kept in {}", root.display()))
        .hint("write some: `remora context-files enable [--claude-md] [--folders] [--cursor]`"))
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
        say(&if reason.is_empty() { format!("{mark}  {path}") } else { format!("{mark}  {path}: {reason}") });
    }
}
