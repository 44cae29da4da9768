//! Lists records before and after a point in time.

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::memory::ObservationType;
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::{OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::handles::Records;
use crate::rows::{record_id, superseded_by};
use crate::{Store, StoreError, times};

/// A record on a timeline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimelineEntry {
    pub id: RecordId,
    pub kind: RecordKind,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub observation_type: Option<ObservationType>,
    pub title: String,
    /// The record that replaces it: an observation, or a correction of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<RecordId>,
    pub project: String,
    pub project_id: ProjectId,
    pub session_id: SessionId,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

impl TimelineEntry {
    fn place(&self) -> TimelinePlace {
        let rank = match self.kind {
            RecordKind::Summary => 2,
            RecordKind::Observation => 1,
            _ => 0,
        };
        TimelinePlace { at: self.created_at, rank, number: self.id.number }
    }
}

/// A position on the timeline. At the same time, an observation sorts before the summary made with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TimelinePlace {
    at: Time,
    rank: i64,
    number: i64,
}

/// The center of a timeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Anchor<'a> {
    Entry(&'a TimelineEntry),
    /// A point in time, at which nothing need have happened.
    Time(Time),
    /// The end of the timeline.
    Now,
}

const MAX_TITLE_LEN: usize = 120;

const OBSERVATIONS: &str = concat!(
    "SELECT 'observation', r.id, r.type, r.title, p.name, r.project_id, r.session_id, r.created_at, ",
    superseded_by!("r"),
    " FROM observations AS r JOIN projects AS p ON p.id = r.project_id WHERE r.deleted_at IS NULL"
);
const SUMMARIES: &str =
    "SELECT 'summary', r.id, NULL, r.request, p.name, r.project_id, r.session_id, r.created_at, NULL
    FROM session_summaries AS r JOIN projects AS p ON p.id = r.project_id WHERE r.deleted_at IS NULL";
const TURNS: &str =
    "SELECT 'turn', r.id, NULL, r.text, p.name, s.project_id, r.session_id, r.created_at, NULL
    FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id JOIN projects AS p ON p.id = s.project_id
    WHERE r.deleted_at IS NULL";

impl Records<'_> {
    /// A record as a moment, if it is an observation, a summary or a turn.
    pub fn timeline_entry(self, record: RecordId) -> Result<Option<TimelineEntry>, StoreError> {
        let select = match record.kind {
            RecordKind::Observation => OBSERVATIONS,
            RecordKind::Summary => SUMMARIES,
            RecordKind::Turn => TURNS,
            RecordKind::Fact | RecordKind::Note | RecordKind::Event => return Ok(None),
        };
        let sql = format!("{select} AND r.id = ?1");
        Ok(self.0.db.prepare_cached(&sql)?.query_row([record.number], read).optional()?)
    }

    /// The observations and summaries of a project around `anchor`, oldest first, including the anchor.
    pub fn timeline(
        self,
        project: ProjectId,
        anchor: Anchor<'_>,
        before: u32,
        after: u32,
    ) -> Result<Vec<TimelineEntry>, StoreError> {
        let place = match anchor {
            Anchor::Entry(moment) => moment.place(),
            Anchor::Time(at) => TimelinePlace { at, rank: i64::MIN, number: i64::MIN },
            Anchor::Now => TimelinePlace { at: Time(i64::MAX), rank: i64::MAX, number: i64::MAX },
        };
        let mut moments = self.0.beside(project, place, Side::Before, before)?;
        moments.reverse();
        if let Anchor::Entry(moment) = anchor {
            moments.push(moment.clone());
        }
        if !matches!(anchor, Anchor::Now) {
            moments.extend(self.0.beside(project, place, Side::After, after)?);
        }
        Ok(moments)
    }

    /// The project of a record. `None` if the record does not exist or belongs to no project.
    pub fn project_of(self, record: RecordId) -> Result<Option<ProjectId>, StoreError> {
        let sql = match record.kind {
            RecordKind::Observation => {
                "SELECT project_id FROM observations WHERE id = ?1 AND deleted_at IS NULL"
            }
            RecordKind::Summary => {
                "SELECT project_id FROM session_summaries WHERE id = ?1 AND deleted_at IS NULL"
            }
            RecordKind::Fact => "SELECT project_id FROM facts WHERE id = ?1 AND deleted_at IS NULL",
            // A note belongs to no project.
            RecordKind::Note => return Ok(None),
            RecordKind::Turn => {
                "SELECT s.project_id FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id
                 WHERE r.id = ?1 AND r.deleted_at IS NULL"
            }
            RecordKind::Event => {
                "SELECT s.project_id FROM event_traces AS r JOIN sessions AS s ON s.id = r.session_id WHERE r.id = ?1"
            }
        };
        let project: Option<Option<i64>> =
            self.0.db.prepare_cached(sql)?.query_row([record.number], |row| row.get(0)).optional()?;
        Ok(project.flatten().map(ProjectId))
    }
}

impl Store {
    /// The nearest moments on one side, nearest first.
    fn beside(
        &self,
        project: ProjectId,
        from: TimelinePlace,
        side: Side,
        most: u32,
    ) -> Result<Vec<TimelineEntry>, StoreError> {
        let (compare, order) = match side {
            Side::Before => ("<", "DESC"),
            Side::After => (">", "ASC"),
        };
        let mut all = Vec::new();
        // Only the current summary of a session is a moment, not its checkpoints.
        let summaries = format!("{SUMMARIES} AND r.checkpoint = 0");
        for (select, rank) in [(OBSERVATIONS, 1), (summaries.as_str(), 2)] {
            // The first condition lets SQLite search the index.
            let sql = format!(
                "{select} AND r.project_id = ?1 AND r.created_at {compare}= ?2
                 AND (r.created_at, {rank}, r.id) {compare} (?2, ?3, ?4)
                 ORDER BY r.created_at {order}, r.id {order} LIMIT ?5"
            );
            let mut statement = self.db.prepare_cached(&sql)?;
            let values = params![project.0, from.at.0, from.rank, from.number, most];
            for moment in statement.query_map(values, read)? {
                all.push(moment?);
            }
        }
        all.sort_by_key(TimelineEntry::place);
        if matches!(side, Side::Before) {
            all.reverse();
        }
        all.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(all)
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

fn read(row: &Row<'_>) -> rusqlite::Result<TimelineEntry> {
    let kind: String = row.get(0)?;
    let kind = RecordKind::from_name(&kind).unwrap_or(RecordKind::Observation);
    let title: String = row.get(3)?;
    Ok(TimelineEntry {
        id: RecordId { kind, number: row.get(1)? },
        kind,
        observation_type: row.get::<_, Option<String>>(2)?.map(ObservationType::from),
        title: one_line(&title, MAX_TITLE_LEN),
        project: row.get(4)?,
        project_id: ProjectId(row.get(5)?),
        session_id: SessionId(row.get(6)?),
        created_at: Time(row.get(7)?),
        superseded_by: record_id(row, 8)?,
    })
}
