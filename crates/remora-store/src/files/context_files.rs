//! Which projects have context files, and which files those are.
//!
//! A process that changes this data or the files holds the lock, because two at once would undo each other's work.

use remora_core::context::TimelineItem;
use remora_core::document::ProjectScope;
use remora_core::ids::ProjectId;
use remora_core::time::Time;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::handles::{KnownFiles, Projects};
use crate::material::{KNOWN_COLUMNS, read_known};
use crate::{Place, StoreError, projects, schema};

/// Number of the latest observations that determine which folders are active.
const LATEST: u32 = 300;

/// The files modified by `observations AS o`, or else the files it read, as JSON.
const FILES: &str = "(SELECT json_group_array(path ORDER BY position) FROM observation_files
    WHERE observation_id = o.id AND how = (SELECT min(how) FROM observation_files WHERE observation_id = o.id))";

/// The kinds of context files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forms {
    /// A section in the project's `CLAUDE.md`.
    pub claude_md: bool,
    /// Sections in the `CLAUDE.md` of folders that were worked in.
    pub folders: bool,
    /// A rule for Cursor.
    pub cursor: bool,
}

impl Forms {
    pub fn any(self) -> bool {
        self.claude_md || self.folders || self.cursor
    }
}

/// The context files below one directory. A project with several clones or worktrees has several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesAt {
    pub root: String,
    pub forms: Forms,
    /// Files that may have a section of ours, relative to the root. Stored before they are written.
    pub files: Vec<String>,
    /// Folders that we created, outer ones first.
    pub made_folders: Vec<String>,
    /// Problems of the last update.
    pub problems: Vec<FileProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProblem {
    pub path: String,
    pub reason: String,
}

/// Identifies a state of a project's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryMark {
    /// Newest id and number of the project's observations, summaries and facts.
    records: [i64; 6],
    /// See [`changed_in_place`].
    in_place: Option<Vec<u8>>,
}

/// An observation, with the files it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Touched {
    pub known: TimelineItem,
    pub files: Vec<String>,
}

impl KnownFiles<'_> {
    /// The projects of a scope that have context files.
    pub fn context_files(self, scope: ProjectScope) -> Result<Vec<(ProjectId, Vec<FilesAt>)>, StoreError> {
        let sql = "SELECT id, context_files FROM projects WHERE context_files IS NOT NULL AND (?1 IS NULL OR id = ?1)
                   ORDER BY id";
        let project = match scope {
            ProjectScope::All => None,
            ProjectScope::One(project) => Some(project.0),
        };
        let mut statement = self.0.db.prepare_cached(sql)?;
        let rows = statement
            .query_map([project], |row| Ok((ProjectId(row.get(0)?), row.get::<_, String>(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        rows.into_iter().map(|(project, json)| Ok((project, serde_json::from_str(&json)?))).collect()
    }

    /// The latest observations with the files they modified, or else read, newest first.
    pub fn touched(self, project: ProjectId) -> Result<Vec<Touched>, StoreError> {
        let sql = format!(
            "SELECT {KNOWN_COLUMNS}, {FILES} AS files FROM observations AS o
             LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
             WHERE o.project_id = ?1 AND o.superseded_by IS NULL AND o.deleted_at IS NULL
             ORDER BY o.created_at DESC, o.id DESC LIMIT {LATEST}"
        );
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let rows = statement.query_map([project.0], |row| {
            let files: String = row.get("files")?;
            Ok(Touched { known: read_known(row)?, files: serde_json::from_str(&files).unwrap_or_default() })
        })?;
        let mut touched: Vec<Touched> = rows.collect::<Result<_, _>>()?;
        let wrong = self.0.records().called_wrong(project)?;
        touched.retain(|touched| touched.known.may_be_injected(&wrong));
        Ok(touched)
    }
}

impl Projects<'_> {
    /// Changes when a record of the project is added or forgotten, or when any record is changed in place.
    pub fn memory_mark(self, project: ProjectId) -> Result<MemoryMark, StoreError> {
        let sql = "SELECT o.newest, o.number, s.newest, s.number, f.newest, f.number,
                 (SELECT value FROM meta WHERE key = 'memory_changed') FROM
                 (SELECT ifnull(max(id), 0) AS newest, count(*) AS number FROM observations
                  WHERE project_id = ?1 AND deleted_at IS NULL) AS o,
                 (SELECT ifnull(max(id), 0) AS newest, count(*) AS number FROM session_summaries
                  WHERE project_id = ?1 AND checkpoint = 0 AND deleted_at IS NULL) AS s,
                 (SELECT ifnull(max(id), 0) AS newest, count(*) AS number FROM facts
                  WHERE ifnull(project_id, 0) IN (0, ?1) AND valid_to IS NULL AND deleted_at IS NULL) AS f";
        let mark = self.0.db.prepare_cached(sql)?.query_row([project.0], |row| {
            let mut records = [0; 6];
            for (column, number) in records.iter_mut().enumerate() {
                *number = row.get(column)?;
            }
            Ok(MemoryMark { records, in_place: row.get(6)? })
        })?;
        Ok(mark)
    }
}

impl KnownFiles<'_> {
    pub fn set_context_files(self, project: ProjectId, files: &[FilesAt]) -> Result<(), StoreError> {
        let json = match files {
            [] => None,
            files => Some(serde_json::to_string(files)?),
        };
        // Usually nothing has changed. The condition then avoids a write.
        let sql = "UPDATE projects SET context_files = ?2 WHERE id = ?1 AND context_files IS NOT ?2";
        self.0.writable()?.execute(sql, params![project.0, json])?;
        Ok(())
    }
}

impl Projects<'_> {
    /// The project of a place. Created if it does not exist yet.
    pub fn adopt(self, place: &Place, at: Time) -> Result<ProjectId, StoreError> {
        let transaction = self.0.begin()?;
        schema::check(&transaction)?;
        let project = projects::resolve(&transaction, place, at)?;
        transaction.commit()?;
        Ok(project)
    }
}

/// Changes every [`MemoryMark`]. Each write that changes a record without adding or forgetting one calls it, in the same
/// transaction: a verdict, an edit, a model's revision.
pub(crate) fn changed_in_place(db: &Connection) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES ('memory_changed', randomblob(8))";
    db.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use remora_core::memory::ObservationType;
    use remora_core::privacy::{Draft, SavedText};

    use super::*;
    use crate::{DataDir, SaveFor, SavedBy, Store, locate};

    #[test]
    fn the_mark_of_a_memory_changes_if_one_observation_comes_as_another_goes() {
        let temp = tempfile::tempdir().unwrap();
        let mut store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        let project = store.projects().adopt(&locate(temp.path()), Time(1)).unwrap();
        let save = |store: &mut Store, text: &str| {
            let draft = Draft {
                text: text.to_owned(),
                title: None,
                kind: ObservationType::Decision,
                facts: Vec::new(),
                files: Vec::new(),
            };
            let text = SavedText::new(&draft).unwrap();
            store.records().save(&SaveFor::Project(project), &text, SavedBy::Program, Time(1)).unwrap();
        };
        save(&mut store, "Totals are cents.");
        let mark = store.projects().memory_mark(project).unwrap();
        store.db.execute("UPDATE observations SET deleted_at = 1", []).unwrap();
        save(&mut store, "Amounts are whole cents.");
        assert_ne!(store.projects().memory_mark(project).unwrap(), mark);
    }
}
