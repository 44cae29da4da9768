//! Turns that were observed although nothing has ended them: their session was silent, or everything was to be
//! observed at once.
//!
//! Such a turn may go on. Its payloads are kept, marked [`KEPT`], until it ends, and its rest is then observed together
//! with them: the memory of the whole turn revises that of the part. No model is called before.

use std::time::Duration;

use remora_core::time::Time;
use rusqlite::{Connection, params};

use super::Batch;
use crate::StoreError;
use crate::handles::Queue;

/// The value of `observed` for such events.
const KEPT: i64 = 2;
/// A turn that is silent for this long does not go on.
const LIMIT: Duration = Duration::from_hours(24);

/// What to do with the kept events of turns that have ended without another event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Drop,
    /// A model is called for them.
    ForModel,
}

impl Queue<'_> {
    /// Releases the kept events of turns that ended with the next prompt, with their session, or after a day.
    pub fn release_kept(self, ended: Ended, now: Time) -> Result<(), StoreError> {
        let is_any = "SELECT 1 FROM pending_messages WHERE status = 'pending' AND observed = ?1";
        // Usually there are none, and then no lock is taken.
        if self.0.read_only().is_some() || !self.0.db.prepare_cached(is_any)?.exists([KEPT])? {
            return Ok(());
        }
        let action = match ended {
            Ended::Drop => "DELETE FROM pending_messages",
            Ended::ForModel => "UPDATE pending_messages SET observed = 1",
        };
        let transaction = self.0.begin()?;
        // Further events of a turn are observed together with the kept ones.
        transaction
            .prepare_cached(&format!(
                "{action} WHERE status = 'pending' AND observed = ?1
                 AND NOT EXISTS (SELECT 1 FROM pending_messages AS m WHERE m.status IN ('pending', 'processing')
                                 AND m.observed = 0 AND m.session_id = pending_messages.session_id
                                 AND m.prompt_number = pending_messages.prompt_number)
                 AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = pending_messages.session_id
                                 AND s.status = 'active' AND s.turn_open AND s.last_activity_at >= ?2
                                 AND s.prompt_counter = pending_messages.prompt_number)"
            ))?
            .execute([KEPT, now.before(LIMIT).0])?;
        transaction.commit()?;
        Ok(())
    }
}

pub(super) fn may_go_on(db: &Connection, batch: &Batch) -> Result<bool, StoreError> {
    let sql =
        "SELECT 1 FROM sessions WHERE id = ?1 AND status = 'active' AND turn_open AND prompt_counter = ?2";
    Ok(db.prepare_cached(sql)?.exists([batch.session.0, batch.prompt_number])?)
}

/// Keeps the observed events of a batch's turn.
pub(super) fn keep(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE pending_messages SET observed = ?3
         WHERE status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2",
    )?
    .execute(params![batch.session.0, batch.prompt_number, KEPT])?;
    Ok(())
}

/// Returns the kept events of a turn to the observed ones, because its rest is observed now.
pub(super) fn recall_kept(db: &Connection, session: i64, prompt_number: i64) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE pending_messages SET observed = 1
         WHERE status = 'pending' AND observed = ?3 AND session_id = ?1 AND prompt_number = ?2",
    )?
    .execute([session, prompt_number, KEPT])?;
    Ok(())
}
