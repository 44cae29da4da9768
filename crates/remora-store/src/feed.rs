//! The programs that wrote the records of a session, and failed events.

use remora_core::ids::SessionId;
use remora_core::settings::Provider;

use crate::handles::{Queue, Sessions};
use crate::import::IMPORTED;
use crate::records::event::{EVENT, EventRow, read_event};
use crate::{SavedBy, StoreError};

impl Sessions<'_> {
    /// Providers and models of a session's observations and summaries, without the built-in observer and saved texts.
    pub fn writers(self, session: SessionId) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT provider, model FROM observations WHERE session_id = ?1 AND deleted_at IS NULL
                   UNION SELECT provider, model FROM session_summaries WHERE session_id = ?1 AND deleted_at IS NULL
                   ORDER BY 1, 2";
        let mut writers: Vec<(String, String)> =
            self.0.rows(sql, &[&session.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        writers.retain(|(provider, _)| {
            let own = provider.strip_prefix(IMPORTED).unwrap_or(provider);
            own != Provider::Builtin.as_str() && SavedBy::from_provider(own).is_none()
        });
        // Some records name the provider alone. They come before those that also name its model.
        writers.dedup_by(|next, kept| {
            let is_vague = kept.0 == next.0 && kept.1.is_empty();
            if is_vague {
                std::mem::swap(kept, next);
            }
            is_vague
        });
        Ok(writers)
    }
}

impl Queue<'_> {
    /// Failed events, latest first.
    pub fn failed_events(self, most: u32) -> Result<Vec<EventRow>, StoreError> {
        let sql = format!("{EVENT} WHERE q.status = 'failed' ORDER BY t.id DESC LIMIT ?1");
        self.0.rows(&sql, &[&most], read_event)
    }
}
