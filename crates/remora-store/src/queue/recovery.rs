//! Returns events that would stay claimed or delayed for no reason: their owner died or is about to exit, or the
//! cause of a delay may be gone.

use remora_core::time::Time;
use rusqlite::{Connection, params};

use super::{Batch, CLAIM_LIFETIME, CRASHES_PER_HALVING};
use crate::handles::Queue;
use crate::{Store, StoreError};

/// Which events return to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue<'a> {
    /// The claims of everybody but this owner. The caller holds the data directory's lock, which proves that the other
    /// owners are dead.
    ClaimsOfOthers(&'a str),
    /// The claims of an owner that exists once at a time and died, for a process that has just become it.
    ClaimsOf(&'a str),
    /// Claims without a heartbeat.
    StaleClaims,
    /// The claims of an owner that is about to exit, which is no crash.
    ReleasedBy(&'a str),
    /// Everything that waits for a retry, because the cause may be gone. It is due now.
    Delayed,
}

impl Queue<'_> {
    /// Returns events to the queue. An event that crashes its owner even alone is marked failed, and so is a turn that
    /// crashes the process while it calls a model. Returns the number of events.
    pub fn requeue(self, which: Requeue<'_>, now: Time) -> Result<usize, StoreError> {
        let (dead, owner) = match which {
            Requeue::ClaimsOfOthers(owner) => ("claimed_by <> ?1 OR claimed_at < ?2", owner),
            Requeue::ClaimsOf(owner) => ("claimed_by = ?1 AND ?2 IS NOT NULL", owner),
            Requeue::StaleClaims => ("?1 IS NOT NULL AND claimed_at < ?2", ""),
            Requeue::ReleasedBy(owner) => {
                let sql =
                    "UPDATE pending_messages SET status = 'pending', claimed_by = NULL, claimed_at = NULL
                           WHERE status = 'processing' AND claimed_by = ?1";
                return Ok(self.0.writable()?.execute(sql, [owner])?);
            }
            Requeue::Delayed => {
                let sql = "UPDATE pending_messages SET retry_at = NULL
                           WHERE status = 'pending' AND retry_at IS NOT NULL";
                return Ok(self.0.writable()?.execute(sql, [])?);
            }
        };
        reclaim(self.0, dead, owner, now)
    }

    /// Shows that the owner of a batch is alive.
    pub fn heartbeat(self, batch: &Batch, now: Time) -> Result<(), StoreError> {
        let alive = self.0.writable()?.execute(
            "UPDATE pending_messages SET claimed_at = ?3
             WHERE session_id = ?1 AND prompt_number = ?4 AND claimed_by = ?2 AND status = 'processing'",
            params![batch.session.0, batch.owner, now.0, batch.prompt_number],
        )?;
        if alive == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
    }
}

/// Returns the claims of dead owners. `dead` is a condition on the owner (`?1`) and the latest time of a void claim (`?2`).
fn reclaim(store: &Store, dead: &str, owner: &str, now: Time) -> Result<usize, StoreError> {
    let is_any = "SELECT 1 FROM pending_messages WHERE status = 'processing'";
    // Usually there are none, and then no lock is taken.
    if !store.db.prepare_cached(is_any)?.exists([])? {
        return Ok(0);
    }
    let transaction = store.begin()?;
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
            acquit(&transaction, transaction.query_row(turn, [id], |row| Ok((row.get(0)?, row.get(1)?)))?)?;
        }
    }
    transaction.commit()?;
    Ok(dead.len())
}

/// Resets the crash count of the rest of a turn after one part is done: the earlier crashes may have been caused by
/// that part.
pub(super) fn acquit(db: &Connection, turn: (i64, i64)) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE pending_messages SET crashes = 0
         WHERE session_id = ?1 AND prompt_number = ?2 AND status = 'pending' AND observed = 0",
    )?
    .execute(turn)?;
    Ok(())
}
