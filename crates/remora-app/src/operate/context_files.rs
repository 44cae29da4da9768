//! Context files: memory in files of a repository, for hosts that read files. This module selects project and directory
//! and keeps the files up to date; `remora-context-files` writes their content.

use remora_core::document::ProjectScope;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use remora_context_files::{Report, What};
use remora_core::ids::ProjectId;
use remora_store::context_files::{FilesAt, Forms, MemoryMark};
use remora_store::{Store, StoreError, locate, log, worktree};

use crate::{AppError, ProjectSelector, Runtime, project_named};

/// Why a directory cannot have context files, or has none.
#[derive(Debug, thiserror::Error)]
pub enum ContextFilesError {
    #[error("no context files in {}: {reason}", root.display())]
    BadRoot { root: PathBuf, reason: String },
    #[error("{} is not UTF-8, so it cannot be noted", .0.display())]
    NotUtf8(PathBuf),
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    #[error("no context files are kept in {}", .0.display())]
    Off(PathBuf),
    #[error(transparent)]
    App(#[from] AppError),
}

impl From<StoreError> for ContextFilesError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

/// A directory with the context files kept in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub root: PathBuf,
    pub files: Vec<FilesAt>,
}

/// Writes memory into files of a working tree and keeps it up to date there.
pub fn enable(
    rt: &mut dyn Runtime,
    selector: &ProjectSelector,
    forms: Forms,
) -> Result<Report, ContextFilesError> {
    let now = rt.now();
    let store = rt.store();
    let root = root(store, selector)?;
    remora_context_files::check_root(&root)
        .map_err(|reason| ContextFilesError::BadRoot { root: root.clone(), reason })?;
    let text = root.to_str().ok_or_else(|| ContextFilesError::NotUtf8(root.clone()))?;
    let project = match known(store, &root)? {
        Some(project) => project,
        None => store.projects().adopt(&locate(&root), now)?,
    };
    Ok(remora_context_files::enable(store, project, text, forms)?)
}

/// Removes the sections. The second part says whether other forms remain.
pub fn disable(
    rt: &mut dyn Runtime,
    selector: &ProjectSelector,
    forms: Forms,
) -> Result<(Report, bool), ContextFilesError> {
    let store = rt.store();
    let (project, root) = enabled(store, selector)?;
    let root = root.to_string_lossy();
    let report = remora_context_files::disable(store, project, &root, forms)?;
    let stays = remora_context_files::places(store, project)?.iter().any(|at| at.root == root);
    Ok((report, stays))
}

/// The files with a section, in every repository.
pub fn everywhere(rt: &dyn Runtime) -> Result<Vec<PathBuf>, StoreError> {
    let all = rt.store().files().context_files(ProjectScope::All)?;
    let places = all.iter().flat_map(|(_, places)| places);
    Ok(places.flat_map(|at| at.files.iter().map(|file| Path::new(&at.root).join(file))).collect())
}

/// Removes every section from every repository. Returns the files that still contain one, and directories that are
/// not there.
pub fn disable_everywhere(rt: &mut dyn Runtime) -> Result<Vec<PathBuf>, StoreError> {
    let store = rt.store();
    let forms = Forms { claude_md: true, folders: true, cursor: true };
    let mut left = Vec::new();
    for (project, places) in store.files().context_files(ProjectScope::All)? {
        for at in places {
            let report = remora_context_files::disable(store, project, &at.root, forms)?;
            let refused = report.files.iter().filter(|file| matches!(file.what, What::Refused(_)));
            left.extend(refused.map(|file| Path::new(&report.root).join(&file.path)));
        }
    }
    Ok(left)
}

pub fn list(rt: &dyn Runtime, selector: &ProjectSelector) -> Result<Kept, ContextFilesError> {
    let store = rt.store();
    let root = root(store, selector)?;
    let files = match known(store, &root)? {
        Some(project) => remora_context_files::places(store, project)?,
        None => Vec::new(),
    };
    Ok(Kept { root, files })
}

/// Updates the files of one project now.
pub fn refresh(rt: &mut dyn Runtime, selector: &ProjectSelector) -> Result<Vec<Report>, ContextFilesError> {
    let store = rt.store();
    let (project, root) = enabled(store, selector)?;
    if remora_context_files::places(store, project)?.iter().any(|at| Path::new(&at.root) == root) {
        return Ok(remora_context_files::refresh(store, project)?);
    }
    // The working tree was moved here. The new path gets the forms of the old one.
    let moved = remora_context_files::enable(store, project, &root.to_string_lossy(), Forms::default())?;
    Ok(vec![moved])
}

/// Problems while files were updated. They do not fail the request that caused the update.
#[derive(Debug, Default)]
pub struct RefreshReport {
    pub problems: Vec<String>,
    pub error: Option<StoreError>,
}

/// The state of every memory that is in context files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks(BTreeMap<ProjectId, MemoryMark>);

pub fn marks(store: &Store) -> Result<Marks, StoreError> {
    let projects = store.files().context_files(ProjectScope::All)?.into_iter();
    let marks = projects.map(|(project, _)| Ok((project, store.projects().memory_mark(project)?)));
    marks.collect::<Result<_, StoreError>>().map(Marks)
}

/// Updates the context files of projects whose memory has changed since. The daemon does that on a thread of its own.
pub fn refresh_changed(store: &Store, since: &Marks) -> RefreshReport {
    let mut problems = Vec::new();
    let error = try_refresh(store, since, &mut problems).err();
    RefreshReport { problems, error }
}

fn try_refresh(store: &Store, since: &Marks, problems: &mut Vec<String>) -> Result<(), StoreError> {
    for (project, earlier) in store.files().context_files(ProjectScope::All)? {
        if since.0.get(&project) == Some(&store.projects().memory_mark(project)?) {
            continue;
        }
        remora_context_files::refresh(store, project)?;
        for problem in
            remora_context_files::new_problems(&earlier, &remora_context_files::places(store, project)?)
        {
            log::warn(store.dir(), "context-files", &problem);
            problems.push(problem);
        }
    }
    Ok(())
}

/// The root of the context files: the working tree of a directory, or the root of a named project.
fn root(store: &Store, selector: &ProjectSelector) -> Result<PathBuf, ContextFilesError> {
    let directory = match selector {
        ProjectSelector::All => return Err(AppError::NeedsOneProject.into()),
        ProjectSelector::Directory(directory) => directory.clone(),
        ProjectSelector::Project(name) => match project_named(store, name) {
            Ok(project) if project.name == *name || project.id.to_string() == *name => {
                PathBuf::from(project.root)
            }
            // A directory of a project may be a worktree with files of its own.
            Ok(_) | Err(AppError::UnknownProject(_)) if Path::new(name).is_dir() => PathBuf::from(name),
            Ok(project) => PathBuf::from(project.root),
            Err(error) => return Err(error.into()),
        },
    };
    let top = worktree(&directory).or_else(|| directory.canonicalize().ok());
    top.ok_or(ContextFilesError::Missing(directory))
}

fn known(store: &Store, root: &Path) -> Result<Option<ProjectId>, StoreError> {
    Ok(store.projects().get(&locate(root))?.map(|project| project.id))
}

/// The project and root of a place that has context files.
fn enabled(store: &Store, selector: &ProjectSelector) -> Result<(ProjectId, PathBuf), ContextFilesError> {
    let root = root(store, selector)?;
    if let Some(project) = known(store, &root)? {
        let all = remora_context_files::places(store, project)?;
        // A directory that no longer exists may have been moved here.
        let is_here = |at: &FilesAt| Path::new(&at.root) == root || !Path::new(&at.root).exists();
        if all.iter().any(is_here) {
            return Ok((project, root));
        }
    }
    Err(ContextFilesError::Off(root))
}
