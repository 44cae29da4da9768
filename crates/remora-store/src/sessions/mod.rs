//! The sessions of hosts: lists of them, one by its id or name, and the hosts themselves.

pub(crate) mod transcripts;

use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::settings::Provider;
use remora_core::time::Time;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params, params_from_iter};

use crate::handles::Sessions;
use crate::import::IMPORTED;
use crate::import::past::PAST;
use crate::records::save;
use crate::rows::{SESSION, SessionRow, read_session};
use crate::{HostProcess, SavedBy, StoreError};

/// A host or channel with sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSeen {
    pub host: String,
    /// The number of its sessions that sent events.
    pub sessions: i64,
    /// The last activity of those.
    pub last_event_at: Option<Time>,
    /// The last activity of any of its sessions, captured or imported.
    pub last_activity_at: Time,
    /// The start of the first session that was captured here, and not imported.
    pub first_captured_at: Option<Time>,
}

/// A selection of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    pub id: Option<SessionId>,
    /// `None` for all projects.
    pub projects: Option<Vec<ProjectId>>,
    pub host: Option<Host>,
    /// The beginning of the id that the host gave it.
    pub name_prefix: Option<String>,
    /// Only sessions of agents, captured or imported: without those that hold saved texts.
    pub of_agents: bool,
    pub limit: u32,
    pub offset: u32,
}

impl SessionQuery {
    /// The latest sessions of all projects.
    pub fn latest(limit: u32) -> Self {
        Self { limit, ..Self::default() }
    }

    pub fn of_project(project: ProjectId, limit: u32) -> Self {
        Self { projects: Some(vec![project]), ..Self::latest(limit) }
    }

    pub fn one(id: SessionId) -> Self {
        Self { id: Some(id), ..Self::latest(1) }
    }

    /// Some of the sessions whose host id begins so.
    pub fn named(beginning: &str) -> Self {
        Self { name_prefix: Some(beginning.to_owned()), ..Self::latest(20) }
    }

    /// Conditions for [`SESSION`], with their values.
    fn conditions(&self) -> Result<(String, Vec<Value>), StoreError> {
        let (mut sql, mut values) = (String::new(), Vec::new());
        if let Some(id) = self.id {
            sql += " AND s.id = ?";
            values.push(Value::from(id.0));
        }
        if let Some([project]) = self.projects.as_deref() {
            // An index has the latest sessions of each project.
            sql += " AND s.project_id = ?";
            values.push(Value::from(project.0));
        } else if let Some(projects) = &self.projects {
            let projects: Vec<i64> = projects.iter().map(|project| project.0).collect();
            sql += " AND s.project_id IN (SELECT value FROM json_each(?))";
            values.push(Value::from(serde_json::to_string(&projects)?));
        }
        if let Some(host) = self.host {
            sql += " AND s.host = ?";
            values.push(Value::from(host.name().to_owned()));
        }
        if let Some(beginning) = &self.name_prefix {
            sql += " AND substr(s.content_session_id, 1, length(?)) = ?";
            values.extend([Value::from(beginning.clone()), Value::from(beginning.clone())]);
        }
        if self.of_agents {
            sql += " AND (s.prompt_counter > 0 OR s.content_session_id NOT GLOB ? || '*')";
            values.push(Value::from(save::SESSION.to_owned()));
        }
        Ok((sql, values))
    }
}

/// Names one session: by its id, or as its host does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKey<'a> {
    Id(SessionId),
    Name(&'a SessionRef),
}

impl From<SessionId> for SessionKey<'_> {
    fn from(id: SessionId) -> Self {
        Self::Id(id)
    }
}

impl<'a> From<&'a SessionRef> for SessionKey<'a> {
    fn from(name: &'a SessionRef) -> Self {
        Self::Name(name)
    }
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOrigin {
    pub host: String,
    /// The id that the host gave it.
    pub name: String,
    /// The name of its project.
    pub project: String,
    /// The root of its project, to which its paths are relative.
    pub root: String,
}

/// A session in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownSession {
    pub id: SessionId,
    pub project: ProjectId,
    /// The time of its last prompt.
    pub last_prompt_at: Option<Time>,
}

impl Sessions<'_> {
    /// Latest first. Sessions that are looked for by their beginning come in the order in which they began.
    pub fn list(self, query: &SessionQuery) -> Result<Vec<SessionRow>, StoreError> {
        let (conditions, mut values) = query.conditions()?;
        values.extend([query.limit.into(), query.offset.into()]);
        let order = match query.name_prefix {
            Some(_) => "s.id",
            None => "s.last_activity_at DESC, s.id DESC",
        };
        let sql = format!("{SESSION}{conditions} ORDER BY {order} LIMIT ? OFFSET ?");
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), read_session)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The number of all selected sessions, on any page.
    pub fn count(self, query: &SessionQuery) -> Result<i64, StoreError> {
        let (conditions, values) = query.conditions()?;
        let sql = format!("SELECT count(*) FROM ({SESSION}{conditions})");
        Ok(self.0.db.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?)
    }

    /// Where a session comes from. `None` if it is not known.
    pub fn origin<'a>(self, session: impl Into<SessionKey<'a>>) -> Result<Option<SessionOrigin>, StoreError> {
        let sql = "SELECT s.host, s.content_session_id, p.name, p.root
                   FROM sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE";
        let (sql, values) = match session.into() {
            SessionKey::Id(id) => (format!("{sql} s.id = ?"), vec![Value::from(id.0)]),
            SessionKey::Name(SessionRef { host, id }) => (
                format!("{sql} s.host = ? AND s.content_session_id = ?"),
                vec![Value::from(host.name().to_owned()), Value::from(id.clone())],
            ),
        };
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let found = statement.query_row(params_from_iter(values), |row| {
            Ok(SessionOrigin {
                host: row.get(0)?,
                name: row.get(1)?,
                project: row.get(2)?,
                root: row.get(3)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Finds a session by the host's name, captured or imported. Hooks ask this.
    pub fn known(self, session: &SessionRef) -> Result<Option<KnownSession>, StoreError> {
        let found = self
            .0
            .db
            .prepare_cached(
                // Includes deleted prompts: they were asked, too.
                "SELECT id, project_id, (SELECT created_at FROM user_prompts WHERE session_id = sessions.id
                     ORDER BY prompt_number DESC LIMIT 1)
                 FROM sessions WHERE host = ?1 AND content_session_id = ?2",
            )?
            .query_row(params![session.host.name(), session.id], |row| {
                Ok(KnownSession {
                    id: SessionId(row.get(0)?),
                    project: ProjectId(row.get(1)?),
                    last_prompt_at: row.get::<_, Option<i64>>(2)?.map(Time),
                })
            })
            .optional()?;
        Ok(found)
    }

    /// All hosts with sessions, the latest first. The session that holds saved texts has no events, and its host is a
    /// placeholder.
    pub fn hosts(self) -> Result<Vec<HostSeen>, StoreError> {
        let sql = format!(
            "SELECT host, count(*) FILTER (WHERE has_events), max(last_activity_at) FILTER (WHERE has_events),
                 max(last_activity_at),
                 min(started_at) FILTER (WHERE has_events AND ifnull(memory_session_id, '') NOT LIKE '{PAST}%')
             FROM (SELECT *, EXISTS (SELECT 1 FROM event_traces WHERE session_id = sessions.id) AS has_events
                   FROM sessions)
             GROUP BY host ORDER BY 4 DESC, host"
        );
        self.0.rows(&sql, &[], |row| {
            Ok(HostSeen {
                host: row.get(0)?,
                sessions: row.get(1)?,
                last_event_at: row.get::<_, Option<i64>>(2)?.map(Time),
                last_activity_at: Time(row.get(3)?),
                first_captured_at: row.get::<_, Option<i64>>(4)?.map(Time),
            })
        })
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

    /// Providers and models of a session's observations and summaries, without the built-in observer and saved texts.
    pub fn writers(self, session: SessionId) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT provider, model FROM observations WHERE session_id = ?1 AND deleted_at IS NULL
                   UNION SELECT provider, model FROM session_summaries WHERE session_id = ?1 AND deleted_at IS NULL
                   ORDER BY 1, 2";
        let mut writers: Vec<(String, String)> =
            self.0.rows(sql, &[&session.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        writers.retain(|(provider, _)| {
            let own = provider.strip_prefix(IMPORTED).unwrap_or(provider);
            own != Provider::Builtin.as_str() && SavedBy::from_provider(own).is_none()
        });
        // Some records name the provider alone. They come before those that also name its model.
        writers.dedup_by(|next, kept| {
            let is_vague = kept.0 == next.0 && kept.1.is_empty();
            if is_vague {
                std::mem::swap(kept, next);
            }
            is_vague
        });
        Ok(writers)
    }
}
