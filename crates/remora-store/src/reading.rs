//! Queued events, as people list them.

use crate::StoreError;
use crate::handles::Queue;
use crate::records::event::{EVENT, EventRow, read_event};

impl Queue<'_> {
    /// Queued events, oldest first.
    pub fn events(self, most: u32) -> Result<Vec<EventRow>, StoreError> {
        let sql =
            format!("{EVENT} WHERE q.id IS NOT NULL AND q.observed < 2 ORDER BY t.created_at, t.id LIMIT ?1");
        self.0.rows(&sql, &[&most], read_event)
    }
}
