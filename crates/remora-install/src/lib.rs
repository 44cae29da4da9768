//! Puts Remora into the configuration of the hosts on this machine, and takes it out again.
//!
//! A [`recipe`] says what a host's files should have. [`install::plan`] compares that with the files there are and shows
//! every change as a diff; applying the plan keeps a copy of each file, writes a receipt into the data directory, and
//! replaces the files. [`uninstall::plan`] reads the receipt: a file that nobody else has changed becomes what it was,
//! byte for byte, and from any other exactly our entries go.
//!
//! Files are changed as text, so comments, order and layout stay. A file that cannot be read, parsed or replaced is
//! refused with the reason and never touched. This crate knows neither the database nor a terminal.

mod diff;
mod entry;
mod file;
pub mod install;
mod json;
mod receipt;
mod recipe;
pub mod state;
mod toml;
pub mod uninstall;
mod words;

use std::path::PathBuf;

pub use receipt::{FORMAT, is_stale, receipt_path};
pub use recipe::{RECIPES, Recipe, recipe};

/// The machine as a recipe sees it.
#[expect(missing_debug_implementations, reason = "a function has none that says anything")]
pub struct Surroundings<'a> {
    pub home: PathBuf,
    /// Where receipt and copies are kept.
    pub data_dir: PathBuf,
    /// This program, by its absolute path.
    pub program: PathBuf,
    /// How an agent calls this program in a shell.
    pub command: String,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub version: &'static str,
}

impl Surroundings<'_> {
    /// A folder that a variable names.
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}
