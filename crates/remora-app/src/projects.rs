//! Projects, and which directories share one.

use std::path::Path;

use remora_core::time::Time;
use remora_store::{Joined, JoinedBy, ProjectRow, Store, locate};

use crate::{AppError, project_named};

/// Assigns a project that was imported by name only to a directory. Its records are injected there from now on.
pub fn join(store: &mut Store, name: &str, directory: &Path, now: Time) -> Result<ProjectRow, AppError> {
    let project = project_named(store, name)?;
    let root = Path::new(&project.root);
    if root == store.dir().personal() || !store.dir().is_placeholder(root) {
        return Err(AppError::HasDirectory { name: project.name, root: project.root });
    }
    Ok(store.projects().join(project.id, &locate(directory), now)?)
}

/// The directory that this one shares a project with, if only the same origin connects them.
pub fn joined(store: &Store, directory: &Path) -> Result<Option<Joined>, AppError> {
    Ok(store.projects().joined(JoinedBy::Place(&locate(directory)))?)
}

/// Makes a directory a project of its own. Existing records stay in the old project.
pub fn split(store: &mut Store, directory: &Path, now: Time) -> Result<ProjectRow, AppError> {
    let place = locate(directory);
    if store.projects().get(&place)?.is_none() {
        return Err(AppError::UnknownDirectory(directory.to_owned()));
    }
    store.projects().split(&place, now)?.ok_or_else(|| AppError::NotShared(directory.to_owned()))
}
