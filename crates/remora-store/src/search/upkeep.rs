//! Reports how complete the index is, and drops parts of it to be rebuilt.

use remora_core::document::ProjectScope;
use rusqlite::params;

use crate::StoreError;
use crate::handles::Index;

/// Number of records whose documents are dropped in one transaction. Small, so that hooks can write in between.
const STEP: u32 = 500;

/// The state of the derived data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Number of observations, summaries, facts, notes and turns.
    pub records: u64,
    /// Number of records with documents.
    pub indexed: u64,
    pub documents: u64,
    pub with_vector: u64,
    /// Documents that will get a vector. Without turns, if those are not searchable.
    pub to_embed: u64,
    /// The model of the vectors; `None` if there are none yet.
    pub model: Option<String>,
    /// Whether some records may have no documents yet.
    pub filling: bool,
}

impl Index<'_> {
    pub fn state(self, scope: ProjectScope) -> Result<IndexState, StoreError> {
        let project = match scope {
            ProjectScope::One(project) => Some(project.0),
            ProjectScope::All => None,
        };
        // A turn with queued events is not counted: it gets its documents with its memory.
        let records = "SELECT (SELECT count(*) FROM observations WHERE deleted_at IS NULL AND (?1 IS NULL OR project_id = ?1))
                 + (SELECT count(*) FROM session_summaries WHERE deleted_at IS NULL AND checkpoint = 0 AND (?1 IS NULL OR project_id = ?1))
                 + (SELECT count(*) FROM facts
                    WHERE deleted_at IS NULL AND valid_to IS NULL AND (?1 IS NULL OR project_id = ?1))
                 + (SELECT count(*) FROM notes WHERE deleted_at IS NULL AND ?1 IS NULL)
                 + (SELECT count(*) FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id
                    WHERE r.deleted_at IS NULL AND (?1 IS NULL OR s.project_id = ?1) AND NOT EXISTS (SELECT 1 FROM pending_messages AS m
                        WHERE m.status IN ('pending', 'processing', 'failed') AND m.observed = 0
                        AND m.session_id = r.session_id
                        AND m.prompt_number = r.prompt_number))";
        let documents = "SELECT count(*), ifnull(sum(embedded = 1), 0), ifnull(sum(embedded = 0), 0),
                                ifnull(sum(lead), 0) FROM documents
                         WHERE ?1 IS NULL OR project_id = ?1";
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        let records = self.0.db.prepare_cached(records)?.query_row([project], |row| row.get(0).map(count))?;
        let [documents, with_vector, to_embed, indexed] =
            self.0.db.prepare_cached(documents)?.query_row([project], |row| {
                Ok([count(row.get(0)?), count(row.get(1)?), count(row.get(2)?), count(row.get(3)?)])
            })?;
        let model = self.0.embedding_model()?;
        let filling = self.0.index().misses_documents()?;
        Ok(IndexState { records, indexed, documents, with_vector, to_embed, model, filling })
    }
}

impl Index<'_> {
    /// Drops some documents of a scope, with their vectors and index entries. Returns their number. `fill_documents`
    /// makes them again, even after an interruption.
    pub fn drop_documents(self, scope: ProjectScope) -> Result<usize, StoreError> {
        let ProjectScope::One(project) = scope else {
            let dropped = self.0.index().size()?;
            self.0.index().clear()?;
            return Ok(dropped);
        };
        let transaction = self.0.begin()?;
        transaction.execute_batch(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('documents_missing', x'01');
             UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';",
        )?;
        // Whole records: one with a document left would not count as missing.
        let dropped = transaction.execute(
            "DELETE FROM documents WHERE (kind, record_id) IN
                 (SELECT DISTINCT kind, record_id FROM documents WHERE project_id = ?1 LIMIT ?2)",
            params![project.0, STEP],
        )?;
        transaction.commit()?;
        Ok(dropped)
    }
}
