//! Facts: one current value for each key, in a project or globally, with the time since when it holds.

use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::{Fact, FactKey, FactKind, FactScope, FactSource};
use remora_core::ids::{FactId, ProjectId, SessionId};
use remora_core::time::Time;
use remora_data::new_uuid;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::context_files::changed_in_place;
use crate::handles::Facts;
use crate::search::documents;
use crate::{SavedBy, StoreError, forget, laid_down, retention};

mod by_hand;

pub use by_hand::{Contradiction, FactsOf, SetFact};

/// A fact to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFact {
    pub fact: Fact,
    /// `None` if it holds in every project.
    pub project: Option<ProjectId>,
    /// The turn it was stated in.
    pub session: Option<SessionId>,
    pub prompt_number: Option<i64>,
    pub at: Time,
}

/// A stored fact.
#[derive(Debug, Clone, PartialEq)]
pub struct FactRow {
    pub id: FactId,
    pub scope: FactScope,
    /// Set if it holds in one project only.
    pub project: Option<String>,
    pub project_id: Option<ProjectId>,
    pub fact: Fact,
    pub session_id: Option<SessionId>,
    pub prompt_number: Option<i64>,
    pub valid_from: Time,
    /// `None` if it still holds.
    pub valid_to: Option<Time>,
    /// When the same value was last stated again.
    pub confirmed_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

const FACT: &str =
    "SELECT f.id, f.project_id, p.name, f.kind, f.key, f.value, f.source, f.trust, f.session_id,
    f.prompt_number, f.valid_from, f.valid_to, f.confirmed_at, f.created_at, f.updated_at
    FROM facts AS f LEFT JOIN projects AS p ON p.id = f.project_id WHERE f.deleted_at IS NULL";

/// The expression that the index `facts_current` is on. Ids of projects start at 1.
const OF_PROJECT: &str = "ifnull(f.project_id, 0)";

/// Condition for the key `?2`. All keys are stored as [`FactKey`] normalises them.
const OF_KEY: &str = "f.key = ?2";

/// Condition for the facts that hold in project `?1` (0: everywhere). A project's value for a key overrides the global
/// one, but only a person's overrides a person's.
const HOLDS: &str = "f.valid_to IS NULL AND ifnull(f.project_id, 0) IN (0, ?1)
    AND (f.project_id IS NOT NULL OR ?1 = 0 OR NOT EXISTS (
        SELECT 1 FROM facts AS own WHERE ifnull(own.project_id, 0) = ?1 AND own.key = f.key
        AND own.valid_to IS NULL AND own.deleted_at IS NULL AND (own.source = 'user' OR f.source <> 'user')))";

impl Facts<'_> {
    /// A fact, whether it still holds or not.
    pub fn get(self, id: FactId) -> Result<Option<FactRow>, StoreError> {
        Ok(self.0.db.query_row(&format!("{FACT} AND f.id = ?1"), [id.0], read).optional()?)
    }
}

impl Facts<'_> {
    /// Stores a fact. Another current value of its key ends; the same value is confirmed instead.
    pub fn record(self, new: &NewFact) -> Result<FactRow, StoreError> {
        let transaction = self.0.begin()?;
        let id = record(&transaction, new)?.ok_or(StoreError::Forgotten)?;
        let row = transaction.query_row(&format!("{FACT} AND f.id = ?1"), [id.0], read)?;
        transaction.commit()?;
        Ok(row)
    }

    /// Ends a fact that is wrong: it is neither injected nor found from now on. `None` if no such fact holds.
    pub fn end(self, id: FactId, by: SavedBy, at: Time) -> Result<Option<FactRow>, StoreError> {
        let transaction = self.0.begin()?;
        // A trigger deletes its documents.
        let ended = transaction.execute(
            "UPDATE facts SET valid_to = max(valid_from + 1, ?2), updated_at = ?2
             WHERE id = ?1 AND valid_to IS NULL AND deleted_at IS NULL",
            params![id.0, at.0],
        )?;
        if ended == 0 {
            return Ok(None);
        }
        changed_in_place(&transaction)?;
        laid_down::judged(&transaction, RecordId { kind: RecordKind::Fact, number: id.0 }, by)?;
        retention::audit(&transaction, "feedback", &format!("f{id} wrong"), at)?;
        let row = transaction.query_row(&format!("{FACT} AND f.id = ?1"), [id.0], read)?;
        transaction.commit()?;
        Ok(Some(row))
    }

    /// Reopens a fact that was ended. `None` if it does not exist, or if its key has another value now.
    pub fn reopen(self, id: FactId, at: Time) -> Result<Option<FactRow>, StoreError> {
        let transaction = self.0.begin()?;
        let reopened = transaction.execute(
            "UPDATE facts AS old SET valid_to = NULL, updated_at = ?2
             WHERE id = ?1 AND valid_to IS NOT NULL AND deleted_at IS NULL AND NOT EXISTS (
                 SELECT 1 FROM facts AS f WHERE ifnull(f.project_id, 0) = ifnull(old.project_id, 0) AND f.key = old.key
                 AND f.valid_to IS NULL AND f.deleted_at IS NULL)",
            params![id.0, at.0],
        )?;
        if reopened == 0 {
            return Ok(None);
        }
        documents::write(&transaction, RecordId { kind: RecordKind::Fact, number: id.0 })?;
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "feedback", &format!("f{id} wrong, taken back"), at)?;
        let row = transaction.query_row(&format!("{FACT} AND f.id = ?1"), [id.0], read)?;
        transaction.commit()?;
        Ok(Some(row))
    }
}

/// The current value of a key.
pub(crate) struct Current {
    id: i64,
    pub(crate) value: String,
    source: FactSource,
    session: Option<SessionId>,
    since: Time,
    trust: f64,
}

impl Current {
    fn rank(&self) -> u8 {
        rank(&self.source, self.session)
    }
}

/// Rank of a source: a value set by hand by a person, then one stated by a person in a session, then all others.
fn rank(source: &FactSource, session: Option<SessionId>) -> u8 {
    match (source, session) {
        (FactSource::User, None) => 2,
        (FactSource::User, Some(_)) => 1,
        _ => 0,
    }
}

pub(crate) fn current(
    db: &Connection,
    project: Option<ProjectId>,
    key: &FactKey,
) -> Result<Option<Current>, StoreError> {
    let sql = format!(
        "SELECT f.id, f.value, f.source, f.session_id, f.valid_from, f.trust FROM facts AS f
         WHERE {OF_PROJECT} = ?1 AND {OF_KEY} AND f.valid_to IS NULL AND f.deleted_at IS NULL"
    );
    let found =
        db.prepare_cached(&sql)?.query_row(params![project.map_or(0, |project| project.0), &**key], |row| {
            Ok(Current {
                id: row.get(0)?,
                value: row.get(1)?,
                source: row.get::<_, String>(2)?.into(),
                session: row.get::<_, Option<i64>>(3)?.map(SessionId),
                since: Time(row.get(4)?),
                trust: row.get(5)?,
            })
        });
    Ok(found.optional()?)
}

/// The same statement, if a person ended it and nothing replaced it since. Learning it again does not bring it back; a
/// person who states it again does.
fn ended_by_hand(db: &Connection, new: &NewFact) -> Result<Option<FactId>, StoreError> {
    if new.fact.source == FactSource::User {
        return Ok(None);
    }
    let sql = format!(
        "SELECT f.id FROM facts AS f WHERE {OF_PROJECT} = ?1 AND {OF_KEY} AND f.value = ?3 AND f.deleted_at IS NULL
         AND f.valid_to IS NOT NULL AND NOT {} AND NOT EXISTS (
             SELECT 1 FROM facts AS next WHERE next.key = f.key AND ifnull(next.project_id, 0) = {OF_PROJECT}
             AND next.id <> f.id AND next.valid_from >= f.valid_to)
         ORDER BY f.id DESC LIMIT 1",
        by_hand::CONTENDER
    );
    let values = params![new.project.map_or(0, |project| project.0), &*new.fact.key, new.fact.value];
    Ok(db.prepare_cached(&sql)?.query_row(values, |row| row.get(0)).optional()?.map(FactId))
}

/// Whether another value of its key began to hold when a fact ended, or later.
pub(crate) fn is_replaced(db: &Connection, id: FactId) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM facts AS f JOIN facts AS next ON next.key = f.key
                   AND ifnull(next.project_id, 0) = ifnull(f.project_id, 0) AND next.id <> f.id
                   AND next.valid_from >= f.valid_to
               WHERE f.id = ?1";
    Ok(db.prepare_cached(sql)?.exists([id.0])?)
}

/// `None` if the statement was forgotten. A statement that a person ended stays ended.
pub(crate) fn record(db: &Connection, new: &NewFact) -> Result<Option<FactId>, StoreError> {
    let NewFact { fact, project, session, prompt_number, at } = new;
    if forget::is_forgotten(db, &forget::of_statement(db, &fact.key, &fact.value)?)? {
        return Ok(None);
    }
    let current = current(db, *project, &fact.key)?;
    if current.is_none()
        && let Some(ended) = ended_by_hand(db, new)?
    {
        return Ok(Some(ended));
    }
    let (kind, source, trust) = (fact.kind.name(), fact.source.to_string(), fact.trust.clamp(0.0, 1.0));
    let mut valid_from = *at;
    match current {
        // A value of a higher rank only ends by one of at least the same rank. An imported value that is older than
        // the current one is history.
        Some(known)
            if known.value != fact.value
                && (rank(&fact.source, *session) < known.rank()
                    || fact.source == FactSource::Import && *at < known.since) =>
        {
            by_hand::contend(db, new)?;
            return Ok(Some(FactId(known.id)));
        }
        Some(Current { id, value, trust: before, .. }) if value == fact.value => {
            // If the new source is trusted more, it becomes the source.
            db.prepare_cached(
                "UPDATE facts SET confirmed_at = ?2, updated_at = ?2, trust = max(trust, ?3),
                     kind = iif(?3 > trust, ?4, kind), source = iif(?3 > trust, ?5, source),
                     session_id = iif(?3 > trust, ?6, session_id), prompt_number = iif(?3 > trust, ?7, prompt_number)
                 WHERE id = ?1",
            )?
            .execute(params![
                id,
                at.0,
                trust,
                kind,
                source,
                session.map(|session| session.0),
                prompt_number
            ])?;
            if trust > before {
                changed_in_place(db)?;
            }
            return Ok(Some(FactId(id)));
        }
        // A trigger deletes its documents. A row that ends when it begins would count as a conflict, so a value that
        // replaces another within the same millisecond, or is stated late, begins after it.
        Some(Current { id, since, .. }) => {
            valid_from = valid_from.max(Time(since.0 + 1));
            db.prepare_cached("UPDATE facts SET valid_to = ?2, updated_at = ?3 WHERE id = ?1")?.execute([
                id,
                valid_from.0,
                at.0,
            ])?;
        }
        None => {}
    }
    db.prepare_cached(
        "INSERT INTO facts (uuid, kind, project_id, key, value, source, session_id, prompt_number, trust, valid_from,
             created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)",
    )?
    .execute(params![
        new_uuid().as_bytes(),
        kind,
        project.map(|project| project.0),
        &*fact.key,
        fact.value,
        source,
        session.map(|session| session.0),
        prompt_number,
        trust,
        valid_from.0,
        at.0,
    ])?;
    let number = db.last_insert_rowid();
    documents::write(db, RecordId { kind: RecordKind::Fact, number })?;
    Ok(Some(FactId(number)))
}

fn read(row: &Row<'_>) -> rusqlite::Result<FactRow> {
    let project_id = row.get::<_, Option<i64>>(1)?.map(ProjectId);
    let (kind, source): (String, String) = (row.get(3)?, row.get(6)?);
    Ok(FactRow {
        id: FactId(row.get(0)?),
        scope: if project_id.is_some() { FactScope::Project } else { FactScope::Global },
        project: row.get(2)?,
        project_id,
        fact: Fact {
            kind: FactKind::from(kind),
            key: row.get::<_, String>(4)?.into(),
            value: row.get(5)?,
            source: source.into(),
            trust: row.get(7)?,
        },
        session_id: row.get::<_, Option<i64>>(8)?.map(SessionId),
        prompt_number: row.get(9)?,
        valid_from: Time(row.get(10)?),
        valid_to: row.get::<_, Option<i64>>(11)?.map(Time),
        confirmed_at: row.get::<_, Option<i64>>(12)?.map(Time),
        created_at: Time(row.get(13)?),
        updated_at: Time(row.get(14)?),
    })
}
