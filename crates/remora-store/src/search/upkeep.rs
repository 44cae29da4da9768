//! How complete the index is, and how it is thrown away to be made anew.

use remora_core::document::ProjectScope;
use rusqlite::{TransactionBehavior, params};

use crate::{Store, StoreError};

/// How many documents a transaction drops, so that hooks get in between.
const STEP: u32 = 500;

/// What there is of derived data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Observations, summaries, facts, notes and turns.
    pub records: u64,
    /// Those that have documents.
    pub indexed: u64,
    pub documents: u64,
    pub with_vector: u64,
    /// Those that will have one: without turns, where nobody wants to find those.
    pub to_embed: u64,
    /// Whose vectors they are; `None` before the first was made.
    pub model: Option<String>,
    /// Whether records may be without documents, so that somebody has to look.
    pub filling: bool,
}

impl Store {
    pub fn index_state(&self, scope: ProjectScope) -> Result<IndexState, StoreError> {
        let project = match scope {
            ProjectScope::One(project) => Some(project.0),
            ProjectScope::All => None,
        };
        // A turn whose events still wait is not counted: it gets its documents with what is made of it.
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
        let records = self.db.prepare_cached(records)?.query_row([project], |row| row.get(0).map(count))?;
        let [documents, with_vector, to_embed, indexed] =
            self.db.prepare_cached(documents)?.query_row([project], |row| {
                Ok([count(row.get(0)?), count(row.get(1)?), count(row.get(2)?), count(row.get(3)?)])
            })?;
        let model = self.embedding_model()?;
        let filling = self.misses_documents()?;
        Ok(IndexState { records, indexed, documents, with_vector, to_embed, model, filling })
    }

    /// Drops some documents of a scope with their vectors and index entries; says how many. Whoever fills documents
    /// makes them again, also when this is broken off.
    pub fn drop_documents(&mut self, scope: ProjectScope) -> Result<usize, StoreError> {
        let ProjectScope::One(project) = scope else {
            let dropped = self.about_documents()?;
            self.clear_documents()?;
            return Ok(dropped);
        };
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('documents_missing', x'01');
             UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';",
        )?;
        // Whole records: one that kept a part would not be found missing.
        let dropped = transaction.execute(
            "DELETE FROM documents WHERE (kind, record_id) IN
                 (SELECT DISTINCT kind, record_id FROM documents WHERE project_id = ?1 LIMIT ?2)",
            params![project.0, STEP],
        )?;
        transaction.commit()?;
        Ok(dropped)
    }
}
