//! Lists the files that should exist, with their sections.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use remora_core::context::{self, TimelineItem};
use remora_core::ids::ProjectId;
use remora_store::context_files::{FilesAt, Touched};
use remora_store::{Recall, Store, StoreError};

use crate::folder::{Folder, Refusal};
use crate::repository::Repository;
use crate::section::Remainder;
use crate::{Outcome, What};

const CLAUDE_MD: &str = "CLAUDE.md";
const CURSOR_RULE: &str = ".cursor/rules/remora-context.mdc";
/// Front matter that Cursor requires before a rule.
const FRONT_MATTER: &str =
    "---\ndescription: What Remora remembers of this project\nalwaysApply: true\n---\n\n";
/// Upper limit for folders with a file. The most recently used ones are kept; more files would litter a project.
const MAX_FOLDERS: usize = 30;
/// Depth limit for folders. No real project is deeper.
const MAX_DEPTH: usize = 32;
/// Folders that belong to other tools. Nothing is written into them.
const FORBIDDEN: [&str; 2] = [".git", "node_modules"];

/// A file as it should be after the update.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Relative to the root, made of plain names.
    pub(crate) path: String,
    /// The text that a new file begins with.
    pub(crate) preamble: &'static str,
    /// `None` if the file should have no section.
    pub(crate) section: Option<String>,
    pub(crate) may_make_folder: bool,
}

impl Wanted {
    fn new(path: &str, section: Option<String>) -> Self {
        let is_rule = path == CURSOR_RULE;
        let preamble = if is_rule { FRONT_MATTER } else { "" };
        Self { path: path.to_owned(), preamble, section, may_make_folder: is_rule }
    }

    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.path).parent().unwrap_or(Path::new(""))
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the rest of the file, without the section, is ours too.
    pub(crate) fn is_all_of(&self, left: &Remainder) -> bool {
        let text = left.text.trim();
        left.made && (text.is_empty() || text == self.preamble.trim())
    }

    /// Creates the missing folders on the way.
    pub(crate) fn make_folder(&self, root: &Folder) -> Result<Folder, Refusal> {
        let mut path = PathBuf::new();
        for component in self.folder().components() {
            let parent = root.walk(&path, |_| Ok(()))?;
            parent.make(&component.as_os_str().to_string_lossy())?;
            path.push(component);
        }
        root.walk(&path, |_| Ok(()))
    }
}

/// The folders to create for these files, outer ones first.
pub(crate) fn folders_to_make(wanted: &[Wanted], root: &Folder) -> Vec<String> {
    let mut missing = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.may_make_folder && wanted.section.is_some()) {
        let folders = wanted.folder().ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let mut folders: Vec<&Path> = folders.collect();
        folders.reverse();
        folders.retain(|folder| matches!(root.walk(folder, |_| Ok(())), Err(Refusal::Missing)));
        missing.extend(folders.iter().map(|folder| folder.to_string_lossy().into_owned()));
    }
    missing
}

/// The files below a root, including those to be removed, and the folders that were skipped.
pub(crate) fn of(
    store: &Store,
    project: ProjectId,
    at: &FilesAt,
    root: &Folder,
    repository: &Repository,
) -> Result<(Vec<Wanted>, Vec<Outcome>), StoreError> {
    let mut wanted = Vec::new();
    let mut skipped = Vec::new();
    if at.forms.claude_md || at.forms.cursor {
        let material = store.injections().session_context(project, Recall::Everything, 1)?;
        let section = context::project_section(&material);
        for (is_on, path) in [(at.forms.claude_md, CLAUDE_MD), (at.forms.cursor, CURSOR_RULE)] {
            if let (true, Some(section)) = (is_on, &section) {
                wanted.push(Wanted::new(path, Some(section.clone())));
            }
        }
    }
    if at.forms.folders {
        let touched = store.files().touched(project)?;
        for (folder, known) in by_folder(&touched, Path::new(&at.root)) {
            let shown = folder.to_string_lossy().into_owned();
            match may_write_in(&folder, root, repository) {
                Ok(()) => {
                    wanted
                        .push(Wanted::new(&format!("{shown}/{CLAUDE_MD}"), context::folder_section(&known)));
                }
                Err(refusal) => {
                    skipped.push(Outcome { path: shown, what: What::Skipped(refusal.to_string()) });
                }
            }
        }
    }
    let gone: Vec<&String> =
        at.files.iter().filter(|file| !wanted.iter().any(|wanted| wanted.path == **file)).collect();
    wanted.extend(gone.into_iter().map(|file| Wanted::new(file, None)));
    Ok((wanted, skipped))
}

/// The observations of each folder, for the most recently used folders, in a stable order.
fn by_folder(touched: &[Touched], root: &Path) -> Vec<(PathBuf, Vec<TimelineItem>)> {
    let mut latest: Vec<PathBuf> = Vec::new();
    let mut known: BTreeMap<PathBuf, Vec<TimelineItem>> = BTreeMap::new();
    for touched in touched {
        let mut folders: Vec<PathBuf> =
            touched.files.iter().filter_map(|file| folder_of(file, root)).collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            if !latest.contains(&folder) && latest.len() < MAX_FOLDERS {
                latest.push(folder.clone());
            }
            if latest.contains(&folder) {
                known.entry(folder).or_default().push(touched.known.clone());
            }
        }
    }
    known.into_iter().collect()
}

/// The folder of a file relative to the root, if it is below the root. Paths come from agents, so they may be
/// anything.
fn folder_of(file: &str, root: &Path) -> Option<PathBuf> {
    if file.contains(char::is_control) {
        return None;
    }
    let path = Path::new(file);
    let path = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let folder = path.parent()?;
    let mut plain = PathBuf::new();
    for component in folder.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let depth = plain.components().count();
    (1..=MAX_DEPTH).contains(&depth).then_some(plain)
}

fn may_write_in(folder: &Path, root: &Folder, repository: &Repository) -> Result<(), Refusal> {
    for component in folder.components() {
        let name = component.as_os_str();
        if let Some(forbidden) = FORBIDDEN.into_iter().find(|forbidden| name.eq_ignore_ascii_case(forbidden))
        {
            return Err(Refusal::Forbidden(forbidden));
        }
    }
    root.walk(folder, |here| if here.has(".git") { Err(Refusal::OtherRepository) } else { Ok(()) })?;
    if repository.ignores(folder) { Err(Refusal::Ignored) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_below_the_root_count() {
        let root = Path::new("/home/dev/app");
        let folder = |file: &str| folder_of(file, root).map(|folder| folder.to_string_lossy().into_owned());
        assert_eq!(folder("src/a.rs").as_deref(), Some("src"));
        assert_eq!(folder("./src/./deep/a.rs").as_deref(), Some("src/deep"));
        assert_eq!(folder("/home/dev/app/src/a.rs").as_deref(), Some("src"));
        for outside in [
            "a.rs",
            "",
            "/",
            "../a/b.rs",
            "src/../../x/y",
            "/etc/passwd",
            "/home/dev/app2/src/a.rs",
            "a\n/b",
            "a\0/b",
        ] {
            assert_eq!(folder(outside), None, "{outside:?}");
        }
        assert_eq!(folder(&"d/".repeat(5_000)), None);
    }
}
