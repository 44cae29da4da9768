//! Failed events wait for the user, who retries them or gives them up.

use std::collections::BTreeSet;

use remora_core::ids::{EventId, SessionId};
use rusqlite::Connection;

use crate::handles::Queue;
use crate::{Store, StoreError, retention, writing};

/// A selection of failed events.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    All,
    Events(&'a [EventId]),
}

impl Queue<'_> {
    /// Retries failed events as if for the first time, all or those named. Returns their number. A model is called
    /// for whole turns only, so the other failed events of an observed turn are retried, too.
    pub fn retry(self, which: Which<'_>) -> Result<usize, StoreError> {
        let again =
            "UPDATE pending_messages SET status = 'pending', attempts = 0, crashes = 0, retry_at = NULL";
        self.0.change_failed("queue retry", which, |db, condition, value| {
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
    pub fn drop_failed(self, which: Which<'_>) -> Result<usize, StoreError> {
        self.0.change_failed("queue drop", which, give_up)
    }
}

impl Store {
    fn change_failed(
        &self,
        action: &str,
        which: Which<'_>,
        change: impl Fn(&Connection, &str, i64) -> Result<usize, StoreError>,
    ) -> Result<usize, StoreError> {
        let now = self.dir().now();
        let transaction = self.begin()?;
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
            retention::audit(&transaction, action, &format!("{changed} events"), now)?;
        }
        transaction.commit()?;
        Ok(changed)
    }
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
