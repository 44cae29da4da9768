//! Reads documents and their records for search.

use std::collections::HashMap;

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Feedback;
use remora_core::ids::{DocumentId, ObservationId, ProjectId, SessionId};
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use crate::StoreError;
use crate::feedback::{self, COLUMNS};
use crate::handles::Index;
use crate::records::observation::concepts;

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
    pub title: String,
    pub body: String,
    pub created_at: Time,
    /// The type of an observation.
    pub kind: Option<ObservationType>,
    /// Whether another observation replaces it, and which, if that is known here.
    pub superseded: bool,
    pub superseded_by: Option<ObservationId>,
    pub feedback: Feedback,
}

/// The fields of a document that ranking and facets need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    pub id: DocumentId,
    pub record: RecordId,
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
    /// The turn of the session.
    pub prompt_number: Option<i64>,
    pub created_at: Time,
    /// The type of an observation.
    pub kind: Option<ObservationType>,
    pub superseded: bool,
    pub feedback: Feedback,
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

/// Names documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DocumentKeys<'a> {
    Ids(&'a [DocumentId]),
    /// One part of a record.
    Part {
        record: RecordId,
        part: &'a str,
    },
}

impl<'a, T: AsRef<[DocumentId]> + ?Sized> From<&'a T> for DocumentKeys<'a> {
    fn from(ids: &'a T) -> Self {
        Self::Ids(ids.as_ref())
    }
}

/// Which names to look up, and by the numbers of which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamesOf {
    /// The concepts of observations.
    Concepts,
    /// The files that observations read or changed.
    Files,
    /// The files that the sessions of summaries read or changed.
    SummaryFiles,
    Projects,
    /// The hosts of sessions.
    Hosts,
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

/// The documents `d` of a JSON list of ids. Reads only the index, as long as the statement needs no other columns.
pub(super) const OUTLINED: &str = "FROM json_each(?) AS wanted
    CROSS JOIN documents AS d INDEXED BY documents_outlined ON d.id = wanted.value";

/// Statement for the outlines of a JSON list of documents.
pub(crate) fn outlines_sql() -> String {
    format!(
        "SELECT d.id, d.kind, d.record_id, d.session_id, d.created_at, d.project_id, d.type, CASE d.kind
             WHEN 'observation' THEN o.prompt_number
             WHEN 'turn' THEN (SELECT prompt_number FROM user_prompts WHERE id = d.record_id)
             WHEN 'summary' THEN (SELECT prompt_number FROM session_summaries WHERE id = d.record_id) END,
             o.superseded_by IS NOT NULL, {COLUMNS} {OUTLINED}
         LEFT JOIN observations AS o INDEXED BY observations_outlined
             ON d.kind = 'observation' AND o.id = d.record_id
         LEFT JOIN observation_feedback AS f ON d.kind = 'observation' AND f.observation_id = d.record_id"
    )
}

impl Index<'_> {
    /// Outlines of these documents. Missing ones are left out.
    pub fn outlines(self, documents: &[DocumentId]) -> Result<Vec<Outline>, StoreError> {
        let mut statement = self.0.db.prepare_cached(&outlines_sql())?;
        let rows = statement.query_map([ids(documents)], |row| {
            let kind = RecordKind::from_name(&row.get::<_, String>(1)?).unwrap_or(RecordKind::Observation);
            Ok(Outline {
                id: DocumentId(row.get(0)?),
                record: RecordId { kind, number: row.get(2)? },
                project: row.get::<_, Option<i64>>(5)?.map(ProjectId),
                session: row.get::<_, Option<i64>>(3)?.map(SessionId),
                prompt_number: row.get(7)?,
                created_at: Time(row.get(4)?),
                kind: row.get::<_, Option<String>>(6)?.map(ObservationType::from),
                superseded: row.get(8)?,
                feedback: feedback::read(row, 9)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The complete texts of the records that these documents belong to.
    pub fn record_texts(self, documents: &[DocumentId]) -> Result<Vec<RecordText>, StoreError> {
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
        let mut statement = self.0.db.prepare_cached(sql)?;
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

    /// Names that belong to these rows, each with the number of its row. Without rows, the statement is not even
    /// prepared.
    pub fn names(self, of: NamesOf, numbers: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let sql = match of {
            NamesOf::Concepts => {
                "SELECT c.observation_id, c.concept FROM json_each(?1) AS wanted
                 CROSS JOIN observation_concepts AS c ON c.observation_id = wanted.value"
            }
            NamesOf::Files => {
                "SELECT f.observation_id, f.path FROM json_each(?1) AS wanted
                 CROSS JOIN observation_files AS f ON f.observation_id = wanted.value"
            }
            NamesOf::SummaryFiles => {
                "SELECT s.id, files.value FROM json_each(?1) AS wanted
                 CROSS JOIN session_summaries AS s ON s.id = wanted.value, json_each(s.files_read) AS files
                 UNION ALL
                 SELECT s.id, files.value FROM json_each(?1) AS wanted
                 CROSS JOIN session_summaries AS s ON s.id = wanted.value, json_each(s.files_edited) AS files"
            }
            NamesOf::Projects => {
                "SELECT p.id, p.name FROM json_each(?1) AS wanted CROSS JOIN projects AS p ON p.id = wanted.value"
            }
            NamesOf::Hosts => {
                "SELECT s.id, s.host FROM json_each(?1) AS wanted CROSS JOIN sessions AS s ON s.id = wanted.value"
            }
        };
        let mut statement = self.0.db.prepare_cached(sql)?;
        let rows = statement.query_map([ids(numbers)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// These documents, in this order. Missing ones are left out.
    pub fn documents<'a>(
        self,
        documents: impl Into<DocumentKeys<'a>>,
    ) -> Result<Vec<DocumentRow>, StoreError> {
        let (source, order, values) = match documents.into() {
            DocumentKeys::Ids(documents) => (
                "json_each(?1) AS wanted CROSS JOIN documents AS d ON d.id = wanted.value",
                "ORDER BY wanted.key",
                vec![Value::from(ids(documents))],
            ),
            DocumentKeys::Part { record, part } => (
                "documents AS d",
                "WHERE d.kind = ?1 AND d.record_id = ?2 AND d.part = ?3",
                vec![
                    Value::from(record.kind.name().to_owned()),
                    Value::from(record.number),
                    Value::from(part.to_owned()),
                ],
            ),
        };
        let sql = format!(
            "SELECT d.id, d.kind, d.record_id, d.part, d.project_id, p.name, d.session_id, d.title, d.body, d.created_at,
                       o.type, o.superseded_by IS NOT NULL,
                       (SELECT id FROM observations WHERE uuid = o.superseded_by AND deleted_at IS NULL), {COLUMNS}
                   FROM {source}
                   LEFT JOIN projects AS p ON p.id = d.project_id
                   LEFT JOIN observations AS o ON d.kind = 'observation' AND o.id = d.record_id
                   LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
                   {order}"
        );
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), read)?;
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
        title: row.get(7)?,
        body: row.get(8)?,
        created_at: Time(row.get(9)?),
        kind: row.get::<_, Option<String>>(10)?.map(ObservationType::from),
        superseded: row.get(11)?,
        superseded_by: row.get::<_, Option<i64>>(12)?.map(ObservationId),
        feedback: feedback::read(row, 13)?,
    })
}
