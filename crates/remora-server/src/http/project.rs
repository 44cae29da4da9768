//! The project that a request is about.

use std::path::{Path, PathBuf};

use remora_app::{ProjectSelector, is_relative_path};

use super::error::ApiError;

/// The name that stands for all projects.
const ALL: &str = "all";

/// The named project, that of the caller's directory, or all of them if requested by name. There is no
/// default: a request without a project must not expose the memory of all.
pub(super) fn scope_of(project: Option<String>, cwd: Option<String>) -> Result<ProjectSelector, ApiError> {
    match (project, cwd) {
        (Some(name), _) if name == ALL => Ok(ProjectSelector::All),
        (Some(name), _) => named(name),
        (None, Some(cwd)) if Path::new(&cwd).is_absolute() => {
            Ok(ProjectSelector::Directory(PathBuf::from(cwd)))
        }
        (None, Some(_)) => {
            Err(ApiError::invalid("cwd is not an absolute path", "send the directory you are in"))
        }
        (None, None) => Err(ApiError::invalid(
            "project is missing",
            "name one (`project=` takes its id, its name or an absolute path), send your directory as `cwd=`, or say `project=all`",
        )),
    }
}

/// Like [`selector`], with all projects as the default.
pub(super) fn whose_or_all(
    project: Option<String>,
    cwd: Option<String>,
) -> Result<ProjectSelector, ApiError> {
    if project.is_none() && cwd.is_none() { Ok(ProjectSelector::All) } else { scope_of(project, cwd) }
}

/// Rejects relative paths. They would be resolved in the daemon's directory, which means nothing to the
/// caller.
pub(super) fn named(name: String) -> Result<ProjectSelector, ApiError> {
    if is_relative_path(&name) {
        return Err(ApiError::NotFound(format!("no project is known as `{name}`")));
    }
    Ok(ProjectSelector::Project(name))
}
