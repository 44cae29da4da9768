//! Hands out the oldest turn that has ended. The search for it runs before anything is locked, because hooks must not
//! wait for it, and its result is cached, because a long queue makes it slow.
//!
//! Silence alone proves little: a build may take an hour. While the host lives, the caller decides by the transcript
//! whether a silent turn goes on.

use std::collections::VecDeque;
use std::time::Duration;

use remora_core::ids::{EventId, SessionId};
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::kept::recall_kept;
use super::{Batch, CRASHES_PER_HALVING, Queued};
use crate::handles::Queue;
use crate::import::past;
use crate::{HostProcess, Store, StoreError, transcripts};

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
pub(super) use oldest_turns;

/// Selects the turns in `turn` that have ended and are due, in sessions in which nothing is being observed. A turn
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
             AND (s.prompt_counter > turn.prompt_number OR s.status <> 'active'
                  OR (s.last_activity_at <= ?2 AND s.id NOT IN (SELECT value FROM json_each(?5)))
                  OR EXISTS (SELECT 1 FROM pending_messages AS m INDEXED BY pending_messages_by_end
                             WHERE m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number
                             AND m.kind = 'turn_ended' AND m.status = 'pending' AND m.observed = 0)
                  OR s.id IN (SELECT value FROM json_each(?3)))
             ORDER BY since, turn.session_id LIMIT ?4"
        )
    };
}

/// Finding due sessions is slow with a long queue, so one search caches up to [`Due::MAX_CACHED`] of them.
#[derive(Debug, Default)]
pub(crate) struct Due {
    sessions: VecDeque<i64>,
    /// Ids of abandoned sessions, as a JSON array.
    abandoned: String,
    /// Ids of silent sessions whose turn goes on, as a JSON array.
    held: String,
}

/// How long after it was found to go on a silent turn is looked at again: its host may end without a word.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

impl Due {
    const MAX_CACHED: i64 = 64;

    /// A turn that is due, from the cached sessions if possible. They are checked again, because they may have
    /// changed.
    fn next(
        &mut self,
        store: &Store,
        silence: Duration,
        now: Time,
        goes_on: &mut dyn FnMut(&Store, SessionId) -> bool,
    ) -> Result<Option<(i64, i64)>, StoreError> {
        let silent_since = now.before(silence);
        while let Some(session) = self.sessions.pop_front() {
            let turn = store
                .writable()?
                .prepare_cached(due!(
                    "WITH turn (session_id, prompt_number) AS (
                         SELECT ?6, min(prompt_number) FROM pending_messages
                         WHERE status = 'pending' AND session_id = ?6 AND observed = 0
                         HAVING min(prompt_number) IS NOT NULL
                     ) "
                ))?
                .query_row(params![now.0, silent_since.0, self.abandoned, 1, self.held, session], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            if turn.is_some() {
                return Ok(turn);
            }
        }
        self.abandoned = serde_json::to_string(&abandoned(store.writable()?)?)?;
        let mut held = silent(store.writable()?, silent_since)?;
        held.retain(|session| goes_on(store, SessionId(*session)));
        self.held = serde_json::to_string(&held)?;
        let mut found: VecDeque<(i64, i64)> = store
            .writable()?
            .prepare_cached(due!(oldest_turns!(0)))?
            .query_map(params![now.0, silent_since.0, self.abandoned, Self::MAX_CACHED, self.held], |row| {
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
    let sessions: Vec<(i64, HostProcess)> = statement.query_map([], with_host)?.collect::<Result<_, _>>()?;
    Ok(sessions.into_iter().filter(|(_, host)| host.is_gone()).map(|(id, _)| id).collect())
}

/// Sessions whose latest turn is silent since then, and whose host's process lives.
pub(super) fn silent(db: &Connection, since: Time) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare_cached(concat!(
        oldest_turns!(0),
        "SELECT s.id, s.host_pid, s.host_started FROM turn JOIN sessions AS s ON s.id = turn.session_id
         WHERE s.status = 'active' AND s.last_activity_at <= ?1 AND s.prompt_counter = turn.prompt_number
         AND s.host_pid IS NOT NULL AND s.host_started IS NOT NULL"
    ))?;
    let sessions: Vec<(i64, HostProcess)> =
        statement.query_map([since.0], with_host)?.collect::<Result<_, _>>()?;
    Ok(sessions.into_iter().filter(|(_, host)| !host.is_gone()).map(|(id, _)| id).collect())
}

/// The id of a session, and its host's process.
fn with_host(row: &Row<'_>) -> rusqlite::Result<(i64, HostProcess)> {
    Ok((row.get(0)?, HostProcess { pid: row.get(1)?, started_at: row.get::<_, i64>(2)?.cast_unsigned() }))
}

impl Queue<'_> {
    /// When the next turn becomes due by itself: by a retry, or by silence.
    pub fn next_due(self, silence: Duration) -> Result<Option<Time>, StoreError> {
        let silence = i64::try_from(silence.as_millis()).unwrap_or(i64::MAX);
        let retry = "SELECT max(retry_at) FROM pending_messages AS m INDEXED BY pending_messages_by_retry
                     WHERE m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number
                     AND m.retry_at IS NOT NULL AND m.status = 'pending' AND m.observed";
        let to_observe = format!(
            "{} SELECT min(ifnull(({retry} = 0), iif(s.id IN (SELECT value FROM json_each(?2)),
                 max(s.last_activity_at + ?1, ?3), s.last_activity_at + ?1)))
             FROM turn JOIN sessions AS s ON s.id = turn.session_id",
            oldest_turns!(0)
        );
        let to_ask = format!("{} SELECT min(({retry} = 1)) FROM turn", oldest_turns!(1));
        let due = self.0.due.borrow();
        let held = if due.held.is_empty() { "[]" } else { &due.held };
        let look_again = self.0.dir().now().after(LOOK_AGAIN).0;
        let observe: Option<i64> = self
            .0
            .db
            .prepare_cached(&to_observe)?
            .query_row(params![silence, held, look_again], |row| row.get(0))?;
        let ask: Option<i64> = self.0.db.prepare_cached(&to_ask)?.query_row([], |row| row.get(0))?;
        Ok(observe.into_iter().chain(ask).min().map(Time))
    }
}

impl Queue<'_> {
    /// Claims the oldest turn that has ended, in a session without a claim, with at most `most` events.
    ///
    /// A turn ends with the agent's closing message, the next prompt, the end of the session, the start of a later
    /// session in the same project if its own host is gone, or `silence`. `goes_on` decides whether the silent turn of
    /// a session goes on. It is asked only if the session's host lives.
    pub fn claim(
        self,
        owner: &str,
        most: u32,
        silence: Duration,
        now: Time,
        goes_on: &mut dyn FnMut(&Store, SessionId) -> bool,
    ) -> Result<Option<Batch>, StoreError> {
        // Searched before anything is locked: hooks must not wait while a long queue is searched.
        let mut due = self.0.due.take();
        let turn = due.next(self.0, silence, now, goes_on);
        self.0.due.replace(due);
        let Some((session, prompt_number)) = turn? else { return Ok(None) };
        let transaction = self.0.begin()?;
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
        recall_kept(&transaction, session, prompt_number)?;
        let earlier = transaction
            .prepare_cached(
                "SELECT id, created_at, payload FROM pending_messages
                 WHERE status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2
                 ORDER BY created_at, id LIMIT ?3",
            )?
            .query_and_then(params![session, prompt_number, most], queued)?
            .collect::<Result<_, StoreError>>()?;
        let TurnState { may_go_on, is_past } = TurnState::read(&transaction, session, prompt_number)?;
        transaction.commit()?;
        let session = SessionId(session);
        let heard = transcripts::heard(&self.0.db, session, prompt_number)?;
        let owner = owner.to_owned();
        Ok(Some(Batch {
            session,
            prompt_number,
            owner,
            events,
            earlier,
            heard,
            may_go_on,
            is_past,
            transcript: None,
        }))
    }
}

/// What a turn is when it is claimed.
pub(super) struct TurnState {
    pub(super) may_go_on: bool,
    pub(super) is_past: bool,
}

impl TurnState {
    pub(super) fn read(db: &Connection, session: i64, number: i64) -> Result<Self, StoreError> {
        let sql = "SELECT memory_session_id, status = 'active' AND turn_open AND prompt_counter = ?2
                   FROM sessions WHERE id = ?1";
        let (name, may_go_on): (Option<String>, bool) =
            db.prepare_cached(sql)?.query_row([session, number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let last = name.and_then(|name| past::last_turn(&name));
        Ok(Self { may_go_on, is_past: last.is_some_and(|last| number <= last) })
    }
}

pub(super) fn queued(row: &Row<'_>) -> Result<Queued, StoreError> {
    let payload: String = row.get(2)?;
    Ok(Queued { id: EventId(row.get(0)?), at: Time(row.get(1)?), body: serde_json::from_str(&payload)? })
}
