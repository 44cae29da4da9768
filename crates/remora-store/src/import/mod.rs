//! Imports records that were made elsewhere. They keep their uuid, so that repeated imports store a record once, and
//! their date. They are reference data, whatever they claim: nothing imported counts as the user's own word.

mod join;
pub(crate) mod past;
mod records;

pub use past::Stored;
pub use records::{ImportedFact, ImportedObservation, ImportedRecord, ImportedSummary, ImportedTurn};

use remora_core::event::SessionRef;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::portable::SessionStatus;
use remora_core::time::Time;
use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::handles::{Projects, Records, Sessions};
use crate::search::documents;
use crate::{Place, StoreError, projects, schema};

/// Prefix of a source that marks the user's own word as imported.
pub(crate) const IMPORTED: &str = "import:";

/// The outcome for a record to be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    Imported,
    /// It is stored already.
    Known,
    /// Its session has another record with the same content, or its place is taken.
    Repeated,
    /// It was forgotten and must not come back.
    Forgotten,
}

/// A project of another system.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedProject {
    pub uuid: Uuid,
    pub name: String,
    pub place: Place,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSession {
    pub uuid: Uuid,
    pub session: SessionRef,
    pub project: ProjectId,
    pub status: SessionStatus,
    pub turns: i64,
    pub private_turns: i64,
    pub started_at: Time,
    pub last_activity_at: Time,
    pub completed_at: Option<Time>,
}

/// Derives a uuid from identifying parts: the same every time.
pub fn derived_uuid(parts: &[&str]) -> Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

impl Projects<'_> {
    /// Finds or creates a project. Its directory decides which one it is, as for hooks.
    pub fn import(self, new: &ImportedProject) -> Result<(ProjectId, ImportOutcome), StoreError> {
        let transaction = self.0.begin()?;
        schema::check(&transaction)?;
        let known = transaction
            .query_row("SELECT id FROM projects WHERE uuid = ?1", [new.uuid.as_bytes()], |row| row.get(0))
            .optional()?
            .map(ProjectId);
        let known = match known {
            Some(project) => Some(project),
            None => projects::project_of(&transaction, &new.place)?,
        };
        if let Some(project) = known {
            return Ok((project, ImportOutcome::Known));
        }
        let project = projects::adopt(&transaction, &new.place, new.uuid, &new.name, new.at)?;
        transaction.commit()?;
        Ok((project, ImportOutcome::Imported))
    }
}

impl Sessions<'_> {
    /// Finds or creates a session. A captured session stays unchanged, in its project.
    pub fn import(self, new: &ImportedSession) -> Result<(SessionId, ProjectId, ImportOutcome), StoreError> {
        let transaction = self.0.begin()?;
        schema::check(&transaction)?;
        let host = new.session.host.name();
        let known = transaction
            .prepare_cached(
                "SELECT id, project_id FROM sessions WHERE host = ?1 AND content_session_id = ?2
                 UNION ALL SELECT id, project_id FROM sessions WHERE uuid = ?3 LIMIT 1",
            )?
            .query_row(params![host, new.session.id, new.uuid.as_bytes()], |row| {
                Ok((SessionId(row.get(0)?), ProjectId(row.get(1)?)))
            })
            .optional()?;
        if let Some((session, project)) = known {
            return Ok((session, project, ImportOutcome::Known));
        }
        transaction
            .prepare_cached(
                "INSERT INTO sessions (uuid, host, content_session_id, project_id, status, prompt_counter, private_turns,
                     started_at, last_activity_at, completed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                new.uuid.as_bytes(),
                host,
                new.session.id,
                new.project.0,
                new.status.name(),
                new.turns,
                new.private_turns,
                new.started_at.0,
                new.last_activity_at.max(new.started_at).0,
                new.completed_at.map(|at| at.0),
            ])?;
        let session = SessionId(transaction.last_insert_rowid());
        transaction.commit()?;
        Ok((session, new.project, ImportOutcome::Imported))
    }

    /// Extends a session to span its first and last record.
    pub fn widen(self, id: SessionId, first: Time, last: Time) -> Result<(), StoreError> {
        self.0.writable()?.execute(
            "UPDATE sessions SET started_at = min(started_at, ?2), last_activity_at = max(last_activity_at, ?3),
                 completed_at = max(completed_at, ?3) WHERE id = ?1",
            params![id.0, first.0, last.0],
        )?;
        Ok(())
    }
}

impl Records<'_> {
    /// Stores records with their documents in one transaction, so that search finds them when this returns. Returns
    /// the outcome for each.
    pub fn import(self, new: &[ImportedRecord]) -> Result<Vec<ImportOutcome>, StoreError> {
        let transaction = self.0.begin()?;
        schema::check(&transaction)?;
        let mut outcomes = Vec::with_capacity(new.len());
        let mut stored = Vec::with_capacity(new.len());
        for record in new {
            let attempt = records::store(&transaction, record)?;
            outcomes.push(attempt.map_or_else(|outcome| outcome, |_| ImportOutcome::Imported));
            stored.extend(attempt.ok());
        }
        // After all records, because a document includes text of its neighbours.
        documents::write_all(&transaction, &stored)?;
        transaction.commit()?;
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_uuid_depends_on_every_part() {
        let one = derived_uuid(&["claude-mem", "7"]);
        assert_eq!(one, derived_uuid(&["claude-mem", "7"]));
        assert_ne!(one, derived_uuid(&["claude-mem7", ""]));
        assert_eq!(one.get_version_num(), 8);
    }
}
