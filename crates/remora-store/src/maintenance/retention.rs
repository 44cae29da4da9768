//! Deletes data past its retention: usage, the log of injections, the audit log, failed payloads, old backups.

use std::fs;
use std::time::Duration;

use remora_core::settings::Retention;
use remora_core::time::Time;
use rusqlite::Connection;

use crate::backup::{self, Backup};
use crate::{Store, StoreError, queue};

/// Limit for backups made before migrations. Only the latest are useful to go back to.
const MAX_BACKUPS: usize = 3;
/// A session without an event for this long was interrupted.
const MAX_QUIET: Duration = Duration::from_hours(24);
/// Retention of the audit log.
const AUDIT_DAYS: u32 = 365;

/// A manual change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub action: String,
    /// Ids, counts or a project's directory, never content.
    pub detail: String,
    pub created_at: Time,
}

/// Numbers of removed rows and files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub usage: usize,
    /// Entries of the log of injections.
    pub retrievals: usize,
    pub audit: usize,
    pub failed: usize,
    pub backups: usize,
}

impl Store {
    /// Removes data that is older than the settings allow. Sessions without an event for a day count as interrupted.
    pub fn prune(&self, retention: &Retention, now: Time) -> Result<Pruned, StoreError> {
        let before = |days: u32| now.before(Duration::from_hours(24) * days).0;
        let db = self.writable()?;
        db.execute(
            "UPDATE sessions SET status = 'interrupted' WHERE status = 'active' AND last_activity_at < ?1",
            [now.before(MAX_QUIET).0],
        )?;
        let usage =
            db.execute("DELETE FROM llm_usage WHERE created_at < ?1", [before(retention.usage_days)])?;
        let retrievals = db
            .execute("DELETE FROM memory_retrievals WHERE created_at < ?1", [before(retention.usage_days)])?;
        db.execute("DELETE FROM injections WHERE created_at < ?1", [before(retention.usage_days)])?;
        let audit = db.execute("DELETE FROM audit_log WHERE created_at < ?1", [before(AUDIT_DAYS)])?;
        // The trace stays; only the payload goes. Memory stays, too, if only the model never answered.
        let transaction = self.begin()?;
        let mut failed = queue::give_up(&transaction, "created_at < ?1", before(retention.failed_days))?;
        failed += transaction.execute(
            "DELETE FROM pending_messages WHERE status = 'pending' AND observed = 1 AND retry_at IS NOT NULL
             AND created_at < ?1",
            [before(retention.failed_days)],
        )?;
        transaction.commit()?;
        let backups = self.prune_backups(now)?;
        Ok(Pruned { usage, retrievals, audit, failed, backups })
    }

    /// Manual changes, latest first.
    pub fn audit_log(&self, most: u32) -> Result<Vec<AuditRow>, StoreError> {
        let sql = "SELECT action, detail, created_at FROM audit_log ORDER BY id DESC LIMIT ?1";
        self.rows(sql, &[&most], |row| {
            Ok(AuditRow { action: row.get(0)?, detail: row.get(1)?, created_at: Time(row.get(2)?) })
        })
    }

    /// Only those made before migrations: a copy that the user put there stays, and the others have a rotation.
    fn prune_backups(&self, now: Time) -> Result<usize, StoreError> {
        let backups = backup::list(self.dir())?.into_iter().filter(|backup| backup.before_migration);
        let surplus: Vec<_> = backups.skip(MAX_BACKUPS).filter(|backup| !backup.is_recent(now)).collect();
        for Backup { path, .. } in &surplus {
            fs::remove_file(path).map_err(StoreError::file(path))?;
        }
        Ok(surplus.len())
    }
}

/// Records a manual change.
pub(crate) fn audit(db: &Connection, action: &str, detail: &str, at: Time) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO audit_log (action, detail, created_at) VALUES (?1, ?2, ?3)",
        rusqlite::params![action, detail, at.0],
    )?;
    Ok(())
}
