//! Reads documents and their records for search.

use std::collections::HashMap;

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Feedback;
use remora_core::ids::{DocumentId, ObservationId, ProjectId, SessionId};
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use rusqlite::Row;

use crate::feedback::{self, COLUMNS};
use crate::reading::concepts;
use crate::{Store, StoreError};

/// A document with fields of its record.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentRow {
    pub id: DocumentId,
    pub record: RecordId,
    /// `narrative`, `fact_2`, `learned`, `turn`, …
    pub part: String,
    pub project: Option<ProjectId>,
    pub project_name: Option<String>,
    pub session: Option<SessionId>,
    pub prompt_number: Option<i64>,
    pub title: String,
    pub body: String,
    pub prompt: String,
    pub before: String,
    pub after: String,
    pub created_at: Time,
    /// The type of an observation.
    pub kind: Option<ObservationType>,
    /// Whether another observation replaces it, and which, if that is known here.
    pub superseded: bool,
    pub superseded_by: Option<ObservationId>,
    pub feedback: Feedback,
}

/// The fields of a document that ranking needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    pub id: DocumentId,
    pub record: RecordId,
    pub session: Option<SessionId>,
    /// The turn of the session.
    pub prompt_number: Option<i64>,
    pub created_at: Time,
    pub superseded: bool,
    pub feedback: Feedback,
}

/// The fields of a record that facets are counted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub kind: RecordKind,
    pub observation_type: Option<ObservationType>,
    pub project: Option<String>,
    pub concepts: Vec<String>,
    /// Files it read or changed, each once.
    pub files: Vec<String>,
}

/// All texts of a record, by document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordText {
    pub documents: Vec<DocumentText>,
    /// The subtitle and narrative of an observation, without concepts and files.
    pub narrative: String,
    pub concepts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DocumentText {
    pub id: DocumentId,
    pub part: String,
    /// Title, body, prompt, before, after.
    pub columns: [String; 5],
}

impl DocumentRow {
    /// The name of a document in logs: `obs_12_fact_2`.
    pub fn name(&self) -> String {
        let kind = match self.record.kind {
            RecordKind::Observation => "obs",
            other => other.name(),
        };
        format!("{kind}_{}_{}", self.record.number, self.part)
    }
}

/// Ids as a JSON list for `json_each`.
pub(super) fn ids(ids: &[impl ToString]) -> String {
    let numbers: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

impl Store {
    /// Outlines of these documents. Missing ones are left out.
    pub fn outlines(&self, documents: &[DocumentId]) -> Result<Vec<Outline>, StoreError> {
        let sql = format!(
            "SELECT d.id, d.kind, d.record_id, d.session_id, d.created_at, CASE d.kind
                       WHEN 'observation' THEN o.prompt_number
                       WHEN 'turn' THEN (SELECT prompt_number FROM user_prompts WHERE id = d.record_id)
                       WHEN 'summary' THEN (SELECT prompt_number FROM session_summaries WHERE id = d.record_id) END,
                       o.superseded_by IS NOT NULL, {COLUMNS}
                   FROM json_each(?1) AS wanted CROSS JOIN documents AS d ON d.id = wanted.value
                   LEFT JOIN observations AS o ON d.kind = 'observation' AND o.id = d.record_id
                   LEFT JOIN observation_feedback AS f ON d.kind = 'observation' AND f.observation_id = d.record_id"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([ids(documents)], |row| {
            let kind = RecordKind::from_name(&row.get::<_, String>(1)?).unwrap_or(RecordKind::Observation);
            Ok(Outline {
                id: DocumentId(row.get(0)?),
                record: RecordId { kind, number: row.get(2)? },
                session: row.get::<_, Option<i64>>(3)?.map(SessionId),
                prompt_number: row.get(5)?,
                created_at: Time(row.get(4)?),
                superseded: row.get(6)?,
                feedback: feedback::read(row, 7)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The complete texts of the records that these documents belong to.
    pub fn record_texts(&self, documents: &[DocumentId]) -> Result<Vec<RecordText>, StoreError> {
        let sql = concat!(
            "SELECT d.kind, d.record_id, d.id, d.part, d.title, d.body, d.prompt, d.before, d.after, ",
            "ifnull(o.subtitle || char(10) || o.narrative, ''), ",
            concepts!(),
            " FROM (SELECT DISTINCT w.kind, w.record_id FROM json_each(?1) AS wanted
                    CROSS JOIN documents AS w ON w.id = wanted.value) AS r
             CROSS JOIN documents AS d ON d.kind = r.kind AND d.record_id = r.record_id
             LEFT JOIN observations AS o ON d.kind = 'observation' AND o.id = d.record_id"
        );
        let mut records: HashMap<(String, i64), RecordText> = HashMap::new();
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([ids(documents)])?;
        while let Some(row) = rows.next()? {
            let record = records.entry((row.get(0)?, row.get(1)?)).or_default();
            let columns = [row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?, row.get(8)?];
            record.documents.push(DocumentText { id: DocumentId(row.get(2)?), part: row.get(3)?, columns });
            record.narrative = row.get(9)?;
            let concepts: Option<String> = row.get(10)?;
            record.concepts =
                concepts.map(|json| serde_json::from_str(&json)).transpose()?.unwrap_or_default();
        }
        Ok(records.into_values().collect())
    }

    /// The facet fields of the records of these documents.
    pub fn counted(&self, documents: &[DocumentId]) -> Result<Vec<Counted>, StoreError> {
        let sql = concat!(
            "SELECT d.kind, o.type, p.name, ",
            concepts!(),
            ", CASE d.kind
                 WHEN 'observation' THEN (SELECT json_group_array(DISTINCT path) FROM observation_files
                                          WHERE observation_id = d.record_id)
                 WHEN 'summary' THEN (SELECT json_group_array(value) FROM (
                     SELECT value FROM session_summaries AS s, json_each(s.files_read) WHERE s.id = d.record_id
                     UNION SELECT value FROM session_summaries AS s, json_each(s.files_edited) WHERE s.id = d.record_id))
                 ELSE '[]' END
             FROM json_each(?1) AS wanted CROSS JOIN documents AS d ON d.id = wanted.value
             LEFT JOIN projects AS p ON p.id = d.project_id
             LEFT JOIN observations AS o ON d.kind = 'observation' AND o.id = d.record_id"
        );
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([ids(documents)], |row| {
            Ok(Counted {
                kind: RecordKind::from_name(&row.get::<_, String>(0)?).unwrap_or(RecordKind::Observation),
                observation_type: row.get::<_, Option<String>>(1)?.map(ObservationType::from),
                project: row.get(2)?,
                concepts: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
                files: serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default(),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The host of each of these sessions.
    pub fn hosts_of(&self, sessions: &[SessionId]) -> Result<Vec<(SessionId, String)>, StoreError> {
        let sql = "SELECT s.id, s.host FROM json_each(?1) AS wanted CROSS JOIN sessions AS s ON s.id = wanted.value";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([ids(sessions)], |row| Ok((SessionId(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// These documents, in this order. Missing ones are left out.
    pub fn documents(&self, documents: &[DocumentId]) -> Result<Vec<DocumentRow>, StoreError> {
        let sql = format!(
            "SELECT d.id, d.kind, d.record_id, d.part, d.project_id, p.name, d.session_id,
                       coalesce(o.prompt_number, s.prompt_number, t.prompt_number), d.title, d.body, d.prompt, d.before,
                       d.after, d.created_at, o.type, o.superseded_by IS NOT NULL,
                       (SELECT id FROM observations WHERE uuid = o.superseded_by AND deleted_at IS NULL), {COLUMNS}
                   FROM json_each(?1) AS wanted CROSS JOIN documents AS d ON d.id = wanted.value
                   LEFT JOIN projects AS p ON p.id = d.project_id
                   LEFT JOIN observations AS o ON d.kind = 'observation' AND o.id = d.record_id
                   LEFT JOIN session_summaries AS s ON d.kind = 'summary' AND s.id = d.record_id
                   LEFT JOIN user_prompts AS t ON d.kind = 'turn' AND t.id = d.record_id
                   LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
                   ORDER BY wanted.key"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([ids(documents)], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    let kind = RecordKind::from_name(&row.get::<_, String>(1)?).unwrap_or(RecordKind::Observation);
    Ok(DocumentRow {
        id: DocumentId(row.get(0)?),
        record: RecordId { kind, number: row.get(2)? },
        part: row.get(3)?,
        project: row.get::<_, Option<i64>>(4)?.map(ProjectId),
        project_name: row.get(5)?,
        session: row.get::<_, Option<i64>>(6)?.map(SessionId),
        prompt_number: row.get(7)?,
        title: row.get(8)?,
        body: row.get(9)?,
        prompt: row.get(10)?,
        before: row.get(11)?,
        after: row.get(12)?,
        created_at: Time(row.get(13)?),
        kind: row.get::<_, Option<String>>(14)?.map(ObservationType::from),
        superseded: row.get(15)?,
        superseded_by: row.get::<_, Option<i64>>(16)?.map(ObservationId),
        feedback: feedback::read(row, 17)?,
    })
}
