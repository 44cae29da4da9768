//! Records which passages an agent has in its context, so that none is injected twice.
//!
//! An agent keeps injected passages until its host empties the context. That begins a new epoch of the session, and
//! passages of earlier epochs no longer count.

use std::collections::HashSet;

use remora_core::document::RecordId;
use remora_core::ids::SessionId;
use remora_core::time::Time;
use rusqlite::{Connection, params};

use crate::StoreError;
use crate::handles::Injections;
use crate::injections::Retrieval;

/// The injections of an agent in the current epoch of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Hashes of the passages.
    pub passages: HashSet<u64>,
    /// The records of these passages.
    pub records: HashSet<RecordId>,
    /// When the host last emptied the session's context.
    pub emptied_at: Option<Time>,
}

impl Injections<'_> {
    /// `agent` is empty for the main agent.
    pub fn ledger(self, session: SessionId, agent: &str) -> Result<Ledger, StoreError> {
        let mut statement = self.0.db.prepare_cached(
            "SELECT s.emptied_at, i.passage_hash, i.record FROM sessions AS s
             LEFT JOIN injections AS i ON i.session_id = s.id AND i.agent = ?2 AND i.epoch = s.epoch
             WHERE s.id = ?1",
        )?;
        let mut rows = statement.query(params![session.0, agent])?;
        let mut ledger = Ledger::default();
        while let Some(row) = rows.next()? {
            ledger.emptied_at = row.get::<_, Option<i64>>(0)?.map(Time);
            // Without injections, the session has one row without them.
            if let Some(hash) = row.get::<_, Option<i64>>(1)? {
                ledger.passages.insert(hash.cast_unsigned());
                ledger.records.extend(row.get::<_, String>(2)?.parse::<RecordId>().ok());
            }
        }
        Ok(ledger)
    }
}

impl Injections<'_> {
    /// Records that the host emptied the session's context, by compaction or because the user cleared it.
    pub fn begin_epoch(self, session: SessionId, at: Time) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET epoch = epoch + 1, emptied_at = ?2 WHERE id = ?1";
        self.0.writable()?.execute(sql, params![session.0, at.0])?;
        Ok(())
    }
}

pub(crate) fn write(db: &Connection, retrieval: &Retrieval) -> Result<(), StoreError> {
    let Retrieval { session, agent, at, items, .. } = retrieval;
    for item in items {
        for passage in &item.passages {
            db.prepare_cached(
                "INSERT INTO injections (session_id, agent, epoch, passage_hash, record, created_at)
                 SELECT id, ?2, epoch, ?3, ?4, ?5 FROM sessions WHERE id = ?1
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![session.0, agent, passage.cast_signed(), item.id, at.0])?;
        }
    }
    Ok(())
}
