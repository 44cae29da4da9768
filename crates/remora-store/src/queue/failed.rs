//! Failed events wait for the user, who retries them or gives them up.

use std::collections::BTreeSet;

use remora_core::ids::{EventId, SessionId};
use rusqlite::Connection;

use crate::handles::Queue;
use crate::{StoreError, retention, writing};

/// A selection of failed events.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    All,
    Events(&'a [EventId]),
}

/// What becomes of failed events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedAction {
    /// They are tried again as if for the first time. A model is called for whole turns only, so the other failed
    /// events of an observed turn are retried, too.
    Retry,
    /// They are given up. Their traces stay, and their prompts can still be found.
    Drop,
}

impl Queue<'_> {
    /// Retries or drops failed events, all or those named. Returns their number.
    pub fn resolve_failed(self, which: Which<'_>, action: FailedAction) -> Result<usize, StoreError> {
        let now = self.0.dir().now();
        let transaction = self.0.begin()?;
        let change = match action {
            FailedAction::Retry => retry,
            FailedAction::Drop => give_up,
        };
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
            let action = match action {
                FailedAction::Retry => "queue retry",
                FailedAction::Drop => "queue drop",
            };
            retention::audit(&transaction, action, &format!("{changed} events"), now)?;
        }
        transaction.commit()?;
        Ok(changed)
    }
}

/// Retries failed events for which a condition on `?1` holds. Returns their number.
fn retry(db: &Connection, condition: &str, value: i64) -> Result<usize, StoreError> {
    let again = "UPDATE pending_messages SET status = 'pending', attempts = 0, crashes = 0, retry_at = NULL";
    let named = format!("status = 'failed' AND {condition}");
    let turn = format!(
        "observed = 1 AND status = 'failed' AND (session_id, prompt_number) IN
         (SELECT session_id, prompt_number FROM pending_messages WHERE observed = 1 AND {named})"
    );
    Ok(db.execute(&format!("{again} WHERE {turn}"), [value])?
        + db.execute(&format!("{again} WHERE {named}"), [value])?)
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
