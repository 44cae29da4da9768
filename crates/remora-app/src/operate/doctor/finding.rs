//! The result of a check.

use remora_store::StoreError;
use serde::Serialize;

use crate::remedy;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub group: Group,
    /// The name of the check, the same in every run.
    pub name: &'static str,
    pub state: State,
    pub message: String,
    /// The next command to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What `remora doctor --fix` does about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Worth knowing, but Remora works.
    Note,
    Wrong,
}

/// The part of the installation that a check is about, in report order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Agents,
    Capture,
    Data,
    Daemon,
    Observer,
    Memory,
}

impl Group {
    pub fn title(self) -> &'static str {
        match self {
            Group::Agents => "Agents",
            Group::Capture => "Capture",
            Group::Data => "Data",
            Group::Daemon => "Daemon",
            Group::Observer => "Observer",
            Group::Memory => "Memory",
        }
    }
}

/// A repair that loses nothing and can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fix {
    /// Removes other users' access to files of the data directory.
    ClosePermissions,
    /// Reinstalls in every host where something is installed, as this version would install it.
    RefreshHooks,
    /// Turns queued events of ended turns into observations.
    DrainQueue,
    /// Makes a backup.
    MakeBackup,
    /// Creates the missing documents of the search index.
    FillIndex,
}

impl Finding {
    pub(super) fn new(name: &'static str, state: State, message: impl Into<String>) -> Self {
        Self { group: Group::Data, name, state, message: message.into(), hint: None, fix: None }
    }

    pub(super) fn good(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Ok, message)
    }

    pub(super) fn note(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Note, message)
    }

    pub(super) fn wrong(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, State::Wrong, message)
    }

    /// A check that failed because of the store.
    pub(super) fn failed(name: &'static str, error: &StoreError) -> Self {
        Self::wrong(name, error.to_string()).hint(remedy::of(error))
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn fixed_by(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    pub(super) fn of(mut self, group: Group) -> Self {
        self.group = group;
        self
    }
}

/// Puts findings into one group.
pub(super) fn grouped(group: Group, findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    findings.into_iter().map(|finding| finding.of(group)).collect()
}
