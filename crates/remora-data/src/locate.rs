//! Locates a directory in the file system. Runs in hooks: a few small reads, never a git process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use remora_core::privacy::clean_text;
use remora_core::project::{normalise_origin, origin_in_git_config};
use remora_sys::file::read_small;
use serde::{Deserialize, Serialize};

/// What identifies the project of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The git common directory, which all worktrees share, or the directory itself.
    pub path: String,
    /// The project's directory, as a person would name it.
    pub root: String,
    pub origin: Option<String>,
    pub identity: Option<Identity>,
}

/// Identifies a directory after a rename, unlike a path. The birth time distinguishes a reused inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub device: i64,
    pub inode: i64,
    pub born_at: i64,
}

impl Place {
    pub fn name(&self) -> String {
        let name = Path::new(&self.root).file_name().unwrap_or(self.root.as_ref()).to_string_lossy();
        name.strip_suffix(".git").unwrap_or(&name).to_owned()
    }
}

/// Resolves `directory`. If it does not exist, the result has the path as given.
pub fn locate(directory: &Path) -> Place {
    let Ok(directory) = directory.canonicalize() else {
        return Place { path: text(directory), root: text(directory), origin: None, identity: None };
    };
    let repository =
        directory.ancestors().find_map(|ancestor| common_directory(ancestor).map(|c| (ancestor, c)));
    let Some((worktree, common)) = repository else {
        return Place {
            path: text(&directory),
            root: text(&directory),
            origin: None,
            identity: identity(&directory),
        };
    };
    // A linked worktree is named after its repository, not after its own directory.
    let is_main = common.parent() == Some(worktree);
    let root = match common.parent() {
        Some(parent) if !is_main && common.file_name().is_some_and(|name| name == ".git") => parent,
        _ if is_main => worktree,
        _ if is_submodule(&common) => worktree,
        _ => &common,
    };
    Place {
        path: text(&common),
        root: text(root),
        origin: origin(&common, root),
        identity: identity(&common),
    }
}

/// The top of the working tree that a file or directory is in. `None` if it does not exist, or is in no repository that
/// the user trusts.
pub fn worktree(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    path.ancestors().find(|ancestor| common_directory(ancestor).is_some()).map(Path::to_owned)
}

/// Whether directories below this one may share its memory. The home directory, directories above it, and those that
/// others can write to are excluded: they contain too many unrelated things.
pub fn can_be_project(directory: &Path) -> bool {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_above_home = home.is_some_and(|home| home.starts_with(directory));
    let user = rustix::process::geteuid().as_raw();
    let is_own =
        fs::metadata(directory).is_ok_and(|metadata| metadata.uid() == user && metadata.mode() & 0o002 == 0);
    directory.parent().is_some() && !is_above_home && is_own
}

/// The common git directory of a worktree at `root`, if there is one.
fn common_directory(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let git_directory = if dot_git.is_dir() {
        dot_git
    } else {
        let link = read_small(&dot_git).ok()?;
        root.join(link.trim().strip_prefix("gitdir:")?.trim())
    };
    let common = match read_small(&git_directory.join("commondir")) {
        Ok(relative) => git_directory.join(relative.trim()),
        Err(_) => git_directory,
    };
    (common.join("HEAD").exists() && is_trusted(&common)).then(|| common.canonicalize().ok()).flatten()
}

/// Whether a repository belongs to the user or to root. Another user's could claim any origin, and with it a
/// project's memory; git does not trust it either.
fn is_trusted(common: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::metadata(common).is_ok_and(|metadata| [user, 0].contains(&metadata.uid()))
}

fn is_submodule(common: &Path) -> bool {
    common.ancestors().skip(1).any(|ancestor| ancestor.file_name().is_some_and(|name| name == "modules"))
}

fn origin(common: &Path, root: &Path) -> Option<String> {
    let config = read_small(&common.join("config")).ok()?;
    let url = origin_in_git_config(&config)?;
    if url.starts_with("./") || url.starts_with("../") {
        let path = root.join(&url);
        return normalise_origin(&text(&path.canonicalize().unwrap_or(path)));
    }
    // The path may contain a token.
    normalise_origin(&url).map(|origin| clean_text(&origin))
}

fn identity(path: &Path) -> Option<Identity> {
    let metadata = fs::metadata(path).ok()?;
    let born = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Identity {
        device: metadata.dev().cast_signed(),
        inode: metadata.ino().cast_signed(),
        born_at: i64::try_from(born.as_nanos()).ok()?,
    })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
