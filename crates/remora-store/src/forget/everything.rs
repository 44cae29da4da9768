//! Forgets everything: every row, every backup, every copy and the log. It cannot be undone.

use std::fs;
use std::path::PathBuf;

use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_sys::file::is_absent;

use super::erase::{copies, remove_copy, remove_loose_logs};
use crate::handles::Forget;
use crate::{EmptyWal, Store, StoreError, retention};
use remora_data::{private_turns, scratch};

/// Tables to empty. Those that refer to others come first.
const TABLES: [&str; 21] = [
    "vectors",
    "documents",
    "injections",
    "memory_retrievals",
    "observation_feedback",
    "observation_concepts",
    "observation_files",
    "observations",
    "session_summaries",
    "facts",
    "notes",
    "pending_messages",
    "event_traces",
    "user_prompts",
    "llm_usage",
    "audit_log",
    "tombstones",
    "forgettings",
    "revisions",
    "project_aliases",
    "sessions",
];

impl Forget<'_> {
    /// Deletes all memory from the database, and every file with any: backups, databases set aside, the spool, the
    /// log. Settings, the token and the schema stay. A running session is captured again from its next prompt on.
    /// Returns the files that were removed.
    pub fn erase_everything(self) -> Result<Vec<PathBuf>, StoreError> {
        let dir = self.0.dir().clone();
        // Prevents a backup meanwhile, which would keep the data.
        let _lock = dir.lock_backups()?;
        private_turns::erase(&dir, &self.0.running()?).map_err(StoreError::file(dir.path()))?;
        let transaction = self.0.begin()?;
        for table in TABLES {
            transaction.execute(&format!("DELETE FROM {table}"), [])?;
        }
        transaction.execute_batch(
            "DELETE FROM projects;
             DELETE FROM meta WHERE key NOT IN ('hash_key', 'vectors_epoch');
             UPDATE meta SET value = randomblob(16) WHERE key = 'hash_key';
             UPDATE meta SET value = randomblob(8) WHERE key = 'vectors_epoch';
             INSERT INTO documents_text (documents_text) VALUES ('rebuild');
             INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');",
        )?;
        retention::audit(&transaction, "erase everything", "", dir.now())?;
        transaction.commit()?;
        let mut removed = Vec::new();
        for copy in copies(&dir)? {
            remove_copy(&copy)?;
            removed.push(copy);
        }
        removed.extend(remove_loose_logs(&dir)?);
        scratch::remove_abandoned(&dir)?;
        let spool = dir.spool();
        let files = [spool.with_file_name("spool.ingesting"), spool, dir.forgotten(), dir.last_check()];
        for path in files.into_iter().chain(dir.all_logs()) {
            match fs::remove_file(&path) {
                Ok(()) => removed.push(path),
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(StoreError::file(path)(error)),
            }
        }
        self.0.rewrite_pages()?;
        self.0.empty_wal(EmptyWal::Always)?;
        Ok(removed)
    }
}

impl Store {
    /// Sessions that may still be running: they have not ended, and were active recently.
    fn running(&self) -> Result<Vec<SessionRef>, StoreError> {
        let sql =
            "SELECT host, content_session_id FROM sessions WHERE status = 'active' AND last_activity_at > ?1";
        let since = self.dir().now().before(private_turns::STALE_AFTER);
        let rows = self.rows(sql, &[&since.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let named = |(host, id): (String, String)| Some(SessionRef { host: Host::named(&host)?, id });
        Ok(rows.into_iter().filter_map(named).collect())
    }
}
