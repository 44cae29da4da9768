use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use remora_app::Runtime as _;
use remora_app::present::ProjectJson;
use remora_app::projects;
use serde_json::json;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, Table, prose, say};

/// List projects, split two that share a memory, or give an imported one its directory.
///
/// Worktrees and clones of one repository share a memory. A clone is recognised by its origin. An origin is easy to fake,
/// so the first session in a new clone says with which directory it shares a memory. Outside git, a new directory shares the
/// memory of the nearest known directory above it; `remora status` says so.
#[derive(Args)]
pub(crate) struct Project {
    #[command(subcommand)]
    action: Option<ProjectAction>,
}

#[derive(Subcommand)]
enum ProjectAction {
    /// List every project with its directory and its origin.
    List,
    /// Give a directory a memory of its own, although another one has the same origin.
    ///
    /// This applies to sessions that start from now on. Existing memory stays with the other project.
    Split {
        /// The directory; without it, the current one.
        directory: Option<PathBuf>,
    },
    /// Give a directory to a project that was imported without one.
    ///
    /// Its memory is injected there from now on. A directory that already has a memory keeps it: the two are merged.
    Join {
        /// The name of the project, or its id.
        name: String,
        /// The directory; without it, the current one.
        directory: Option<PathBuf>,
    },
}

pub(crate) fn run(app: &App, arguments: &Project) -> Result<()> {
    match &arguments.action {
        None | Some(ProjectAction::List) => list(app),
        Some(ProjectAction::Split { directory }) => split(app, directory.clone()),
        Some(ProjectAction::Join { name, directory }) => join(app, name, directory.clone()),
    }
}

fn list(app: &App) -> Result<()> {
    let rt = app.open()?;
    let reach = App::caller(&rt)?.reach;
    let mut projects = rt.store().projects().list()?;
    projects.retain(|project| reach.includes(Some(project.id)));
    if app.json {
        let projects: Vec<ProjectJson> = projects.into_iter().map(ProjectJson::from).collect();
        return output::json(&json!({ "projects": projects }));
    }
    if projects.is_empty() {
        prose("No projects yet. Remora knows one as soon as an agent works in it; see `remora demo`.");
        return Ok(());
    }
    let mut table = Table::new(&["ID", "NAME", "DIRECTORY", "ORIGIN"]);
    for project in projects {
        let origin = project.origin.unwrap_or_else(|| "–".to_owned());
        let is_nowhere = app.dir.is_placeholder(Path::new(&project.root));
        let root = if is_nowhere { "–".to_owned() } else { project.root };
        table.row(vec![project.id.0.to_string(), project.name, root, origin]);
    }
    table.print();
    Ok(())
}

fn join(app: &App, name: &str, directory: Option<PathBuf>) -> Result<()> {
    let directory = match directory {
        Some(directory) => directory,
        None => std::env::current_dir()?,
    };
    if !directory.is_dir() {
        return Err(CliError::usage(format!("{} is not a directory", directory.display()))
            .hint("name the directory of the project: `remora project join NAME DIR`"));
    }
    let mut rt = app.open()?;
    // Otherwise an agent would reach the other memory.
    App::caller(&rt)?.refuse_agent("join two projects", "remora project join NAME DIR")?;
    let project = projects::join(&mut rt, name, &directory)?;
    if app.json {
        return output::json(&ProjectJson::from(project));
    }
    say(&format!("The memory of {name} is that of {} now.", project.root));
    Ok(())
}

fn split(app: &App, directory: Option<PathBuf>) -> Result<()> {
    let directory = match directory {
        Some(directory) => directory,
        None => std::env::current_dir()?,
    };
    let mut rt = app.open_caught_up()?;
    let before = projects::joined(&rt, &directory)?;
    let project = projects::split(&mut rt, &directory)?;
    if app.json {
        return output::json(&ProjectJson::from(project));
    }
    say(&format!("{} is project {} now, with a memory of its own.", project.root, project.id.0));
    if let Some(joined) = before {
        say(&format!("What was remembered so far stays with {}.", joined.root));
    }
    Ok(())
}
