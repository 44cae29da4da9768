//! Assigns a directory to a project that was imported by name alone. Only the user knows which one it is.

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use rusqlite::{Connection, params};

use crate::handles::Projects;
use crate::{Place, ProjectRow, StoreError, projects, retention};

/// Tables with rows of a project, apart from its directories. Those of memory record when a row changed.
const MEMORY: [&str; 3] = ["observations", "session_summaries", "facts"];
const OTHERS: [&str; 4] = ["sessions", "documents", "llm_usage", "forgettings"];

impl Projects<'_> {
    /// Assigns a project to a directory. If the directory has its own project, all records move there, and the
    /// imported project is deleted.
    pub fn join(self, from: ProjectId, place: &Place, at: Time) -> Result<ProjectRow, StoreError> {
        let transaction = self.0.begin()?;
        match projects::project_of(&transaction, place)? {
            Some(other) if other == from => {}
            Some(other) => merge(&transaction, from, other, at)?,
            None => {
                transaction.execute(
                    "UPDATE project_aliases SET gone_at = ?2 WHERE project_id = ?1 AND gone_at IS NULL",
                    [from.0, at.0],
                )?;
                transaction.execute(
                    "UPDATE projects SET root = ?2, origin = ?3 WHERE id = ?1",
                    params![from.0, place.root, place.origin],
                )?;
                projects::add_alias(&transaction, from, place, at)?;
            }
        }
        retention::audit(&transaction, "project join", &place.root, at)?;
        transaction.commit()?;
        self.0.projects().get(place)?.ok_or(StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows))
    }
}

fn merge(db: &Connection, from: ProjectId, into: ProjectId, at: Time) -> Result<(), StoreError> {
    // The directory's facts stay. The same value ends; a contradicting one becomes an unresolved conflict, even if it
    // was confirmed before. A trigger deletes their documents.
    db.execute(
        "UPDATE facts AS f SET valid_to = iif(own.value = f.value, max(f.valid_from + 1, ?3), f.valid_from),
             confirmed_at = iif(own.value = f.value, f.confirmed_at, NULL)
         FROM facts AS own WHERE f.project_id = ?1 AND f.valid_to IS NULL AND f.deleted_at IS NULL
             AND own.project_id = ?2 AND own.key = f.key AND own.valid_to IS NULL AND own.deleted_at IS NULL",
        [from.0, into.0, at.0],
    )?;
    for table in MEMORY {
        let sql = format!("UPDATE {table} SET project_id = ?2, updated_at = ?3 WHERE project_id = ?1");
        db.execute(&sql, [from.0, into.0, at.0])?;
    }
    for table in OTHERS {
        db.execute(&format!("UPDATE {table} SET project_id = ?2 WHERE project_id = ?1"), [from.0, into.0])?;
    }
    db.execute("DELETE FROM projects WHERE id = ?1", [from.0])?;
    // Processes cache the projects of documents.
    db.execute("UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch'", [])?;
    Ok(())
}
