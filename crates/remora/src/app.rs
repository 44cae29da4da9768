//! What every command needs: the data directory, the settings, and how to answer.

use std::io;

use remora_core::document::ProjectScope;
use remora_core::settings::{Problem, Settings};
use remora_store::{DataDir, FoundProject, ProjectRow, SessionRow, Store, locate, log};
use remora_sys::file::read_small;

use crate::env;
use crate::error::{CliError, Result};
use crate::output;

pub(crate) struct App {
    pub(crate) dir: DataDir,
    pub(crate) settings_problems: Vec<Problem>,
    pub(crate) json: bool,
}

impl App {
    pub(crate) fn new(json: bool) -> Result<Self> {
        let path = env::data_dir().ok_or_else(|| {
            CliError::internal("there is no home directory to keep the memory in")
                .hint("give a directory: `REMORA_DATA_DIR=/path/to/dir remora status`")
        })?;
        let dir = DataDir::new(path);
        let (_, settings_problems) = settings(&dir);
        Ok(Self { dir, settings_problems, json })
    }

    pub(crate) fn warn_of_settings(&self) {
        for problem in &self.settings_problems {
            output::talk(&format!("warning: {problem}"));
        }
    }

    /// Opens the store and says on stderr what the user should know about it.
    pub(crate) fn open(&self) -> Result<Store> {
        let store = Store::open(&self.dir)?;
        self.warn_of_settings();
        if let Some(found) = store.newer_schema() {
            output::talk(&format!(
                "warning: the database has schema {found}, made by a newer Remora; reading only"
            ));
        }
        Ok(store)
    }
}

/// A project by its name, id, or a directory.
pub(crate) fn project(store: &Store, wanted: &str) -> Result<ProjectRow> {
    match store.find_project(wanted)? {
        FoundProject::One(project) => Ok(*project),
        FoundProject::Several(several) => {
            let ids: Vec<String> = several.iter().map(|p| format!("{} ({})", p.id, p.root)).collect();
            Err(CliError::usage(format!("{} projects are called `{wanted}`", several.len()))
                .hint(format!("name one by its id: {}", ids.join(", "))))
        }
        FoundProject::None => Err(CliError::not_found(format!("no project is known as `{wanted}`"))
            .hint("see what there is: `remora sessions`")),
    }
}

/// A session by the beginning of its id.
pub(crate) fn session(store: &Store, beginning: &str) -> Result<SessionRow> {
    let sessions = store.sessions_named(beginning)?;
    match sessions.as_slice() {
        [session] => Ok(session.clone()),
        [] => Err(CliError::not_found(format!("no session is known as `{beginning}`"))
            .hint("see what there is: `remora sessions`")),
        several => {
            let ids: Vec<&str> = several.iter().map(|session| session.content_session_id.as_str()).collect();
            Err(CliError::usage(format!("`{beginning}` is the beginning of {} sessions", several.len()))
                .hint(format!("give more of it: {}", ids.join(", "))))
        }
    }
}

/// Whose memory is meant: the project somebody named, all of them, or the one of the directory they are in.
pub(crate) fn scope(store: &Store, wanted: Option<&str>, all: bool) -> Result<ProjectScope> {
    if all {
        return Ok(ProjectScope::All);
    }
    if let Some(wanted) = wanted {
        return Ok(ProjectScope::One(project(store, wanted)?.id));
    }
    let directory = std::env::current_dir()?;
    match store.project_at(&locate(&directory))? {
        Some(project) => Ok(ProjectScope::One(project.id)),
        None => {
            Err(CliError::not_found(format!("nothing is remembered of {} yet", directory.display())).hint(
                "name another project: `--project NAME` (`remora sessions` has them), or search all: `remora search --all TEXT`",
            ))
        }
    }
}

/// The settings in force, and what could not be used of those given.
pub(crate) fn settings(dir: &DataDir) -> (Settings, Vec<Problem>) {
    let (settings, problems) = match config_text(dir) {
        Ok(text) => Settings::resolve(text.as_deref(), env::variable),
        Err(error) => Settings::resolve_unreadable(&error.to_string(), env::variable),
    };
    log::set_limit(settings.retention.log_mb);
    (settings, problems)
}

/// The text of `config.toml`, if there is one.
pub(crate) fn config_text(dir: &DataDir) -> io::Result<Option<String>> {
    match read_small(&dir.config()) {
        Ok(text) => Ok(Some(text)),
        // A data directory that is no directory is reported where it is used.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
