//! What is known of one file, for a hook that has milliseconds.
//!
//! Observations name files by their path from the project's root, or whole where they lie elsewhere, as in another
//! worktree. The full-text index finds the few that contain the path; their lists of files say whether it is the same
//! file, because `src/main.rs` is also the end of `tools/src/main.rs`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use remora_core::context::AboutFile;
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::ProjectId;
use rusqlite::{OptionalExtension, params};

use crate::material::{KNOWN_COLUMNS, read_known};
use crate::project::{Place, locate, worktree};
use crate::{KnownSession, Store, StoreError};

/// How many of the newest observations that contain a path are looked at, and how many about the file are enough.
const LOOK: u32 = 400;
const ENOUGH: usize = 20;
/// No path that is worth a thought is longer, in bytes.
const LONGEST_PATH: usize = 1_024;

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// From the top of the working tree it is in: the same in all worktrees.
    pub path: String,
    /// The project's root, from which observations name files.
    root: PathBuf,
    /// Where it is: without links, and as its host says.
    whole: [PathBuf; 2],
}

impl Store {
    /// A file of this project; `None` for one that lies elsewhere.
    pub fn project_file(&self, project: ProjectId, path: &Path) -> Result<Option<ProjectFile>, StoreError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        if !path.is_absolute() || path.as_os_str().len() > LONGEST_PATH {
            return Ok(None);
        }
        let sql = "SELECT root FROM projects WHERE id = ?1";
        let root: Option<String> =
            self.db.prepare_cached(sql)?.query_row([project.0], |row| row.get(0)).optional()?;
        let Some(root) = root.map(PathBuf::from) else { return Ok(None) };
        // The file itself may not exist yet, and its folder neither.
        let real = fs::canonicalize(folder).map_or_else(|_| path.to_owned(), |folder| folder.join(name));
        let whole = [real, path.to_owned()];
        let mut tops = vec![root.clone()];
        if let Some(tree) = worktree(folder)
            && self.is_tree_of(project, &tree)?
        {
            // First, because worktrees may lie below the root.
            tops.insert(0, tree);
        }
        let below = tops.iter().find_map(|top| whole.iter().find_map(|path| path.strip_prefix(top).ok()));
        let found = below.and_then(Path::to_str).filter(|path| !path.contains('\0')).map(str::to_owned);
        Ok(found.map(|path| ProjectFile { path, root, whole }))
    }

    /// What others learned about a file and this session was not told yet; the newest, where there is much.
    pub fn about_file(
        &self,
        session: &KnownSession,
        file: &ProjectFile,
    ) -> Result<Vec<AboutFile>, StoreError> {
        let sql = format!(
            "SELECT {KNOWN_COLUMNS}, o.narrative AS narrative,
                 (SELECT host FROM sessions AS s WHERE s.id = o.session_id) AS host
             FROM (SELECT d.record_id AS found
                   FROM documents_text CROSS JOIN documents AS d ON d.id = documents_text.rowid
                   WHERE documents_text MATCH ?1 AND d.kind = 'observation' AND d.lead = 1 AND d.project_id = ?2
                   ORDER BY documents_text.rowid DESC LIMIT {LOOK})
             CROSS JOIN observations AS o ON o.id = found
             LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
             WHERE o.superseded_by IS NULL AND o.session_id <> ?3"
        );
        let expression = format!("body : \"{}\"", file.path.replace('"', "\"\""));
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params![expression, session.project.0, session.id.0])?;
        let mut told = None;
        let mut names = Names { store: self, project: session.project, file, trees: HashMap::new() };
        let mut about = Vec::new();
        while let Some(row) = rows.next()? {
            let lists: [String; 2] = [row.get(6)?, row.get(7)?];
            if !names.are_in(&lists)? {
                continue;
            }
            let known = read_known(row)?;
            if known.feedback.is_wrong() {
                continue;
            }
            let told = match &mut told {
                Some(told) => told,
                // Asked only where there is something to tell.
                None => told.insert(self.told(session.id)?.records),
            };
            if !told.contains(&RecordId { kind: RecordKind::Observation, number: known.id }) {
                about.push(AboutFile { known, narrative: row.get("narrative")?, host: row.get("host")? });
            }
            if about.len() >= ENOUGH {
                break;
            }
        }
        Ok(about)
    }

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

/// The names by which observations may know a file.
struct Names<'a> {
    store: &'a Store,
    project: ProjectId,
    file: &'a ProjectFile,
    /// Which directories are working trees of the project: looked up once each.
    trees: HashMap<PathBuf, bool>,
}

impl Names<'_> {
    /// Whether one of these lists, as they are stored, has the file in it.
    fn are_in(&mut self, lists: &[String]) -> Result<bool, StoreError> {
        for list in lists {
            for name in serde_json::from_str::<Vec<String>>(list)? {
                if self.contain(&name)? {
                    return Ok(true);
                }
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
