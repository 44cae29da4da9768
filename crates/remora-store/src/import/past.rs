//! Past sessions, read from transcripts. Their events pass through the queue like all others, but no model is called
//! for them: a year of sessions would be expensive.

use remora_core::event::{Body, SessionRef};
use rusqlite::params;

use crate::capture::enqueue;
use crate::handles::Queue;
use crate::{Enqueued, EventRecord, StoreError, schema};

/// Prefix in `memory_session_id` of an imported session, followed by the number of its last turn. No provider uses
/// it. The first answer about a later turn replaces it.
pub(crate) const PAST: &str = "import:";

/// The number of the last imported turn, from a session's `memory_session_id`.
pub(crate) fn last_turn(memory_session: &str) -> Option<i64> {
    memory_session.strip_prefix(PAST)?.parse().ok()
}

/// The number of events and turns stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    pub events: u64,
    pub turns: u64,
}

impl Queue<'_> {
    /// Stores all events of a past session, or none if the process is killed. `None` if the session is known, because
    /// it was captured or imported before.
    pub fn enqueue_past(
        self,
        session: &SessionRef,
        records: &[EventRecord],
    ) -> Result<Option<Stored>, StoreError> {
        // Located before anything is locked, because it reads files.
        let first = records.first().map(|record| record.clone().located());
        let transaction = self.0.begin()?;
        schema::check(&transaction)?;
        let known = "SELECT 1 FROM sessions WHERE host = ?1 AND content_session_id = ?2";
        if transaction.prepare_cached(known)?.exists(params![session.host.name(), session.id])? {
            return Ok(None);
        }
        let mut stored = Stored::default();
        for record in first.iter().chain(records.iter().skip(1)) {
            if let Enqueued::Stored(_) = enqueue::store(&transaction, record)? {
                stored.events += 1;
                stored.turns +=
                    u64::from(matches!(record.captured.event().body, Body::PromptSubmitted { .. }));
            }
        }
        transaction.execute(
            "UPDATE sessions SET memory_session_id = ?3 || prompt_counter WHERE host = ?1 AND content_session_id = ?2",
            params![session.host.name(), session.id, PAST],
        )?;
        transaction.commit()?;
        Ok(Some(stored))
    }
}
