//! Makes documents for records without any: after a repair, or when the index is rebuilt. Uses small transactions,
//! so that hooks can write in between, and resumes after an interruption.

use std::time::{Duration, Instant};

use remora_core::document::{RecordId, RecordKind};
use rusqlite::Connection;

use super::documents;
use crate::handles::Index;
use crate::{Store, StoreError, problems};

/// Number of records in one transaction.
const STEP: u32 = 200;

impl Index<'_> {
    /// Whether some records may have no documents yet.
    pub(crate) fn misses_documents(self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM meta WHERE key = 'documents_missing'";
        Ok(self.0.db.prepare_cached(sql)?.exists([])?)
    }
}

impl Index<'_> {
    /// Makes documents for some records without any. Returns whether there may be more.
    pub fn fill(self) -> Result<bool, StoreError> {
        if !self.0.index().misses_documents()? {
            return Ok(false);
        }
        let transaction = self.0.begin()?;
        let missing = missing(&transaction)?;
        documents::write_all(&transaction, &missing)?;
        if missing.is_empty() {
            transaction.execute("DELETE FROM meta WHERE key = 'documents_missing'", [])?;
        }
        transaction.commit()?;
        Ok(!missing.is_empty())
    }
}

impl Store {
    /// Fills for about this long. Failures are retried the next time.
    pub(crate) fn fill_for(&self, patience: Duration) {
        let started = Instant::now();
        while started.elapsed() < patience {
            match self.index().fill() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    return problems::report(Some(self.dir()), &format!("documents wait: {error}"));
                }
            }
        }
    }
}

/// Some records without a document. A turn is included once none of its events are in the queue.
fn missing(db: &Connection) -> Result<Vec<RecordId>, StoreError> {
    let without = |kind: RecordKind, table: &str, more: &str| {
        let kind = kind.name();
        format!(
            "SELECT '{kind}', r.id FROM {table} AS r WHERE r.deleted_at IS NULL AND NOT EXISTS (
                 SELECT 1 FROM documents WHERE kind = '{kind}' AND record_id = r.id) {more} ORDER BY r.id LIMIT {STEP}"
        )
    };
    let settled = "AND NOT EXISTS (SELECT 1 FROM pending_messages AS m WHERE m.status IN ('pending', 'processing', 'failed')
                       AND m.observed = 0 AND m.session_id = r.session_id AND m.prompt_number = r.prompt_number)";
    let all = [
        without(RecordKind::Observation, "observations", ""),
        without(RecordKind::Summary, "session_summaries", "AND r.checkpoint = 0"),
        without(RecordKind::Fact, "facts", "AND r.valid_to IS NULL"),
        without(RecordKind::Note, "notes", ""),
        without(RecordKind::Turn, "user_prompts", settled),
    ];
    for sql in all {
        let found = db
            .prepare_cached(&sql)?
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?
            .collect::<Result<Vec<(String, i64)>, _>>()?;
        if !found.is_empty() {
            let records = found
                .into_iter()
                .filter_map(|(kind, number)| Some(RecordId { kind: RecordKind::from_name(&kind)?, number }));
            return Ok(records.collect());
        }
    }
    Ok(Vec::new())
}
