//! Reports how complete the index is, and drops parts of it to be rebuilt.

use remora_core::document::ProjectScope;
use remora_core::time::Time;
use rusqlite::params;

use super::DocumentsWith;
use crate::handles::Index;
use crate::{Store, StoreError};

/// Number of records whose documents are dropped in one transaction. Small, so that hooks can write in between.
const STEP: u32 = 500;

/// The state of the derived data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// Number of observations, summaries, facts, notes and turns.
    pub records: usize,
    /// Number of records with documents.
    pub indexed: usize,
    pub documents: usize,
    pub with_vector: usize,
    /// Documents that will get a vector. Without turns, if those are not searchable.
    pub to_embed: usize,
    /// The model of the vectors; `None` if there are none yet.
    pub model: Option<String>,
    /// When vectors were last stored.
    pub last_at: Option<Time>,
    /// Whether some records may have no documents yet.
    pub filling: bool,
}

impl Index<'_> {
    pub fn state(self, scope: ProjectScope) -> Result<IndexState, StoreError> {
        let (project, of_scope) = match scope {
            ProjectScope::One(project) => (project.0, "project_id = ?1"),
            // Ids of projects start at 1.
            ProjectScope::All => (0, "?1 = 0"),
        };
        // A turn with queued events is not counted: it gets its documents with its memory.
        let records = format!(
            "SELECT (SELECT count(*) FROM observations WHERE deleted_at IS NULL AND {of_scope})
                 + (SELECT count(*) FROM session_summaries WHERE deleted_at IS NULL AND checkpoint = 0 AND {of_scope})
                 + (SELECT count(*) FROM facts WHERE deleted_at IS NULL AND valid_to IS NULL AND {of_scope})
                 + (SELECT count(*) FROM notes WHERE deleted_at IS NULL AND ?1 = 0)
                 + (SELECT count(*) FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id
                    WHERE r.deleted_at IS NULL AND {of_scope} AND NOT EXISTS (SELECT 1 FROM pending_messages AS m
                        WHERE m.status IN ('pending', 'processing', 'failed') AND m.observed = 0
                        AND m.session_id = r.session_id
                        AND m.prompt_number = r.prompt_number))"
        );
        // Each of these reads an index alone, because documents are long.
        let documents = format!("SELECT count(*) FROM documents WHERE {of_scope}");
        let indexed = format!("SELECT ifnull(sum(lead), 0) FROM documents WHERE {of_scope}");
        let to_embed = format!("SELECT count(*) FROM documents WHERE embedded = 0 AND {of_scope}");
        let with_vector = match scope {
            ProjectScope::One(_) => {
                "SELECT count(*) FROM documents AS d CROSS JOIN vectors AS v ON v.document_id = d.id
                 WHERE d.project_id = ?1"
            }
            ProjectScope::All => "SELECT count(*) FROM vectors WHERE ?1 = 0",
        };
        Ok(IndexState {
            records: self.0.count_by(&records, project)?,
            indexed: self.0.count_by(&indexed, project)?,
            documents: self.0.count_by(&documents, project)?,
            with_vector: self.0.count_by(with_vector, project)?,
            to_embed: self.0.count_by(&to_embed, project)?,
            model: self.0.embedding_model()?,
            last_at: self.0.vectors_at()?,
            filling: self.misses_documents()?,
        })
    }
}

impl Index<'_> {
    /// Drops some documents of a scope, with their vectors and index entries. Returns their number. [`Index::fill`]
    /// makes them again, even after an interruption.
    pub fn drop_documents(self, scope: ProjectScope) -> Result<usize, StoreError> {
        let ProjectScope::One(project) = scope else {
            let dropped = self.count(DocumentsWith::Anything)?;
            self.0.clear_index()?;
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

impl Store {
    fn count_by(&self, sql: &str, project: i64) -> Result<usize, StoreError> {
        let count: i64 = self.db.prepare_cached(sql)?.query_row([project], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Deletes all documents and vectors.
    fn clear_index(&self) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        transaction.execute_batch(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('documents_missing', x'01');
             UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
             DELETE FROM vectors;
             DELETE FROM documents;
             INSERT INTO documents_text (documents_text) VALUES ('rebuild');
             INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');",
        )?;
        transaction.commit()?;
        Ok(())
    }
}
