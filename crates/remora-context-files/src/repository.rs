//! What git knows of a working tree, read from its files: what it ignores, and where it is told to ignore more.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::Gitignore;

use crate::folder::{Folder, Refusal};
use crate::section::Marks;

const INFO: &str = "info";
const EXCLUDE: &str = "exclude";

#[derive(Debug)]
pub(crate) struct Repository {
    root: PathBuf,
    /// The directory all working trees of the repository share; none without a repository.
    common: Option<PathBuf>,
}

impl Repository {
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), common: common_directory(root) }
    }

    /// Whether git ignores a folder, or one it is in.
    pub(crate) fn ignores(&self, folder: &Path) -> bool {
        let mut rules = vec![Gitignore::global().0];
        rules.extend(
            self.common.as_ref().map(|common| rules_of(&self.root, &common.join(INFO).join(EXCLUDE))),
        );
        let mut here = self.root.clone();
        for component in folder.components() {
            rules.push(rules_of(&here, &here.join(".gitignore")));
            here.push(component);
            // The rules nearest to it decide.
            let decided = rules.iter().rev().map(|rules| rules.matched(&here, true)).find(|m| !m.is_none());
            if matches!(decided, Some(Match::Ignore(_))) {
                return true;
            }
        }
        false
    }

    /// Has git ignore exactly these files, and no others, for our sake. They are told from the root.
    pub(crate) fn exclude(&self, files: &[String]) -> Result<(), Refusal> {
        let Some(common) = &self.common else { return Ok(()) };
        let git = Folder::open(common)?;
        if !git.has(INFO) {
            if files.is_empty() {
                return Ok(());
            }
            git.make(INFO)?;
        }
        let info = git.walk(Path::new(INFO), |_| Ok(()))?;
        let marks = Marks::hash(&self.root.to_string_lossy());
        let old = info.read(EXCLUDE)?;
        let text = old.as_ref().map(|old| old.text.as_str());
        if files.is_empty() {
            let Some(left) = text.map_or(Ok(None), |text| marks.without(text))? else { return Ok(()) };
            return match old {
                Some(old) if left.made && left.text.trim().is_empty() => {
                    info.remove(EXCLUDE, &old)?;
                    git.remove_empty(INFO)
                }
                old => info.write(EXCLUDE, &left.text, old.as_ref()),
            };
        }
        let section: String = files.iter().map(|file| pattern(file)).collect();
        let new = match text {
            Some(text) => marks.with(text, &section)?,
            None => marks.new_file("", &section),
        };
        if text == Some(&new) { Ok(()) } else { info.write(EXCLUDE, &new, old.as_ref()) }
    }
}

/// One path and nothing else, as a line of an exclude file.
fn pattern(file: &str) -> String {
    let mut line = "/".to_owned();
    for c in file.chars() {
        if matches!(c, '\\' | '*' | '?' | '[' | ']' | ' ' | '#' | '!') {
            line.push('\\');
        }
        line.push(c);
    }
    line + "\n"
}

fn rules_of(base: &Path, file: &Path) -> Gitignore {
    let mut rules = ignore::gitignore::GitignoreBuilder::new(base);
    // A line that is no pattern is none for git either, and most folders have no such file.
    let _ = rules.add(file);
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Of a working tree at `root`: `.git` is a directory, or a file that names one (in a linked working tree or a
/// submodule).
fn common_directory(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let git_directory = if dot_git.is_dir() {
        dot_git
    } else {
        let link = fs::read_to_string(&dot_git).ok()?;
        root.join(link.trim().strip_prefix("gitdir:")?.trim())
    };
    let common = match fs::read_to_string(git_directory.join("commondir")) {
        Ok(relative) => git_directory.join(relative.trim()),
        Err(_) => git_directory,
    };
    common.join("HEAD").exists().then(|| common.canonicalize().ok()).flatten()
}
