//! Capture switched off for a while, everywhere or in one project.

use std::path::Path;

use remora_core::time::Time;
use remora_store::pause::{self, Pause, PausedProject};
use remora_store::{DataDir, ReadOnly, Store, locate};

use crate::{AppError, project_named};

/// Where capture is switched off or on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    Everywhere,
    /// A project by its id, name or directory; also a directory that Remora has not met yet.
    Project(String),
}

/// What is paused afterwards, and the project that was meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Paused {
    pub pause: Pause,
    pub project: Option<String>,
}

/// What is paused now.
pub fn paused(dir: &DataDir) -> Result<Pause, AppError> {
    Ok(pause::read(dir)?)
}

/// Stops capture. The store may be missing: nothing was captured yet, or the database cannot be opened.
pub fn pause(dir: &DataDir, store: Option<&Store>, at: &Where, now: Time) -> Result<Paused, AppError> {
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

/// Starts capture again. What agents said meanwhile counts as read: it is in their hosts' transcripts, and nobody may read
/// it later.
pub fn resume(dir: &DataDir, store: Option<&mut Store>, at: &Where) -> Result<Paused, AppError> {
    let before = pause::read(dir)?;
    let mut paused = before.clone();
    let project = match at {
        Where::Everywhere => {
            paused.everywhere_since = None;
            None
        }
        Where::Project(wanted) => {
            let project = to_pause(store.as_deref(), wanted, Time::now())?;
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
        // A database of a newer Remora is observed by that one.
        && !matches!(store.read_only(), Some(ReadOnly::NewerSchema(_)))
    {
        store.skip_transcripts(|root| before.covers(root) && !paused.covers(root))?;
    }
    pause::write(dir, &paused)?;
    Ok(Paused { pause: paused, project })
}

/// A project that Remora knows, or a directory it has not met yet.
fn to_pause(store: Option<&Store>, wanted: &str, since: Time) -> Result<PausedProject, AppError> {
    let known = match store {
        Some(store) => project_named(store, wanted),
        None => Err(AppError::UnknownProject(wanted.to_owned())),
    };
    match known {
        Ok(project) => {
            Ok(PausedProject { since, name: project.name, paths: project.paths, origin: project.origin })
        }
        Err(_) if Path::new(wanted).is_dir() => {
            let place = locate(Path::new(wanted));
            Ok(PausedProject { since, name: place.name(), paths: vec![place.path], origin: place.origin })
        }
        Err(error) => Err(error),
    }
}
