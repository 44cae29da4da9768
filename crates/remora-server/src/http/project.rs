//! Whose memory is asked for.

use std::path::Path;

use remora_core::document::ProjectScope;
use remora_core::ids::ProjectId;
use remora_store::{FoundProject, locate};

use super::Http;
use super::error::ApiError;

/// What stands for the memory of all projects.
const ALL: &str = "all";

/// A project by its id, its name if only one has it, or an absolute path.
pub(super) async fn find(http: &Http, name: String) -> Result<ProjectId, ApiError> {
    let wanted = name.clone();
    // A relative path would be taken from the daemon's directory, which says nothing to the one who asks.
    let is_relative = name.contains('/') && !Path::new(&name).is_absolute() || name == "." || name == "..";
    let found = if is_relative {
        FoundProject::None
    } else {
        http.shared.reader.call(move |store| store.find_project(&wanted)).await?
    };
    match found {
        FoundProject::One(project) => Ok(project.id),
        FoundProject::None => Err(ApiError::NotFound(format!("no project is known as `{name}`"))),
        FoundProject::Several(several) => {
            let ids: Vec<String> = several.iter().map(|p| format!("{} ({})", p.id, p.root)).collect();
            Err(ApiError::invalid(
                format!("{} projects are called `{name}`", several.len()),
                format!("name one by its id: {}", ids.join(", ")),
            ))
        }
    }
}

/// The project that is named, that of the asker's directory, or all of them if that is said. There is no default: one
/// who forgets to say it must not be shown everybody's memory.
pub(super) async fn scope(
    http: &Http,
    project: Option<String>,
    cwd: Option<String>,
) -> Result<ProjectScope, ApiError> {
    match (project, cwd) {
        (Some(name), _) if name == ALL => Ok(ProjectScope::All),
        (Some(name), _) => find(http, name).await.map(ProjectScope::One),
        (None, Some(cwd)) => at(http, cwd).await.map(ProjectScope::One),
        (None, None) => Err(ApiError::invalid(
            "project is missing",
            "name one (`project=` takes its id, its name or an absolute path), send your directory as `cwd=`, or say `project=all`",
        )),
    }
}

async fn at(http: &Http, cwd: String) -> Result<ProjectId, ApiError> {
    if !Path::new(&cwd).is_absolute() {
        return Err(ApiError::invalid("cwd is not an absolute path", "send the directory you are in"));
    }
    let directory = cwd.clone();
    let found =
        http.shared.reader.call(move |store| store.project_at(&locate(Path::new(&directory)))).await?;
    found
        .map(|project| project.id)
        .ok_or_else(|| ApiError::NotFound(format!("nothing is remembered of {cwd} yet")))
}
