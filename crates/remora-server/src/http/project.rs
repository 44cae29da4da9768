//! Whose memory a request is about.

use std::path::{Path, PathBuf};

use remora_app::Whose;

use super::error::ApiError;

/// The word for the memory of all projects.
const ALL: &str = "all";

/// The project that is named, that of the caller's directory, or all of them if that is said. There is no default:
/// forgetting it must not show everybody's memory.
pub(super) fn whose(project: Option<String>, cwd: Option<String>) -> Result<Whose, ApiError> {
    match (project, cwd) {
        (Some(name), _) if name == ALL => Ok(Whose::All),
        (Some(name), _) => named(name),
        (None, Some(cwd)) if Path::new(&cwd).is_absolute() => Ok(Whose::Directory(PathBuf::from(cwd))),
        (None, Some(_)) => {
            Err(ApiError::invalid("cwd is not an absolute path", "send the directory you are in"))
        }
        (None, None) => Err(ApiError::invalid(
            "project is missing",
            "name one (`project=` takes its id, its name or an absolute path), send your directory as `cwd=`, or say `project=all`",
        )),
    }
}

/// The same, where all of them are meant if nothing is said.
pub(super) fn whose_or_all(project: Option<String>, cwd: Option<String>) -> Result<Whose, ApiError> {
    if project.is_none() && cwd.is_none() { Ok(Whose::All) } else { whose(project, cwd) }
}

/// A relative path would be taken from the daemon's directory, which means nothing to the caller.
pub(super) fn named(name: String) -> Result<Whose, ApiError> {
    let is_relative = name.contains('/') && !Path::new(&name).is_absolute() || name == "." || name == "..";
    if is_relative {
        return Err(ApiError::NotFound(format!("no project is known as `{name}`")));
    }
    Ok(Whose::Project(name))
}
