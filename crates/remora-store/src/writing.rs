//! Writes memory, in the transaction that removes its events or marks them as observed.
//!
//! The memory of a turn may come in several versions: of a part of it, of all of it, of a model. Each revises the
//! previous one in place, so that ids known to agents stay valid. An empty version changes nothing.

use std::time::Duration;

use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::{FactKind, FactScope};
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::memory::{Memory, Observation, Summary};
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::context_files::changed_in_place;
use crate::search::documents;
use crate::{Batch, NewFact, StoreError, facts, feedback, files, forget, transcripts};
use remora_data::hex;
use remora_data::new_uuid;

mod revise;

/// An equal observation within this time is an echo, even from another session.
const ECHO: Duration = Duration::from_secs(30);

/// The origin of an observation.
pub(crate) struct Origin<'a> {
    pub(crate) session: SessionId,
    pub(crate) session_uuid: Uuid,
    pub(crate) project: i64,
    pub(crate) prompt_number: i64,
    /// The uuids of its events, as JSON.
    pub(crate) sources: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
}

/// Stores the memory of a batch, and revises what was stored for its turn's queued events before. Returns the
/// records.
pub(crate) fn write(
    db: &Connection,
    batch: &Batch,
    memory: &Memory,
    at: Time,
) -> Result<Vec<RecordId>, StoreError> {
    if let Some(read) = &batch.transcript {
        transcripts::record(db, batch, read, at)?;
    }
    let (project, session_uuid) = session(db, batch.session)?;
    let sources = sources(db, batch)?;
    let origin = Origin {
        session: batch.session,
        session_uuid,
        project,
        prompt_number: batch.prompt_number,
        sources: &sources,
        provider: &memory.provider,
        model: &memory.model,
    };
    let mut corrected: Option<Uuid> = None;
    if let Some(id) = &memory.session_id {
        db.execute("UPDATE sessions SET memory_session_id = ?2 WHERE id = ?1", params![batch.session.0, id])?;
    }
    for learned in &memory.facts {
        let project = match learned.scope {
            FactScope::Project => Some(ProjectId(project)),
            FactScope::Global => None,
        };
        let new = NewFact {
            fact: learned.fact.clone(),
            project,
            session: Some(batch.session),
            prompt_number: Some(batch.prompt_number),
            at,
        };
        let Some(id) = facts::record(db, &new)? else { continue };
        if corrected.is_none() && learned.fact.kind == FactKind::Correction {
            corrected = Some(uuid_of(db, "facts", id.0)?);
        }
    }
    // Memory without events comes after its turn and is added to the turn's memory.
    let known = if batch.events.is_empty() { Vec::new() } else { stored(db, batch)? };
    let of_kind = |kind| known.iter().filter(move |record| record.kind == kind).map(|record| record.number);
    let observations: Vec<i64> = of_kind(RecordKind::Observation).collect();
    let records = match revise::observations(db, &origin, &observations, &memory.observations, at)? {
        None => known,
        Some(mut records) => {
            let summary = of_kind(RecordKind::Summary).next();
            let summary = match &memory.summary {
                Some(new) => Some(revise::summary(db, &origin, summary, new, at)?),
                None => summary,
            };
            records.extend(summary.map(|number| RecordId { kind: RecordKind::Summary, number }));
            records
        }
    };
    // Without an observation of its own, a turn replaces what it refutes by the user's correction.
    let own = records.iter().find(|record| record.kind == RecordKind::Observation);
    let own = own.map(|record| uuid_of(db, "observations", record.number)).transpose()?;
    if let Some(by) = own.or(corrected) {
        supersede(db, batch.session, &memory.refutes, by, at)?;
    }
    Ok(records)
}

/// Counts the citations of a batch and indexes its turn. Called once, when the events are observed for the first
/// time.
pub(crate) fn count_turn(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let (project, _) = session(db, batch.session)?;
    feedback::count_cited(db, batch, project)?;
    index_turn(db, batch.session, batch.prompt_number)
}

fn session(db: &Connection, session: SessionId) -> Result<(i64, Uuid), StoreError> {
    let mut statement = db.prepare_cached("SELECT project_id, uuid FROM sessions WHERE id = ?1")?;
    Ok(statement.query_row([session.0], |row| Ok((row.get(0)?, Uuid::from_bytes(row.get(1)?))))?)
}

/// The records that the queued events of a batch's turn are stored in.
fn stored(db: &Connection, batch: &Batch) -> Result<Vec<RecordId>, StoreError> {
    let mut known: Vec<RecordId> = Vec::new();
    let mut lists = db.prepare_cached(
        "SELECT DISTINCT records FROM pending_messages WHERE status IN ('pending', 'processing') AND observed = 1
         AND session_id = ?1 AND prompt_number = ?2 AND records IS NOT NULL",
    )?;
    for list in lists.query_map([batch.session.0, batch.prompt_number], |row| row.get::<_, String>(0))? {
        known.extend(serde_json::from_str::<Vec<RecordId>>(&list?)?);
    }
    known.sort_unstable();
    known.dedup();
    Ok(known)
}

fn uuid_of(db: &Connection, table: &str, id: i64) -> Result<Uuid, StoreError> {
    let sql = format!("SELECT uuid FROM {table} WHERE id = ?1");
    Ok(db.prepare_cached(&sql)?.query_row([id], |row| row.get(0).map(Uuid::from_bytes))?)
}

/// Marks observations of a session as superseded. Those that already are stay unchanged.
fn supersede(
    db: &Connection,
    session: SessionId,
    observations: &[ObservationId],
    by: Uuid,
    now: Time,
) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "UPDATE observations SET superseded_by = ?3, updated_at = ?4
         WHERE id = ?1 AND session_id = ?2 AND superseded_by IS NULL AND uuid <> ?3",
    )?;
    let mut superseded = 0;
    for id in observations {
        superseded += statement.execute(params![id.0, session.0, by.as_bytes(), now.0])?;
    }
    if superseded > 0 {
        changed_in_place(db)?;
    }
    Ok(())
}

/// The uuids of a batch's events, as JSON.
fn sources(db: &Connection, batch: &Batch) -> Result<String, StoreError> {
    let mut uuid_of = db.prepare_cached("SELECT uuid FROM event_traces WHERE id = ?1")?;
    let mut uuids = Vec::with_capacity(batch.events.len());
    for event in batch.earlier.iter().chain(&batch.events) {
        uuids.push(uuid_of.query_row([event.id.0], |row| row.get(0).map(Uuid::from_bytes))?);
    }
    Ok(serde_json::to_string(&uuids)?)
}

/// Indexes the turn itself. A turn that ends twice is indexed again, with all of its text.
pub(crate) fn index_turn(db: &Connection, session: SessionId, prompt_number: i64) -> Result<(), StoreError> {
    let sql = "SELECT id FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2";
    let prompt =
        db.prepare_cached(sql)?.query_row([session.0, prompt_number], |row| row.get(0)).optional()?;
    if let Some(number) = prompt {
        documents::write(db, RecordId { kind: RecordKind::Turn, number })?;
    }
    Ok(())
}

/// Replaces the content of an observation of any provider.
pub(crate) fn rewrite(db: &Connection, number: i64, new: &Observation, at: Time) -> Result<(), StoreError> {
    let sql =
        "SELECT s.uuid FROM observations AS o JOIN sessions AS s ON s.id = o.session_id WHERE o.id = ?1";
    let session: [u8; 16] = db.query_row(sql, [number], |row| row.get(0))?;
    db.prepare_cached(
        "UPDATE observations SET type = ?2, title = ?3, subtitle = ?4, narrative = ?5, facts = ?6, content_hash = ?7,
             updated_at = ?8 WHERE id = ?1",
    )?
    .execute(params![
        number,
        new.kind.name(),
        new.title,
        new.subtitle,
        new.narrative,
        serde_json::to_string(&new.facts)?,
        content_hash(Uuid::from_bytes(session), &new.title, &new.narrative),
        at.0,
    ])?;
    for parts in ["observation_files", "observation_concepts"] {
        db.prepare_cached(&format!("DELETE FROM {parts} WHERE observation_id = ?1"))?.execute([number])?;
    }
    insert_parts(db, number, new)?;
    documents::write(db, RecordId { kind: RecordKind::Observation, number })?;
    Ok(())
}

/// Stores an observation with its documents. `None` if the same content is already stored or was forgotten.
pub(crate) fn insert_observation(
    db: &Connection,
    origin: &Origin<'_>,
    observation: &Observation,
    now: Time,
) -> Result<Option<ObservationId>, StoreError> {
    let echo = db
        .prepare_cached(
            "SELECT 1 FROM observations WHERE project_id = ?1 AND created_at >= ?2 AND title = ?3 AND narrative = ?4
             AND deleted_at IS NULL",
        )?
        .exists(params![origin.project, now.before(ECHO).0, observation.title, observation.narrative])?;
    let content_hash = content_hash(origin.session_uuid, &observation.title, &observation.narrative);
    if echo || forget::is_forgotten(db, &forget::of_content(db, &content_hash)?)? {
        return Ok(None);
    }
    let inserted = insert_observation_as(db, new_uuid(), origin, observation, now)?;
    if let Some(id) = inserted {
        documents::write(db, RecordId { kind: RecordKind::Observation, number: id.0 })?;
    }
    Ok(inserted)
}

/// Stores an observation under a given uuid, without its documents. `None` if its session has one with the same
/// content.
pub(crate) fn insert_observation_as(
    db: &Connection,
    uuid: Uuid,
    origin: &Origin<'_>,
    observation: &Observation,
    at: Time,
) -> Result<Option<ObservationId>, StoreError> {
    let content_hash = content_hash(origin.session_uuid, &observation.title, &observation.narrative);
    let inserted = db
        .prepare_cached(
            "INSERT INTO observations (uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative,
                 facts, discovery_tokens, tool_name, content_hash, source_event_ids, provider, model, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?16)
             ON CONFLICT (session_id, content_hash) WHERE deleted_at IS NULL DO NOTHING",
        )?
        .execute(params![
            uuid.as_bytes(),
            origin.session.0,
            origin.project,
            origin.prompt_number,
            observation.kind.name(),
            observation.title,
            observation.subtitle,
            observation.narrative,
            serde_json::to_string(&observation.facts)?,
            i64::try_from(observation.discovery_tokens).unwrap_or(i64::MAX),
            observation.tool_name,
            content_hash,
            origin.sources,
            origin.provider,
            origin.model,
            at.0,
        ])?;
    if inserted == 0 {
        return Ok(None);
    }
    let number = db.last_insert_rowid();
    insert_parts(db, number, observation)?;
    Ok(Some(ObservationId(number)))
}

/// Inserts the rows of an observation in other tables.
fn insert_parts(db: &Connection, number: i64, observation: &Observation) -> Result<(), StoreError> {
    insert_files(db, number, "read", &observation.files_read)?;
    insert_files(db, number, "modified", &observation.files_modified)?;
    let mut concepts = db.prepare_cached(
        "INSERT INTO observation_concepts (observation_id, position, concept) VALUES (?1, ?2, ?3)",
    )?;
    for (position, concept) in (0_i64..).zip(&observation.concepts) {
        concepts.execute(params![number, position, concept])?;
    }
    Ok(())
}

fn insert_files(db: &Connection, observation: i64, how: &str, paths: &[String]) -> Result<(), StoreError> {
    let mut files = db.prepare_cached(
        "INSERT INTO observation_files (observation_id, how, position, path, path_reversed)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (position, path) in (0_i64..).zip(paths) {
        files.execute(params![observation, how, position, path, files::about::reversed(path)])?;
    }
    Ok(())
}

/// Stores the summary of a session after one more turn. The previous version stays as history, which is not searched.
fn insert_summary(
    db: &Connection,
    origin: &Origin<'_>,
    summary: &Summary,
    now: Time,
) -> Result<i64, StoreError> {
    // As in `Records::summary_before`. Version 9 and imports left sessions with several summaries, of which the new one
    // extends only the last.
    let extended = db
        .prepare_cached(
            "SELECT id FROM session_summaries WHERE session_id = ?1 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1",
        )?
        .query_row([origin.session.0], |row| row.get::<_, i64>(0))
        .optional()?;
    if let Some(extended) = extended {
        db.prepare_cached("DELETE FROM documents WHERE kind = 'summary' AND record_id = ?1")?
            .execute([extended])?;
        db.prepare_cached("UPDATE session_summaries SET checkpoint = 1, updated_at = ?2 WHERE id = ?1")?
            .execute([extended, now.0])?;
    }
    let new = NewSummary {
        uuid: new_uuid(),
        session: origin.session,
        project: origin.project,
        prompt_number: origin.prompt_number,
        is_checkpoint: false,
        summary,
        provider: origin.provider,
        model: origin.model,
        at: now,
    };
    let number = new.insert(db)?;
    documents::write(db, RecordId { kind: RecordKind::Summary, number })?;
    Ok(number)
}

/// A summary with its origin, observed or imported.
pub(crate) struct NewSummary<'a> {
    pub(crate) uuid: Uuid,
    pub(crate) session: SessionId,
    pub(crate) project: i64,
    pub(crate) prompt_number: i64,
    /// Whether a later summary of the session exists.
    pub(crate) is_checkpoint: bool,
    pub(crate) summary: &'a Summary,
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) at: Time,
}

impl NewSummary<'_> {
    /// Inserts the row alone, without its documents. Returns its number.
    pub(crate) fn insert(&self, db: &Connection) -> Result<i64, StoreError> {
        let summary = self.summary;
        db.prepare_cached(
            "INSERT INTO session_summaries (uuid, session_id, project_id, prompt_number, checkpoint, request, investigated,
                 learned, completed, next_steps, notes, files_read, files_edited, provider, model, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?16)",
        )?
        .execute(params![
            self.uuid.as_bytes(),
            self.session.0,
            self.project,
            self.prompt_number,
            self.is_checkpoint,
            summary.request,
            summary.investigated,
            summary.learned,
            summary.completed,
            summary.next_steps,
            summary.notes,
            serde_json::to_string(&summary.files_read)?,
            serde_json::to_string(&summary.files_edited)?,
            self.provider,
            self.model,
            self.at.0,
        ])?;
        Ok(db.last_insert_rowid())
    }
}

pub(crate) fn content_hash(session: Uuid, title: &str, narrative: &str) -> String {
    let text = format!("{session}\0{title}\0{narrative}");
    hex(&Sha256::digest(text)[..8])
}
