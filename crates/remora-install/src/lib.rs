//! Installs Remora in the configuration of the hosts on this machine, and removes it again.
//!
//! A [`recipe`] describes what a host's files should contain. [`install::plan`] compares that with the existing files
//! and shows every change as a diff. Applying the plan saves a copy of each file, writes a receipt into the data
//! directory, and replaces the files. [`uninstall::plan`] reads the receipt: a file that has not been changed since is
//! restored byte for byte; from any other file, only our entries are removed.
//!
//! Files are edited as text, so comments, order and layout are kept. A file that cannot be read, parsed or replaced is
//! refused with the reason and never changed. This crate knows neither the database nor a terminal.

mod diff;
mod entry;
mod file;
pub mod install;
mod json;
mod lock;
mod receipt;
mod recipe;
pub mod state;
mod toml;
pub mod uninstall;
mod words;

use std::path::PathBuf;

pub use lock::Lock;
pub use receipt::{FORMAT, is_stale, receipt_path};
pub use recipe::{READING_TOOLS, RECIPES, Recipe, recipe};

/// The machine as a recipe sees it.
#[expect(missing_debug_implementations, reason = "a function has none that says anything")]
pub struct InstallEnv<'a> {
    pub home: PathBuf,
    /// Directory of the receipt and the copies.
    pub data_dir: PathBuf,
    /// Absolute path of this program.
    pub program: PathBuf,
    /// How an agent calls this program in a shell.
    pub command: String,
    /// Reads an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub version: &'static str,
}

impl InstallEnv<'_> {
    /// Whether hosts have to be given the data directory, because it is not the default.
    pub fn has_own_data_dir(&self) -> bool {
        self.data_dir != self.home.join(".remora")
    }

    /// The arguments of a command that a host runs. A host may be started without `REMORA_DATA_DIR`, so they name a data
    /// directory that is not the default.
    fn arguments(&self, command: &[&str]) -> Vec<String> {
        let mut arguments: Vec<String> = command.iter().map(ToString::to_string).collect();
        if self.has_own_data_dir() {
            arguments.extend(["--data-dir".to_owned(), self.data_dir.to_string_lossy().into_owned()]);
        }
        arguments
    }

    /// The folder in an environment variable, if it is an absolute path.
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}
