//! Queries for sessions by project, host or id, and for what other parts need to know of one: its root, its host, its
//! project.

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use serde::Serialize;

use crate::rows::{SESSION, SessionRow, read_session};
use crate::{Store, StoreError};

/// A host or channel that sent events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostSeen {
    pub host: String,
    pub sessions: i64,
    pub last_event_at: Time,
}

impl Store {
    /// Sessions of one project or of all, latest first.
    pub fn sessions(&self, project: Option<ProjectId>, most: u32) -> Result<Vec<SessionRow>, StoreError> {
        let sql = format!(
            "{SESSION} AND (?1 IS NULL OR s.project_id = ?1) ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ?2"
        );
        self.rows(&sql, &[&project.map(|project| project.0), &most], read_session)
    }

    /// Hosts that sent events, the latest first.
    pub fn hosts_seen(&self) -> Result<Vec<HostSeen>, StoreError> {
        // The session that holds saved texts has no events, and its host is a placeholder.
        let sql = "SELECT s.host, count(*), max(s.last_activity_at) FROM sessions AS s
                   WHERE EXISTS (SELECT 1 FROM event_traces WHERE session_id = s.id) GROUP BY s.host ORDER BY 3 DESC";
        self.rows(sql, &[], |row| {
            Ok(HostSeen { host: row.get(0)?, sessions: row.get(1)?, last_event_at: Time(row.get(2)?) })
        })
    }

    /// Sessions whose host id begins with `beginning`, at most 20.
    pub fn sessions_named(&self, beginning: &str) -> Result<Vec<SessionRow>, StoreError> {
        let sql =
            format!("{SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1 ORDER BY s.id LIMIT 20");
        self.rows(&sql, &[&beginning], read_session)
    }

    /// The number of sessions whose host id begins with `beginning`.
    pub fn count_sessions_named(&self, beginning: &str) -> Result<i64, StoreError> {
        let sql =
            format!("SELECT count(*) FROM ({SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1)");
        Ok(self.db.query_row(&sql, [beginning], |row| row.get(0))?)
    }

    /// The root of the session's project, to which its paths are relative.
    pub fn session_root(&self, session: SessionId) -> Result<String, StoreError> {
        let sql =
            "SELECT p.root FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?1";
        Ok(self.db.query_row(sql, [session.0], |row| row.get(0))?)
    }

    /// The host of a session.
    pub fn session_host(&self, session: SessionId) -> Result<String, StoreError> {
        Ok(self.db.query_row("SELECT host FROM sessions WHERE id = ?1", [session.0], |row| row.get(0))?)
    }

    /// The name of the session's project.
    pub fn session_project(&self, session: SessionId) -> Result<String, StoreError> {
        let sql =
            "SELECT p.name FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?1";
        Ok(self.db.query_row(sql, [session.0], |row| row.get(0))?)
    }

    /// The start of the first session.
    pub fn first_session_at(&self) -> Result<Option<Time>, StoreError> {
        let first: Option<i64> =
            self.db.query_row("SELECT min(started_at) FROM sessions", [], |row| row.get(0))?;
        Ok(first.map(Time))
    }

    /// The last activity of each host, sorted by name.
    pub fn last_activity_by_host(&self) -> Result<Vec<(String, Time)>, StoreError> {
        self.rows(
            "SELECT host, max(last_activity_at) FROM sessions GROUP BY host ORDER BY host",
            &[],
            |row| Ok((row.get(0)?, Time(row.get(1)?))),
        )
    }
}
