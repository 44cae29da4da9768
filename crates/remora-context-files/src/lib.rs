//! Context files: a project's memory as a marked section in files of its repository, for hosts that read files.
//!
//! Off by default. Nothing outside the marks is ever changed, nothing is written outside the project, and removing
//! the sections restores every file. The list of files is stored before they are written; everything else needed to
//! undo a section is in its marks. This crate has no SQL.

mod folder;
mod repository;
mod section;
mod wanted;

use remora_core::document::ProjectScope;
use std::path::Path;

use remora_core::ids::ProjectId;
use remora_store::context_files::{FileProblem, FilesAt, Forms};
use remora_store::{Store, StoreError};
use serde::Serialize;

use folder::{Folder, Refusal, Text};
use repository::Repository;
use section::Marks;
use wanted::Wanted;

/// The file in which git is given further patterns to ignore, as named in reports.
const EXCLUDE: &str = ".git/info/exclude";

/// The outcome for one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Relative to the root.
    pub path: String,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "reason")]
pub enum What {
    Written,
    Unchanged,
    /// The file was deleted: it was ours alone.
    Removed,
    /// The section was removed, and the file is as it was before.
    Restored,
    /// A folder that gets no file.
    Skipped(String),
    /// The file was left unchanged, and the user should know why.
    Refused(String),
}

/// The outcomes for all files below one root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub root: String,
    pub files: Vec<Outcome>,
}

/// Checks whether files may be written below `root`. The error is the reason.
pub fn check_root(root: &Path) -> Result<(), String> {
    open_root(root).map(|_| ()).map_err(|refusal| refusal.to_string())
}

/// Enables these forms below `root`, in addition to those that are enabled, and writes the files.
pub fn enable(store: &Store, project: ProjectId, root: &str, forms: Forms) -> Result<Report, StoreError> {
    change(store, project, root, |at| {
        at.forms.claude_md |= forms.claude_md;
        at.forms.folders |= forms.folders;
        at.forms.cursor |= forms.cursor;
    })
}

/// Disables these forms below `root` and removes what was written for them.
pub fn disable(store: &Store, project: ProjectId, root: &str, forms: Forms) -> Result<Report, StoreError> {
    change(store, project, root, |at| {
        at.forms.claude_md &= !forms.claude_md;
        at.forms.folders &= !forms.folders;
        at.forms.cursor &= !forms.cursor;
    })
}

fn change(
    store: &Store,
    project: ProjectId,
    root: &str,
    change: impl FnOnce(&mut FilesAt),
) -> Result<Report, StoreError> {
    let _lock = store.dir().lock_context_files()?;
    let mut all = places(store, project)?;
    let number = place_of(&mut all, root);
    change(&mut all[number]);
    store.files().set_context_files(project, &all)?;
    refresh_at(store, project, &mut all, number)
}

/// The directories of a project that have context files.
pub fn places(store: &Store, project: ProjectId) -> Result<Vec<FilesAt>, StoreError> {
    let mut found = store.files().context_files(ProjectScope::One(project))?;
    Ok(found.pop().map(|(_, places)| places).unwrap_or_default())
}

/// The index of the entry for `root`. Entries whose root no longer exists are merged into it: if such a root was
/// moved here, its files are here too, and if it was deleted, nothing else will ever clean up after it.
fn place_of(all: &mut Vec<FilesAt>, root: &str) -> usize {
    let mut here = FilesAt { root: root.to_owned(), ..FilesAt::default() };
    let (kept, taken): (Vec<FilesAt>, Vec<FilesAt>) =
        std::mem::take(all).into_iter().partition(|at| at.root != root && Path::new(&at.root).exists());
    for at in taken {
        here.forms.claude_md |= at.forms.claude_md;
        here.forms.folders |= at.forms.folders;
        here.forms.cursor |= at.forms.cursor;
        here.files.extend(at.files);
        here.made_folders.extend(at.made_folders);
    }
    *all = kept;
    for paths in [&mut here.files, &mut here.made_folders] {
        // A folder's path sorts before the paths of its subfolders.
        paths.sort();
        paths.dedup();
    }
    all.push(here);
    all.len() - 1
}

/// Updates the files of a project, below every root that has any.
pub fn refresh(store: &Store, project: ProjectId) -> Result<Vec<Report>, StoreError> {
    let _lock = store.dir().lock_context_files()?;
    let mut all = places(store, project)?;
    let mut reports = Vec::new();
    for number in (0..all.len()).rev() {
        reports.push(refresh_at(store, project, &mut all, number)?);
    }
    reports.reverse();
    Ok(reports)
}

/// The problems in `now` that `earlier` does not have, as text.
pub fn new_problems(earlier: &[FilesAt], now: &[FilesAt]) -> Vec<String> {
    let known = |root: &str, problem: &FileProblem| {
        earlier.iter().any(|at| at.root == root && at.problems.contains(problem))
    };
    let mut new = Vec::new();
    for at in now {
        let problems = at.problems.iter().filter(|problem| !known(&at.root, problem));
        new.extend(problems.map(|problem| {
            format!("{}: {}", Path::new(&at.root).join(&problem.path).display(), problem.reason)
        }));
    }
    new
}

/// Updates the files below one root and stores their list. A root without files is dropped.
fn refresh_at(
    store: &Store,
    project: ProjectId,
    all: &mut Vec<FilesAt>,
    number: usize,
) -> Result<Report, StoreError> {
    let root = all[number].root.clone();
    let files = match open_root(Path::new(&root)) {
        Ok(folder) => write_below(store, project, all, number, &folder)?,
        Err(refusal) => {
            let at = &mut all[number];
            // The directory is gone, and all our files with it.
            if matches!(refusal, Refusal::Missing) && !at.forms.any() {
                at.files.clear();
            }
            at.problems = vec![FileProblem { path: String::new(), reason: refusal.to_string() }];
            vec![Outcome { path: String::new(), what: What::Refused(refusal.to_string()) }]
        }
    };
    let at = &all[number];
    let is_excluded = at.problems.iter().any(|problem| problem.path == EXCLUDE);
    if !at.forms.any() && at.files.is_empty() && !is_excluded {
        all.remove(number);
    }
    store.files().set_context_files(project, all)?;
    Ok(Report { root, files })
}

fn write_below(
    store: &Store,
    project: ProjectId,
    all: &mut [FilesAt],
    number: usize,
    folder: &Folder,
) -> Result<Vec<Outcome>, StoreError> {
    let root = all[number].root.clone();
    let repository = Repository::at(Path::new(&root));
    let (wanted, mut outcomes) = wanted::of(store, project, &all[number], folder, &repository)?;
    // Stored before writing, so that a process that dies in between leaves no unknown file.
    let at = &mut all[number];
    let earlier = std::mem::take(&mut at.files);
    at.files = wanted.iter().map(|wanted| wanted.path.clone()).collect();
    for made in wanted::folders_to_make(&wanted, folder) {
        if !at.made_folders.contains(&made) {
            at.made_folders.push(made);
        }
    }
    store.files().set_context_files(project, all)?;
    let at = &mut all[number];

    let plans: Vec<Plan> = wanted.iter().map(|wanted| Plan::new(folder, wanted)).collect();
    // Excluded before they appear and until they are gone, so that `git status` never shows them. Errors are reported
    // by the second call below.
    let excluded: Vec<String> = plans.iter().filter(|p| p.is_ours || p.was_ours).map(Plan::path).collect();
    let _ = repository.exclude(&excluded);
    let mut files = Vec::new();
    let mut ours = Vec::new();
    for plan in plans {
        let (path, is_ours, was_ours) = (plan.path(), plan.is_ours, plan.was_ours);
        let is_removal = plan.wanted.section.is_none();
        let what = match plan.carry_out(folder) {
            Ok(what) => what,
            // A file that is no longer ours needs no removal.
            Err(Refusal::Missing | Refusal::Link | Refusal::NotAFile | Refusal::NotAFolder) if is_removal => {
                What::Removed
            }
            Err(refusal) => What::Refused(refusal.to_string()),
        };
        let failed = matches!(what, What::Refused(_));
        let stays_ours = if failed { was_ours } else { is_ours };
        let stays_listed = if failed { earlier.contains(&path) } else { !is_removal };
        ours.extend(stays_ours.then(|| path.clone()));
        files.extend(stays_listed.then(|| path.clone()));
        outcomes.push(Outcome { path, what });
    }
    if let Err(refusal) = repository.exclude(&ours) {
        outcomes.push(Outcome { path: EXCLUDE.to_owned(), what: What::Refused(refusal.to_string()) });
    }
    at.files = files;
    at.problems = problems(&outcomes);
    remove_made_folders(folder, at);
    Ok(outcomes)
}

fn problems(outcomes: &[Outcome]) -> Vec<FileProblem> {
    let refused = outcomes.iter().filter_map(|outcome| match &outcome.what {
        What::Refused(reason) => Some(FileProblem { path: outcome.path.clone(), reason: reason.clone() }),
        _ => None,
    });
    refused.collect()
}

/// Removes folders that we created and no longer need.
fn remove_made_folders(root: &Folder, at: &mut FilesAt) {
    let needed = at.files.clone();
    let unneeded = |made: &String| !needed.iter().any(|file| file.starts_with(&format!("{made}/")));
    for made in at.made_folders.clone().iter().rev().filter(|made| unneeded(made)) {
        let path = Path::new(made);
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A failure is harmless: the folder is empty, or holds files that are not ours.
        if let Ok(parent) = root.walk(parent, |_| Ok(())) {
            let _ = parent.remove_empty(&name);
        }
    }
    at.made_folders.retain(|made| !unneeded(made));
}

fn open_root(path: &Path) -> Result<Folder, Refusal> {
    let root = Folder::open(path)?;
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_home = home.and_then(|home| Folder::open(&home).ok()).is_some_and(|home| home.is_same(&root));
    if is_home || path.parent().is_none() {
        return Err(Refusal::NotAProject);
    }
    if !root.has(".git") && root.has("HEAD") && root.has("objects") {
        return Err(Refusal::NoWorkingFiles);
    }
    Ok(root)
}

/// The planned change to one file.
struct Plan<'a> {
    wanted: &'a Wanted,
    step: Result<Step, Refusal>,
    /// Whether the file holds only our section, before and after the change.
    was_ours: bool,
    is_ours: bool,
}

enum Step {
    Nothing(Option<Folder>),
    Write { folder: Folder, text: String, old: Option<Text> },
    Delete { folder: Folder, old: Text },
}

impl<'a> Plan<'a> {
    fn new(root: &Folder, wanted: &'a Wanted) -> Self {
        let mut plan = Self { wanted, step: Err(Refusal::Missing), was_ours: false, is_ours: false };
        plan.step = plan.find_step(root);
        plan
    }

    fn path(&self) -> String {
        self.wanted.path.clone()
    }

    fn find_step(&mut self, root: &Folder) -> Result<Step, Refusal> {
        let marks = Marks::markdown();
        let folder = match root.walk(self.wanted.folder(), |_| Ok(())) {
            Ok(folder) => folder,
            // The folder will be created, and the file in it is new.
            Err(Refusal::Missing) if self.wanted.may_make_folder && self.wanted.section.is_some() => {
                self.is_ours = true;
                return Ok(Step::Nothing(None));
            }
            Err(refusal) => return Err(refusal),
        };
        let old = folder.read(self.wanted.name())?;
        let before = old.as_ref().map(|old| marks.without(&old.text)).transpose()?.flatten();
        self.was_ours = before.as_ref().is_some_and(|left| self.wanted.is_all_of(left));
        let Some(section) = &self.wanted.section else {
            return match (before, old) {
                (Some(left), Some(old)) if self.wanted.is_all_of(&left) => {
                    Folder::may_replace(&old)?;
                    Ok(Step::Delete { folder, old })
                }
                (Some(left), old) => Ok(Step::Write { folder, text: left.text, old }),
                _ => Ok(Step::Nothing(Some(folder))),
            };
        };
        let text = match &old {
            Some(old) => marks.with(&old.text, section)?,
            None => marks.new_file(self.wanted.preamble, section),
        };
        self.is_ours = self.was_ours || old.is_none();
        if old.as_ref().is_some_and(|old| old.text == text) {
            return Ok(Step::Nothing(Some(folder)));
        }
        if let Some(old) = &old {
            Folder::may_replace(old)?;
        }
        Ok(Step::Write { folder, text, old })
    }

    fn carry_out(self, root: &Folder) -> Result<What, Refusal> {
        let name = self.wanted.name();
        let is_removal = self.wanted.section.is_none();
        match self.step? {
            Step::Nothing(Some(_)) if is_removal => Ok(What::Removed),
            Step::Nothing(Some(_)) => Ok(What::Unchanged),
            Step::Nothing(None) => {
                let folder = self.wanted.make_folder(root)?;
                let section = self.wanted.section.as_deref().unwrap_or_default();
                folder.write(name, &Marks::markdown().new_file(self.wanted.preamble, section), None)?;
                Ok(What::Written)
            }
            Step::Write { folder, text, old } => {
                folder.write(name, &text, old.as_ref())?;
                Ok(if is_removal { What::Restored } else { What::Written })
            }
            Step::Delete { folder, old } => folder.remove(name, &old).map(|()| What::Removed),
        }
    }
}
