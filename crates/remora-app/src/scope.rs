//! Which project a request is about.

use std::path::{Path, PathBuf};

use remora_core::document::ProjectScope;
use remora_core::ids::{ProjectId, SessionId};
use remora_store::{FoundProject, ProjectRow, SessionQuery, SessionRow, Store, locate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AppError;

/// Selects a project, or all of them. There is no default, so that no request reads all projects by mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectSelector {
    /// All projects.
    All,
    /// A project by its id, its unique name, or its directory. A relative directory is resolved against the current
    /// directory of this process.
    Project(String),
    /// The project of a directory.
    Directory(PathBuf),
}

pub fn scope(store: &Store, selector: &ProjectSelector) -> Result<ProjectScope, AppError> {
    match selector {
        ProjectSelector::All => Ok(ProjectScope::All),
        _ => project(store, selector).map(ProjectScope::One),
    }
}

/// Resolves to a single project.
pub fn project(store: &Store, selector: &ProjectSelector) -> Result<ProjectId, AppError> {
    match selector {
        ProjectSelector::All => Err(AppError::NeedsOneProject),
        ProjectSelector::Project(name) => project_named(store, name).map(|project| project.id),
        ProjectSelector::Directory(directory) => {
            let found = store.projects().get(&locate(directory))?;
            found.map(|project| project.id).ok_or_else(|| AppError::UnknownDirectory(directory.clone()))
        }
    }
}

/// Resolves to a single project, or to [`ProjectId::NONE`] for a directory without memory.
pub fn project_or_global(store: &Store, selector: &ProjectSelector) -> Result<ProjectId, AppError> {
    match project(store, selector) {
        Err(AppError::UnknownDirectory(_)) => Ok(ProjectId::NONE),
        other => other,
    }
}

pub fn project_named(store: &Store, name: &str) -> Result<ProjectRow, AppError> {
    match store.projects().find(name)? {
        FoundProject::One(project) => Ok(*project),
        FoundProject::None => Err(AppError::UnknownProject(name.to_owned())),
        FoundProject::Several(several) => Err(AppError::AmbiguousProject {
            name: name.to_owned(),
            projects: several.into_iter().map(|project| (project.id, project.root)).collect(),
        }),
    }
}

/// Finds a session by the beginning of the id that its host gave it.
pub fn session(store: &Store, beginning: &str) -> Result<SessionRow, AppError> {
    let mut sessions = store.sessions().list(&SessionQuery::named(beginning))?;
    // An exact id wins over longer ids that begin with it.
    if let Some(whole) = sessions.iter().position(|session| session.content_session_id == beginning) {
        return Ok(sessions.swap_remove(whole));
    }
    match sessions.len() {
        0 => Err(AppError::UnknownSession(beginning.to_owned())),
        1 => Ok(sessions.swap_remove(0)),
        _ => Err(AppError::AmbiguousSession {
            number: store.sessions().count(&SessionQuery::named(beginning))?,
            beginning: beginning.to_owned(),
            sessions: sessions.into_iter().map(|session| session.content_session_id).collect(),
        }),
    }
}

/// Finds a session by its number, or by the beginning of the id that its host gave it.
pub fn session_id(store: &Store, name: &str) -> Result<SessionId, AppError> {
    match name.parse() {
        Ok(number) => Ok(SessionId(number)),
        Err(_) => session(store, name).map(|session| session.id),
    }
}

/// The latest session of a project in which an agent worked. The session that holds saved observations has no events.
pub fn latest_session(store: &Store, project: ProjectId) -> Result<Option<SessionRow>, AppError> {
    let sessions = store.sessions().list(&SessionQuery::of_project(project, 2))?;
    Ok(sessions.into_iter().find(|session| session.events > 0))
}

/// Whether the name of a project is a path that depends on the caller's directory: `.`, `..`, or a path with a separator
/// that is not absolute. A single word is a name, even if it begins with a dot.
pub fn is_relative_path(name: &str) -> bool {
    matches!(name, "." | "..") || (name.contains('/') && !Path::new(name).is_absolute())
}

impl ProjectSelector {
    /// Makes a relative path absolute, so that another process can resolve it.
    #[must_use]
    pub fn absolute(self) -> Self {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match self {
            Self::Project(name) if is_relative_path(&name) => {
                Self::Project(whole(name.as_ref()).to_string_lossy().into_owned())
            }
            Self::Directory(directory) => Self::Directory(whole(&directory)),
            other => other,
        }
    }

    /// Like [`ProjectSelector::absolute`], except for a known project whose name looks like a path: imported names may.
    pub fn absolute_unless_known(self, store: &Store) -> Result<Self, AppError> {
        match &self {
            Self::Project(name) if is_relative_path(name) => {
                let is_known = store.projects().list()?.iter().any(|project| project.name == *name);
                Ok(if is_known { self } else { self.absolute() })
            }
            _ => Ok(self.absolute()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_depends_on_the_directory_is_relative() {
        for path in [".", "..", "./clock", "../clock", "src/clock", ".config/clock"] {
            assert!(is_relative_path(path), "{path}");
            let selector = ProjectSelector::Project(path.to_owned()).absolute();
            assert!(
                matches!(&selector, ProjectSelector::Project(name) if Path::new(name).is_absolute()),
                "{selector:?}"
            );
        }
        for name in ["clock", ".dotfiles", "..clock", "12", "/home/dev/clock", ""] {
            assert!(!is_relative_path(name), "{name}");
            let selector = ProjectSelector::Project(name.to_owned());
            assert_eq!(selector.clone().absolute(), selector);
        }
    }
}
