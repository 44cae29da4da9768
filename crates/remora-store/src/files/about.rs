//! Finds observations about one file, for a hook that has milliseconds.
//!
//! Observations name files by their path from the project's root, or by the full path if they are elsewhere, as in
//! another worktree. An index over reversed paths finds candidates with the same end. The rest of the path decides
//! whether it is the same file, because `tools/src/main.rs` also ends with `src/main.rs`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use remora_core::context::{AboutFile, MAX_NOTE_LEN, substance};
use remora_core::ids::ProjectId;
use rusqlite::{OptionalExtension, params};

use super::since::MainFile;
use crate::handles::KnownFiles;
use crate::material::{KNOWN_COLUMNS, read_known};
use crate::{KnownSession, Store, StoreError};
use remora_data::{Place, locate, worktree};

/// Upper limits: for the newest observations that name the path, in any project, and for those about the file that
/// are returned. The first needs the index only, so few more rows than the second are read.
const LOOK: u32 = 2_000;
const ENOUGH: usize = 20;
/// Longer paths are ignored, in bytes.
const MAX_PATH_LEN: usize = 1_024;

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Relative to the top of its working tree, so the same in all worktrees.
    pub path: String,
    /// The project's root, to which paths in observations are relative.
    root: PathBuf,
    /// Its full path: without links, and as the host wrote it.
    whole: [PathBuf; 2],
}

impl KnownFiles<'_> {
    /// Resolves a path to a file of this project. `None` if it is elsewhere.
    pub fn get(self, project: ProjectId, path: &Path) -> Result<Option<ProjectFile>, StoreError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        if !path.is_absolute() || path.as_os_str().len() > MAX_PATH_LEN {
            return Ok(None);
        }
        let sql = "SELECT root FROM projects WHERE id = ?1";
        let root: Option<String> =
            self.0.db.prepare_cached(sql)?.query_row([project.0], |row| row.get(0)).optional()?;
        let Some(root) = root.map(PathBuf::from) else { return Ok(None) };
        // The file may not exist yet, nor its folder.
        let real = fs::canonicalize(folder).map_or_else(|_| path.to_owned(), |folder| folder.join(name));
        let whole = [real, path.to_owned()];
        let mut tops = vec![root.clone()];
        if let Some(tree) = worktree(folder)
            && self.0.is_tree_of(project, &tree)?
        {
            // First, because worktrees may lie below the root.
            tops.insert(0, tree);
        }
        let below = tops.iter().find_map(|top| whole.iter().find_map(|path| path.strip_prefix(top).ok()));
        let found = below.and_then(Path::to_str).filter(|path| !path.contains('\0')).map(str::to_owned);
        Ok(found.map(|path| ProjectFile { path, root, whole }))
    }

    /// Observations of other sessions about a file, newest first, at most `ENOUGH`.
    pub fn about(self, session: &KnownSession, file: &ProjectFile) -> Result<Vec<AboutFile>, StoreError> {
        let sql = format!(
            "SELECT {KNOWN_COLUMNS}, names, o.narrative AS narrative,
                 (SELECT host FROM sessions AS s WHERE s.id = o.session_id) AS host
             FROM (SELECT observation_id AS found, json_group_array(path_reversed) AS names
                   FROM observation_files INDEXED BY observation_files_by_end
                   WHERE path_reversed >= ?1 || '/' AND path_reversed < ?1 || '0'
                   GROUP BY observation_id ORDER BY observation_id DESC LIMIT {LOOK})
             CROSS JOIN observations AS o ON o.id = found
             LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
             WHERE o.project_id = ?2 AND o.session_id <> ?3 AND o.superseded_by IS NULL AND o.deleted_at IS NULL"
        );
        let end = reversed(&file.path);
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let mut rows =
            statement.query(params![end.trim_end_matches('/'), session.project.0, session.id.0])?;
        let mut names = Names { store: self.0, project: session.project, file, trees: HashMap::new() };
        let wrong = self.0.records().called_wrong(session.project)?;
        let mut about = Vec::new();
        while let Some(row) = rows.next()? {
            let named: Vec<String> = serde_json::from_str(&row.get::<_, String>("names")?)?;
            if !names.are_in(&named)? {
                continue;
            }
            let known = read_known(row)?;
            if !known.may_be_injected(&wrong) {
                continue;
            }
            let narrative: String = row.get("narrative")?;
            let mut passages = substance(&narrative, MAX_NOTE_LEN);
            passages.retain(|passage| known.is_upheld() || !wrong.is_said_by(passage));
            about.push(AboutFile { known, passages, host: row.get("host")?, since: None });
            if about.len() >= ENOUGH {
                break;
            }
        }
        let main_files = about
            .iter()
            .filter(|about| about.known.file.is_some())
            .map(|about| MainFile { observation: about.known.id, path: about.known.file.as_deref() });
        let since = self.0.files().since(session.project, main_files)?;
        for about in &mut about {
            about.since = since.get(&about.known.id).copied();
        }
        Ok(about)
    }
}

impl Store {
    /// Whether a directory is the top of a working tree of this project.
    fn is_tree_of(&self, project: ProjectId, top: &Path) -> Result<bool, StoreError> {
        Ok(top.join(".git").exists() && self.is_place_of(project, &locate(top))?)
    }

    fn is_place_of(&self, project: ProjectId, place: &Place) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM project_aliases WHERE path = ?2 AND gone_at IS NULL AND project_id = ?1)
                       OR EXISTS (SELECT 1 FROM projects WHERE id = ?1 AND origin = ?3)";
        let values = params![project.0, place.path, place.origin];
        Ok(self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
    }
}

/// A path with its parts reversed, such as `total.rs/src/`. A common prefix then means a common end of the path.
pub(crate) fn reversed(path: &str) -> String {
    path.rsplit('/').flat_map(|part| [part, "/"]).collect()
}

/// The inverse of [`reversed`].
fn restored(reversed: &str) -> String {
    let parts: Vec<&str> = reversed.strip_suffix('/').unwrap_or(reversed).rsplit('/').collect();
    parts.join("/")
}

/// Decides whether a path in an observation means the file.
struct Names<'a> {
    store: &'a Store,
    project: ProjectId,
    file: &'a ProjectFile,
    /// Cache: whether a directory is a working tree of the project.
    trees: HashMap<PathBuf, bool>,
}

impl Names<'_> {
    /// Whether one of these reversed paths is the file.
    fn are_in(&mut self, reversed_paths: &[String]) -> Result<bool, StoreError> {
        for path in reversed_paths {
            if self.contain(&restored(path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn contain(&mut self, name: &str) -> Result<bool, StoreError> {
        let file = self.file;
        if name == file.path {
            return Ok(true);
        }
        let whole = file.root.join(name);
        if file.whole.contains(&whole) {
            return Ok(true);
        }
        let top = whole.to_str().and_then(|whole| whole.strip_suffix(&file.path)?.strip_suffix('/'));
        let Some(top) = top.map(PathBuf::from) else { return Ok(false) };
        if top == file.root {
            return Ok(true);
        }
        if let Some(known) = self.trees.get(&top) {
            return Ok(*known);
        }
        let is_tree = self.store.is_tree_of(self.project, &top)?;
        self.trees.insert(top, is_tree);
        Ok(is_tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversed_path_can_be_searched_by_prefix_and_restored() {
        assert_eq!(reversed("src/total.rs"), "total.rs/src/");
        for path in
            ["total.rs", "src/total.rs", "/mnt/tree/src/total.rs", "tools/src/total.rs", "a//b", "/", ""]
        {
            assert_eq!(restored(&reversed(path)), path);
            assert_eq!(
                reversed(path).starts_with(&reversed("src/total.rs")),
                Path::new(path).ends_with("src/total.rs"),
                "{path}"
            );
        }
    }
}
