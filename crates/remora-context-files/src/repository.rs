//! What git knows of a working tree, read from its files: the ignore rules, and the exclude file.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::Gitignore;
use remora_sys::file::read_small;

use crate::folder::{Folder, Refusal};
use crate::section::Marks;

const INFO: &str = "info";
const EXCLUDE: &str = "exclude";
/// Name of the main working tree, which has no directory below `worktrees`.
const MAIN: &str = "main";

#[derive(Debug)]
pub(crate) struct Repository {
    root: PathBuf,
    git: Option<GitDirectory>,
}

#[derive(Debug)]
struct GitDirectory {
    /// The git directory that all working trees of the repository share.
    common: PathBuf,
    /// The name of the working tree inside `common`. It stays the same if the tree is moved.
    worktree: String,
}

impl Repository {
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), git: git_directory(root) }
    }

    /// Whether git ignores a folder, or a folder above it.
    pub(crate) fn ignores(&self, folder: &Path) -> bool {
        let mut rules = vec![Gitignore::global().0];
        rules.extend(self.git.as_ref().map(|git| rules_of(&self.root, &git.common.join(INFO).join(EXCLUDE))));
        let mut here = self.root.clone();
        for component in folder.components() {
            rules.push(rules_of(&here, &here.join(".gitignore")));
            here.push(component);
            // The rules of the nearest folder decide.
            let decided = rules.iter().rev().map(|rules| rules.matched(&here, true)).find(|m| !m.is_none());
            if matches!(decided, Some(Match::Ignore(_))) {
                return true;
            }
        }
        false
    }

    /// Replaces our section of the exclude file with exactly these files. Paths are relative to the root.
    pub(crate) fn exclude(&self, files: &[String]) -> Result<(), Refusal> {
        let Some(git) = &self.git else { return Ok(()) };
        let common = Folder::open(&git.common)?;
        if !common.has(INFO) {
            if files.is_empty() {
                return Ok(());
            }
            common.make(INFO)?;
        }
        let info = common.walk(Path::new(INFO), |_| Ok(()))?;
        let old = info.read(EXCLUDE)?;
        let text = old.as_ref().map(|old| old.text.as_str());
        let section: String = files.iter().map(|file| pattern(file)).collect();
        match (git.excluding(text, &section)?, &old) {
            (None, Some(old)) => {
                info.remove(EXCLUDE, old)?;
                common.remove_empty(INFO)
            }
            (Some(new), old) if text != Some(&new) => info.write(EXCLUDE, &new, old.as_ref()),
            _ => Ok(()),
        }
    }
}

impl GitDirectory {
    /// The new text of the exclude file: with `section` for this working tree, and without the sections of working
    /// trees that are gone. `None` if the file should not exist.
    fn excluding(&self, text: Option<&str>, section: &str) -> Result<Option<String>, Refusal> {
        let marks = Marks::hash(&self.worktree);
        let Some(text) = text else {
            return Ok((!section.is_empty()).then(|| marks.new_file("", section)));
        };
        let mut text = text.to_owned();
        let mut made = false;
        for gone in self.gone_worktrees(&text) {
            if let Some(left) = Marks::hash(&gone).without(&text)? {
                (text, made) = (left.text, made || left.made);
            }
        }
        if !section.is_empty() {
            return Ok(Some(marks.with(&text, section)?));
        }
        if let Some(left) = marks.without(&text)? {
            (text, made) = (left.text, made || left.made);
        }
        Ok((!made || !text.trim().is_empty()).then_some(text))
    }

    fn gone_worktrees(&self, text: &str) -> Vec<String> {
        let names = text.lines().filter_map(Marks::hash_owner);
        names.filter(|name| *name != MAIN && !self.common.join(name).exists()).map(str::to_owned).collect()
    }
}

/// A line of an exclude file that matches this path only.
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
    // Errors are ignored: git skips invalid patterns too, and most folders have no such file.
    let _ = rules.add(file);
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Finds the git directory of a working tree. `.git` is a directory, or a file that names one (in a linked working
/// tree or a submodule).
fn git_directory(root: &Path) -> Option<GitDirectory> {
    let dot_git = root.join(".git");
    let own = if dot_git.is_dir() {
        dot_git
    } else {
        let link = read_small(&dot_git).ok()?;
        root.join(link.trim().strip_prefix("gitdir:")?.trim())
    };
    let common = match read_small(&own.join("commondir")) {
        Ok(relative) => own.join(relative.trim()),
        Err(_) => own.clone(),
    };
    let (own, common) = (own.canonicalize().ok()?, common.canonicalize().ok()?);
    if !knows(&own, root) {
        return None;
    }
    let worktree = match own.strip_prefix(&common) {
        Ok(name) if !name.as_os_str().is_empty() => name.to_string_lossy().into_owned(),
        _ => MAIN.to_owned(),
    };
    common.join("HEAD").exists().then_some(GitDirectory { common, worktree })
}

/// Whether a git directory belongs to this working tree. A `.git` file inside a downloaded project can point
/// anywhere, so the directory must also point back, as git's own do.
fn knows(own: &Path, root: &Path) -> bool {
    let Ok(root) = root.canonicalize() else { return false };
    if own.parent() == Some(&root) {
        return true;
    }
    let is_root = |path: &str| own.join(path.trim()).canonicalize().is_ok_and(|path| path == root);
    let linked = read_small(&own.join("gitdir")).ok();
    let linked = linked.as_deref().and_then(|path| path.trim().strip_suffix("/.git")).is_some_and(is_root);
    if linked {
        return true;
    }
    // A submodule names its working tree in its configuration.
    let config = read_small(&own.join("config")).unwrap_or_default();
    let lines = config.lines().filter_map(|line| line.trim().strip_prefix("worktree"));
    lines.filter_map(|rest| rest.trim().strip_prefix('=')).any(is_root)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_git_directory_that_does_not_know_the_working_tree_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let [repository, planted] = ["repository", "planted"].map(|name| temp.path().join(name));
        fs::create_dir_all(repository.join(".git/worktrees/side")).unwrap();
        fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir(&planted).unwrap();
        let own = repository.join(".git/worktrees/side");
        let excludes = || Repository::at(&planted).exclude(&["CLAUDE.local.md".to_owned()]).unwrap();
        for pointed in [repository.join(".git"), own.clone()] {
            fs::write(planted.join(".git"), format!("gitdir: {}\n", pointed.display())).unwrap();
            fs::write(own.join("commondir"), "../..\n").unwrap();
            excludes();
            assert!(!repository.join(".git/info").exists(), "{}", pointed.display());
        }
        // With the pointer back that git writes.
        fs::write(own.join("gitdir"), format!("{}\n", planted.join(".git").display())).unwrap();
        excludes();
        let excluded = fs::read_to_string(repository.join(".git/info/exclude")).unwrap();
        assert!(excluded.contains("/CLAUDE.local.md"), "{excluded}");
    }
}
