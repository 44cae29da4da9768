//! Counts of all records and of the queue. Events in the spool count as pending, because they are captured, though
//! the database does not have them yet.

use crate::capture::enqueue;
use crate::handles::Queue;
use crate::records::event::state;
use crate::{Store, StoreError, spool};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub sessions: i64,
    pub prompts: i64,
    pub observations: i64,
    pub summaries: i64,
    pub facts: i64,
    /// Events that are not observed yet, including those in the spool.
    pub pending: i64,
    /// Events being processed, including those next in line for a model.
    pub processing: i64,
    /// Events whose memory is stored and for which the model is called again later.
    pub awaiting_model: i64,
    pub failed: i64,
    /// Turns that were not stored because their prompt was private.
    pub private_turns: i64,
}

/// Counts of queued events by state, as in [`Counts`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounts {
    pub pending: i64,
    pub processing: i64,
    pub awaiting_model: i64,
    pub failed: i64,
}

impl Queue<'_> {
    pub fn counts(self) -> Result<QueueCounts, StoreError> {
        let sql = concat!(
            "SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'processing'),
                 count(*) FILTER (WHERE state = 'awaiting_model'), count(*) FILTER (WHERE state = 'failed')
             FROM (SELECT ",
            state!(),
            " AS state FROM pending_messages AS q)"
        );
        let mut counts = self.0.db.prepare_cached(sql)?.query_row([], |row| {
            Ok(QueueCounts {
                pending: row.get(0)?,
                processing: row.get(1)?,
                awaiting_model: row.get(2)?,
                failed: row.get(3)?,
            })
        })?;
        counts.pending += self.0.spooled()?;
        Ok(counts)
    }
}

impl Store {
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let counts = self.db.query_row(
            "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM user_prompts WHERE deleted_at IS NULL),
                 (SELECT count(*) FROM observations WHERE deleted_at IS NULL),
                 (SELECT count(*) FROM session_summaries WHERE deleted_at IS NULL),
                 (SELECT count(*) FROM facts WHERE valid_to IS NULL AND deleted_at IS NULL),
                 (SELECT ifnull(sum(private_turns), 0) FROM sessions)",
            [],
            |row| {
                Ok(Counts {
                    sessions: row.get(0)?,
                    prompts: row.get(1)?,
                    observations: row.get(2)?,
                    summaries: row.get(3)?,
                    facts: row.get(4)?,
                    private_turns: row.get(5)?,
                    ..Counts::default()
                })
            },
        )?;
        let QueueCounts { pending, processing, awaiting_model, failed } = self.queue().counts()?;
        Ok(Counts { pending, processing, awaiting_model, failed, ..counts })
    }

    /// Records in the spool that are not in the database yet.
    pub(crate) fn spooled(&self) -> Result<i64, StoreError> {
        let contents = spool::peek(self.dir()).map_err(StoreError::file(self.dir().spool()))?;
        let waiting = enqueue::not_stored(&self.db, &contents.records)?.len();
        Ok(i64::try_from(waiting).unwrap_or(i64::MAX))
    }
}
