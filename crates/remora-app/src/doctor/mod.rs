//! The doctor: named checks of the whole installation, each with a finding and, if something is wrong, the way out.
//!
//! One file a group of checks. A check is a function from the [`Examination`] to a [`Finding`]; it changes nothing. [`fix`]
//! puts right what can be put right safely. Doors show the report: the command, and the page about health.

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
use remora_install::Surroundings;
use remora_store::{DataDir, Store, StoreError, problems};
use serde::Serialize;

use crate::status::Daemon;

pub use observing::{CLAUDE_LOGIN, misses_key};

/// Everything that is looked at.
pub struct Examination<'a> {
    pub dir: &'a DataDir,
    pub settings: &'a Settings,
    /// What could not be used of the settings given.
    pub settings_problems: &'a [Problem],
    /// `None` without a home directory.
    pub machine: Option<&'a Surroundings<'a>>,
    /// The running daemon; the default one is not running.
    pub daemon: &'a Daemon,
    /// Whether hooks are switched off by a variable of this process.
    pub is_disabled: bool,
    /// Whether a connection to the provider in the settings may be tried. It takes up to two seconds and sends nothing.
    pub tries_provider: bool,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub now: Time,
}

impl fmt::Debug for Examination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Examination").field("dir", self.dir).field("now", &self.now).finish_non_exhaustive()
    }
}

/// What was found.
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

    /// What [`fix`] would put right.
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
    /// The finding of a check that needs the database. Without one, the check of the database says why.
    fn with_store(
        &self,
        name: &'static str,
        check: impl FnOnce(&Store) -> Result<Finding, StoreError>,
    ) -> Finding {
        match &self.store {
            Ok(store) => check(store).unwrap_or_else(|error| Finding::failed(name, &error)),
            Err(_) => Finding::note(name, "not known while the database cannot be opened"),
        }
    }
}

/// Runs every check. Nothing is changed, except that opening the database takes in the spool, as every command does.
pub fn examine(about: &Examination<'_>) -> Report {
    // Before the database is opened: that closes files which are open to others.
    let mut checks = data::before_opening(about);
    let opened = Opened { about, store: Store::open(about.dir) };
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
