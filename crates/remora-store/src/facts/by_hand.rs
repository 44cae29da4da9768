//! Facts as people handle them: list, set, confirm, end, and history.
//!
//! A statement that contradicts one of a higher rank does not hold. It is still stored, as a row that ends when it
//! begins, and is a conflict until a person resolves it. `confirmed_at` is then the time of that.

use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::FactKey;
use remora_core::ids::{FactId, ProjectId};
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};

use super::{FACT, FactRow, HOLDS, NewFact, OF_KEY, OF_PROJECT, current, read, record};
use crate::context_files::changed_in_place;
use crate::handles::Facts;
use crate::search::documents;
use crate::{SavedBy, StoreError, forget, laid_down, retention};

/// Condition for a row that never held.
pub(super) const CONTENDER: &str = "f.valid_to = f.valid_from";

/// The result of setting a fact.
#[derive(Debug, Clone, PartialEq)]
pub enum SetFact {
    /// It holds now. `before` is the value that it replaced, if any.
    Holds { row: Box<FactRow>, before: Option<Box<FactRow>> },
    /// Another value holds; nothing was changed.
    Conflict(Box<FactRow>),
}

/// How a contradicting value is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    Refuse,
    /// Replaces a program's value. A person's value can only be replaced by a person.
    Replace,
}

/// A selection of facts. Without a project, those that hold everywhere are meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FactsOf<'a> {
    /// Those that hold, of every project and everywhere, by key.
    All,
    /// Those that hold everywhere, by key.
    Everywhere,
    /// Those that hold in a project, its own and those for everywhere that it does not override, by key.
    Project(ProjectId),
    /// Of those, the ones of the user, and the others with at least this trust. Most trusted first, then newest first.
    Trusted { project: ProjectId, min_trust: f64 },
    /// Those that hold and are contradicted, of every project and everywhere.
    Contradicted,
    /// The unresolved statements that contradict the current value of a key.
    Conflicts { project: Option<ProjectId>, key: &'a FactKey },
    /// All values that a key ever had, latest first.
    History { project: Option<ProjectId>, key: &'a FactKey },
}

impl Facts<'_> {
    pub fn list(self, of: FactsOf<'_>) -> Result<Vec<FactRow>, StoreError> {
        match of {
            FactsOf::All => {
                self.0.rows(&select(&format!("f.valid_to IS NULL ORDER BY {OF_PROJECT}, f.key, f.id")), &[], read)
            }
            FactsOf::Everywhere => self.0.rows(&select(&format!("{HOLDS} ORDER BY f.key, f.id")), &[&0], read),
            FactsOf::Project(project) => {
                self.0.rows(&select(&format!("{HOLDS} ORDER BY f.key, f.id")), &[&project.0], read)
            }
            FactsOf::Trusted { project, min_trust } => {
                let condition = format!("{HOLDS} AND (f.source = 'user' OR f.trust >= ?2)");
                let mut facts = self.0.rows(&select(&condition), &[&project.0, &min_trust], read)?;
                // Sorted here: SQLite would prepare a sorter even for the few that there usually are.
                facts.sort_by(|a, b| {
                    let by_trust = b.fact.trust.total_cmp(&a.fact.trust);
                    by_trust.then_with(|| (b.updated_at, b.id).cmp(&(a.updated_at, a.id)))
                });
                Ok(facts)
            }
            FactsOf::Contradicted => self.0.rows(
                &select(&format!(
                    "f.valid_to IS NULL AND EXISTS (
                         SELECT 1 FROM facts AS other WHERE ifnull(other.project_id, 0) = {OF_PROJECT}
                         AND other.key = f.key AND other.valid_to = other.valid_from AND other.confirmed_at IS NULL
                         AND other.deleted_at IS NULL)
                     ORDER BY {OF_PROJECT}, f.key, f.id"
                )),
                &[],
                read,
            ),
            FactsOf::Conflicts { project, key } => {
                let condition = format!(
                    "{OF_PROJECT} = ?1 AND {OF_KEY} AND {CONTENDER} AND f.confirmed_at IS NULL ORDER BY f.id DESC"
                );
                self.0.rows(&select(&condition), &[&number(project), &&**key], read)
            }
            FactsOf::History { project, key } => {
                let condition = format!(
                    "{OF_PROJECT} = ?1 AND {OF_KEY}
                     ORDER BY f.valid_to IS NULL DESC, f.valid_from DESC, f.id DESC"
                );
                self.0.rows(&select(&condition), &[&number(project), &&**key], read)
            }
        }
    }
}

/// The statement for the facts that meet a condition.
fn select(condition: &str) -> String {
    format!("{FACT} AND {condition}")
}

impl Facts<'_> {
    /// Sets the value of a key. A person's value always holds; a program's only if it contradicts nothing.
    pub fn set(self, new: &NewFact, contradiction: Contradiction) -> Result<SetFact, StoreError> {
        let by_person = new.fact.source == remora_core::fact::FactSource::User;
        let dir = self.0.dir().clone();
        self.0.writable()?;
        let _lock = dir.lock_schema()?;
        let transaction = self.0.begin()?;
        let hash = forget::of_statement(&transaction, &new.fact.key, &new.fact.value)?;
        if forget::is_forgotten(&transaction, &hash)? {
            if !by_person {
                return Err(StoreError::Forgotten);
            }
            forget::lift(&transaction, &dir, &hash)?;
        }
        let before = match current(&transaction, new.project, &new.fact.key)? {
            Some(known) => row(&transaction, known.id)?,
            None => None,
        };
        let contradicts = before.as_ref().filter(|before| before.fact.value != new.fact.value);
        if let Some(other) = contradicts
            && !by_person
            && (contradiction == Contradiction::Refuse
                || other.fact.source == remora_core::fact::FactSource::User)
        {
            return Ok(SetFact::Conflict(Box::new(other.clone())));
        }
        let id = record(&transaction, new)?.ok_or(StoreError::Forgotten)?;
        if by_person {
            // It is the person's value from now on, even if a program stated the same before.
            transaction.execute(
                "UPDATE facts SET source = 'user', kind = ?2, trust = ?3, session_id = NULL, prompt_number = NULL
                 WHERE id = ?1",
                params![id.0, new.fact.kind.name(), new.fact.trust],
            )?;
            settle(&transaction, new.project, &new.fact.key, new.at)?;
        }
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "facts set", &format!("f{id}"), new.at)?;
        let row = row(&transaction, id.0)?.ok_or(StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows))?;
        transaction.commit()?;
        let before = before.filter(|before| before.id != row.id).map(Box::new);
        Ok(SetFact::Holds { row: Box::new(row), before })
    }

    /// A person confirms the current value: it becomes their own word, as if they had set it, and its conflicts are
    /// resolved. `None` if there is no current value.
    pub fn confirm(
        self,
        project: Option<ProjectId>,
        key: &FactKey,
        at: Time,
    ) -> Result<Option<FactRow>, StoreError> {
        let transaction = self.0.begin()?;
        let Some(known) = current(&transaction, project, key)? else { return Ok(None) };
        transaction
            .execute("UPDATE facts SET confirmed_at = ?2, updated_at = ?2 WHERE id = ?1", [known.id, at.0])?;
        transaction.execute(
            "UPDATE facts SET source = 'user', trust = 1.0, session_id = NULL, prompt_number = NULL
             WHERE id = ?1 AND source <> 'user'",
            [known.id],
        )?;
        settle(&transaction, project, key, at)?;
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "facts confirm", &format!("f{}", known.id), at)?;
        let row = row(&transaction, known.id)?;
        transaction.commit()?;
        Ok(row)
    }

    /// Ends the current value of a key; its history stays. `None` if there is none.
    pub fn remove(
        self,
        project: Option<ProjectId>,
        key: &FactKey,
        by: SavedBy,
        at: Time,
    ) -> Result<Option<FactRow>, StoreError> {
        let transaction = self.0.begin()?;
        let Some(known) = current(&transaction, project, key)? else { return Ok(None) };
        // A trigger deletes its documents. A row that ends when it begins would count as a conflict.
        transaction.execute(
            "UPDATE facts SET valid_to = max(valid_from + 1, ?2), updated_at = ?2 WHERE id = ?1",
            [known.id, at.0],
        )?;
        settle(&transaction, project, key, at)?;
        laid_down::judged(&transaction, RecordId { kind: RecordKind::Fact, number: known.id }, by)?;
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "facts rm", &format!("f{}", known.id), at)?;
        let row = row(&transaction, known.id)?;
        transaction.commit()?;
        Ok(row)
    }

    /// Restores a fact that was ended or replaced: it holds again, and its replacement ends. Conflicts that were
    /// resolved with it are open again. `None` if there is no such fact, if it holds, or if it never held.
    pub fn restore(self, id: FactId, at: Time) -> Result<Option<FactRow>, StoreError> {
        let transaction = self.0.begin()?;
        let held = format!("{FACT} AND f.id = ?1 AND f.valid_to IS NOT NULL AND NOT {CONTENDER}");
        let Some(old) = transaction.query_row(&held, [id.0], read).optional()? else { return Ok(None) };
        if let Some(known) = current(&transaction, old.project_id, &old.fact.key)? {
            transaction.execute(
                "UPDATE facts SET valid_to = max(valid_from + 1, ?2), updated_at = ?2 WHERE id = ?1",
                [known.id, at.0],
            )?;
        }
        transaction.execute(
            &format!(
                "UPDATE facts AS f SET confirmed_at = NULL, updated_at = ?4
                 WHERE {OF_PROJECT} = ?1 AND {OF_KEY} AND {CONTENDER} AND f.confirmed_at = ?3"
            ),
            params![number(old.project_id), &*old.fact.key, old.updated_at.0, at.0],
        )?;
        transaction
            .execute("UPDATE facts SET valid_to = NULL, updated_at = ?2 WHERE id = ?1", [id.0, at.0])?;
        documents::write(&transaction, RecordId { kind: RecordKind::Fact, number: id.0 })?;
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "facts undo", &format!("f{id}"), at)?;
        let row = row(&transaction, id.0)?;
        transaction.commit()?;
        Ok(row)
    }
}

fn number(project: Option<ProjectId>) -> i64 {
    project.map_or(0, |project| project.0)
}

fn row(db: &Connection, id: i64) -> Result<Option<FactRow>, StoreError> {
    Ok(db.query_row(&format!("{FACT} AND f.id = ?1"), [id], read).optional()?)
}

fn settle(db: &Connection, project: Option<ProjectId>, key: &FactKey, at: Time) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE facts AS f SET confirmed_at = ?3, updated_at = ?3
         WHERE {OF_PROJECT} = ?1 AND {OF_KEY} AND {CONTENDER} AND f.confirmed_at IS NULL"
    );
    db.execute(&sql, params![number(project), &**key, at.0])?;
    Ok(())
}

/// Stores a statement that does not hold, once.
pub(super) fn contend(db: &Connection, new: &NewFact) -> Result<(), StoreError> {
    let NewFact { fact, project, session, prompt_number, at } = new;
    let sql = format!(
        "SELECT f.id FROM facts AS f WHERE {OF_PROJECT} = ?1 AND {OF_KEY} AND f.value = ?3 AND {CONTENDER}
         AND f.deleted_at IS NULL"
    );
    let known = db
        .prepare_cached(&sql)?
        .query_row(params![number(*project), &*fact.key, fact.value], |row| row.get(0))
        .optional()?;
    if let Some(id) = known.map(FactId) {
        db.execute("UPDATE facts SET updated_at = ?2 WHERE id = ?1", [id.0, at.0])?;
        return Ok(());
    }
    db.prepare_cached(
        "INSERT INTO facts (uuid, kind, project_id, key, value, source, session_id, prompt_number, trust, valid_from,
             valid_to, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?10, ?10)",
    )?
    .execute(params![
        remora_data::new_uuid().as_bytes(),
        fact.kind.name(),
        project.map(|project| project.0),
        &*fact.key,
        fact.value,
        fact.source.to_string(),
        session.map(|session| session.0),
        prompt_number,
        fact.trust.clamp(0.0, 1.0),
        at.0,
    ])?;
    Ok(())
}
