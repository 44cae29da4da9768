//! The doctor: named checks of the whole installation, each with a finding and, if something is wrong, the next
//! command.
//!
//! There is one file per group of checks. A check is a function from the [`Examination`] to a [`Finding`] and changes
//! nothing. [`fix`] runs the safe repairs. The command, the home page and the health page show the report.

mod data;
mod finding;
mod fix;
mod hosts;
mod memory;
mod observing;
mod process;
mod queue;

use std::fmt;

pub use finding::{Finding, Fix, Group, State};
pub use fix::{Fixed, fix};
use remora_core::settings::{Problem, Settings};
use remora_core::time::Time;
use remora_install::InstallEnv;
use remora_store::{DataDir, Store, StoreError, problems};
use serde::Serialize;

use crate::status::DaemonStatus;

pub use observing::{CLAUDE_LOGIN, misses_key};

/// Input for all checks.
pub struct Examination<'a> {
    pub dir: &'a DataDir,
    pub settings: &'a Settings,
    /// Settings that could not be used.
    pub settings_problems: &'a [Problem],
    /// `None` without a home directory.
    pub machine: Option<&'a InstallEnv<'a>>,
    /// State of the daemon; the default means that it is not running.
    pub daemon: &'a DaemonStatus,
    /// Whether an environment variable of this process switches hooks off.
    pub is_disabled: bool,
    /// Whether slow checks run: a connection to the provider in the settings, which takes up to two seconds and sends
    /// nothing, and reading the whole database. A page shows the daemon's last check of the database instead.
    pub is_thorough: bool,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for Examination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Examination").field("dir", self.dir).finish_non_exhaustive()
    }
}

/// Result of all checks.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether nothing is wrong. Notes do not count.
    pub ok: bool,
    pub checks: Vec<Finding>,
    /// The last warnings and errors in the log.
    pub recent_problems: Vec<String>,
}

impl Report {
    pub fn number(&self, state: State) -> usize {
        self.checks.iter().filter(|finding| finding.state == state).count()
    }

    /// The repairs that [`fix`] would run.
    pub fn fixes(&self) -> Vec<Fix> {
        let mut fixes: Vec<Fix> = self.checks.iter().filter_map(|finding| finding.fix).collect();
        fixes.dedup();
        fixes
    }
}

/// The examination with the database open, or the reason why it is not.
struct Opened<'a> {
    about: &'a Examination<'a>,
    store: Result<Store, StoreError>,
}

impl Opened<'_> {
    /// Runs a check that needs the database. If it cannot be opened, the database check says why.
    fn with_store(
        &self,
        name: &'static str,
        check: impl FnOnce(&Store) -> Result<Finding, StoreError>,
    ) -> Finding {
        match &self.store {
            Ok(store) => check(store).unwrap_or_else(|error| self.failed(name, error)),
            Err(_) => Finding::note(name, "not known while the database cannot be opened"),
        }
    }

    /// A check that failed because of the open database.
    fn failed(&self, name: &'static str, error: StoreError) -> Finding {
        Finding::failed(name, &error.about(self.about.dir.database()))
    }
}

/// Runs every check. Changes nothing, except that the store catches up: events in the spool are to be counted and checked
/// like any other.
pub fn examine(about: &Examination<'_>) -> Report {
    // This comes before the database is opened, because opening it closes permissions that are too open.
    let mut checks = data::before_opening(about);
    let opened = Opened { about, store: Store::open_caught_up(about.dir) };
    checks.extend(data::checks(&opened));
    checks.extend(hosts::checks(&opened));
    checks.extend(queue::checks(&opened));
    checks.extend(process::checks(&opened));
    checks.extend(observing::checks(&opened));
    checks.extend(memory::checks(&opened));
    checks.sort_by_key(|finding| finding.group);
    let ok = checks.iter().all(|finding| finding.state != State::Wrong);
    Report { ok, checks, recent_problems: problems::recent(about.dir, 10) }
}

/// `38 events`, `1 event`.
fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The user's local time, to the minute.
fn local(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M")
}
