//! Saves a text as an observation. It is found and injected at once, like every other.

use std::path::{Component, Path, PathBuf};

use remora_core::ids::ProjectId;
use remora_core::memory::ObservationType;
use remora_core::privacy::{Draft, SavedText};
use remora_store::{SaveFor, Saved, SavedBy, Store, locate, worktree};

use crate::{AppError, ProjectSelector, Runtime, project, project_named};

#[derive(Debug, Clone, PartialEq)]
pub struct SaveRequest {
    /// The directory may be new. Its project then starts with this observation.
    pub selector: ProjectSelector,
    pub text: String,
    pub title: Option<String>,
    pub kind: ObservationType,
    pub facts: Vec<String>,
    /// Relative paths are below the project's root, because this process may run anywhere.
    pub files: Vec<PathBuf>,
    /// Only what a person saves is injected at every session start.
    pub by: SavedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedFor {
    pub saved: Saved,
    pub project: ProjectId,
    /// Bytes that exceed the limits and were not stored.
    pub left_out: usize,
}

pub fn save(rt: &mut dyn Runtime, request: &SaveRequest) -> Result<SavedFor, AppError> {
    let now = rt.now();
    rt.change(|store| {
        let (target, root) = target(store, &request.selector)?;
        let draft = Draft {
            text: request.text.clone(),
            title: request.title.clone(),
            kind: request.kind,
            facts: request.facts.clone(),
            files: request.files.iter().map(|path| below(path, &root)).collect(),
        };
        let Some(text) = SavedText::new(&draft) else {
            let is_empty = request.text.trim().is_empty();
            return Err(if is_empty { AppError::NothingToSave } else { AppError::AllPrivate });
        };
        let saved = store.records().save(&target, &text, request.by, now)?;
        let row = store.records().observation(saved.id())?;
        let project = match row {
            Some(row) => row.project_id,
            // Another process has just removed it.
            None => project(store, &request.selector)?,
        };
        Ok(SavedFor { saved, project, left_out: text.left_out() })
    })
}

/// The project to save for, and the directory its paths are relative to.
fn target(store: &Store, selector: &ProjectSelector) -> Result<(SaveFor, PathBuf), AppError> {
    match selector {
        ProjectSelector::All => Err(AppError::NeedsOneProject),
        ProjectSelector::Project(name) => {
            let project = project_named(store, name)?;
            Ok((SaveFor::Project(project.id), project.root.into()))
        }
        ProjectSelector::Directory(directory) => {
            let place = locate(directory);
            let root = PathBuf::from(&place.root);
            Ok((SaveFor::Directory(place), root))
        }
    }
}

/// Normalises a path for storage: relative to the project's root, or to the worktree that contains it.
fn below(path: &Path, root: &Path) -> String {
    let absolute = normal(&root.join(path));
    let real = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
    // The file may not exist yet, nor its folder.
    let worktree = real.ancestors().find(|ancestor| ancestor.exists()).and_then(worktree);
    let relative = [Some(root), worktree.as_deref()]
        .into_iter()
        .flatten()
        .find_map(|root| real.strip_prefix(root).or_else(|_| absolute.strip_prefix(root)).ok());
    relative.unwrap_or(&absolute).to_string_lossy().into_owned()
}

/// Removes `.` and `..`, also for files that do not exist.
fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_relative_to_the_root() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        assert_eq!(below(&root.join("src/./a/../b.rs"), &root), "src/b.rs");
        assert_eq!(below(Path::new("./src/b.rs"), &root), "src/b.rs");
        assert_eq!(below(Path::new("/elsewhere/c.rs"), &root), "/elsewhere/c.rs");
    }

    #[test]
    fn files_elsewhere_are_relative_to_their_repository() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap();
        let root = folder.join("project");
        for git in ["clone/.git", "not-a-repository/.git"] {
            fs::create_dir_all(folder.join(git)).unwrap();
        }
        fs::write(folder.join("clone/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(below(&folder.join("clone/src/new.rs"), &root), "src/new.rs");
        let other = folder.join("not-a-repository/new.rs");
        assert_eq!(below(&other, &root), other.to_string_lossy());
    }
}
