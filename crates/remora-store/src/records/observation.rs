//! Observations: their columns, and the queries for them.

use remora_core::document::RecordId;
use remora_core::feedback::Feedback;
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::memory::Observation;
use remora_core::time::Time;
use rusqlite::{OptionalExtension, Row};
use uuid::Uuid;

use crate::handles::Records;
use crate::records::page::{ByProject, Kind, Page, Selection};
use crate::rows::{list, record_id};
use crate::{StoreError, feedback};

#[derive(Debug, Clone, PartialEq)]
pub struct ObservationRow {
    pub id: ObservationId,
    pub session_id: SessionId,
    pub project: String,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    pub observation: Observation,
    pub provider: String,
    pub model: String,
    /// The uuids of the events it was made of.
    pub source_event_ids: Vec<Uuid>,
    /// When it was pinned, to come first at the start of every session.
    pub pinned_at: Option<Time>,
    /// The record that replaces it: an observation, or a correction of the user.
    pub superseded_by: Option<RecordId>,
    /// The observations that it replaces. Only filled in for records that are requested by their id.
    pub replaces: Vec<ObservationId>,
    pub feedback: Feedback,
    pub created_at: Time,
}

/// The concepts of `observations AS o`, as JSON.
macro_rules! concepts {
    () => {
        "(SELECT json_group_array(concept ORDER BY position) FROM observation_concepts WHERE observation_id = o.id)"
    };
}
pub(crate) use concepts;

/// The files that `observations AS o` read or modified, as JSON.
macro_rules! files {
    ($how:literal) => {
        concat!(
            "(SELECT json_group_array(path ORDER BY position) FROM observation_files
              WHERE observation_id = o.id AND how = '",
            $how,
            "')"
        )
    };
}
pub(crate) use files;

const OBSERVATION: &str = concat!(
    "SELECT o.id, o.session_id, p.name, o.prompt_number, o.type, o.title, o.subtitle,
    o.narrative, o.facts, ",
    concepts!(),
    ", ",
    files!("read"),
    ", ",
    files!("modified"),
    ", o.discovery_tokens, o.tool_name, o.provider, o.model, o.source_event_ids, o.created_at, o.project_id, o.pinned_at, ",
    // By the id that users type. A correction of the user is a fact.
    "ifnull((SELECT CAST(id AS TEXT) FROM observations WHERE uuid = o.superseded_by AND deleted_at IS NULL),
        (SELECT 'f' || id FROM facts WHERE uuid = o.superseded_by AND deleted_at IS NULL)), ",
    feedback::feedback_columns!(),
    " FROM observations AS o JOIN projects AS p ON p.id = o.project_id
    LEFT JOIN observation_feedback AS f ON f.observation_id = o.id WHERE o.deleted_at IS NULL"
);

pub(crate) const KIND: Kind<ObservationRow> = Kind {
    select: OBSERVATION,
    from: "FROM observations AS o WHERE o.deleted_at IS NULL",
    alias: "o",
    project: "o.project_id",
    in_session: "prompt_number",
    typed_id: "CAST(o.id AS TEXT)",
    current: "o.superseded_by IS NULL",
    tool_calls: "",
    by_project: ByProject::All,
    read: read_observation,
    id: |row| row.id.0,
};

/// What an observation says. Less than the whole row, because hooks read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservationText {
    pub narrative: String,
    pub facts: Vec<String>,
    /// The prompt of the turn that it was made of; empty if there is none.
    pub asked: String,
    /// Whether a person pinned it or called it useful, so that it is injected as it is.
    pub is_upheld: bool,
}

impl Records<'_> {
    pub fn observations(self, selection: &Selection) -> Result<Page<ObservationRow>, StoreError> {
        self.0.select(&KIND, selection)
    }

    /// An observation, with those that it replaces.
    pub fn observation(self, id: ObservationId) -> Result<Option<ObservationRow>, StoreError> {
        let found = self.0.select(&KIND, &Selection::of_ids([id]))?.into_first();
        let Some(row) = found else { return Ok(None) };
        let sql = "SELECT o.id FROM observations AS o INDEXED BY observations_superseded
                   WHERE o.superseded_by = (SELECT uuid FROM observations WHERE id = ?1) AND o.deleted_at IS NULL
                   ORDER BY o.id";
        let mut statement = self.0.db.prepare_cached(sql)?;
        let replaces = statement.query_map([id.0], |row| row.get(0).map(ObservationId))?;
        Ok(Some(ObservationRow { replaces: replaces.collect::<Result<_, _>>()?, ..row }))
    }

    /// The text of an observation, and whether a person upholds it.
    pub fn observation_text(self, id: ObservationId) -> Result<Option<ObservationText>, StoreError> {
        let sql = "SELECT o.narrative, o.facts,
                       ifnull((SELECT text FROM user_prompts WHERE session_id = o.session_id
                               AND prompt_number = o.prompt_number AND deleted_at IS NULL), ''),
                       o.pinned_at IS NOT NULL
                           OR EXISTS (SELECT 1 FROM observation_feedback WHERE observation_id = o.id AND useful > 0)
                   FROM observations AS o WHERE o.id = ?1 AND o.deleted_at IS NULL";
        let read = |row: &Row<'_>| {
            Ok(ObservationText {
                narrative: row.get(0)?,
                facts: list(row, 1)?,
                asked: row.get(2)?,
                is_upheld: row.get(3)?,
            })
        };
        Ok(self.0.db.prepare_cached(sql)?.query_row([id.0], read).optional()?)
    }
}

fn read_observation(row: &Row<'_>) -> rusqlite::Result<ObservationRow> {
    let kind: String = row.get(4)?;
    Ok(ObservationRow {
        id: ObservationId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        project: row.get(2)?,
        project_id: ProjectId(row.get(18)?),
        prompt_number: row.get(3)?,
        observation: Observation {
            kind: kind.into(),
            title: row.get(5)?,
            subtitle: row.get(6)?,
            narrative: row.get(7)?,
            facts: list(row, 8)?,
            concepts: list(row, 9)?,
            files_read: list(row, 10)?,
            files_modified: list(row, 11)?,
            discovery_tokens: row.get::<_, i64>(12)?.unsigned_abs(),
            tool_name: row.get(13)?,
        },
        provider: row.get(14)?,
        model: row.get(15)?,
        source_event_ids: list(row, 16)?,
        pinned_at: row.get::<_, Option<i64>>(19)?.map(Time),
        superseded_by: record_id(row, 20)?,
        replaces: Vec::new(),
        feedback: feedback::read(row, 21)?,
        created_at: Time(row.get(17)?),
    })
}
