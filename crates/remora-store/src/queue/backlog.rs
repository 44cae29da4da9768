//! What the queue holds: its events, and how much of what waits for how long.

use remora_core::time::Time;
use rusqlite::OptionalExtension;

use super::claim::silent;
use crate::StoreError;
use crate::handles::Queue;
use crate::records::event::{EVENT, EventRow, read_event};

/// Events that wait, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    pub events: i64,
    /// The size of their payloads.
    pub bytes: u64,
    /// The capture time of the oldest.
    pub since: Time,
    /// The last error of the latest.
    pub reason: String,
}

/// Which events a [`Backlog`] is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BacklogOf {
    /// Everything that has not failed.
    Unfinished,
    /// Events whose memory is stored and that wait because the model cannot be called at the moment.
    AwaitingModel,
    Failed,
    /// Events of turns that ended before this time and were not observed yet. A long turn that is still running does
    /// not count, and neither does a silent one of a host that lives: it may wait for a tool or for the user.
    OverdueSince(Time),
}

/// A selection of queued events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuedEvents {
    /// All, oldest first.
    All,
    /// Failed events, latest first.
    Failed,
}

impl Queue<'_> {
    /// Queued events, at most `most`.
    pub fn events(self, which: QueuedEvents, most: u32) -> Result<Vec<EventRow>, StoreError> {
        let condition = match which {
            QueuedEvents::All => "q.id IS NOT NULL AND q.observed < 2 ORDER BY t.created_at, t.id",
            QueuedEvents::Failed => "q.status = 'failed' ORDER BY t.id DESC",
        };
        self.0.rows(&format!("{EVENT} WHERE {condition} LIMIT ?1"), &[&most], read_event)
    }

    /// Counts some of the queued events. `None` if there are none.
    pub fn backlog(self, of: BacklogOf) -> Result<Option<Backlog>, StoreError> {
        let which = match of {
            BacklogOf::Unfinished => "status <> 'failed'".to_owned(),
            BacklogOf::AwaitingModel => {
                "status = 'pending' AND observed = 1 AND retry_at IS NOT NULL".to_owned()
            }
            BacklogOf::Failed => "status = 'failed'".to_owned(),
            BacklogOf::OverdueSince(limit) => {
                let open = serde_json::to_string(&silent(&self.0.db, limit)?)?;
                let limit = limit.0;
                format!(
                    "status = 'pending' AND observed = 0 AND created_at < {limit} AND session_id IN (
                         SELECT id FROM sessions AS s WHERE s.prompt_counter > pending_messages.prompt_number
                         OR (s.last_activity_at < {limit}
                             AND NOT (s.turn_open AND s.id IN (SELECT value FROM json_each('{open}')))))"
                )
            }
        };
        let sql = format!(
            "SELECT count(*), min(created_at),
                 (SELECT last_error FROM pending_messages WHERE {which} ORDER BY created_at DESC, id DESC LIMIT 1),
                 sum(octet_length(payload))
             FROM pending_messages WHERE {which} HAVING count(*) > 0"
        );
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let backlog = statement.query_row([], |row| {
            let reason: Option<String> = row.get(2)?;
            Ok(Backlog {
                events: row.get(0)?,
                bytes: row.get::<_, i64>(3)?.unsigned_abs(),
                since: Time(row.get(1)?),
                reason: reason.unwrap_or_default(),
            })
        });
        Ok(backlog.optional()?)
    }
}
