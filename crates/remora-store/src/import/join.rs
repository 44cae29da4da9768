//! Assigns a directory to a project that was imported by name alone. Only the user knows which one it is.

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use rusqlite::{Connection, TransactionBehavior, params};

use crate::{Place, ProjectRow, Store, StoreError, project, retention};

/// Tables with rows of a project, apart from its directories.
const TABLES: [&str; 7] =
    ["sessions", "observations", "session_summaries", "facts", "documents", "llm_usage", "forgettings"];

impl Store {
    /// Assigns a project to a directory. If the directory has its own project, all records move there, and the
    /// imported project is deleted.
    pub fn join_project(
        &mut self,
        from: ProjectId,
        place: &Place,
        at: Time,
    ) -> Result<ProjectRow, StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match project::project_of(&transaction, place)? {
            Some(other) if other == from => {}
            Some(other) => merge(&transaction, from, other)?,
            None => {
                transaction.execute(
                    "UPDATE project_aliases SET gone_at = ?2 WHERE project_id = ?1 AND gone_at IS NULL",
                    [from.0, at.0],
                )?;
                transaction.execute(
                    "UPDATE projects SET root = ?2, origin = ?3 WHERE id = ?1",
                    params![from.0, place.root, place.origin],
                )?;
                project::add_alias(&transaction, from, place, at)?;
            }
        }
        retention::audit(&transaction, "project join", &place.root)?;
        transaction.commit()?;
        self.project_at(place)?.ok_or(StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows))
    }
}

fn merge(db: &Connection, from: ProjectId, into: ProjectId) -> Result<(), StoreError> {
    // The directory's facts stay; a contradicting value becomes a conflict. A trigger deletes its documents.
    db.execute(
        "UPDATE facts SET valid_to = valid_from WHERE project_id = ?1 AND valid_to IS NULL AND deleted_at IS NULL
         AND key IN (SELECT key FROM facts WHERE project_id = ?2 AND valid_to IS NULL AND deleted_at IS NULL)",
        [from.0, into.0],
    )?;
    for table in TABLES {
        db.execute(&format!("UPDATE {table} SET project_id = ?2 WHERE project_id = ?1"), [from.0, into.0])?;
    }
    db.execute("DELETE FROM projects WHERE id = ?1", [from.0])?;
    // Processes cache the projects of documents.
    db.execute("UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch'", [])?;
    Ok(())
}
