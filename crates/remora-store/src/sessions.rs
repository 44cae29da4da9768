//! Queries for sessions by project, host or id, and for what other parts need to know of one: its root, its host, its
//! project.

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use serde::Serialize;

use crate::handles::Sessions;
use crate::import::past::PAST;
use crate::rows::{SESSION, SessionRow, read_session};
use crate::{HostProcess, StoreError};

/// A host or channel that sent events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostSeen {
    pub host: String,
    pub sessions: i64,
    pub last_event_at: Time,
}

impl Sessions<'_> {
    /// Sessions of one project or of all, latest first.
    pub fn list(self, project: Option<ProjectId>, most: u32) -> Result<Vec<SessionRow>, StoreError> {
        let sql = format!(
            "{SESSION} AND (?1 IS NULL OR s.project_id = ?1) ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ?2"
        );
        self.0.rows(&sql, &[&project.map(|project| project.0), &most], read_session)
    }

    /// Hosts that sent events, the latest first.
    pub fn hosts_seen(self) -> Result<Vec<HostSeen>, StoreError> {
        // The session that holds saved texts has no events, and its host is a placeholder.
        let sql = "SELECT s.host, count(*), max(s.last_activity_at) FROM sessions AS s
                   WHERE EXISTS (SELECT 1 FROM event_traces WHERE session_id = s.id) GROUP BY s.host ORDER BY 3 DESC";
        self.0.rows(sql, &[], |row| {
            Ok(HostSeen { host: row.get(0)?, sessions: row.get(1)?, last_event_at: Time(row.get(2)?) })
        })
    }

    /// Sessions whose host id begins with `beginning`, at most 20.
    pub fn named(self, beginning: &str) -> Result<Vec<SessionRow>, StoreError> {
        let sql =
            format!("{SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1 ORDER BY s.id LIMIT 20");
        self.0.rows(&sql, &[&beginning], read_session)
    }

    /// Sessions of these projects whose host id begins with `beginning`, at most 20.
    pub fn named_in(self, beginning: &str, projects: &[ProjectId]) -> Result<Vec<SessionRow>, StoreError> {
        let sql = format!(
            "{SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1
             AND s.project_id IN (SELECT value FROM json_each(?2)) ORDER BY s.id LIMIT 20"
        );
        let projects: Vec<i64> = projects.iter().map(|project| project.0).collect();
        self.0.rows(&sql, &[&beginning, &serde_json::to_string(&projects)?], read_session)
    }

    /// The projects in which the first of these processes that is a host works: those of its active sessions, latest first,
    /// or if all have ended that of its last one. `None` if no session names one of the processes.
    pub fn projects_of_host(self, processes: &[HostProcess]) -> Result<Option<Vec<ProjectId>>, StoreError> {
        if processes.is_empty() {
            return Ok(None);
        }
        // Every command asks this, and a list of numbers is prepared faster than a table of them.
        let pids: Vec<String> = processes.iter().map(|process| process.pid.to_string()).collect();
        let sql = format!(
            "SELECT host_pid, host_started, status = 'active', project_id FROM sessions
             WHERE host_pid IN ({}) ORDER BY last_activity_at DESC, id DESC",
            pids.join(", ")
        );
        let rows = self.0.rows(&sql, &[], |row| {
            let started: Option<i64> = row.get(1)?;
            let host =
                HostProcess { pid: row.get(0)?, started_at: started.unwrap_or_default().cast_unsigned() };
            Ok((host, row.get::<_, bool>(2)?, ProjectId(row.get(3)?)))
        })?;
        let Some(host) = processes.iter().find(|process| rows.iter().any(|(host, ..)| host == *process))
        else {
            return Ok(None);
        };
        let own = rows.into_iter().filter(|(process, ..)| process == host);
        let (active, ended): (Vec<_>, Vec<_>) = own.partition(|(_, is_active, _)| *is_active);
        let mut projects = Vec::new();
        for (.., project) in if active.is_empty() { &ended[..1] } else { &active[..] } {
            if !projects.contains(project) {
                projects.push(*project);
            }
        }
        Ok(Some(projects))
    }

    /// The number of sessions whose host id begins with `beginning`.
    pub fn count_named(self, beginning: &str) -> Result<i64, StoreError> {
        let sql =
            format!("SELECT count(*) FROM ({SESSION} AND substr(s.content_session_id, 1, length(?1)) = ?1)");
        Ok(self.0.db.query_row(&sql, [beginning], |row| row.get(0))?)
    }

    /// The root of the session's project, to which its paths are relative.
    pub fn root(self, session: SessionId) -> Result<String, StoreError> {
        let sql =
            "SELECT p.root FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?1";
        Ok(self.0.db.query_row(sql, [session.0], |row| row.get(0))?)
    }

    /// The host of a session.
    pub fn host(self, session: SessionId) -> Result<String, StoreError> {
        Ok(self.0.db.query_row("SELECT host FROM sessions WHERE id = ?1", [session.0], |row| row.get(0))?)
    }

    /// The name of the session's project.
    pub fn project(self, session: SessionId) -> Result<String, StoreError> {
        let sql =
            "SELECT p.name FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.id = ?1";
        Ok(self.0.db.query_row(sql, [session.0], |row| row.get(0))?)
    }

    /// The start of the first session that was captured here, and not imported.
    pub fn first_captured_at(self) -> Result<Option<Time>, StoreError> {
        let sql = format!(
            "SELECT min(started_at) FROM sessions AS s
             WHERE ifnull(memory_session_id, '') NOT LIKE '{PAST}%'
             AND EXISTS (SELECT 1 FROM event_traces AS t WHERE t.session_id = s.id)"
        );
        let first: Option<i64> = self.0.db.query_row(&sql, [], |row| row.get(0))?;
        Ok(first.map(Time))
    }

    /// The last activity of each host, sorted by name.
    pub fn last_activity_by_host(self) -> Result<Vec<(String, Time)>, StoreError> {
        self.0.rows(
            "SELECT host, max(last_activity_at) FROM sessions GROUP BY host ORDER BY host",
            &[],
            |row| Ok((row.get(0)?, Time(row.get(1)?))),
        )
    }
}
