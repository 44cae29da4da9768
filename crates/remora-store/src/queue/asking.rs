//! The queue for a model: turns whose built-in memory is already stored.
//!
//! `remember` stores that memory and keeps payloads and claim. The model's answer then revises it through `confirm`.
//! If the model cannot be called now, the turn stays in the queue, marked observed, and `claim_for_model` hands it
//! out again: in order within a session, and whole.

use remora_core::document::RecordId;
use remora_core::ids::SessionId;
use remora_core::memory::Memory;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};

use super::claim::{TurnState, oldest_turns, queued};
use super::settle::{claimed, give_back, has_rest, mark_observed};
use super::{Batch, Queued};
use crate::handles::Queue;
use crate::{StoreError, transcripts, writing};

impl Queue<'_> {
    /// Stores the memory of a batch, made at `at`. Payloads and claim stay, for a model. Returns whether one may be
    /// called now: the turn is observed as a whole, and earlier turns of the session are answered or were given up.
    pub fn remember(self, batch: &Batch, memory: &Memory, at: Time) -> Result<bool, StoreError> {
        let transaction = self.0.begin()?;
        claimed(&transaction, batch)?;
        let records: Vec<RecordId> = writing::write(&transaction, batch, memory, at)?;
        writing::count_turn(&transaction, batch)?;
        mark_observed(&transaction, batch, &records)?;
        let is_next = is_next_for_model(&transaction, batch)?;
        transaction.commit()?;
        Ok(is_next)
    }

    /// Releases the claim on an observed batch. A model is called later, after the session's earlier turns.
    pub fn give_back(self, batch: &Batch) -> Result<(), StoreError> {
        let transaction = self.0.begin()?;
        claimed(&transaction, batch)?;
        give_back(&transaction, batch)?;
        transaction
            .prepare_cached(
                "UPDATE pending_messages SET (retry_at, last_error) = (
                     SELECT retry_at, last_error FROM pending_messages WHERE status = 'pending' AND observed = 1
                     AND session_id = ?1 AND prompt_number < ?2 ORDER BY prompt_number LIMIT 1)
                 WHERE status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2",
            )?
            .execute([batch.session.0, batch.prompt_number])?;
        transaction.commit()?;
        Ok(())
    }

    /// Claims the oldest observed turn for a model, in a session that has no call in flight. The batch holds at most
    /// the last `most` events of the turn; all of them are claimed.
    pub fn claim_for_model(self, owner: &str, most: u32, now: Time) -> Result<Option<Batch>, StoreError> {
        let db = self.0.writable()?;
        let sql = concat!(
            oldest_turns!(1),
            "SELECT turn.session_id, turn.prompt_number,
                 (SELECT min(created_at) FROM pending_messages AS m WHERE m.status = 'pending' AND m.observed = 1
                  AND m.session_id = turn.session_id AND m.prompt_number = turn.prompt_number) AS since
             FROM turn
             WHERE NOT EXISTS (SELECT 1 FROM pending_messages AS m WHERE m.status = 'processing' AND m.observed = 1
                               AND m.session_id = turn.session_id)
             AND NOT EXISTS (SELECT 1 FROM pending_messages AS m WHERE m.status IN ('pending', 'processing')
                             AND m.observed = 0 AND m.session_id = turn.session_id
                             AND m.prompt_number = turn.prompt_number)
             AND NOT EXISTS (SELECT 1 FROM pending_messages AS m INDEXED BY pending_messages_by_retry
                             WHERE m.session_id = turn.session_id AND m.retry_at > ?1 AND m.status = 'pending'
                             AND m.observed = 1 AND m.prompt_number = turn.prompt_number)
             ORDER BY since, turn.session_id LIMIT 1"
        );
        let turn: Option<(i64, i64)> =
            db.prepare_cached(sql)?.query_row([now.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((session, prompt_number)) = turn else { return Ok(None) };
        let transaction = self.0.begin()?;
        let observed = "status = 'pending' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2";
        let mut events: Vec<Queued> = transaction
            .prepare_cached(&format!(
                "SELECT id, created_at, payload FROM pending_messages WHERE {observed}
                 ORDER BY created_at DESC, id DESC LIMIT ?3"
            ))?
            .query_and_then(params![session, prompt_number, most], queued)?
            .collect::<Result<_, StoreError>>()?;
        // Another process claimed it first.
        if events.is_empty() {
            return Ok(None);
        }
        events.reverse();
        transaction
            .prepare_cached(&format!(
                "UPDATE pending_messages SET status = 'processing', claimed_by = ?3, claimed_at = ?4 WHERE {observed}"
            ))?
            .execute(params![session, prompt_number, owner, now.0])?;
        let state = TurnState::read(&transaction, session, prompt_number)?;
        transaction.commit()?;
        let (session, owner, earlier) = (SessionId(session), owner.to_owned(), Vec::new());
        let heard = transcripts::heard(&self.0.db, session, prompt_number)?;
        let TurnState { may_go_on, is_past } = state;
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

fn is_next_for_model(db: &Connection, batch: &Batch) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pending_messages WHERE status IN ('pending', 'processing') AND observed = 1
               AND session_id = ?1 AND prompt_number < ?2";
    let waits = db.prepare_cached(sql)?.exists([batch.session.0, batch.prompt_number])?;
    Ok(!waits && !has_rest(db, batch)?)
}
