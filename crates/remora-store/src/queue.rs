//! The queue: every event becomes memory exactly once.
//!
//! `claim` hands out one turn of one session, in order. `confirm` stores its memory and removes the payloads in one
//! transaction. `release` returns it. A claim whose owner died is reclaimed. Failed events are never thrown away:
//! after its last attempt an event stays, marked failed, with the reason.
//!
//! Payloads outlive their memory in two cases: a model is still to be called (`asking.rs`), or the rest of the turn
//! is not observed yet. Such events are marked `observed`, with the records made of them, which later memory of the
//! turn revises.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::Duration;

use crate::record::new_uuid;
use remora_core::document::RecordId;
use remora_core::event::Body;
use remora_core::ids::{EventId, SessionId};
use remora_core::memory::Memory;
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use crate::reading::SUBJECT;
use crate::transcripts::{self, Heard, ReadTo};
use crate::{Call, HostProcess, Store, StoreError, retention, usage, writing};

/// Bad answers to a batch before its events count as failed: the first, and three retries.
const MOST_ATTEMPTS: i64 = 4;
/// Crashes of the owner before a batch is halved, to find the event that causes them.
const CRASHES_PER_HALVING: i64 = 10;
/// A claim without a heartbeat for this long is void.
const CLAIM_LIFETIME: Duration = Duration::from_mins(1);
const LONGEST_BACKOFF: i64 = 10;

/// Events of one turn of a session, claimed by one owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub session: SessionId,
    pub prompt_number: i64,
    pub owner: String,
    pub events: Vec<Queued>,
    /// Events of the same turn that were observed before and still have payloads. They are not claimed.
    pub earlier: Vec<Queued>,
    /// Text of the turn that was read from the host's transcript.
    pub heard: Heard,
    /// The position up to which the transcript was read for this batch, if it was. Stored with the memory.
    pub transcript: Option<ReadTo>,
}

impl Batch {
    /// All known events of the turn, in order.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> + Clone {
        self.earlier.iter().chain(&self.events).map(|event| &event.body)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    pub id: EventId,
    pub at: Time,
    pub body: Body,
}

/// Why a batch is released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The answer was unusable. Counts as an attempt.
    BadAnswer(String),
    /// There was no answer: an outage, a limit, a missing login. Does not count as an attempt.
    NoAnswer { reason: String, retry_after: Duration },
}

/// The oldest turn of each session with a pending event that is observed (1) or not (0). Steps through the index from
/// session to session, so the cost grows with the number of sessions, not of events.
macro_rules! oldest_turns {
    ($observed:literal) => {
        concat!(
            "WITH RECURSIVE waiting (session_id) AS (
                 SELECT min(session_id) FROM pending_messages WHERE status = 'pending' AND observed = ",
            $observed,
            " UNION ALL
                 SELECT (SELECT min(session_id) FROM pending_messages
                         WHERE status = 'pending' AND session_id > waiting.session_id AND observed = ",
            $observed,
            ") FROM waiting WHERE waiting.session_id IS NOT NULL
             ), turn (session_id, prompt_number) AS (
                 SELECT session_id, (SELECT min(prompt_number) FROM pending_messages AS m
                                     WHERE m.status = 'pending' AND m.session_id = waiting.session_id AND m.observed = ",
            $observed,
            ") FROM waiting WHERE session_id IS NOT NULL
             ) "
        )
    };
}
pub(crate) use oldest_turns;

/// Of the turns in `turn`, those that have ended and are due, in sessions in which nothing is being observed. A turn
/// with a model call in flight waits for the answer; later turns of its session do not.
macro_rules! due {
    ($turns:expr) => {
        concat!(
            $turns,
            "SELECT turn.session_id, turn.prompt_number,
                 (SELECT min(created_at) FROM pending_messages AS m WHERE m.status = 'pending' AND m.observed = 0
                  AND m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number) AS since
             FROM turn JOIN sessions AS s ON s.id = turn.session_id
             WHERE NOT EXISTS (SELECT 1 FROM pending_messages AS m WHERE m.status = 'processing'
                               AND m.observed IN (0, 1) AND m.session_id = turn.session_id
                               AND (m.observed = 0 OR m.prompt_number = turn.prompt_number))
             AND NOT EXISTS (SELECT 1 FROM pending_messages AS m INDEXED BY pending_messages_by_retry
                             WHERE m.session_id = turn.session_id AND m.retry_at > ?1
                             AND m.status = 'pending' AND m.observed = 0 AND m.prompt_number = turn.prompt_number)
             AND (s.prompt_counter > turn.prompt_number OR s.status <> 'active' OR s.last_activity_at <= ?2
                  OR EXISTS (SELECT 1 FROM pending_messages AS m INDEXED BY pending_messages_by_end
                             WHERE m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number
                             AND m.kind = 'turn_ended' AND m.status = 'pending' AND m.observed = 0)
                  OR s.id IN (SELECT value FROM json_each(?3)))
             ORDER BY since, turn.session_id LIMIT ?4"
        )
    };
}

/// A cache of sessions with a due turn. The search for them costs more the more sessions are queued, so each finds
/// many.
#[derive(Debug, Default)]
pub(crate) struct Due {
    sessions: VecDeque<i64>,
    /// Ids of abandoned sessions, as a JSON array.
    abandoned: String,
}

impl Due {
    const MOST: i64 = 64;

    /// A turn that is due, from the cached sessions if possible. They are checked again, because they may have
    /// changed.
    fn next(
        &mut self,
        db: &Connection,
        silence: Duration,
        now: Time,
    ) -> rusqlite::Result<Option<(i64, i64)>> {
        let silent_since = now.before(silence);
        while let Some(session) = self.sessions.pop_front() {
            let turn = db
                .prepare_cached(due!(
                    "WITH turn (session_id, prompt_number) AS (
                         SELECT ?5, min(prompt_number) FROM pending_messages
                         WHERE status = 'pending' AND session_id = ?5 AND observed = 0
                         HAVING min(prompt_number) IS NOT NULL
                     ) "
                ))?
                .query_row(params![now.0, silent_since.0, self.abandoned, 1, session], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            if turn.is_some() {
                return Ok(turn);
            }
        }
        let abandoned = abandoned(db)?.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        self.abandoned = format!("[{abandoned}]");
        let mut found: VecDeque<(i64, i64)> = db
            .prepare_cached(due!(oldest_turns!(0)))?
            .query_map(params![now.0, silent_since.0, self.abandoned, Self::MOST], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect::<Result<_, _>>()?;
        let first = found.pop_front();
        self.sessions = found.into_iter().map(|(session, _)| session).collect();
        Ok(first)
    }
}

/// Sessions that will not continue: a later one began in their project, and their host's process is gone. A live host
/// may have several sessions in a project at a time. "Later" is by arrival, because clocks may be wrong.
fn abandoned(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare_cached(concat!(
        oldest_turns!(0),
        ", candidate AS MATERIALIZED (
             SELECT s.id, s.project_id, s.host_pid, s.host_started FROM waiting JOIN sessions AS s ON s.id = waiting.session_id
             WHERE s.status = 'active' AND s.host_pid IS NOT NULL AND s.host_started IS NOT NULL
         ), newest AS MATERIALIZED (
             SELECT project_id, max(id) AS id FROM sessions WHERE project_id IN (SELECT project_id FROM candidate)
             GROUP BY project_id
         )
         SELECT c.id, c.host_pid, c.host_started FROM candidate AS c JOIN newest ON newest.project_id = c.project_id
         WHERE newest.id > c.id AND (SELECT min(id) FROM event_traces WHERE session_id = newest.id)
                                  > (SELECT max(id) FROM event_traces WHERE session_id = c.id)"
    ))?;
    let rows = statement.query_map([], |row| {
        let host = HostProcess { pid: row.get(1)?, started_at: row.get::<_, i64>(2)?.cast_unsigned() };
        Ok((row.get(0)?, host))
    })?;
    let sessions: Vec<(i64, HostProcess)> = rows.collect::<Result<_, _>>()?;
    Ok(sessions.into_iter().filter(|(_, host)| host.is_gone()).map(|(id, _)| id).collect())
}

/// A random delay of up to a quarter of `duration`, so that simultaneous failures are not retried simultaneously.
fn spread(duration: Duration) -> Duration {
    let quarter = u64::try_from(duration.as_millis() / 4).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(new_uuid().as_u64_pair().1 % quarter)
}

/// A selection of failed events.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    All,
    Events(&'a [EventId]),
}

impl Store {
    /// Claims the oldest turn that has ended, in a session without a claim, with at most `most` events.
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
        // Searched before anything is locked: hooks must not wait while a long queue is searched.
        let mut due = std::mem::take(&mut self.due);
        let turn = due.next(self.writable()?, silence, now);
        self.due = due;
        let Some((session, prompt_number)) = turn? else { return Ok(None) };
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut rows: Vec<(Queued, i64)> = transaction
            .prepare_cached(
                "SELECT id, created_at, payload, crashes FROM pending_messages
                 WHERE status = 'pending' AND observed = 0 AND session_id = ?1 AND prompt_number = ?2
                 ORDER BY created_at, id LIMIT ?3",
            )?
            .query_and_then(params![session, prompt_number, most], |row| Ok((queued(row)?, row.get(3)?)))?
            .collect::<Result<_, StoreError>>()?;
        // Another process claimed it first.
        if rows.is_empty() {
            return Ok(None);
        }
        let halvings = rows.iter().map(|row| row.1).max().unwrap_or_default() / CRASHES_PER_HALVING;
        let size = rows.len().checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0).max(1);
        rows.truncate(size);
        let events: Vec<Queued> = rows.into_iter().map(|(event, _)| event).collect();
        for event in &events {
            transaction
                .prepare_cached(
                    "UPDATE pending_messages SET status = 'processing', claimed_by = ?2, claimed_at = ?3 WHERE id = ?1",
                )?
                .execute(params![event.id.0, owner, now.0])?;
        }
        let earlier = transaction
            .prepare_cached(
                "SELECT id, created_at, payload FROM pending_messages
                 WHERE status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2
                 ORDER BY created_at, id LIMIT ?3",
            )?
            .query_and_then(params![session, prompt_number, most], queued)?
            .collect::<Result<_, StoreError>>()?;
        transaction.commit()?;
        let session = SessionId(session);
        let heard = transcripts::heard(&self.db, session, prompt_number)?;
        let owner = owner.to_owned();
        Ok(Some(Batch { session, prompt_number, owner, events, earlier, heard, transcript: None }))
    }

    /// Stores the memory of a batch, made at `at` by `call`, and removes its payloads, in one transaction. Memory
    /// stored of it before is revised. Payloads stay until the rest of their turn is observed, because memory of half
    /// a turn is poor.
    pub fn confirm(
        &mut self,
        batch: &Batch,
        memory: &Memory,
        call: Option<&Call>,
        at: Time,
    ) -> Result<(), StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let claimed = claimed(&transaction, batch)?;
        let records = writing::write(&transaction, batch, memory, at)?;
        if let Some(call) = call {
            usage::insert(&transaction, batch.session, call)?;
        }
        if !claimed.observed {
            writing::count_turn(&transaction, batch)?;
        }
        if !claimed.observed && has_rest(&transaction, batch)? {
            mark_observed(&transaction, batch, &records)?;
            give_back(&transaction, batch)?;
            acquit(&transaction, (batch.session.0, batch.prompt_number))?;
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
        let Claimed { events, observed } = claimed(&transaction, batch)?;
        let mut put_off = None;
        for (id, attempts) in events {
            let (attempts, retry_at, reason) = match failure {
                Failure::BadAnswer(reason) => {
                    let backoff = Duration::from_secs(1 << attempts.clamp(0, LONGEST_BACKOFF));
                    (attempts + 1, now.after(backoff + spread(backoff)), reason)
                }
                Failure::NoAnswer { reason, retry_after } => (attempts, now.after(*retry_after), reason),
            };
            let status = if attempts >= MOST_ATTEMPTS {
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

    /// Makes everything that waits for a retry due now, because the cause may be gone.
    pub fn retry_now(&mut self) -> Result<usize, StoreError> {
        let changed = self.writable()?.execute(
            "UPDATE pending_messages SET retry_at = NULL WHERE status = 'pending' AND retry_at IS NOT NULL",
            [],
        )?;
        Ok(changed)
    }

    /// Releases all claims of an owner that is about to exit. Returns their number.
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
             WHERE session_id = ?1 AND prompt_number = ?4 AND claimed_by = ?2 AND status = 'processing'",
            params![batch.session.0, batch.owner, now.0, batch.prompt_number],
        )?;
        if alive == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
    }

    /// Returns all claims except `owner`'s to the queue. The caller holds the data directory's lock, which proves
    /// that other owners are dead. An event that crashes its owner even alone is marked failed, and so is a turn that
    /// crashes the process while it calls a model.
    pub fn reclaim(&mut self, owner: &str, now: Time) -> Result<usize, StoreError> {
        self.reclaim_where("claimed_by <> ?1 OR claimed_at < ?2", owner, now)
    }

    /// Returns the claims of an owner that exists once at a time, for a process that has just become it.
    pub fn reclaim_of(&mut self, owner: &str, now: Time) -> Result<usize, StoreError> {
        self.reclaim_where("claimed_by = ?1 AND ?2 IS NOT NULL", owner, now)
    }

    /// Returns claims without a heartbeat to the queue.
    pub fn reclaim_stale(&mut self, now: Time) -> Result<usize, StoreError> {
        self.reclaim_where("?1 IS NOT NULL AND claimed_at < ?2", "", now)
    }

    fn reclaim_where(&mut self, dead: &str, owner: &str, now: Time) -> Result<usize, StoreError> {
        let is_any = "SELECT 1 FROM pending_messages WHERE status = 'processing'";
        // Usually there are none, and then no lock is taken.
        if !self.db.prepare_cached(is_any)?.exists([])? {
            return Ok(0);
        }
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // A model is not called for half a turn, so only turns that are not observed are halved. Crashes of a single
        // event count only as far as they exceed those of the rest of its turn.
        let dead: Vec<(i64, i64, Option<i64>)> = transaction
            .prepare(&format!(
                "SELECT m.id, crashes + 1,
                     CASE WHEN observed THEN crashes + 1
                     WHEN count(*) OVER (PARTITION BY session_id, prompt_number) = 1 THEN crashes + 1
                         - (SELECT ifnull(max(rest.crashes), 0) FROM pending_messages AS rest
                            WHERE rest.session_id = m.session_id AND rest.prompt_number = m.prompt_number
                            AND rest.status = 'pending' AND rest.observed = 0) END
                 FROM pending_messages AS m WHERE status = 'processing' AND ({dead})"
            ))?
            .query_map(params![owner, now.before(CLAIM_LIFETIME).0], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        for (id, crashes, whole) in &dead {
            let fails = whole.is_some_and(|crashes| crashes >= CRASHES_PER_HALVING);
            let status = if fails { "failed" } else { "pending" };
            transaction.execute(
                "UPDATE pending_messages SET status = ?2, crashes = ?3, claimed_by = NULL, claimed_at = NULL,
                     last_error = 'the process working on it ended' WHERE id = ?1",
                params![id, status, crashes],
            )?;
            if fails {
                let turn = "SELECT session_id, prompt_number FROM pending_messages WHERE id = ?1";
                acquit(
                    &transaction,
                    transaction.query_row(turn, [id], |row| Ok((row.get(0)?, row.get(1)?)))?,
                )?;
            }
        }
        transaction.commit()?;
        Ok(dead.len())
    }

    /// When the next turn becomes due by itself: by a retry, or by silence.
    pub fn next_due(&self, silence: Duration) -> Result<Option<Time>, StoreError> {
        let silence = i64::try_from(silence.as_millis()).unwrap_or(i64::MAX);
        let retry = "SELECT max(retry_at) FROM pending_messages AS m INDEXED BY pending_messages_by_retry
                     WHERE m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number
                     AND m.retry_at IS NOT NULL AND m.status = 'pending' AND m.observed";
        let to_observe = format!(
            "{} SELECT min(ifnull(({retry} = 0), s.last_activity_at + ?1))
             FROM turn JOIN sessions AS s ON s.id = turn.session_id",
            oldest_turns!(0)
        );
        let to_ask = format!("{} SELECT min(({retry} = 1)) FROM turn", oldest_turns!(1));
        let observe: Option<i64> =
            self.db.prepare_cached(&to_observe)?.query_row([silence], |row| row.get(0))?;
        let ask: Option<i64> = self.db.prepare_cached(&to_ask)?.query_row([], |row| row.get(0))?;
        Ok(observe.into_iter().chain(ask).min().map(Time))
    }

    /// Ends sessions without an event for a day. Returns their number.
    pub fn interrupt_quiet_sessions(&mut self, now: Time) -> Result<usize, StoreError> {
        let quiet_since = now.before(Duration::from_hours(24));
        let changed = self.writable()?.execute(
            "UPDATE sessions SET status = 'interrupted' WHERE status = 'active' AND last_activity_at < ?1",
            [quiet_since.0],
        )?;
        Ok(changed)
    }

    /// Retries failed events as if for the first time, all or those named. Returns their number. A model is called
    /// for whole turns only, so the other failed events of an observed turn are retried, too.
    pub fn retry(&mut self, which: Which<'_>) -> Result<usize, StoreError> {
        let again =
            "UPDATE pending_messages SET status = 'pending', attempts = 0, crashes = 0, retry_at = NULL";
        self.change_failed("queue retry", which, |db, condition, value| {
            let named = format!("status = 'failed' AND {condition}");
            let turn = format!(
                "observed = 1 AND status = 'failed' AND (session_id, prompt_number) IN
                 (SELECT session_id, prompt_number FROM pending_messages WHERE observed = 1 AND {named})"
            );
            Ok(db.execute(&format!("{again} WHERE {turn}"), [value])?
                + db.execute(&format!("{again} WHERE {named}"), [value])?)
        })
    }

    /// Gives up failed events. Their traces stay, and their prompts can still be found. Returns their number.
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

pub(crate) fn queued(row: &Row<'_>) -> Result<Queued, StoreError> {
    let payload: String = row.get(2)?;
    Ok(Queued { id: EventId(row.get(0)?), at: Time(row.get(1)?), body: serde_json::from_str(&payload)? })
}

/// The events of a claim.
pub(crate) struct Claimed {
    /// Ids, with the number of attempts so far.
    events: Vec<(i64, i64)>,
    /// Whether their memory is stored.
    pub(crate) observed: bool,
}

/// Condition for a batch's claim. At most one owner has a claim on a turn.
const CLAIM: &str = "status = 'processing' AND observed IN (0, 1) AND session_id = ?1 AND prompt_number = ?2
    AND claimed_by = ?3";

/// The claim of a batch, if it still holds all of its events.
pub(crate) fn claimed(db: &Connection, batch: &Batch) -> Result<Claimed, StoreError> {
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
pub(crate) fn has_rest(db: &Connection, batch: &Batch) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pending_messages WHERE status = 'pending' AND observed = 0 AND session_id = ?1
               AND prompt_number = ?2";
    Ok(db.prepare_cached(sql)?.exists([batch.session.0, batch.prompt_number])?)
}

/// Marks the claimed events as observed and stores the ids of their records. Events of the turn that were observed
/// earlier are now in the same records, and join the claim: a model is called once for the turn.
pub(crate) fn mark_observed(db: &Connection, batch: &Batch, records: &[RecordId]) -> Result<(), StoreError> {
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

/// Resets the crash count of the rest of a turn after one part is done: the earlier crashes may have been caused by
/// that part.
fn acquit(db: &Connection, turn: (i64, i64)) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE pending_messages SET crashes = 0
         WHERE session_id = ?1 AND prompt_number = ?2 AND status = 'pending' AND observed = 0",
    )?
    .execute(turn)?;
    Ok(())
}

/// Releases the claim, so that its events are pending again.
pub(crate) fn give_back(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
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
pub(crate) const LONGEST_SUBJECT: usize = 120;

/// Stores the subject of each tool call without files in its trace: the command, the address, the question. This
/// keeps a session readable after its payloads are gone. Payloads are redacted already, and hooks are not slowed
/// down.
fn keep_subjects(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let mut keep = db.prepare_cached(
        "UPDATE event_traces SET tool = tool || ?2 || ?3 WHERE id = ?1 AND files IS NULL AND instr(tool, ?2) = 0",
    )?;
    for event in batch.earlier.iter().chain(&batch.events) {
        let Body::ToolUsed(tool) = &event.body else { continue };
        let subject = one_line(tool.call.subject(), LONGEST_SUBJECT);
        if !subject.is_empty() {
            keep.execute(params![event.id.0, SUBJECT, subject])?;
        }
    }
    Ok(())
}

/// Removes failed events for which a condition on `?1` holds. Returns their number. A prompt is found in the queue or
/// by its turn's document, so the turns are indexed now.
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
