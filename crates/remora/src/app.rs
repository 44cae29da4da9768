//! State that every command needs: the data directory, the settings, and the output format.

use std::io::IsTerminal as _;
use std::path::Path;

use remora_app::{AppError, Caller, Local, ProjectSelector, REACH_HINT, Reach, Runtime as _};
use remora_core::settings::{Problem, Settings};
use remora_store::{DataDir, ReadOnly, Store, StoreError};

use crate::env;
use crate::error::{CliError, Result};
use crate::{output, runtime};

pub(crate) struct App {
    pub(crate) dir: DataDir,
    /// As they were when the process started.
    pub(crate) settings: Settings,
    pub(crate) settings_problems: Vec<Problem>,
    pub(crate) json: bool,
}

impl App {
    pub(crate) fn new(json: bool) -> Result<Self> {
        let path = env::data_dir().ok_or_else(|| {
            CliError::internal("there is no home directory to keep the memory in")
                .hint("give a directory: `REMORA_DATA_DIR=/path/to/dir remora status`")
        })?;
        Ok(Self::at(&path, json))
    }

    pub(crate) fn at(data_dir: &Path, json: bool) -> Self {
        let dir = env::data_at(data_dir);
        let (settings, settings_problems) = settings(&dir);
        Self { dir, settings, settings_problems, json }
    }

    pub(crate) fn warn_of_settings(&self) {
        for problem in &self.settings_problems {
            output::talk(&format!("warning: {problem}"));
        }
    }

    /// The memory of this directory, opened without a word.
    pub(crate) fn local(&self) -> std::result::Result<Local, StoreError> {
        Ok(Local::new(Store::open(&self.dir)?, self.settings.clone(), &runtime::COMMAND))
    }

    /// Opens the memory for a command that only reads, or that changes memory, and warns on stderr about its state.
    pub(crate) fn open(&self) -> Result<Local> {
        let rt = self.local()?;
        self.warn(rt.store());
        Ok(rt)
    }

    /// The same for a command that writes something else, or whose answer includes events in the spool.
    pub(crate) fn open_caught_up(&self) -> Result<Local> {
        let store = Store::open_caught_up(&self.dir)?;
        self.warn(&store);
        let mut rt = Local::new(store, self.settings.clone(), &runtime::COMMAND);
        rt.finish_forgetting();
        Ok(rt)
    }

    fn warn(&self, store: &Store) {
        self.warn_of_settings();
        match store.read_only() {
            None => {}
            Some(ReadOnly::NewerSchema(found)) => output::talk(&format!(
                "warning: the database has schema {found}, made by a newer Remora; reading only"
            )),
            Some(ReadOnly::Disk) => output::talk(&format!(
                "warning: the disk of {} is full or cannot be written; reading only",
                self.dir.path().display()
            )),
        }
    }

    /// Who runs this command, and which projects they may reach.
    pub(crate) fn caller(rt: &Local) -> Result<Caller> {
        Ok(Caller::of_command(rt, is_typed())?)
    }

    /// The same for a command that must not create the memory.
    pub(crate) fn caller_of_any_memory(&self) -> Result<Caller> {
        if self.dir.database().exists() {
            Self::caller(&self.open()?)
        } else {
            Ok(Caller::without_memory(is_typed()))
        }
    }
}

/// Whether this process has a terminal, and not the environment of an agent.
fn is_typed() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !env::is_agent()
}

/// The memory to use: that of the named project, of all projects, or of the current directory.
pub(crate) fn scope_of(project: Option<&str>, all: bool) -> Result<ProjectSelector> {
    Ok(match project {
        _ if all => ProjectSelector::All,
        Some(name) => ProjectSelector::Project(name.to_owned()),
        None => ProjectSelector::Directory(std::env::current_dir()?),
    })
}

/// All projects or, for an agent, its own.
pub(crate) fn all_within(reach: &Reach, store: &Store) -> Result<ProjectSelector> {
    if reach.is_limited() {
        output::talk(&format!("Limited to this project: {REACH_HINT}."));
    }
    Ok(reach.widest(store, scope_of(None, false)?)?)
}

/// The result for a directory. In a directory without memory, as in every new project, this prints the next
/// step and is not an error.
pub(crate) fn if_known<T>(store: &Store, found: std::result::Result<T, AppError>) -> Result<Option<T>> {
    let directory = match found {
        Ok(found) => return Ok(Some(found)),
        Err(AppError::UnknownDirectory(directory)) => directory,
        Err(error) => return Err(error.into()),
    };
    if store.projects().list()?.is_empty() {
        output::talk(
            "The memory is empty. Put Remora into your agent: `remora install`; see what it will look like: `remora demo`",
        );
    } else {
        output::talk(&format!(
            "There is no memory of {} yet. Work with your agent there, or save a text yourself: `remora save TEXT`",
            directory.display()
        ));
        output::talk("Other projects: `remora projects`; search all of them: `remora search --all TEXT`");
    }
    Ok(None)
}

/// The current settings, and those that are invalid.
pub(crate) fn settings(dir: &DataDir) -> (Settings, Vec<Problem>) {
    remora_app::settings::load(dir, env::variable)
}
