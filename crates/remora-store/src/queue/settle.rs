//! Ends a claim: with memory, which replaces the payloads, or with a failure, which returns the events to the queue.
//! Each is one transaction, so that an event becomes memory exactly once.

use std::collections::HashSet;
use std::time::Duration;

use remora_core::document::RecordId;
use remora_core::event::Body;
use remora_core::memory::Memory;
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::{Connection, params};

use super::kept::{keep, may_go_on};
use super::recovery::acquit;
use super::{Batch, Failure, MAX_ATTEMPTS, usage};
use crate::handles::Queue;
use crate::records::event::SUBJECT;
use crate::{Call, StoreError, transcripts, writing};
use remora_data::new_uuid;

impl Queue<'_> {
    /// Stores the memory of a batch, made at `at` by `call`, and removes its payloads, in one transaction. Memory
    /// stored of it before is revised. Payloads stay until their turn has ended and the rest of it is observed, because
    /// memory of half a turn is poor.
    pub fn confirm(
        self,
        batch: &Batch,
        memory: &Memory,
        call: Option<&Call>,
        at: Time,
    ) -> Result<(), StoreError> {
        let transaction = self.0.begin()?;
        let claimed = claimed(&transaction, batch)?;
        let records = writing::write(&transaction, batch, memory, at)?;
        if let Some(call) = call {
            usage::insert(&transaction, batch.session, call)?;
        }
        if !claimed.observed {
            writing::count_turn(&transaction, batch)?;
        }
        let has_rest = !claimed.observed && has_rest(&transaction, batch)?;
        if has_rest || (!claimed.observed && may_go_on(&transaction, batch)?) {
            mark_observed(&transaction, batch, &records)?;
            give_back(&transaction, batch)?;
            acquit(&transaction, (batch.session.0, batch.prompt_number))?;
            if !has_rest {
                keep_subjects(&transaction, batch)?;
                keep(&transaction, batch)?;
            }
        } else {
            remove(&transaction, batch)?;
        }
        if claimed.observed {
            put_off_behind(&transaction, batch, None)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Returns a batch to be retried later or, after too many bad answers, to be marked failed. The cost of a failed
    /// call is counted, too.
    pub fn release(
        self,
        batch: &Batch,
        failure: &Failure,
        call: Option<&Call>,
        now: Time,
    ) -> Result<(), StoreError> {
        let transaction = self.0.begin()?;
        if let Some(call) = call {
            usage::insert(&transaction, batch.session, call)?;
        }
        let Claimed { events, observed } = claimed(&transaction, batch)?;
        let mut put_off = None;
        for (id, attempts) in events {
            let (attempts, retry_at, reason) = match failure {
                Failure::BadAnswer(reason) => {
                    let backoff = Duration::from_secs(1 << attempts);
                    (attempts + 1, now.after(backoff + spread(backoff)), reason)
                }
                Failure::NoAnswer { reason, retry_after } => (attempts, now.after(*retry_after), reason),
            };
            let status = if attempts >= MAX_ATTEMPTS {
                "failed"
            } else {
                put_off = put_off.max(Some((retry_at, reason)));
                "pending"
            };
            transaction.execute(
                "UPDATE pending_messages SET status = ?2, attempts = ?3, retry_at = ?4, last_error = ?5,
                     claimed_by = NULL, claimed_at = NULL WHERE id = ?1",
                params![id, status, attempts, retry_at.0, reason],
            )?;
        }
        if observed {
            put_off_behind(&transaction, batch, put_off)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// A random delay of up to a quarter of `duration`, so that simultaneous failures are not retried simultaneously.
fn spread(duration: Duration) -> Duration {
    let quarter = u64::try_from(duration.as_millis() / 4).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(new_uuid().as_u64_pair().1 % quarter)
}

/// The events of a claim.
pub(super) struct Claimed {
    /// Ids, with the number of attempts so far.
    events: Vec<(i64, i64)>,
    /// Whether their memory is stored.
    pub(super) observed: bool,
}

/// Condition for a batch's claim. At most one owner has a claim on a turn.
const CLAIM: &str = "status = 'processing' AND observed IN (0, 1) AND session_id = ?1 AND prompt_number = ?2
    AND claimed_by = ?3";

/// The claim of a batch, if it still holds all of its events.
pub(super) fn claimed(db: &Connection, batch: &Batch) -> Result<Claimed, StoreError> {
    let rows: Vec<(i64, i64, bool)> = db
        .prepare_cached(&format!("SELECT id, attempts, observed FROM pending_messages WHERE {CLAIM}"))?
        .query_map(params![batch.session.0, batch.prompt_number, batch.owner], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let ids: HashSet<i64> = rows.iter().map(|row| row.0).collect();
    if batch.events.iter().any(|event| !ids.contains(&event.id.0)) {
        return Err(StoreError::ClaimLost);
    }
    let observed = rows.iter().all(|row| row.2);
    Ok(Claimed { events: rows.into_iter().map(|row| (row.0, row.1)).collect(), observed })
}

/// Whether the batch's turn has events that are neither observed nor claimed.
pub(super) fn has_rest(db: &Connection, batch: &Batch) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pending_messages WHERE status = 'pending' AND observed = 0 AND session_id = ?1
               AND prompt_number = ?2";
    Ok(db.prepare_cached(sql)?.exists([batch.session.0, batch.prompt_number])?)
}

/// Marks the claimed events as observed and stores the ids of their records. Events of the turn that were observed
/// earlier are now in the same records, and join the claim: a model is called once for the turn.
pub(super) fn mark_observed(db: &Connection, batch: &Batch, records: &[RecordId]) -> Result<(), StoreError> {
    let (session, turn, owner) = (batch.session.0, batch.prompt_number, &batch.owner);
    db.prepare_cached(&format!(
        "UPDATE pending_messages SET status = 'processing', claimed_by = ?3,
             claimed_at = (SELECT max(claimed_at) FROM pending_messages WHERE {CLAIM})
         WHERE status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2"
    ))?
    .execute(params![session, turn, owner])?;
    db.prepare_cached(&format!(
        "UPDATE pending_messages SET observed = 1, records = ?4, attempts = 0, crashes = 0, retry_at = NULL,
             last_error = NULL WHERE {CLAIM}"
    ))?
    .execute(params![session, turn, owner, serde_json::to_string(records)?])?;
    transcripts::keep_heard(db, batch)
}

/// Releases the claim, so that its events are pending again.
pub(super) fn give_back(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    db.prepare_cached(&format!(
        "UPDATE pending_messages SET status = 'pending', claimed_by = NULL, claimed_at = NULL WHERE {CLAIM}"
    ))?
    .execute(params![batch.session.0, batch.prompt_number, batch.owner])?;
    Ok(())
}

/// Delays the observed turns after this batch, because a model is called for a session's turns in order. They get the
/// same retry time and reason, or none.
fn put_off_behind(
    db: &Connection,
    batch: &Batch,
    put_off: Option<(Time, &String)>,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE pending_messages SET retry_at = ?3, last_error = ?4
         WHERE status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number > ?2",
    )?
    .execute(params![
        batch.session.0,
        batch.prompt_number,
        put_off.map(|(until, _)| until.0),
        put_off.map(|(_, reason)| reason)
    ])?;
    Ok(())
}

/// Removes the payloads of the claimed events, and of those of the turn that were observed before.
fn remove(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    keep_subjects(db, batch)?;
    db.prepare_cached(&format!("DELETE FROM pending_messages WHERE {CLAIM}"))?.execute(params![
        batch.session.0,
        batch.prompt_number,
        batch.owner
    ])?;
    let earlier = "DELETE FROM pending_messages WHERE status = 'pending' AND observed = 1 AND session_id = ?1
                   AND prompt_number = ?2";
    db.prepare_cached(earlier)?.execute([batch.session.0, batch.prompt_number])?;
    Ok(())
}

/// Length limit for the subject of a tool call in its trace.
pub(crate) const MAX_SUBJECT_LEN: usize = 120;

/// Stores the subject of each tool call without files in its trace: the command, the address, the question. This
/// keeps a session readable after its payloads are gone. Payloads are redacted already, and hooks are not slowed
/// down.
fn keep_subjects(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let mut keep = db.prepare_cached(
        "UPDATE event_traces SET tool = tool || ?2 || ?3 WHERE id = ?1 AND files IS NULL AND instr(tool, ?2) = 0",
    )?;
    for event in batch.earlier.iter().chain(&batch.events) {
        let Body::ToolUsed(tool) = &event.body else { continue };
        let subject = one_line(tool.call.subject(), MAX_SUBJECT_LEN);
        if !subject.is_empty() {
            keep.execute(params![event.id.0, SUBJECT, subject])?;
        }
    }
    Ok(())
}
