//! The records that a session may get at its start.

use std::collections::{BTreeMap, BTreeSet};

use remora_core::context::{PastSummary, SessionContext, TimelineItem, UserStatement};
use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::{FactKind, FactSource};
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use remora_core::wrong::CalledWrong;
use rusqlite::{OptionalExtension, Row, params};

use crate::handles::Injections;
use crate::records::save::{self, SavedBy};
use crate::{FactRow, FactsOf, Store, StoreError, feedback};

/// Candidates for the session start: the newest observations, the newest decisions and bugfixes among the last
/// `FAR_BACK`, and the pinned ones. The usual token limit has room for about a quarter of them.
const LATEST: u32 = 120;
const LASTING: u32 = 100;
const FAR_BACK: u32 = 3_000;
const PINNED: u32 = 100;
/// Files of this many of the newest observations count as in progress.
const RECENT_OBSERVATIONS: usize = 20;
/// Summaries read for each session, because a session may have several.
const SUMMARIES_EACH: u32 = 6;
const MAX_FACTS: usize = 50;
/// Limit for texts saved by the user. The newest are kept.
const MAX_SAVED: u32 = 20;
/// Facts below this trust are only found by search and are not standing facts, for example a permission given once.
const MIN_TRUST: f64 = 0.5;

/// The summaries of a project or of one session, newest first.
pub(crate) const PAST_SESSIONS: &str =
    "SELECT session_id, created_at, request, learned, completed, next_steps, notes, id FROM session_summaries
     WHERE project_id = ?1 AND (?2 IS NULL OR session_id = ?2) AND checkpoint = 0 AND deleted_at IS NULL
     ORDER BY created_at DESC, id DESC LIMIT ?3";

/// Columns for [`read_known`], of `observations AS o` and `observation_feedback AS f`.
pub(crate) const KNOWN_COLUMNS: &str = concat!(
    // Modified files sort before read ones.
    "o.id, o.created_at, o.type, o.title, octet_length(o.narrative) + octet_length(o.facts), o.discovery_tokens,
    (SELECT path FROM observation_files WHERE observation_id = o.id ORDER BY how, position LIMIT 1),
    o.pinned_at IS NOT NULL, ",
    feedback::feedback_columns!()
);

/// Which part of a project's memory to recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// All of it, at the start of a session.
    Everything,
    /// Only what this session learned, because its host lost its context.
    OfSession(SessionId),
    /// Only what other sessions learned since then: the host still has the rest.
    Since { session: SessionId, at: Time },
}

impl Injections<'_> {
    /// Everything that may be injected. `sessions` is the limit for earlier sessions.
    pub fn session_context(
        self,
        project: ProjectId,
        recall: Recall,
        sessions: u32,
    ) -> Result<SessionContext, StoreError> {
        let wrong = self.0.records().called_wrong(project)?;
        let mut observations = self.0.known(project, recall)?;
        observations.retain(|known| known.may_be_injected(&wrong));
        let uncommitted = self.0.files().uncommitted(project)?;
        let mut hot_files = uncommitted.clone();
        for file in observations.iter().take(RECENT_OBSERVATIONS).filter_map(|known| known.file.as_ref()) {
            if !hot_files.contains(file) {
                hot_files.push(file.clone());
            }
        }
        let facts = self.0.facts().list(FactsOf::Trusted { project, min_trust: MIN_TRUST })?;
        let (typed, facts): (Vec<FactRow>, Vec<FactRow>) = facts.into_iter().partition(is_rule_of_user);
        let name = "SELECT name FROM projects WHERE id = ?1";
        let project_name = self.0.db.query_row(name, [project.0], |row| row.get(0)).optional()?;
        Ok(SessionContext {
            notices: Vec::new(),
            project: project_name.unwrap_or_else(|| "a new project".to_owned()),
            user_statements: self.0.user_statements(project, typed, recall, &wrong)?,
            substance: BTreeMap::new(),
            files_since: BTreeMap::new(),
            facts: standing_facts(facts, recall, &wrong),
            // The caller adds them if the settings allow it.
            notes: Vec::new(),
            summaries: self.0.past_sessions(project, recall, sessions, &wrong)?,
            observations,
            hot_files,
            uncommitted,
            wrong,
        })
    }
}

impl Store {
    fn known(&self, project: ProjectId, recall: Recall) -> Result<Vec<TimelineItem>, StoreError> {
        let candidates: Vec<i64> = self.candidates(project, recall)?.into_iter().collect();
        let sql = format!(
            "SELECT {KNOWN_COLUMNS} FROM json_each(?1) AS wanted CROSS JOIN observations AS o ON o.id = wanted.value
             LEFT JOIN observation_feedback AS f ON f.observation_id = o.id"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([serde_json::to_string(&candidates)?], read_known)?;
        let mut known: Vec<TimelineItem> = rows.collect::<Result<_, _>>()?;
        known.sort_by_key(|known| std::cmp::Reverse((known.at, known.id)));
        Ok(known)
    }

    /// The observations that a start chooses from. They are selected here and not in one statement, which would take
    /// longer to prepare than to run.
    fn candidates(&self, project: ProjectId, recall: Recall) -> Result<BTreeSet<i64>, StoreError> {
        let (condition, session, since) = match recall {
            Recall::Everything => ("?2 = ?2 AND ?3 = ?3", 0, 0),
            Recall::OfSession(session) => ("session_id = ?2 AND ?3 = ?3", session.0, 0),
            Recall::Since { session, at } => ("session_id <> ?2 AND created_at > ?3", session.0, at.0),
        };
        let live = "project_id = ?1 AND superseded_by IS NULL AND deleted_at IS NULL";
        let newest_first = format!("{live} AND {condition} ORDER BY created_at DESC");
        let values = params![project.0, session, since];
        let mut candidates = BTreeSet::new();
        let sql = format!("SELECT id, type FROM observations WHERE {newest_first} LIMIT {FAR_BACK}");
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(values)?;
        let (mut all, mut lasting) = (0, 0);
        while let Some(row) = rows.next()?
            && (all < LATEST || lasting < LASTING)
        {
            let kind = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let is_lasting = lasting < LASTING && ObservationType::from(kind).lasts();
            if all < LATEST || is_lasting {
                candidates.insert(row.get(0)?);
            }
            all += 1;
            lasting += u32::from(is_lasting);
        }
        let sql = format!(
            "SELECT id FROM observations INDEXED BY observations_pinned
             WHERE pinned_at IS NOT NULL AND {newest_first} LIMIT {PINNED}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        for id in statement.query_map(values, |row| row.get(0))? {
            candidates.insert(id?);
        }
        Ok(candidates)
    }

    fn past_sessions(
        &self,
        project: ProjectId,
        recall: Recall,
        most: u32,
        wrong: &CalledWrong,
    ) -> Result<Vec<PastSummary>, StoreError> {
        let only = match recall {
            Recall::Everything => None,
            Recall::OfSession(session) => Some(session.0),
            Recall::Since { .. } => return Ok(Vec::new()),
        };
        let mut statement = self.db.prepare_cached(PAST_SESSIONS)?;
        let rows = statement.query_map(params![project.0, only, most * SUMMARIES_EACH], |row| {
            let session = PastSummary {
                id: row.get(7)?,
                at: Time(row.get(1)?),
                request: row.get(2)?,
                learned: row.get(3)?,
                completed: row.get(4)?,
                next_steps: row.get(5)?,
                notes: row.get(6)?,
            };
            Ok((row.get::<_, i64>(0)?, session))
        })?;
        let mut sessions: Vec<(i64, PastSummary)> = Vec::new();
        for row in rows {
            // A session whose last summary has nothing but a request is still looking for an earlier one.
            let is_complete = |(_, session): &(i64, PastSummary)| session.is_substantial();
            if sessions.len() >= most as usize && sessions.iter().all(is_complete) {
                break;
            }
            let (id, mut session) = row?;
            let is_unread = match sessions.iter().find(|(other, _)| *other == id) {
                Some((_, known)) => known.is_substantial(),
                None => sessions.len() >= most as usize,
            };
            if is_unread {
                continue;
            }
            let record = RecordId { kind: RecordKind::Summary, number: session.id };
            if session.is_substantial() && self.records().repeats_wrong(record, wrong)? {
                session = session.only_request();
            }
            if wrong.is_said_in(&session.request) {
                session.request.clear();
            }
            match sessions.iter().position(|(other, _)| *other == id) {
                None if sessions.len() < most as usize => sessions.push((id, session)),
                // The last summary of a session includes the earlier ones, unless it has nothing but a request.
                Some(place) if !sessions[place].1.is_substantial() && session.is_substantial() => {
                    sessions[place].1 = session;
                }
                None | Some(_) => {}
            }
        }
        Ok(sessions.into_iter().map(|(_, session)| session).collect())
    }

    /// The user's own rules: texts they saved at a terminal, then rules and corrections they typed. Statements of
    /// agents, programs and imports are only reference data. A resumed session gets those stated elsewhere since.
    fn user_statements(
        &self,
        project: ProjectId,
        typed: Vec<FactRow>,
        recall: Recall,
        wrong: &CalledWrong,
    ) -> Result<Vec<UserStatement>, StoreError> {
        let (own, since) = match recall {
            Recall::Everything | Recall::OfSession(_) => (None, Time(i64::MIN)),
            Recall::Since { session, at } => (Some(session), at),
        };
        let mut rules = self.saved_by_person(project, since, wrong)?;
        let typed = typed.into_iter().filter(|row| {
            let is_known = own.is_some_and(|own| row.session_id == Some(own));
            row.valid_from > since && !is_known
        });
        rules.extend(typed.take(MAX_FACTS).map(user_statement));
        Ok(rules)
    }

    /// Texts saved by the user. Found through the session that holds saved texts, so that no other observation is
    /// read.
    fn saved_by_person(
        &self,
        project: ProjectId,
        since: Time,
        wrong: &CalledWrong,
    ) -> Result<Vec<UserStatement>, StoreError> {
        let session = "SELECT id FROM sessions WHERE host = ?2
                       AND content_session_id = ?3 || (SELECT lower(hex(uuid)) FROM projects WHERE id = ?1)";
        let values = params![project.0, Host::Generic.name(), save::SESSION];
        let session: Option<i64> =
            self.db.prepare_cached(session)?.query_row(values, |row| row.get(0)).optional()?;
        let Some(session) = session else { return Ok(Vec::new()) };
        let by_person = if wrong.is_empty() { None } else { Some(self.called_wrong_by_person(project)?) };
        let wrong = by_person.as_ref().unwrap_or(wrong);
        let mut statement = self.db.prepare_cached(
            "SELECT o.id, o.narrative, o.pinned_at IS NOT NULL OR ifnull(f.useful, 0) > 0 FROM observations AS o
             LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
             WHERE o.session_id = ?1 AND o.provider = ?2 AND o.updated_at > ?3
             AND o.superseded_by IS NULL AND o.deleted_at IS NULL
             AND ifnull(f.wrong, 0) <= ifnull(f.useful, 0)
             ORDER BY o.created_at DESC, o.id DESC LIMIT ?4",
        )?;
        let values = params![session, SavedBy::Person.provider(), since.0, MAX_SAVED];
        let rows = statement.query_map(values, |row| {
            let id = RecordId { kind: RecordKind::Observation, number: row.get(0)? };
            Ok((UserStatement { id, key: String::new(), text: row.get(1)? }, row.get::<_, bool>(2)?))
        })?;
        let mut saved = Vec::new();
        for row in rows {
            let (text, is_upheld) = row?;
            if is_upheld || !wrong.is_said_in(&text.text) {
                saved.push(text);
            }
        }
        Ok(saved)
    }
}

/// Whether the user stated it as a rule, and not as a plain fact.
fn is_rule_of_user(row: &FactRow) -> bool {
    row.fact.source == FactSource::User && row.fact.kind != FactKind::Fact
}

/// Standing facts that are not the user's rules.
fn standing_facts(mut facts: Vec<FactRow>, recall: Recall, wrong: &CalledWrong) -> Vec<UserStatement> {
    if matches!(recall, Recall::Since { .. }) {
        return Vec::new();
    }
    facts.retain(|row| row.fact.trust >= MIN_TRUST);
    facts.truncate(MAX_FACTS);
    // A statement of the user holds until the user ends it.
    facts.retain(|row| row.fact.source == FactSource::User || !wrong.is_said_in(&row.fact.value));
    facts.into_iter().map(user_statement).collect()
}

fn user_statement(FactRow { id, fact, .. }: FactRow) -> UserStatement {
    UserStatement {
        id: RecordId { kind: RecordKind::Fact, number: id.0 },
        key: if fact.key.is_in(&fact.value) { String::new() } else { fact.key.into() },
        text: fact.value,
    }
}

pub(crate) fn read_known(row: &Row<'_>) -> rusqlite::Result<TimelineItem> {
    Ok(TimelineItem {
        id: row.get(0)?,
        at: Time(row.get(1)?),
        kind: row.get_ref(2)?.as_str()?.into(),
        title: row.get(3)?,
        tokens: row.get::<_, i64>(4)?.unsigned_abs().div_ceil(4),
        discovery_tokens: row.get::<_, i64>(5)?.unsigned_abs(),
        file: row.get(6)?,
        pinned: row.get(7)?,
        feedback: feedback::read(row, 8)?,
    })
}
