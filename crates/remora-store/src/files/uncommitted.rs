//! The uncommitted files of a project, as the daemon last got them from git. A hook has no time to run git.

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use rusqlite::{OptionalExtension, params};

use crate::StoreError;
use crate::handles::KnownFiles;

/// A project with recent activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkedIn {
    pub project: ProjectId,
    pub root: String,
    pub last_activity_at: Time,
}

impl KnownFiles<'_> {
    /// The projects with activity after `at`.
    pub fn worked_in_since(self, at: Time) -> Result<Vec<WorkedIn>, StoreError> {
        let mut statement = self.0.db.prepare_cached(
            "SELECT p.id, p.root, (SELECT max(last_activity_at) FROM sessions WHERE project_id = p.id) AS last
             FROM projects AS p WHERE last > ?1",
        )?;
        let rows = statement.query_map([at.0], |row| {
            Ok(WorkedIn {
                project: ProjectId(row.get(0)?),
                root: row.get(1)?,
                last_activity_at: Time(row.get(2)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn uncommitted(self, project: ProjectId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        let json = self.0.db.prepare_cached(sql)?.query_row([key(project)], |row| row.get::<_, Vec<u8>>(0));
        Ok(json.optional()?.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default())
    }
}

impl KnownFiles<'_> {
    /// Stores the uncommitted files, as paths from the project's root.
    pub fn set_uncommitted(self, project: ProjectId, files: &[String]) -> Result<(), StoreError> {
        if self.uncommitted(project)? == files {
            return Ok(());
        }
        let files = serde_json::json!(files).to_string();
        self.0.writable()?.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)",
            params![key(project), files.into_bytes()],
        )?;
        Ok(())
    }
}

fn key(project: ProjectId) -> String {
    format!("changed_files_{project}")
}
