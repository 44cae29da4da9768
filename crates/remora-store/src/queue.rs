//! From event to memory, exactly once.
//!
//! `claim` hands out one turn of one session, in order; `confirm` stores what was made of it and removes the
//! payloads in one transaction; `release` gives it back. A claim whose owner died is reclaimed. Nothing that
//! fails is thrown away: after its last attempt an event stays, failed, with the reason.

use std::collections::BTreeSet;
use std::time::Duration;

use remora_core::event::Body;
use remora_core::ids::{EventId, SessionId};
use remora_core::memory::Memory;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use uuid::Uuid;

use crate::transcripts::{self, ReadTo};
use crate::{Call, HostProcess, Store, StoreError, retention, usage, writing};

/// Answers to a batch that may be bad before its events count as failed: the first, and three more.
const MOST_ATTEMPTS: i64 = 4;
/// Deaths of the owner before a batch is halved, to find the event that kills.
const CRASHES_PER_HALVING: i64 = 10;
/// A claim without a sign of life for this long is void.
const CLAIM_LIFETIME: Duration = Duration::from_mins(1);
const LONGEST_BACKOFF: i64 = 10;

/// Events of one session's turn, claimed by one owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub session: SessionId,
    pub prompt_number: i64,
    pub owner: String,
    pub events: Vec<Queued>,
    /// How far the host's transcript was read for it, if it was. Stored with the memory.
    pub transcript: Option<ReadTo>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    pub id: EventId,
    pub at: Time,
    pub body: Body,
}

/// Why a batch is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The answer was no good. Counts.
    BadAnswer(String),
    /// There was no answer, or none was asked for: an outage, a limit, a missing login. Does not count.
    NoAnswer { reason: String, retry_after: Duration },
}

/// The sessions with something pending, found by stepping through the index from one to the next.
const WAITING: &str = "WITH RECURSIVE waiting (session_id) AS (
         SELECT min(session_id) FROM pending_messages WHERE status = 'pending'
         UNION ALL
         SELECT (SELECT min(session_id) FROM pending_messages
                 WHERE status = 'pending' AND session_id > waiting.session_id)
         FROM waiting WHERE waiting.session_id IS NOT NULL
     )";

/// The oldest turn that has ended and is due, of a session nobody is working on. Its cost grows with the
/// number of sessions that wait, not of events.
fn next_turn(db: &Connection, silence: Duration, now: Time) -> rusqlite::Result<Option<(i64, i64)>> {
    let abandoned = abandoned(db)?.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    db.prepare_cached(&format!(
        "{WAITING}, turn (session_id, prompt_number) AS (
             SELECT session_id, (SELECT min(prompt_number) FROM pending_messages AS m
                                 WHERE m.status = 'pending' AND m.session_id = waiting.session_id)
             FROM waiting WHERE session_id IS NOT NULL
         )
         SELECT turn.session_id, turn.prompt_number,
             (SELECT min(created_at) FROM pending_messages AS m WHERE m.status = 'pending'
              AND m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number) AS since
         FROM turn JOIN sessions AS s ON s.id = turn.session_id
         WHERE NOT EXISTS (SELECT 1 FROM pending_messages AS m
                           WHERE m.status = 'processing' AND m.session_id = turn.session_id)
         AND NOT EXISTS (SELECT 1 FROM pending_messages AS m INDEXED BY pending_messages_by_retry
                         WHERE m.session_id = turn.session_id AND m.retry_at > ?1
                         AND m.status = 'pending' AND m.prompt_number = turn.prompt_number)
         AND (s.prompt_counter > turn.prompt_number OR s.status <> 'active' OR s.last_activity_at <= ?2
              OR EXISTS (SELECT 1 FROM pending_messages AS m INDEXED BY pending_messages_by_end
                         WHERE m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number
                         AND m.kind = 'turn_ended' AND m.status = 'pending')
              OR s.id IN (SELECT value FROM json_each(?3)))
         ORDER BY since, turn.session_id LIMIT 1"
    ))?
    .query_row(params![now.0, now.before(silence).0, format!("[{abandoned}]")], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
    .optional()
}

/// Sessions that nobody will continue: another one began in their project later, and their host's process is gone. A host
/// that is alive may work in several sessions of a project at a time.
fn abandoned(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare_cached(&format!(
        "{WAITING} SELECT s.id, s.host_pid, s.host_started FROM waiting JOIN sessions AS s ON s.id = waiting.session_id
         WHERE s.status = 'active' AND s.host_pid IS NOT NULL AND s.host_started IS NOT NULL
         AND EXISTS (SELECT 1 FROM sessions AS later WHERE later.project_id = s.project_id
                     AND later.started_at > s.last_activity_at)"
    ))?;
    let rows = statement.query_map([], |row| {
        let host = HostProcess { pid: row.get(1)?, started_at: row.get::<_, i64>(2)?.cast_unsigned() };
        Ok((row.get(0)?, host))
    })?;
    let sessions: Vec<(i64, HostProcess)> = rows.collect::<Result<_, _>>()?;
    Ok(sessions.into_iter().filter(|(_, host)| host.is_gone()).map(|(id, _)| id).collect())
}

/// Up to a quarter of `duration`, so that what failed together is not tried again together.
fn spread(duration: Duration) -> Duration {
    let quarter = u64::try_from(duration.as_millis() / 4).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(Uuid::now_v7().as_u64_pair().1 % quarter)
}

/// Which failed events are meant.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    All,
    Events(&'a [EventId]),
}

impl Store {
    /// Claims the oldest turn that has ended, of a session nobody is working on; at most `most` events.
    ///
    /// A turn ends with the agent's closing message, the next prompt, the end of the session, the start of a later
    /// session in the same project if its own host is gone, or `silence`.
    pub fn claim(
        &mut self,
        owner: &str,
        most: u32,
        silence: Duration,
        now: Time,
    ) -> Result<Option<Batch>, StoreError> {
        let db = self.writable()?;
        // Looked for before anything is locked: hooks must not wait while a long queue is searched.
        let turn = next_turn(db, silence, now)?;
        let Some((session, prompt_number)) = turn else { return Ok(None) };
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut rows: Vec<(i64, i64, String, i64)> = transaction
            .prepare_cached(
                "SELECT id, created_at, payload, crashes FROM pending_messages
                 WHERE status = 'pending' AND session_id = ?1 AND prompt_number = ?2
                 ORDER BY created_at, id LIMIT ?3",
            )?
            .query_map(params![session, prompt_number, most], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
            .collect::<Result<_, _>>()?;
        // Somebody else was quicker.
        if rows.is_empty() {
            return Ok(None);
        }
        let halvings = rows.iter().map(|row| row.3).max().unwrap_or_default() / CRASHES_PER_HALVING;
        let size = rows.len().checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0).max(1);
        rows.truncate(size);
        let mut events = Vec::with_capacity(rows.len());
        for (id, at, payload, _) in rows {
            transaction
                .prepare_cached(
                    "UPDATE pending_messages SET status = 'processing', claimed_by = ?2, claimed_at = ?3 WHERE id = ?1",
                )?
                .execute(params![id, owner, now.0])?;
            events.push(Queued { id: EventId(id), at: Time(at), body: serde_json::from_str(&payload)? });
        }
        transaction.commit()?;
        Ok(Some(Batch {
            session: SessionId(session),
            prompt_number,
            owner: owner.to_owned(),
            events,
            transcript: None,
        }))
    }

    /// Stores what the batch became, made at `at` by way of `call`, and removes its payloads: all or nothing. A batch
    /// without events is one that the transcript alone made; somebody else who read the same text was quicker if it moved.
    pub fn confirm(
        &mut self,
        batch: &Batch,
        memory: &Memory,
        call: Option<&Call>,
        at: Time,
    ) -> Result<(), StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        writing::insert(&transaction, batch, memory, at)?;
        if let Some(call) = call {
            usage::insert(&transaction, batch.session, call)?;
        }
        for event in &batch.events {
            let removed = transaction.execute(
                "DELETE FROM pending_messages WHERE id = ?1 AND status = 'processing' AND claimed_by = ?2",
                params![event.id.0, batch.owner],
            )?;
            if removed == 0 {
                return Err(StoreError::ClaimLost);
            }
        }
        if let Some(read) = &batch.transcript
            && !transcripts::advance(&transaction, batch, read)?
            && batch.events.is_empty()
        {
            return Err(StoreError::ClaimLost);
        }
        transaction.commit()?;
        Ok(())
    }

    /// Gives a batch back, to be tried again later or, after too many bad answers, to be kept as failed.
    /// What was spent in vain counts all the same.
    pub fn release(
        &mut self,
        batch: &Batch,
        failure: &Failure,
        call: Option<&Call>,
        now: Time,
    ) -> Result<(), StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(call) = call {
            usage::insert(&transaction, batch.session, call)?;
        }
        for event in &batch.events {
            let mine = params![event.id.0, batch.owner];
            let attempts: Option<i64> = transaction
                .query_row(
                    "SELECT attempts FROM pending_messages
                     WHERE id = ?1 AND claimed_by = ?2 AND status = 'processing'",
                    mine,
                    |row| row.get(0),
                )
                .optional()?;
            let attempts = attempts.ok_or(StoreError::ClaimLost)?;
            let (attempts, retry_at, reason) = match failure {
                Failure::BadAnswer(reason) => {
                    let backoff = Duration::from_secs(1 << attempts.clamp(0, LONGEST_BACKOFF));
                    (attempts + 1, now.after(backoff + spread(backoff)), reason)
                }
                Failure::NoAnswer { reason, retry_after } => (attempts, now.after(*retry_after), reason),
            };
            let status = if attempts >= MOST_ATTEMPTS { "failed" } else { "pending" };
            transaction.execute(
                "UPDATE pending_messages SET status = ?2, attempts = ?3, retry_at = ?4, last_error = ?5,
                     claimed_by = NULL, claimed_at = NULL WHERE id = ?1",
                params![event.id.0, status, attempts, retry_at.0, reason],
            )?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Lets everything that waits for its next attempt be tried now, because what it waited for may have changed.
    pub fn retry_now(&mut self) -> Result<usize, StoreError> {
        let changed = self.writable()?.execute(
            "UPDATE pending_messages SET retry_at = NULL WHERE status = 'pending' AND retry_at IS NOT NULL",
            [],
        )?;
        Ok(changed)
    }

    /// Gives back everything an owner holds, for one that ends and leaves no claim behind. Says how many.
    pub fn release_all(&mut self, owner: &str) -> Result<usize, StoreError> {
        let released = self.writable()?.execute(
            "UPDATE pending_messages SET status = 'pending', claimed_by = NULL, claimed_at = NULL
             WHERE status = 'processing' AND claimed_by = ?1",
            [owner],
        )?;
        Ok(released)
    }

    /// Shows that the owner of a batch is alive.
    pub fn heartbeat(&mut self, batch: &Batch, now: Time) -> Result<(), StoreError> {
        let alive = self.writable()?.execute(
            "UPDATE pending_messages SET claimed_at = ?3
             WHERE session_id = ?1 AND claimed_by = ?2 AND status = 'processing'",
            params![batch.session.0, batch.owner, now.0],
        )?;
        if alive == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
    }

    /// Returns every claim but `owner`'s to the queue: for one that holds the data directory's lock, which proves
    /// that the others are dead. An event that kills its owner even alone fails.
    pub fn reclaim(&mut self, owner: &str, now: Time) -> Result<usize, StoreError> {
        self.reclaim_where("claimed_by <> ?1 OR claimed_at < ?2", owner, now)
    }

    /// Returns claims without a heartbeat to the queue.
    pub fn reclaim_stale(&mut self, now: Time) -> Result<usize, StoreError> {
        self.reclaim_where("?1 IS NOT NULL AND claimed_at < ?2", "", now)
    }

    fn reclaim_where(&mut self, dead: &str, owner: &str, now: Time) -> Result<usize, StoreError> {
        let is_any = "SELECT 1 FROM pending_messages WHERE status = 'processing'";
        // Mostly there is none, and then nobody has to wait for a lock.
        if !self.db.prepare_cached(is_any)?.exists([])? {
            return Ok(0);
        }
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let dead: Vec<(i64, i64, bool)> = transaction
            .prepare(&format!(
                "SELECT id, crashes + 1, count(*) OVER (PARTITION BY session_id) = 1 FROM pending_messages
                 WHERE status = 'processing' AND ({dead})"
            ))?
            .query_map(params![owner, now.before(CLAIM_LIFETIME).0], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        for (id, crashes, alone) in &dead {
            let status = if *alone && *crashes >= CRASHES_PER_HALVING { "failed" } else { "pending" };
            transaction.execute(
                "UPDATE pending_messages SET status = ?2, crashes = ?3, claimed_by = NULL, claimed_at = NULL,
                     last_error = 'the process working on it ended' WHERE id = ?1",
                params![id, status, crashes],
            )?;
        }
        transaction.commit()?;
        Ok(dead.len())
    }

    /// When something that waits will be due without anything else happening: a turn that is to be tried again, or
    /// one that silence ends.
    pub fn next_due(&self, silence: Duration) -> Result<Option<Time>, StoreError> {
        let silence = i64::try_from(silence.as_millis()).unwrap_or(i64::MAX);
        let sql = format!(
            "{WAITING} SELECT min(ifnull((SELECT max(retry_at) FROM pending_messages AS m
                     INDEXED BY pending_messages_by_retry
                     WHERE m.session_id = s.id AND m.retry_at IS NOT NULL AND m.status = 'pending'),
                 s.last_activity_at + ?1))
             FROM waiting JOIN sessions AS s ON s.id = waiting.session_id"
        );
        let due: Option<i64> = self.db.prepare_cached(&sql)?.query_row([silence], |row| row.get(0))?;
        Ok(due.map(Time))
    }

    /// Sessions of which nothing was heard for a day are over. Says how many.
    pub fn interrupt_quiet_sessions(&mut self, now: Time) -> Result<usize, StoreError> {
        let quiet_since = now.before(Duration::from_hours(24));
        let changed = self.writable()?.execute(
            "UPDATE sessions SET status = 'interrupted' WHERE status = 'active' AND last_activity_at < ?1",
            [quiet_since.0],
        )?;
        Ok(changed)
    }

    /// Tries failed events again, as if for the first time; those named, or all. Says how many.
    pub fn retry(&mut self, which: Which<'_>) -> Result<usize, StoreError> {
        let again =
            "UPDATE pending_messages SET status = 'pending', attempts = 0, crashes = 0, retry_at = NULL";
        self.change_failed("queue retry", which, |db, condition, value| {
            Ok(db.execute(&format!("{again} WHERE status = 'failed' AND {condition}"), [value])?)
        })
    }

    /// Gives failed events up; their traces stay, and what the user asked is found as before. Says how many.
    pub fn drop_failed(&mut self, which: Which<'_>) -> Result<usize, StoreError> {
        self.change_failed("queue drop", which, give_up)
    }

    fn change_failed(
        &mut self,
        action: &str,
        which: Which<'_>,
        change: impl Fn(&Connection, &str, i64) -> Result<usize, StoreError>,
    ) -> Result<usize, StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut changed = 0;
        match which {
            Which::All => changed = change(&transaction, "id > ?1", 0)?,
            Which::Events(ids) => {
                for id in ids {
                    changed += change(&transaction, "id = ?1", id.0)?;
                }
            }
        }
        if changed > 0 {
            retention::audit(&transaction, action, &format!("{changed} events"))?;
        }
        transaction.commit()?;
        Ok(changed)
    }
}

/// Removes failed events for which a condition on `?1` holds. Prompts are found where their turn waits, or by its
/// document; so the turns get theirs now. Says how many events there were.
pub(crate) fn give_up(db: &Connection, condition: &str, value: i64) -> Result<usize, StoreError> {
    let sql = format!(
        "DELETE FROM pending_messages WHERE status = 'failed' AND {condition} RETURNING session_id, prompt_number"
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map([value], |row| Ok((SessionId(row.get(0)?), row.get(1)?)))?;
    let given_up: Vec<(SessionId, i64)> = rows.collect::<Result<_, _>>()?;
    let turns: BTreeSet<&(SessionId, i64)> = given_up.iter().collect();
    for (session, prompt_number) in turns {
        writing::index_turn(db, *session, *prompt_number)?;
    }
    Ok(given_up.len())
}
