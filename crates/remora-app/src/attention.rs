//! What needs the user's attention, for an overview.

use remora_core::ids::ProjectId;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::{DataDir, Store};

use crate::AppError;
use crate::backup::{self, Standing};
use crate::status::Status;

/// One matter that somebody has to look at.
#[derive(Debug, Clone, PartialEq)]
pub enum Matter {
    /// Nothing is captured anywhere.
    Paused,
    /// Nothing is captured in these projects.
    PausedIn(Vec<String>),
    /// The database is damaged or cannot be written.
    Database(String),
    /// Events that could not be observed.
    Failed(i64),
    /// Events that could not be stored.
    Lost(usize),
    /// The model that observes does not answer.
    Model(String),
    /// The service that embeds does not answer.
    Embedder(String),
    /// Facts that contradict each other.
    Conflicts(i64),
    /// No backup is recent; the time of the newest one, if any.
    NoBackup(Option<Time>),
}

/// Matters of one project or of all, the most urgent first.
pub fn matters(
    dir: &DataDir,
    store: &Store,
    settings: &Settings,
    status: &Status,
    project: Option<ProjectId>,
    now: Time,
) -> Result<Vec<Matter>, AppError> {
    let mut matters = Vec::new();
    let paused = &status.capture.paused;
    if !status.capture.on {
        matters.push(Matter::Paused);
    } else if !paused.projects.is_empty() {
        matters.push(Matter::PausedIn(paused.projects.iter().map(|project| project.name.clone()).collect()));
    }
    matters.extend(status.database.error.clone().map(Matter::Database));
    if status.counts.failed > 0 {
        matters.push(Matter::Failed(status.counts.failed));
    }
    if status.spool.lost > 0 {
        matters.push(Matter::Lost(status.spool.lost));
    }
    let reason = |trouble: &remora_net::Trouble| trouble.reason.clone();
    matters.extend(status.observer.trouble.as_ref().map(reason).map(Matter::Model));
    matters.extend(status.embedder.trouble.as_ref().map(reason).map(Matter::Embedder));
    let conflicts = store.facts_in_conflict(project)?;
    if conflicts > 0 {
        matters.push(Matter::Conflicts(conflicts));
    }
    if let Standing::Stale(newest) = backup::standing(dir, Some(store), &settings.backup, now)? {
        matters.push(Matter::NoBackup(newest.map(|backup| backup.made_at)));
    }
    Ok(matters)
}
