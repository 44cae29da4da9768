//! What a person laid down: their own words, corrections and verdicts. Only a person may end or rewrite it.
//!
//! Words and corrections have an author: `provider` of an observation, `source` of a fact or a revision. Verdicts have none.
//! Nearly all are a person's, so the few that programs gave are a list in `meta`, and hooks parse no further table.

use std::collections::BTreeSet;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{FactId, ProjectId, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::handles::{Facts, Records};
use crate::{SavedBy, StoreError, facts, wrong};

/// The key in `meta` of the records whose last verdict, or end, is a program's, as JSON: `["12", "f5", "t2"]`.
const JUDGED_BY_PROGRAMS: &str = "judged_by_programs";

/// Where a record belongs, and who laid it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance {
    /// `None` for notes and for facts that hold everywhere.
    pub project: Option<ProjectId>,
    /// `None` for notes and for facts that were set by hand.
    pub session: Option<SessionId>,
    /// Whether a person laid it down: it is their own word, they corrected it, or their verdict on it stands.
    pub is_user_statement: bool,
}

impl Records<'_> {
    /// `None` if the record does not exist.
    pub fn provenance(self, record: impl Into<RecordId>) -> Result<Option<Provenance>, StoreError> {
        let record = record.into();
        let sql = match record.kind {
            RecordKind::Observation => {
                "SELECT project_id, session_id FROM observations WHERE id = ?1 AND deleted_at IS NULL"
            }
            RecordKind::Summary => {
                "SELECT project_id, session_id FROM session_summaries WHERE id = ?1 AND deleted_at IS NULL"
            }
            RecordKind::Fact => {
                "SELECT project_id, session_id FROM facts WHERE id = ?1 AND deleted_at IS NULL"
            }
            RecordKind::Note => "SELECT NULL, NULL FROM notes WHERE id = ?1",
            RecordKind::Turn => {
                "SELECT s.project_id, s.id FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id
                 WHERE r.id = ?1 AND r.deleted_at IS NULL"
            }
            RecordKind::Event => {
                "SELECT s.project_id, s.id FROM event_traces AS r JOIN sessions AS s ON s.id = r.session_id
                 WHERE r.id = ?1"
            }
        };
        let read = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
        let found = self.0.db.prepare_cached(sql)?.query_row([record.number], read).optional()?;
        let Some((project, session)) = found else { return Ok(None) };
        Ok(Some(Provenance {
            project: project.map(ProjectId),
            session: session.map(SessionId),
            is_user_statement: self.is_user_statement(record)?,
        }))
    }

    pub(crate) fn is_user_statement(self, record: RecordId) -> Result<bool, StoreError> {
        let by_program = is_judged_by_program(&self.0.db, record)?;
        match record.kind {
            RecordKind::Observation => {
                let sql = "SELECT 1 FROM observations AS o LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
                 WHERE o.id = ?1 AND (o.provider = 'user'
                     OR EXISTS (SELECT 1 FROM revisions WHERE record = ?2 AND source = 'user')
                     OR NOT ?3 AND (o.pinned_at IS NOT NULL OR f.useful > 0 OR f.wrong > 0))";
                let values = params![record.number, record.to_string(), by_program];
                Ok(self.0.db.prepare_cached(sql)?.exists(values)?)
            }
            RecordKind::Fact => {
                let sql = "SELECT 1 FROM facts WHERE id = ?1 AND source = 'user'";
                Ok(self.0.db.prepare_cached(sql)?.exists([record.number])?)
            }
            RecordKind::Turn | RecordKind::Summary => {
                Ok(!by_program && wrong::wrong_records(&self.0.db)?.contains(&record))
            }
            // The user wrote it.
            RecordKind::Note => Ok(true),
            RecordKind::Event => Ok(false),
        }
    }
}

impl Facts<'_> {
    /// Whether a program may make an ended fact current again: it is not a person's, and no person ended it.
    pub fn may_program_reopen(self, id: FactId) -> Result<bool, StoreError> {
        let record = RecordId { kind: RecordKind::Fact, number: id.0 };
        Ok(!self.0.records().is_user_statement(record)?
            && (is_judged_by_program(&self.0.db, record)? || facts::is_replaced(&self.0.db, id)?))
    }
}

/// Notes who gave the last verdict on a record, or ended it.
pub(crate) fn judged(db: &Connection, record: RecordId, by: SavedBy) -> Result<(), StoreError> {
    let mut records = judged_by_programs(db)?;
    let changed = match by {
        SavedBy::Program => records.insert(record),
        SavedBy::Person => records.remove(&record),
    };
    if changed {
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        db.execute(sql, params![JUDGED_BY_PROGRAMS, serde_json::to_vec(&records)?])?;
    }
    Ok(())
}

pub(crate) fn is_judged_by_program(db: &Connection, record: RecordId) -> Result<bool, StoreError> {
    Ok(judged_by_programs(db)?.contains(&record))
}

/// Records whose last verdict, or end, is a program's.
pub(crate) fn judged_by_programs(db: &Connection) -> Result<BTreeSet<RecordId>, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let json: Option<Vec<u8>> =
        db.prepare_cached(sql)?.query_row([JUDGED_BY_PROGRAMS], |row| row.get(0)).optional()?;
    Ok(json.map(|json| serde_json::from_slice(&json)).transpose()?.unwrap_or_default())
}
