//! State that every command needs: the data directory, the settings, and the output format.

use std::io::IsTerminal as _;
use std::path::Path;

use remora_app::context_files::{RefreshReport, with_file_refresh};
use remora_app::{AppError, Caller, ProjectSelector, REACH_HINT, Reach};
use remora_client::{poke, presence};
use remora_core::settings::{Problem, Settings};
use remora_core::time::Time;
use remora_store::{DataDir, ReadOnly, Store, forget::NextStep};

use crate::command::context_files;
use crate::env;
use crate::error::{CliError, Result};
use crate::output;

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

    /// Opens the store and warns on stderr about its state.
    pub(crate) fn open(&self) -> Result<Store> {
        let mut store = Store::open(&self.dir)?;
        self.warn_of_settings();
        self.finish_forgetting(&mut store);
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
        Ok(store)
    }

    /// Who runs this command, and which projects they may reach.
    pub(crate) fn caller(&self, store: &Store) -> Result<Caller> {
        Ok(Caller::of_command(store, &self.settings, is_typed())?)
    }

    /// The same for a command that must not create the memory.
    pub(crate) fn caller_of_any_memory(&self) -> Result<Caller> {
        if self.dir.database().exists() {
            self.caller(&self.open()?)
        } else {
            Ok(Caller::without_memory(is_typed()))
        }
    }

    /// Runs a use case that changes memory, with everything that follows it. A context file that cannot be written only
    /// causes a warning.
    pub(crate) fn change<T>(
        &self,
        store: &mut Store,
        work: impl FnOnce(&mut Store) -> std::result::Result<T, AppError>,
    ) -> std::result::Result<T, AppError> {
        let (done, followed) = change(&self.dir, store, work);
        context_files::warn(&followed);
        done
    }

    /// Without a daemon, a command erases forgotten records from the files once they can no longer be undone.
    fn finish_forgetting(&self, store: &mut Store) {
        let is_due =
            store.read_only().is_none() && matches!(store.forget().next_step(), Ok(Some(NextStep::Erase)));
        if !is_due || presence::find(&self.dir).is_ok_and(|daemon| daemon.is_some()) {
            return;
        }
        if let Err(error) = remora_app::forget::finish(store, Time::now()) {
            output::talk(&format!("warning: what was forgotten is still in some files: {error}"));
        }
    }
}

/// Whether this process has a terminal, and not the environment of an agent.
fn is_typed() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !env::is_agent()
}

/// Runs a use case that changes memory. Then context files are updated, and the daemon is woken: it makes vectors, updates
/// pages, and erases what was forgotten.
pub(crate) fn change<T>(
    dir: &DataDir,
    store: &mut Store,
    work: impl FnOnce(&mut Store) -> std::result::Result<T, AppError>,
) -> (std::result::Result<T, AppError>, RefreshReport) {
    let (done, followed) = with_file_refresh(store, work);
    if done.is_ok() {
        // A failure is ignored: the change is stored already, and search by words finds it.
        let _ = poke(dir, settings(dir).0.daemon.autostart);
    }
    (done, followed)
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
