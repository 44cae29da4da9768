//! Projects, and which directories share one.

use std::path::Path;

use remora_store::{Joined, JoinedBy, ProjectRow, locate};

use crate::{AppError, Runtime, project_named};

/// Assigns a project that was imported by name only to a directory. Its records are injected there from now on.
pub fn join(rt: &mut dyn Runtime, name: &str, directory: &Path) -> Result<ProjectRow, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let project = project_named(store, name)?;
        let root = Path::new(&project.root);
        if root == store.dir().personal() || !store.dir().is_placeholder(root) {
            return Err(AppError::HasDirectory { name: project.name, root: project.root });
        }
        Ok(store.projects().join(project.id, &locate(directory), now)?)
    })
}

/// The directory that this one shares a project with, if only the same origin connects them.
pub fn joined(rt: &dyn Runtime, directory: &Path) -> Result<Option<Joined>, AppError> {
    let store = rt.store();
    Ok(store.projects().joined(JoinedBy::Place(&locate(directory)))?)
}

/// Makes a directory a project of its own. Existing records stay in the old project.
pub fn split(rt: &mut dyn Runtime, directory: &Path) -> Result<ProjectRow, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let place = locate(directory);
        if store.projects().get(&place)?.is_none() {
            return Err(AppError::UnknownDirectory(directory.to_owned()));
        }
        store.projects().split(&place, now)?.ok_or_else(|| AppError::NotShared(directory.to_owned()))
    })
}
