//! The log of injections: prevents injecting anything twice into a session, and is shown by `remora retrievals`.

use std::collections::HashSet;

use remora_core::context::{PinnedNote, UserStatement};
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::prose::fingerprint;
use remora_core::time::Time;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use super::ledger;
use crate::handles::Injections;
use crate::{StoreError, feedback};

/// The moment of an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    Start,
    Prompt,
    /// Before a file was read or changed.
    File,
}

impl Moment {
    fn from_name(name: &str) -> Self {
        match name {
            "start" => Self::Start,
            "file" => Self::File,
            _ => Self::Prompt,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Prompt => "prompt",
            Self::File => "file",
        }
    }
}

/// Time window in which two equal injections count as one. Two hooks for one event start together, and each ends
/// within a second.
const DUPLICATE_WINDOW_MS: i64 = 2_000;
/// Finds an equal injection moments ago. Injections before the context was emptied do not count.
const JUST_LOGGED: &str = "SELECT 1 FROM memory_retrievals AS r
    WHERE session_id = ?1 AND agent = ?2 AND moment = ?3 AND prompt = ?4 AND abs(created_at - ?5) < ?6
    AND created_at >= (SELECT ifnull(emptied_at, 0) FROM sessions WHERE id = r.session_id)";

/// The `why` of a record in the timeline of a session start, of which only the title was injected.
const TIMELINE: &str = "timeline";

/// One record of an injection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Version of a note that is always injected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Hashes of the injected passages, for the ledger; empty if only a title was injected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<u64>,
}

impl Item {
    fn new(id: String, why: &str) -> Self {
        Self { id, score: None, why: why.to_owned(), version: String::new(), passages: Vec::new() }
    }

    /// An observation of the timeline at a session's start.
    pub fn of_timeline(observation: i64) -> Self {
        Self::new(observation.to_string(), TIMELINE)
    }

    /// A rule of the user. Its text counts as injected.
    pub fn of_laid_down(laid_down: &UserStatement) -> Self {
        let passages = vec![fingerprint(&laid_down.text)];
        Self { passages, ..Self::new(laid_down.id.to_string(), "laid down") }
    }

    /// A standing fact. Its text counts as injected.
    pub fn of_fact(fact: &UserStatement) -> Self {
        Self { why: "fact".to_owned(), ..Self::of_laid_down(fact) }
    }

    /// A summary at a session's start.
    pub fn of_summary(number: i64) -> Self {
        Self::new(RecordId { kind: RecordKind::Summary, number }.to_string(), "summary")
    }

    /// An observation about a file that was about to be opened.
    pub fn of_file(observation: i64) -> Self {
        Self::new(observation.to_string(), "file")
    }

    /// A note that is always injected.
    pub fn of_note(note: &PinnedNote) -> Self {
        let id = RecordId { kind: RecordKind::Note, number: note.id };
        Self { version: note.version.clone(), ..Self::new(id.to_string(), "note") }
    }
}

/// One injection.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieval {
    pub session: SessionId,
    /// The host's name of the subagent; empty for the main agent.
    pub agent: String,
    pub moment: Moment,
    /// The beginning of the prompt, as captured; for a file, its path in the project; for a start, the host's name
    /// for how the session started.
    pub prompt: String,
    pub tokens: u64,
    pub ms: u64,
    /// The part of recall that was not available.
    pub degraded: Option<String>,
    pub items: Vec<Item>,
    pub at: Time,
}

/// A selection of injections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichRetrievals {
    All,
    OfProject(ProjectId),
    OfSession(SessionId),
    /// Those that included this record.
    OfRecord(RecordId),
}

/// An injection that is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logged<'a> {
    /// Another hook has just answered the same session start.
    Start { source: &'a str, now: Time },
    /// The agent already got a note about this file in the session's current epoch.
    File { agent: &'a str, path: &'a str },
}

/// Earlier injections into a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InjectedBefore {
    pub records: HashSet<RecordId>,
    /// Always injected notes, with their versions. A part of such a note may also be injected with a prompt.
    pub notes: HashSet<(i64, String)>,
}

/// The size of one injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injected {
    pub moment: Moment,
    pub tokens: u64,
    pub ms: u64,
    pub at: Time,
}

/// An injection as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalRow {
    pub id: i64,
    pub host: String,
    pub session: String,
    pub project: String,
    pub retrieval: Retrieval,
}

impl Injections<'_> {
    /// Whether such an injection into a session was logged.
    pub fn has_logged(self, session: SessionId, which: Logged<'_>) -> Result<bool, StoreError> {
        Ok(match which {
            Logged::Start { source, now } => {
                let key = params![session.0, "", Moment::Start.name(), source, now.0, DUPLICATE_WINDOW_MS];
                self.0.db.prepare_cached(JUST_LOGGED)?.exists(key)?
            }
            Logged::File { agent, path } => {
                let sql =
                    "SELECT 1 FROM memory_retrievals WHERE session_id = ?1 AND agent = ?2 AND moment = ?3
                       AND prompt = ?4
                       AND created_at >= ifnull((SELECT emptied_at FROM sessions WHERE id = ?1), 0)";
                let key = params![session.0, agent, Moment::File.name(), path];
                self.0.db.prepare_cached(sql)?.exists(key)?
            }
        })
    }

    /// Everything that was injected into a session before.
    pub fn before(self, session: SessionId) -> Result<InjectedBefore, StoreError> {
        let mut statement =
            self.0.db.prepare_cached("SELECT items FROM memory_retrievals WHERE session_id = ?1")?;
        let rows = statement.query_map([session.0], |row| row.get::<_, String>(0))?;
        let mut before = InjectedBefore::default();
        for items in rows {
            let items: Vec<Item> = serde_json::from_str(&items?)?;
            // A title is only an offer. It must not prevent the substance from being injected later.
            for item in items.into_iter().filter(|item| item.why != TIMELINE) {
                let Ok(record) = item.id.parse::<RecordId>() else { continue };
                if item.version.is_empty() {
                    before.records.insert(record);
                } else {
                    before.notes.insert((record.number, item.version));
                }
            }
        }
        Ok(before)
    }

    /// The size of every injection since then, latest first.
    pub fn since(self, since: Time, project: Option<ProjectId>) -> Result<Vec<Injected>, StoreError> {
        // There is no index by time. Rows are read by descending id, so the first older one ends the scan.
        let mut statement = self.0.db.prepare_cached(
            "SELECT r.moment, r.tokens, r.ms, r.created_at, ?1 IS NULL OR s.project_id = ?1
             FROM memory_retrievals AS r JOIN sessions AS s ON s.id = r.session_id ORDER BY r.id DESC",
        )?;
        let mut rows = statement.query([project.map(|project| project.0)])?;
        let mut injected = Vec::new();
        while let Some(row) = rows.next()? {
            let at = Time(row.get(3)?);
            if at < since {
                break;
            }
            if row.get(4)? {
                injected.push(Injected {
                    moment: Moment::from_name(&row.get::<_, String>(0)?),
                    tokens: row.get::<_, i64>(1)?.unsigned_abs(),
                    ms: row.get::<_, i64>(2)?.unsigned_abs(),
                    at,
                });
            }
        }
        Ok(injected)
    }

    /// Injections, latest first.
    pub fn list(self, which: WhichRetrievals, most: u32) -> Result<Vec<RetrievalRow>, StoreError> {
        let (project, session, record) = match which {
            WhichRetrievals::All => (None, None, None),
            WhichRetrievals::OfProject(project) => (Some(project.0), None, None),
            WhichRetrievals::OfSession(session) => (None, Some(session.0), None),
            // As `serde_json` writes it, so that lists without it need not be parsed.
            WhichRetrievals::OfRecord(record) => (None, None, Some(format!("\"id\":\"{record}\""))),
        };
        let mut statement = self.0.db.prepare(
            "SELECT r.id, s.host, s.content_session_id, p.name, r.session_id, r.moment, r.prompt, r.tokens, r.ms,
                 r.degraded, r.items, r.created_at, r.agent
             FROM memory_retrievals AS r JOIN sessions AS s ON s.id = r.session_id
             JOIN projects AS p ON p.id = s.project_id
             WHERE (?2 IS NULL OR s.project_id = ?2) AND (?3 IS NULL OR r.session_id = ?3)
             AND (?4 IS NULL OR instr(r.items, ?4) > 0)
             ORDER BY r.id DESC LIMIT ?1",
        )?;
        let rows = statement.query_map(params![most, project, session, record], read_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Injections<'_> {
    /// Logs an injection, and counts it for the observations whose use is measured. Returns `false` and logs nothing
    /// if the same was logged moments ago: a host that runs our hook twice, from a plugin and from its settings, gets
    /// one answer.
    pub fn log(self, retrieval: &Retrieval) -> Result<bool, StoreError> {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let on_trial = feedback::on_trial(retrieval);
        let transaction = self.0.begin()?;
        let Retrieval { session, agent, moment, prompt, at, .. } = retrieval;
        let key = params![session.0, agent, moment.name(), prompt, at.0, DUPLICATE_WINDOW_MS];
        if transaction.prepare_cached(JUST_LOGGED)?.exists(key)? {
            return Ok(false);
        }
        transaction
            .prepare_cached(
                "INSERT INTO memory_retrievals
                     (session_id, agent, moment, prompt, tokens, ms, degraded, items, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                retrieval.session.0,
                retrieval.agent,
                retrieval.moment.name(),
                retrieval.prompt,
                count(retrieval.tokens),
                count(retrieval.ms),
                retrieval.degraded,
                serde_json::to_string(&retrieval.items)?,
                retrieval.at.0,
            ])?;
        ledger::write(&transaction, retrieval)?;
        if !on_trial.is_empty() {
            feedback::count_injected(&transaction, &on_trial)?;
        }
        transaction.commit()?;
        Ok(true)
    }
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<RetrievalRow> {
    let (moment, items): (String, String) = (row.get(5)?, row.get(10)?);
    Ok(RetrievalRow {
        id: row.get(0)?,
        host: row.get(1)?,
        session: row.get(2)?,
        project: row.get(3)?,
        retrieval: Retrieval {
            session: SessionId(row.get(4)?),
            agent: row.get(12)?,
            moment: Moment::from_name(&moment),
            prompt: row.get(6)?,
            tokens: row.get::<_, i64>(7)?.unsigned_abs(),
            ms: row.get::<_, i64>(8)?.unsigned_abs(),
            degraded: row.get(9)?,
            items: serde_json::from_str(&items).unwrap_or_default(),
            at: Time(row.get(11)?),
        },
    })
}
