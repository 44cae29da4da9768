//! Edits, merges and replaces observations, and keeps the earlier versions.

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::ObservationId;
use remora_core::memory::Observation;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::context_files::changed_in_place;
use crate::handles::Records;
use crate::records::observation::KIND;
use crate::records::page::Selection;
use crate::writing::{content_hash, rewrite};
use crate::{SavedBy, Store, StoreError, retention};

/// The kind of a change to an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Edit,
    /// Others were merged into it.
    Merge,
    /// It was merged into another, or replaced by one.
    Supersede,
    /// It replaces what had replaced it.
    Revive,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Merge => "merge",
            Self::Supersede => "supersede",
            Self::Revive => "revive",
        }
    }
}

/// An earlier version of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub id: i64,
    pub action: String,
    pub source: String,
    pub before: Before,
    pub created_at: Time,
}

/// The content of an earlier version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Before {
    #[serde(flatten)]
    pub observation: Observation,
    pub superseded_by: Option<Uuid>,
}

/// A change to an observation: other content, observations that it replaces, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ObservationEdit<'a> {
    pub content: Option<&'a Observation>,
    /// They stay as history.
    pub replaces: &'a [ObservationId],
}

/// The outcome of an edit of observations that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOutcome {
    Changed,
    Unchanged,
    /// Another observation has the same content already.
    SameAs(ObservationId),
}

impl Records<'_> {
    /// Earlier versions of an observation, latest first.
    pub fn revisions(self, id: ObservationId) -> Result<Vec<Revision>, StoreError> {
        let sql =
            "SELECT id, action, source, before, created_at FROM revisions WHERE record = ?1 ORDER BY id DESC";
        let mut statement = self.0.db.prepare_cached(sql)?;
        let rows = statement.query_map([id.to_string()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?, Time(row.get(4)?)))
        })?;
        let read = |row: rusqlite::Result<(i64, String, String, String, Time)>| {
            let (id, action, source, before, at) = row?;
            let before = serde_json::from_str(&before)?;
            Ok(Revision { id, action, source, before, created_at: at })
        };
        rows.map(read).collect()
    }

    /// Changes an observation. If one of those that it is to replace had replaced it, directly or not, it is current
    /// again. `None` if one of them does not exist.
    pub fn edit(
        self,
        id: ObservationId,
        edit: &ObservationEdit<'_>,
        by: SavedBy,
        at: Time,
    ) -> Result<Option<EditOutcome>, StoreError> {
        match edit {
            ObservationEdit { content: Some(new), replaces: [] } => self.rewrite(id, new, by, at),
            ObservationEdit { content, replaces } => self.replace(id, replaces, *content, by, at),
        }
    }

    fn rewrite(
        self,
        id: ObservationId,
        new: &Observation,
        by: SavedBy,
        at: Time,
    ) -> Result<Option<EditOutcome>, StoreError> {
        let transaction = self.0.begin()?;
        let Some(before) = before(self.0, id)? else { return Ok(None) };
        if let Some(twin) = twin(&transaction, id, new)? {
            return Ok(Some(EditOutcome::SameAs(twin)));
        }
        keep(&transaction, id, Change::Edit, &before, by, at)?;
        rewrite(&transaction, id.0, new, at)?;
        changed_in_place(&transaction)?;
        retention::audit(&transaction, Change::Edit.name(), &id.to_string(), at)?;
        transaction.commit()?;
        Ok(Some(EditOutcome::Changed))
    }

    /// Lets one observation supersede others. If `merged` is given, it becomes the content of the first.
    fn replace(
        self,
        id: ObservationId,
        others: &[ObservationId],
        merged: Option<&Observation>,
        by: SavedBy,
        at: Time,
    ) -> Result<Option<EditOutcome>, StoreError> {
        let transaction = self.0.begin()?;
        let Some(own) = before(self.0, id)? else { return Ok(None) };
        let uuid = uuid_of(&transaction, id)?;
        let mut replaced = Vec::new();
        let mut is_cycle = false;
        for other in others.iter().filter(|other| **other != id) {
            let Some(was) = before(self.0, *other)? else { return Ok(None) };
            is_cycle = is_cycle || leads_to(&transaction, uuid, uuid_of(&transaction, *other)?)?;
            if was.superseded_by != Some(uuid) {
                replaced.push((*other, was));
            }
        }
        let is_same = merged.is_none_or(|merged| *merged == own.observation);
        if replaced.is_empty() && is_same && !is_cycle {
            return Ok(Some(EditOutcome::Unchanged));
        }
        changed_in_place(&transaction)?;
        let action = if merged.is_some() { Change::Merge } else { Change::Supersede };
        if merged.is_some() || is_cycle {
            let change = if merged.is_some() { Change::Merge } else { Change::Revive };
            keep(&transaction, id, change, &own, by, at)?;
        }
        if let Some(merged) = merged {
            rewrite(&transaction, id.0, merged, at)?;
        }
        if is_cycle {
            link(&transaction, id, None, at)?;
        }
        for (other, was) in &replaced {
            keep(&transaction, *other, Change::Supersede, was, by, at)?;
            link(&transaction, *other, Some(uuid), at)?;
        }
        retention::audit(&transaction, action.name(), &format!("{id}, {} others", others.len()), at)?;
        transaction.commit()?;
        Ok(Some(EditOutcome::Changed))
    }

    /// Undoes the latest change of an observation, on every observation that it changed. `false` if there is no
    /// change.
    pub fn undo_edit(self, id: ObservationId, at: Time) -> Result<bool, StoreError> {
        let Some(last) = self.revisions(id)?.into_iter().next() else { return Ok(false) };
        let transaction = self.0.begin()?;
        let mut changes = vec![(last.id, id)];
        // The observations that this one replaced, or the one that became current again when this one was replaced.
        let others = if last.action == Change::Supersede.name() {
            "r.action = 'revive' AND o.uuid = (SELECT superseded_by FROM observations WHERE id = ?2)"
        } else {
            "r.action = 'supersede' AND o.superseded_by = (SELECT uuid FROM observations WHERE id = ?2)"
        };
        if last.action != Change::Edit.name() {
            let sql = format!(
                "SELECT r.id, o.id FROM revisions AS r JOIN observations AS o ON o.id = CAST(r.record AS INTEGER)
                 WHERE r.created_at = ?1 AND {others}"
            );
            let rows: Vec<(i64, i64)> = transaction
                .prepare(&sql)?
                .query_map([last.created_at.0, id.0], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            changes.extend(rows.into_iter().map(|(revision, other)| (revision, ObservationId(other))));
        }
        let mut restored = Vec::new();
        for (revision, observation) in changes {
            let sql = "DELETE FROM revisions WHERE id = ?1 RETURNING before";
            let was: String = transaction.query_row(sql, [revision], |row| row.get(0))?;
            let was: Before = serde_json::from_str(&was)?;
            rewrite(&transaction, observation.0, &was.observation, at)?;
            link(&transaction, observation, None, at)?;
            restored.push((observation, was.superseded_by));
        }
        for (observation, by) in restored {
            // The other observation may have been replaced by this one since.
            let is_cycle = match by {
                Some(by) => leads_to(&transaction, by, uuid_of(&transaction, observation)?)?,
                None => false,
            };
            link(&transaction, observation, by.filter(|_| !is_cycle), at)?;
        }
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "edit undo", &id.to_string(), at)?;
        transaction.commit()?;
        Ok(true)
    }
}

fn uuid_of(db: &Connection, id: ObservationId) -> Result<Uuid, StoreError> {
    let sql = "SELECT uuid FROM observations WHERE id = ?1";
    Ok(db.query_row(sql, [id.0], |row| row.get(0).map(Uuid::from_bytes))?)
}

/// Sets the replacement of an observation.
fn link(db: &Connection, id: ObservationId, by: Option<Uuid>, at: Time) -> Result<(), StoreError> {
    let sql = "UPDATE observations SET superseded_by = ?2, updated_at = ?3 WHERE id = ?1";
    db.execute(sql, params![id.0, by.map(Uuid::into_bytes), at.0])?;
    Ok(())
}

/// Whether an observation was replaced by another, directly or by way of others.
pub(crate) fn leads_to(db: &Connection, from: Uuid, to: Uuid) -> Result<bool, StoreError> {
    // UNION ends at an observation that was seen before.
    let sql = "WITH RECURSIVE chain (uuid) AS (
                   SELECT superseded_by FROM observations WHERE uuid = ?1
                   UNION SELECT o.superseded_by FROM observations AS o JOIN chain ON o.uuid = chain.uuid)
               SELECT EXISTS (SELECT 1 FROM chain WHERE uuid = ?2)";
    Ok(db.prepare_cached(sql)?.query_row(params![from.as_bytes(), to.as_bytes()], |row| row.get(0))?)
}

fn before(store: &Store, id: ObservationId) -> Result<Option<Before>, StoreError> {
    let row = store.select(&KIND, &Selection::of_ids([id]))?.into_first();
    let Some(row) = row else { return Ok(None) };
    let sql = "SELECT superseded_by FROM observations WHERE id = ?1";
    let by: Option<[u8; 16]> = store.db.query_row(sql, [id.0], |row| row.get(0))?;
    Ok(Some(Before { observation: row.observation, superseded_by: by.map(Uuid::from_bytes) }))
}

/// Another observation of the session with the same content.
fn twin(db: &Connection, id: ObservationId, new: &Observation) -> Result<Option<ObservationId>, StoreError> {
    let sql = "SELECT s.id, s.uuid FROM observations AS o JOIN sessions AS s ON s.id = o.session_id WHERE o.id = ?1";
    let (session, uuid): (i64, [u8; 16]) = db.query_row(sql, [id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let hash = content_hash(Uuid::from_bytes(uuid), &new.title, &new.narrative);
    let sql = "SELECT id FROM observations WHERE session_id = ?1 AND content_hash = ?2 AND deleted_at IS NULL AND id <> ?3";
    let found = db.query_row(sql, params![session, hash, id.0], |row| row.get(0)).optional()?;
    Ok(found.map(ObservationId))
}

fn keep(
    db: &Connection,
    id: ObservationId,
    change: Change,
    before: &Before,
    by: SavedBy,
    at: Time,
) -> Result<(), StoreError> {
    let record = RecordId { kind: RecordKind::Observation, number: id.0 };
    db.execute(
        "INSERT INTO revisions (record, action, before, source, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![record.to_string(), change.name(), serde_json::to_string(before)?, by.provider(), at.0],
    )?;
    Ok(())
}
