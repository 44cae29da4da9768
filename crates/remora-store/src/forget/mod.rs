//! Forgetting: records first become invisible, and are then removed from every file.
//!
//! 1. [`Forget::plan`] finds what would go. Nothing changes.
//! 2. [`Forget::forget`] hides it in one transaction. Records are marked with `deleted_at`; rows without such a column
//!    are moved into `forgettings.held`. Search, recall and lists no longer find any of it. Until `purge_at`,
//!    [`Forget::undo`] restores everything.
//! 3. [`Forget::purge`] deletes the rows.
//! 4. [`Forget::erase`] removes the remains from files: backups, databases set aside, the log, the write-ahead log and
//!    free pages. This ends a forgetting.
//!
//! Tombstones are written in step 2 and stay forever. They are keyed hashes, in the database and in the file
//! `forgotten`, so that no replay, restored backup or repeated observation of a turn brings anything back.

mod bytes;
mod erase;
mod everything;
mod find;
mod held;
mod tombstones;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};

pub use erase::{Erased, files_with};
pub use find::Criteria;
pub(crate) use tombstones::{is_forgotten, is_record_forgotten, lift, of_content, of_note, of_statement};

use crate::context_files::changed_in_place;
use crate::handles::Forget;
use crate::search::documents;
use crate::{SavedBy, StoreError, retention};
use held::Held;
use tombstones::Hash;

/// Everything that a forgetting removes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetPlan {
    /// Records with `deleted_at`, each with the reason.
    pub(crate) records: BTreeMap<RecordId, Reason>,
    /// Queued payloads, by event id.
    pub(crate) payloads: BTreeSet<i64>,
    /// Queued events that only lose their transcript text and error.
    pub(crate) remarks: BTreeSet<i64>,
    /// Traces that are deleted.
    pub(crate) traces: BTreeSet<i64>,
    /// Traces that lose tool, files and outcome.
    pub(crate) blanked: BTreeSet<i64>,
    /// Entries of the log of injections.
    pub(crate) retrievals: BTreeSet<i64>,
    /// Earlier versions of records that stay.
    pub(crate) revisions: BTreeSet<i64>,
    /// Sessions that are removed entirely, so that the rest of their transcripts is not read.
    pub(crate) sessions: BTreeSet<i64>,
    /// Tombstones to write.
    pub(crate) hashes: BTreeSet<Hash>,
}

/// Why a record is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It was named by id, or all of its session, project or time span is removed.
    Named,
    /// It contains the topic literally.
    Literal,
    /// It is about the file.
    File,
    /// It scores high enough for the topic.
    Similar,
    /// It is an earlier version of a removed summary.
    Version,
}

/// A record that would be removed.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRecord {
    pub id: RecordId,
    pub kind: RecordKind,
    pub title: String,
    pub project: Option<String>,
    pub created_at: Time,
    pub reason: Reason,
}

impl ForgetPlan {
    pub fn is_empty(&self) -> bool {
        let Self { records, payloads, remarks, traces, blanked, retrievals, revisions, .. } = self;
        records.is_empty()
            && [payloads, remarks, traces, blanked, retrievals, revisions].into_iter().all(BTreeSet::is_empty)
    }

    pub fn contains(&self, record: RecordId) -> bool {
        self.records.contains_key(&record)
    }

    /// Number of events that are not observed yet.
    pub fn queued(&self) -> usize {
        self.payloads.union(&self.remarks).count()
    }

    /// Number of traces of events.
    pub fn traces(&self) -> usize {
        self.traces.union(&self.blanked).count()
    }

    pub fn retrievals(&self) -> usize {
        self.retrievals.len()
    }

    /// Adds the content of `other`. Existing reasons stay.
    pub fn merge(&mut self, other: Self) {
        for (record, reason) in other.records {
            self.records.entry(record).or_insert(reason);
        }
        self.payloads.extend(other.payloads);
        self.remarks.extend(other.remarks);
        self.traces.extend(other.traces);
        self.blanked.extend(other.blanked);
        self.retrievals.extend(other.retrievals);
        self.revisions.extend(other.revisions);
        self.sessions.extend(other.sessions);
        self.hashes.extend(other.hashes);
    }
}

/// The conditions of a forgetting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The topic, to be removed from backups, too, and the project it is forgotten in.
    pub topic: Option<String>,
    pub project: Option<ProjectId>,
    /// How long it can be undone.
    pub undo: Duration,
    /// For the audit log: the kind of the request, never its content.
    pub by: &'static str,
    /// Who forgets it. A program cannot undo what a person forgot.
    pub who: SavedBy,
}

/// A forgetting that is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgetting {
    pub id: i64,
    pub records: Vec<RecordId>,
    pub created_at: Time,
    /// It can be undone until then.
    pub purge_at: Time,
    /// Whether its rows are deleted, so that only files are left.
    pub purged: bool,
    /// Whether a program forgot it, so that a program may undo it.
    pub by_program: bool,
}

/// Selects what to forget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ForgetQuery<'a> {
    Matching(&'a Criteria),
    /// These records. Unknown ids are left out.
    Records {
        ids: &'a [RecordId],
        reason: Reason,
    },
}

/// What the forgettings need next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Files may still hold purged data.
    Erase,
    /// The rows of one have to be deleted then; in the past if that is due.
    PurgeAt(Time),
}

/// Which forgettings are purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    /// Those that can no longer be undone.
    Due,
    /// All. None of them can be undone any more.
    All,
}

impl Forget<'_> {
    /// Finds what would go, with all dependent rows. Nothing changes.
    pub fn plan(self, query: ForgetQuery<'_>) -> Result<ForgetPlan, StoreError> {
        match query {
            ForgetQuery::Matching(criteria) => find::matching(&self.0.db, criteria, find::Rows::Live),
            ForgetQuery::Records { ids, reason } => find::named(&self.0.db, ids, reason),
        }
    }

    /// Lists what would be removed, for the user to decide. Newest first.
    pub fn describe(self, doomed: &ForgetPlan) -> Result<Vec<PlannedRecord>, StoreError> {
        let mut described = Vec::new();
        for (id, reason) in &doomed.records {
            described.extend(describe(&self.0.db, *id, *reason)?);
        }
        described.sort_by_key(|record| std::cmp::Reverse((record.created_at, record.id)));
        Ok(described)
    }

    /// Forgettings that are not complete, latest first.
    pub fn list(self) -> Result<Vec<Forgetting>, StoreError> {
        let sql = "SELECT id, records, created_at, purge_at, purged_at IS NOT NULL,
                       iif(purged_at IS NULL, held ->> '$.is_by_program', 0) FROM forgettings ORDER BY id DESC";
        self.0.rows(sql, &[], |row| {
            let records: String = row.get(1)?;
            Ok(Forgetting {
                id: row.get(0)?,
                records: serde_json::from_str(&records).unwrap_or_default(),
                created_at: Time(row.get(2)?),
                purge_at: Time(row.get(3)?),
                purged: row.get(4)?,
                by_program: row.get::<_, Option<bool>>(5)?.unwrap_or_default(),
            })
        })
    }

    /// What the next forgetting needs. `None` if there is none.
    pub fn next_step(self) -> Result<Option<NextStep>, StoreError> {
        let sql =
            "SELECT min(purge_at) FILTER (WHERE purged_at IS NULL), count(purged_at) > 0 FROM forgettings";
        let (purge_at, must_erase): (Option<i64>, bool) =
            self.0.db.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let purge = purge_at.map(|at| NextStep::PurgeAt(Time(at)));
        Ok(if must_erase { Some(NextStep::Erase) } else { purge })
    }
}

impl Forget<'_> {
    /// Hides everything. The returned forgetting can be undone by its id.
    pub fn forget(self, doomed: &ForgetPlan, terms: &Terms, now: Time) -> Result<Forgetting, StoreError> {
        let records: Vec<RecordId> = doomed.records.keys().copied().collect();
        let purge_at = now.after(terms.undo);
        self.0.writable()?;
        let lock = self.0.dir().lock_schema()?;
        let transaction = self.0.begin()?;
        let touched = find::sessions(&transaction, doomed)?;
        let mut held = Held::new(terms.who);
        take_out(&transaction, doomed, Some(&mut held))?;
        for record in &records {
            mark(&transaction, *record, now)?;
        }
        for session in touched {
            documents::refresh_surroundings(&transaction, session)?;
        }
        transaction.execute(
            "INSERT INTO forgettings (records, held, topic, project_id, created_at, purge_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                serde_json::to_string(&records)?,
                serde_json::to_string(&held)?,
                terms.topic,
                terms.project.map(|project| project.0),
                now.0,
                purge_at.0
            ],
        )?;
        let id = transaction.last_insert_rowid();
        tombstones::put(&transaction, &doomed.hashes, Some(id))?;
        let detail = format!(
            "{} by {}: {} records, {} queued events, {} traces, {} log entries",
            id,
            terms.by,
            records.len(),
            doomed.queued(),
            doomed.traces(),
            doomed.retrievals()
        );
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "forget", &detail, now)?;
        transaction.commit()?;
        tombstones::write_file(&self.0.db, self.0.dir())?;
        drop(lock);
        let by_program = terms.who == SavedBy::Program;
        Ok(Forgetting { id, records, created_at: now, purge_at, purged: false, by_program })
    }

    /// Restores a forgetting: the given one, or the latest. `None` if it is too late, or if there is none.
    pub fn undo(self, which: Option<i64>, now: Time) -> Result<Option<Forgetting>, StoreError> {
        self.0.writable()?;
        let lock = self.0.dir().lock_schema()?;
        let Some(id) = undoable(&self.0.db, which, now)? else { return Ok(None) };
        // First from the file: hashes that are only in the file would be forgotten again.
        tombstones::remove_from_file(&self.0.db, self.0.dir(), id)?;
        let transaction = self.0.begin()?;
        let sql = "SELECT records, held, created_at, purge_at FROM forgettings WHERE id = ?1";
        let (records, held, created_at, purge_at): (String, String, i64, i64) =
            transaction
                .query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        let records: Vec<RecordId> = serde_json::from_str(&records)?;
        let held: Held = serde_json::from_str(&held)?;
        let by_program = held.is_by_program;
        held.put_back(&transaction)?;
        for record in &records {
            unmark(&transaction, *record, now)?;
        }
        tombstones::remove_of(&transaction, id)?;
        transaction.execute("DELETE FROM forgettings WHERE id = ?1", [id])?;
        transaction
            .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('documents_missing', x'01')", [])?;
        changed_in_place(&transaction)?;
        retention::audit(&transaction, "forget undo", &format!("{id}: {} records", records.len()), now)?;
        transaction.commit()?;
        tombstones::write_file(&self.0.db, self.0.dir())?;
        drop(lock);
        // Documents are made as for any record without them.
        while self.0.index().fill()? {}
        let back = ForgetPlan {
            records: records.iter().map(|record| (*record, Reason::Named)).collect(),
            ..ForgetPlan::default()
        };
        for session in find::sessions(&self.0.db, &back)? {
            documents::refresh_surroundings(&self.0.db, session)?;
        }
        let (created_at, purge_at) = (Time(created_at), Time(purge_at));
        Ok(Some(Forgetting { id, records, created_at, purge_at, purged: false, by_program }))
    }

    /// Deletes the rows of forgettings. Returns their number.
    pub fn purge(self, which: Purge, now: Time) -> Result<usize, StoreError> {
        if which == Purge::All {
            let sql = "UPDATE forgettings SET purge_at = min(purge_at, ?1) WHERE purged_at IS NULL";
            self.0.writable()?.execute(sql, [now.0])?;
        }
        let due = "SELECT id, records FROM forgettings WHERE purged_at IS NULL AND purge_at <= ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        // Usually there are none, and then no lock is taken.
        let waiting: Vec<(i64, String)> = self.0.rows(due, &[&now.0], read)?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let transaction = self.0.begin()?;
        for (id, records) in &waiting {
            for record in serde_json::from_str::<Vec<RecordId>>(records)? {
                delete_marked(&transaction, record)?;
            }
            transaction.execute("UPDATE tombstones SET forgetting = NULL WHERE forgetting = ?1", [id])?;
            transaction.execute(
                "UPDATE forgettings SET held = '', records = '[]', purged_at = ?2 WHERE id = ?1",
                params![id, now.0],
            )?;
        }
        transaction.commit()?;
        Ok(waiting.len())
    }
}

/// The forgetting that can be undone: the given one, or the latest. `None` if it is too late, or if there is none.
fn undoable(db: &Connection, which: Option<i64>, now: Time) -> Result<Option<i64>, StoreError> {
    let sql =
        "SELECT id FROM forgettings WHERE purged_at IS NULL AND purge_at > ?1 AND (?2 IS NULL OR id = ?2)
               ORDER BY id DESC LIMIT 1";
    Ok(db.query_row(sql, params![now.0, which], |row| row.get(0)).optional()?)
}

/// The table of a kind of record, if it has `deleted_at`.
fn table(kind: RecordKind) -> Option<&'static str> {
    match kind {
        RecordKind::Observation => Some("observations"),
        RecordKind::Summary => Some("session_summaries"),
        RecordKind::Turn => Some("user_prompts"),
        RecordKind::Fact => Some("facts"),
        RecordKind::Note => Some("notes"),
        RecordKind::Event => None,
    }
}

/// Kinds with a table of their own.
const KINDS: [RecordKind; 5] =
    [RecordKind::Observation, RecordKind::Summary, RecordKind::Turn, RecordKind::Fact, RecordKind::Note];

/// Removes everything except the records themselves. With `held`, it can be restored.
fn take_out(db: &Connection, doomed: &ForgetPlan, mut held: Option<&mut Held>) -> Result<(), StoreError> {
    let mut out = |table: &'static str, ids: &BTreeSet<i64>, change: &str| -> Result<(), StoreError> {
        for id in ids {
            if let Some(held) = held.as_deref_mut() {
                held.take(db, table, "id = ?1", &[id])?;
            }
            db.prepare_cached(&format!("{change} WHERE id = ?1"))?.execute([id])?;
        }
        Ok(())
    };
    out(
        "event_traces",
        &doomed.blanked,
        "UPDATE event_traces SET tool = NULL, files = NULL, outcome = NULL, agent_id = NULL",
    )?;
    out("pending_messages", &doomed.remarks, "UPDATE pending_messages SET heard = NULL, last_error = NULL")?;
    out("memory_retrievals", &doomed.retrievals, "DELETE FROM memory_retrievals")?;
    out("pending_messages", &doomed.payloads, "DELETE FROM pending_messages")?;
    // Deleting a trace also deletes its payload, so payloads are held first.
    out("event_traces", &doomed.traces, "DELETE FROM event_traces")?;
    if !doomed.revisions.is_empty() {
        out("revisions", &doomed.revisions, "DELETE FROM revisions")?;
    }
    let names: BTreeSet<String> = doomed.records.keys().map(ToString::to_string).collect();
    for name in &names {
        if let Some(held) = held.as_deref_mut() {
            held.take(db, "injections", "record = ?1", &[name])?;
        }
        // Passage hashes have no key, so their text could be guessed.
        db.prepare_cached("DELETE FROM injections WHERE record = ?1")?.execute([name])?;
    }
    strike_from_log(db, &names, held)?;
    for session in &doomed.sessions {
        skip_transcript(db, *session)?;
    }
    Ok(())
}

/// Removes records from log entries that stay, because the reason for an item may quote it.
fn strike_from_log(
    db: &Connection,
    names: &BTreeSet<String>,
    mut held: Option<&mut Held>,
) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    let mut changed: Vec<(i64, String)> = Vec::new();
    let mut rows = db.prepare("SELECT id, items FROM memory_retrievals")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let items: Vec<serde_json::Value> =
            serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default();
        let is_named = |item: &serde_json::Value| item["id"].as_str().is_some_and(|id| names.contains(id));
        if items.iter().any(is_named) {
            let rest: Vec<_> = items.iter().filter(|item| !is_named(item)).collect();
            changed.push((row.get(0)?, serde_json::to_string(&rest)?));
        }
    }
    for (id, items) in changed {
        if let Some(held) = held.as_deref_mut() {
            held.take(db, "memory_retrievals", "id = ?1", &[&id])?;
        }
        db.prepare_cached("UPDATE memory_retrievals SET items = ?2 WHERE id = ?1")?
            .execute(params![id, items])?;
    }
    Ok(())
}

/// Marks the current content of the transcript as read.
fn skip_transcript(db: &Connection, session: i64) -> Result<(), StoreError> {
    let sql = "SELECT transcript_path FROM sessions WHERE id = ?1";
    let path: Option<Option<String>> = db.query_row(sql, [session], |row| row.get(0)).optional()?;
    let length = path.flatten().and_then(|path| std::fs::metadata(path).ok()).map(|file| file.len());
    if let Some(length) = length.and_then(|length| i64::try_from(length).ok()) {
        db.execute(
            "UPDATE sessions SET transcript_offset = ?2, transcript_turn = NULL WHERE id = ?1",
            [session, length],
        )?;
    }
    Ok(())
}

/// Marks a record as deleted. A trigger deletes its documents.
fn mark(db: &Connection, record: RecordId, now: Time) -> Result<(), StoreError> {
    if let Some(table) = table(record.kind) {
        let sql = format!(
            "UPDATE {table} SET deleted_at = ?2, updated_at = ?2 WHERE id = ?1 AND deleted_at IS NULL"
        );
        db.prepare_cached(&sql)?.execute(params![record.number, now.0])?;
    }
    Ok(())
}

/// Restores a record. If it was stored again meanwhile, the new one stays, as does a newer value of a fact.
fn unmark(db: &Connection, record: RecordId, now: Time) -> Result<(), StoreError> {
    let Some(table) = table(record.kind) else { return Ok(()) };
    let sql = format!(
        "UPDATE OR IGNORE {table} SET deleted_at = NULL, updated_at = ?2 WHERE id = ?1 AND deleted_at IS NOT NULL"
    );
    let back = db.prepare_cached(&sql)?.execute(params![record.number, now.0])?;
    if back == 0 && record.kind == RecordKind::Fact {
        db.execute(
            "UPDATE facts SET deleted_at = NULL, valid_to = max(valid_from + 1, ?2), updated_at = ?2 WHERE id = ?1",
            params![record.number, now.0],
        )?;
    }
    Ok(())
}

fn delete_marked(db: &Connection, record: RecordId) -> Result<(), StoreError> {
    let Some(table) = table(record.kind) else { return Ok(()) };
    let sql = format!("DELETE FROM {table} WHERE id = ?1 AND deleted_at IS NOT NULL");
    db.prepare_cached(&sql)?.execute([record.number])?;
    db.prepare_cached("DELETE FROM revisions WHERE record = ?1")?.execute([record.to_string()])?;
    Ok(())
}

fn describe(db: &Connection, id: RecordId, reason: Reason) -> Result<Option<PlannedRecord>, StoreError> {
    const WIDEST: usize = 120;
    let sql = match id.kind {
        RecordKind::Observation => {
            "SELECT r.title, p.name, r.created_at FROM observations AS r JOIN projects AS p ON p.id = r.project_id"
        }
        RecordKind::Summary => {
            "SELECT r.request, p.name, r.created_at FROM session_summaries AS r JOIN projects AS p ON p.id = r.project_id"
        }
        RecordKind::Turn => {
            "SELECT r.text, p.name, r.created_at FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id
             JOIN projects AS p ON p.id = s.project_id"
        }
        RecordKind::Fact => {
            "SELECT concat(r.key, ': ', r.value), p.name, r.valid_from FROM facts AS r
             LEFT JOIN projects AS p ON p.id = r.project_id"
        }
        RecordKind::Note => "SELECT concat(r.title, ' (', r.path, ')'), NULL, r.changed_at FROM notes AS r",
        RecordKind::Event => return Ok(None),
    };
    let row = db.prepare_cached(&format!("{sql} WHERE r.id = ?1"))?.query_row([id.number], |row| {
        Ok(PlannedRecord {
            id,
            kind: id.kind,
            title: one_line(&row.get::<_, String>(0)?, WIDEST),
            project: row.get(1)?,
            created_at: Time(row.get(2)?),
            reason,
        })
    });
    Ok(row.optional()?)
}
