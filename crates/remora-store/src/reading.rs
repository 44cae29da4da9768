//! Queries for the records that people and programs request: prompts, events, observations and summaries.

use remora_core::ids::{EventId, ObservationId, PromptId, SessionId, SummaryId};
use rusqlite::OptionalExtension;

use crate::handles::Records;
use crate::rows::{
    EVENT, EventRow, OBSERVATION, ObservationRow, PROMPT, PromptRow, SUMMARY, SummaryRow, read_event,
    read_observation, read_prompt, read_summary,
};
use crate::{Batch, StoreError};

impl Records<'_> {
    pub fn prompts(self, session: SessionId) -> Result<Vec<PromptRow>, StoreError> {
        let sql = format!("{PROMPT} AND session_id = ?1 ORDER BY prompt_number");
        self.0.rows(&sql, &[&session.0], read_prompt)
    }

    /// The prompt of a turn; empty if it was private or missing.
    pub fn prompt_text(self, session: SessionId, prompt_number: i64) -> Result<String, StoreError> {
        let sql = "SELECT text FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2 AND deleted_at IS NULL";
        let text = self.0.db.query_row(sql, [session.0, prompt_number], |row| row.get(0)).optional()?;
        Ok(text.unwrap_or_default())
    }

    /// The agent's closing message of a turn.
    pub fn closing_message(
        self,
        session: SessionId,
        prompt_number: i64,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT closing_message FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2 AND deleted_at IS NULL";
        let message = self.0.db.query_row(sql, [session.0, prompt_number], |row| row.get(0)).optional()?;
        Ok(message.flatten())
    }

    /// A turn: a prompt with the agent's closing message.
    pub fn prompt(self, id: PromptId) -> Result<Option<PromptRow>, StoreError> {
        Ok(self.0.db.query_row(&format!("{PROMPT} AND id = ?1"), [id.0], read_prompt).optional()?)
    }

    pub fn events_of(self, session: SessionId) -> Result<Vec<EventRow>, StoreError> {
        let sql = format!("{EVENT} WHERE t.session_id = ?1 ORDER BY t.created_at, t.id");
        self.0.rows(&sql, &[&session.0], read_event)
    }

    pub fn event(self, id: EventId) -> Result<Option<EventRow>, StoreError> {
        Ok(self.0.db.query_row(&format!("{EVENT} WHERE t.id = ?1"), [id.0], read_event).optional()?)
    }

    pub fn observation(self, id: ObservationId) -> Result<Option<ObservationRow>, StoreError> {
        let sql = format!("{OBSERVATION} AND o.id = ?1");
        Ok(self.0.db.query_row(&sql, [id.0], read_observation).optional()?)
    }

    /// The observations that an observation replaces.
    pub fn replaced_by(self, id: ObservationId) -> Result<Vec<ObservationId>, StoreError> {
        let sql = "SELECT o.id FROM observations AS o INDEXED BY observations_superseded
                   WHERE o.superseded_by = (SELECT uuid FROM observations WHERE id = ?1) AND o.deleted_at IS NULL
                   ORDER BY o.id";
        self.0.rows(sql, &[&id.0], |row| row.get(0).map(ObservationId))
    }

    /// The earlier observations of a session for a model call about a turn, without those that its answer may
    /// replace.
    pub fn history(self, session: SessionId, prompt_number: i64) -> Result<Vec<ObservationRow>, StoreError> {
        let sql = format!(
            "{OBSERVATION} AND o.session_id = ?1 AND o.prompt_number <= ?2 AND o.superseded_by IS NULL
             AND CAST(o.id AS TEXT) NOT IN (
                 SELECT r.value FROM pending_messages AS q, json_each(q.records) AS r
                 WHERE q.status IN ('pending', 'processing') AND q.observed = 1 AND q.session_id = ?1
                 AND q.prompt_number = ?2)
             ORDER BY o.prompt_number, o.id"
        );
        self.0.rows(&sql, &[&session.0, &prompt_number], read_observation)
    }

    /// The observations of a session, in order.
    pub fn of_session(self, session: SessionId) -> Result<Vec<ObservationRow>, StoreError> {
        let sql = format!("{OBSERVATION} AND o.session_id = ?1 ORDER BY o.prompt_number, o.id");
        self.0.rows(&sql, &[&session.0], read_observation)
    }

    pub fn summary(self, id: SummaryId) -> Result<Option<SummaryRow>, StoreError> {
        Ok(self.0.db.query_row(&format!("{SUMMARY} AND s.id = ?1"), [id.0], read_summary).optional()?)
    }

    /// The summary that the batch's summary builds on: the session's latest or, if the batch is stored already, the
    /// one before it.
    pub fn summary_before(self, batch: &Batch) -> Result<Option<SummaryRow>, StoreError> {
        let sql = format!(
            "{SUMMARY} AND s.session_id = ?1 AND s.id < ifnull((
                 SELECT min(CAST(substr(r.value, 2) AS INTEGER)) FROM pending_messages AS q, json_each(q.records) AS r
                 WHERE q.status IN ('pending', 'processing') AND q.observed = 1 AND q.session_id = ?1
                 AND q.prompt_number = ?2 AND r.value LIKE 's%'), 9223372036854775807)
             ORDER BY s.id DESC LIMIT 1"
        );
        let values = [batch.session.0, batch.prompt_number];
        Ok(self.0.db.prepare_cached(&sql)?.query_row(values, read_summary).optional()?)
    }

    /// Whether the session has a summary that was made of the queued events of a batch's turn.
    pub fn is_summarized(self, batch: &Batch) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM pending_messages AS q, json_each(q.records) AS r
                   WHERE q.status IN ('pending', 'processing') AND q.observed = 1 AND q.session_id = ?1
                   AND q.prompt_number = ?2 AND r.value LIKE 's%'";
        Ok(self.0.db.prepare_cached(sql)?.exists([batch.session.0, batch.prompt_number])?)
    }

    /// All versions of a session's summary, in order.
    pub fn summaries_of(self, session: SessionId) -> Result<Vec<SummaryRow>, StoreError> {
        let sql = format!("{SUMMARY} AND s.session_id = ?1 ORDER BY s.prompt_number, s.id");
        self.0.rows(&sql, &[&session.0], read_summary)
    }
}
