//! Stores each kind of imported record.

use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::Fact;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::memory::{Observation, Summary};
use remora_core::privacy::{Clean, Turn};
use remora_core::time::Time;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::{IMPORTED, ImportOutcome};
use crate::records::save::SavedBy;
use crate::writing::{self, NewSummary, Origin};
use crate::{StoreError, facts, forget, laid_down, records};

/// A record, ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportedRecord {
    Turn(ImportedTurn),
    Observation(Box<ImportedObservation>),
    Summary(Box<ImportedSummary>),
    Fact(ImportedFact),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTurn {
    pub uuid: Uuid,
    pub session: SessionId,
    /// `None` for the next number of its session.
    pub number: Option<i64>,
    pub turn: Clean<Turn>,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedObservation {
    pub uuid: Uuid,
    pub session: SessionId,
    pub project: ProjectId,
    pub number: i64,
    pub observation: Clean<Observation>,
    pub provider: Clean<String>,
    pub model: Clean<String>,
    pub superseded_by: Option<Uuid>,
    pub pinned_at: Option<Time>,
    pub useful: i64,
    pub wrong: i64,
    /// Who answers for `pinned_at`, `useful` and `wrong`.
    pub verdicts_by: SavedBy,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSummary {
    pub uuid: Uuid,
    pub session: SessionId,
    pub project: ProjectId,
    pub number: i64,
    pub is_earlier: bool,
    pub summary: Clean<Summary>,
    pub provider: Clean<String>,
    pub model: Clean<String>,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFact {
    pub uuid: Uuid,
    /// `None` if it holds in every project.
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
    pub number: Option<i64>,
    pub fact: Clean<Fact>,
    pub valid_from: Time,
    pub valid_to: Option<Time>,
    pub confirmed_at: Option<Time>,
}

/// The stored record, or why it was not stored.
type Attempt = Result<Result<RecordId, ImportOutcome>, StoreError>;

/// Stores a record without its documents.
pub(super) fn store(db: &Connection, record: &ImportedRecord) -> Attempt {
    let (kind, uuid) = match record {
        ImportedRecord::Turn(turn) => (RecordKind::Turn, turn.uuid),
        ImportedRecord::Observation(observation) => (RecordKind::Observation, observation.uuid),
        ImportedRecord::Summary(summary) => (RecordKind::Summary, summary.uuid),
        ImportedRecord::Fact(fact) => (RecordKind::Fact, fact.uuid),
    };
    if forget::is_record_forgotten(db, kind, uuid)? {
        return Ok(Err(ImportOutcome::Forgotten));
    }
    let table = match kind {
        RecordKind::Turn => "user_prompts",
        RecordKind::Summary => "session_summaries",
        RecordKind::Fact => "facts",
        _ => "observations",
    };
    let sql = format!("SELECT 1 FROM {table} WHERE uuid = ?1");
    if db.prepare_cached(&sql)?.exists([uuid.as_bytes()])? {
        return Ok(Err(ImportOutcome::Known));
    }
    match record {
        ImportedRecord::Turn(turn) => store_turn(db, turn),
        ImportedRecord::Observation(observation) => store_observation(db, observation),
        ImportedRecord::Summary(summary) => store_summary(db, summary),
        ImportedRecord::Fact(fact) => store_fact(db, fact),
    }
}

fn store_turn(db: &Connection, new: &ImportedTurn) -> Attempt {
    let next = "SELECT prompt_counter + 1 FROM sessions WHERE id = ?1";
    let number: i64 = match new.number {
        Some(number) => number,
        None => db.prepare_cached(next)?.query_row([new.session.0], |row| row.get(0))?,
    };
    let Turn { text, answer } = new.turn.get();
    let inserted = db
        .prepare_cached(
            "INSERT INTO user_prompts (uuid, session_id, prompt_number, text, closing_message, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (session_id, prompt_number) DO NOTHING",
        )?
        .execute(params![new.uuid.as_bytes(), new.session.0, number, text, answer, new.at.0])?;
    if inserted == 0 {
        return Ok(Err(ImportOutcome::Repeated));
    }
    let id = db.last_insert_rowid();
    db.prepare_cached("UPDATE sessions SET prompt_counter = max(prompt_counter, ?2) WHERE id = ?1")?
        .execute([new.session.0, number])?;
    Ok(Ok(RecordId { kind: RecordKind::Turn, number: id }))
}

/// The provider of an imported record. The user's own word is marked as imported, until the user states it again.
fn demoted(provider: &str) -> String {
    match provider {
        "" => "import".to_owned(),
        person if person == SavedBy::Person.provider() => format!("{IMPORTED}{person}"),
        other => other.to_owned(),
    }
}

fn store_observation(db: &Connection, new: &ImportedObservation) -> Attempt {
    let sql = "SELECT uuid FROM sessions WHERE id = ?1";
    let session_uuid =
        db.prepare_cached(sql)?.query_row([new.session.0], |row| row.get(0).map(Uuid::from_bytes))?;
    let observation = new.observation.get();
    let hash = writing::content_hash(session_uuid, &observation.title, &observation.narrative);
    if forget::is_forgotten(db, &forget::of_content(db, &hash)?)? {
        return Ok(Err(ImportOutcome::Forgotten));
    }
    let provider = demoted(new.provider.get());
    let origin = Origin {
        session: new.session,
        session_uuid,
        project: new.project.0,
        prompt_number: new.number,
        sources: "[]",
        provider: &provider,
        model: new.model.get(),
    };
    let Some(id) = writing::insert_observation_as(db, new.uuid, &origin, observation, new.at)? else {
        return Ok(Err(ImportOutcome::Repeated));
    };
    // A file may hold a cycle of replacements, in which no observation would be found.
    let superseded_by = match new.superseded_by {
        Some(by) if records::edit::leads_to(db, by, new.uuid)? => None,
        other => other,
    };
    if superseded_by.is_some() || new.pinned_at.is_some() {
        db.prepare_cached("UPDATE observations SET superseded_by = ?2, pinned_at = ?3 WHERE id = ?1")?
            .execute(params![
                id.0,
                superseded_by.as_ref().map(Uuid::as_bytes),
                new.pinned_at.map(|at| at.0)
            ])?;
    }
    if new.useful != 0 || new.wrong != 0 {
        db.prepare_cached(
            "INSERT INTO observation_feedback (observation_id, useful, wrong) VALUES (?1, ?2, ?3)",
        )?
        .execute([id.0, new.useful.max(0), new.wrong.max(0)])?;
    }
    let record = RecordId { kind: RecordKind::Observation, number: id.0 };
    if new.pinned_at.is_some() || new.useful != 0 || new.wrong != 0 {
        laid_down::judged(db, record, new.verdicts_by)?;
    }
    Ok(Ok(record))
}

fn store_summary(db: &Connection, new: &ImportedSummary) -> Attempt {
    let row = NewSummary {
        uuid: new.uuid,
        session: new.session,
        project: new.project.0,
        prompt_number: new.number,
        is_checkpoint: new.is_earlier,
        summary: new.summary.get(),
        provider: &demoted(new.provider.get()),
        model: new.model.get(),
        at: new.at,
    };
    Ok(Ok(RecordId { kind: RecordKind::Summary, number: row.insert(db)? }))
}

/// Stores a fact. A current value stays; a contradicting one is stored as a value that never held, which is a
/// conflict that `remora facts` shows.
fn store_fact(db: &Connection, new: &ImportedFact) -> Attempt {
    let fact = new.fact.get();
    if forget::is_forgotten(db, &forget::of_statement(db, &fact.key, &fact.value)?)? {
        return Ok(Err(ImportOutcome::Forgotten));
    }
    let current = facts::current(db, new.project, &fact.key)?.map(|current| current.value);
    // A conflict is unresolved here, whatever was confirmed elsewhere.
    let (valid_to, confirmed_at) = match (new.valid_to, current) {
        (None, Some(value)) if value == fact.value => return Ok(Err(ImportOutcome::Repeated)),
        (None, Some(_)) => (Some(new.valid_from), None),
        (valid_to, _) => (valid_to, new.confirmed_at),
    };
    let source = fact.source.to_string();
    let source = if source == "user" { format!("{IMPORTED}{source}") } else { source };
    db.prepare_cached(
        "INSERT INTO facts (uuid, kind, project_id, key, value, source, session_id, prompt_number, trust, confirmed_at,
             valid_from, valid_to, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?11, ?11)",
    )?
    .execute(params![
        new.uuid.as_bytes(),
        fact.kind.name(),
        new.project.map(|project| project.0),
        &*fact.key,
        fact.value,
        source,
        new.session.map(|session| session.0),
        new.number,
        fact.trust,
        confirmed_at.map(|at| at.0),
        new.valid_from.0,
        valid_to.map(|at| at.0),
    ])?;
    Ok(Ok(RecordId { kind: RecordKind::Fact, number: db.last_insert_rowid() }))
}
