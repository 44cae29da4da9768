//! Pausing capture, everywhere or in one project.

use std::path::Path;

use remora_core::time::Time;
use remora_store::pause::{self, Pause, PausedProject};
use remora_store::{DataDir, ReadOnly, Store, locate};

use crate::{AppError, project_named};

/// Where capture is paused or resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    Everywhere,
    /// A project by its id, name or directory, or a directory that Remora does not know yet.
    Project(String),
}

/// The resulting state, and the name of the project if one was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Paused {
    pub pause: Pause,
    pub project: Option<String>,
}

/// What is paused now.
pub fn paused(dir: &DataDir) -> Result<Pause, AppError> {
    Ok(pause::read(dir)?)
}

/// Stops capture. `store` may be `None`: nothing was captured yet, or the database cannot be opened.
pub fn pause(dir: &DataDir, store: Option<&Store>, at: &Where) -> Result<Paused, AppError> {
    let now = dir.now();
    dir.create()?;
    let mut paused = pause::read(dir)?;
    let project = match at {
        Where::Everywhere => {
            paused.everywhere_since.get_or_insert(now);
            None
        }
        Where::Project(wanted) => {
            let project = to_pause(store, wanted, now)?;
            let name = project.name.clone();
            paused.projects.retain(|other| other.paths != project.paths);
            paused.projects.push(project);
            Some(name)
        }
    };
    pause::write(dir, &paused)?;
    Ok(Paused { pause: paused, project })
}

/// Starts capture again. Transcript text from the time of the pause is marked as read, so that it is never captured
/// later.
pub fn resume(dir: &DataDir, store: Option<&Store>, at: &Where) -> Result<Paused, AppError> {
    let before = pause::read(dir)?;
    let mut paused = before.clone();
    let project = match at {
        Where::Everywhere => {
            paused.everywhere_since = None;
            None
        }
        Where::Project(wanted) => {
            let project = to_pause(store, wanted, dir.now())?;
            let place = locate(Path::new(wanted));
            paused.projects.retain(|other| other.paths != project.paths && !other.is_at(&place));
            if paused.projects.len() == before.projects.len() {
                return Err(AppError::NotPaused(project.name));
            }
            Some(project.name)
        }
    };
    if paused != before
        && let Some(store) = store
        // A database of a newer Remora is left to that version.
        && !matches!(store.read_only(), Some(ReadOnly::NewerSchema(_)))
    {
        store.sessions().skip_transcripts(|root| before.covers(root) && !paused.covers(root))?;
    }
    pause::write(dir, &paused)?;
    Ok(Paused { pause: paused, project })
}

/// A known project, or a directory that Remora does not know yet.
fn to_pause(store: Option<&Store>, wanted: &str, since: Time) -> Result<PausedProject, AppError> {
    let known = match store {
        Some(store) => project_named(store, wanted),
        None => Err(AppError::UnknownProject(wanted.to_owned())),
    };
    match known {
        Ok(project) => {
            Ok(PausedProject { since, name: project.name, paths: project.paths, origin: project.origin })
        }
        Err(AppError::UnknownProject(_)) if Path::new(wanted).is_dir() => {
            let place = locate(Path::new(wanted));
            Ok(PausedProject { since, name: place.name(), paths: vec![place.path], origin: place.origin })
        }
        Err(error) => Err(error),
    }
}
