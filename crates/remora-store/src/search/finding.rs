//! Finds documents by their text, or by filters alone.

use std::collections::{HashMap, HashSet};

use remora_core::document::ProjectScope;
use remora_core::ids::DocumentId;
use rusqlite::types::Value;
use rusqlite::{ToSql, params_from_iter};

use super::filters::{Conditions, Filters, containing, like_any, marks};
use super::rows::OUTLINED;
use crate::handles::Index;
use crate::{Store, StoreError};

/// Weights of the columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    pub title: f64,
    pub body: f64,
    pub prompt: f64,
    pub before: f64,
    pub after: f64,
    /// Texts longer than this many bytes count as long. They contain many words by chance, so their score is divided
    /// by the square root of how many times longer they are.
    pub short: f64,
}

impl Weights {
    fn of_length(self, bytes: f64) -> f64 {
        (self.short / bytes.max(self.short)).sqrt()
    }
}

/// A matching document. Its score is SQLite's BM25, reduced for long texts; higher is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    pub document: DocumentId,
    pub score: f64,
}

/// Selects documents to be counted. In an FTS5 expression, user text must be quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentsWith<'a> {
    /// All, approximately: the largest id, which needs no count.
    Anything,
    /// Those whose words match an expression, counted up to `most`.
    Words { expression: &'a str, most: usize },
    /// Those whose trigrams match an expression, counted up to `most`.
    Trigrams { expression: &'a str, most: usize },
}

/// Which documents are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among<'a> {
    These(&'a [DocumentId]),
    /// All, if the filters name concepts or files that few records have. Listing those is then cheaper than checking
    /// documents one by one.
    All,
}

/// The documents that a record is shown by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    /// The one that represents it in queries without text.
    LeadDocument,
    AllDocuments,
}

/// Number of best matches that are checked against the filters at a time, and how many passing ones are enough.
const LOOK: usize = 400;
const ENOUGH: usize = 50;
/// If more observations than this have a concept or a file, the filter does not count as selective.
const FEW: usize = 2_000;
/// Strings too short for a trigram are searched in this many of the newest documents.
const MAX_SCANNED: u32 = 5_000;

/// The length of the strings in the trigram index.
const TRIGRAM: usize = 3;

impl Index<'_> {
    /// The number of some documents.
    pub fn count(self, with: DocumentsWith<'_>) -> Result<usize, StoreError> {
        let (sql, values) = match with {
            DocumentsWith::Anything => ("SELECT ifnull(max(id), 0) FROM documents", None),
            DocumentsWith::Words { expression, most } => (
                "SELECT count(*) FROM (SELECT 1 FROM documents_text WHERE documents_text MATCH ?1 LIMIT ?2)",
                Some((expression, most)),
            ),
            DocumentsWith::Trigrams { expression, most } => (
                "SELECT count(*) FROM (SELECT 1 FROM documents_trigram WHERE documents_trigram MATCH ?1 LIMIT ?2)",
                Some((expression, most)),
            ),
        };
        let mut statement = self.0.db.prepare_cached(sql)?;
        let count: i64 = match values {
            None => statement.query_row([], |row| row.get(0))?,
            Some((expression, most)) => {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                statement.query_row((expression, most), |row| row.get(0))?
            }
        };
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Reads title and body of the newest documents that pass, at most `MAX_SCANNED`.
    pub fn each_text(
        self,
        filters: &Filters,
        mut each: impl FnMut(DocumentId, &str, &str),
    ) -> Result<(), StoreError> {
        let conditions = Conditions::new(filters);
        let sql = format!(
            "SELECT d.id, d.title, d.body FROM documents AS d WHERE true{} ORDER BY d.id DESC LIMIT {MAX_SCANNED}",
            conditions.sql()
        );
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&conditions.values))?;
        while let Some(row) = rows.next()? {
            let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
            each(DocumentId(row.get(0)?), text(1)?, text(2)?);
        }
        Ok(())
    }

    /// The best matches of an FTS5 expression among documents after `after`. In the expression, user text must be
    /// quoted. `few` is the result of [`Index::passing`].
    pub fn matching(
        self,
        expression: &str,
        weights: Weights,
        filters: &Filters,
        few: Option<&HashSet<DocumentId>>,
        after: DocumentId,
        most: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let columns = [weights.title, weights.body, weights.prompt, weights.before, weights.after];
        let mut values: Vec<Value> = columns.into_iter().map(Value::from).collect();
        values.extend([Value::from(expression.to_owned()), Value::from(after.0)]);
        let sql = "SELECT rowid, -bm25(documents_text, ?, ?, ?, ?, ?) FROM documents_text
                   WHERE documents_text MATCH ? AND rowid > ?";
        let mut matches = self.0.found(sql, &values)?;
        if let Some(few) = few {
            matches.retain(|found| few.contains(&found.document));
        }
        sort(&mut matches);
        // Matching in the index alone is much faster than reading every document. So only the best matches are
        // checked first, and usually enough of them pass.
        let mut best = Vec::new();
        for look in matches.chunks(LOOK.max(most)) {
            let documents: Vec<DocumentId> = look.iter().map(|found| found.document).collect();
            let bytes: HashMap<DocumentId, f64> = self.0.passing_with_bytes(&documents, filters)?.collect();
            best.extend(look.iter().filter_map(|&Match { document, score }| {
                Some(Match { document, score: score * weights.of_length(*bytes.get(&document)?) })
            }));
            if best.len() >= most.min(ENOUGH) {
                break;
            }
        }
        sort(&mut best);
        best.truncate(most);
        Ok(best)
    }

    /// The newest documents whose title or body contains a string. If it is too short for trigrams, only the newest
    /// `MAX_SCANNED` are searched.
    pub fn containing(
        self,
        text: &str,
        filters: &Filters,
        most: usize,
    ) -> Result<Vec<DocumentId>, StoreError> {
        let conditions = Conditions::new(filters);
        let (sql, mut values);
        if text.chars().count() < TRIGRAM {
            sql = format!(
                r"SELECT d.id, 0.0 FROM (SELECT * FROM documents AS d WHERE true{} ORDER BY d.id DESC LIMIT {MAX_SCANNED}) AS d
                  WHERE d.title LIKE ? ESCAPE '\' OR d.body LIKE ? ESCAPE '\' ORDER BY d.id DESC LIMIT ?",
                conditions.sql()
            );
            values = conditions.values;
            values.extend([Value::from(containing(text)), Value::from(containing(text))]);
        } else {
            sql = format!(
                "SELECT d.id, 0.0 FROM documents_trigram CROSS JOIN documents AS d ON d.id = documents_trigram.rowid
                 WHERE documents_trigram MATCH ?{} ORDER BY documents_trigram.rowid DESC LIMIT ?",
                conditions.sql()
            );
            values = vec![Value::from(quoted(text))];
            values.extend(conditions.values);
        }
        values.push(limit(most));
        Ok(self.0.found(&sql, &values)?.into_iter().map(|found| found.document).collect())
    }

    /// The newest records that pass, by their documents.
    pub fn newest(
        self,
        filters: &Filters,
        most: usize,
        shown: ShownBy,
    ) -> Result<Vec<DocumentId>, StoreError> {
        // Checks each record once, not each of its documents.
        let leads = match self.passing(Among::All, filters)? {
            Some(few) => self.0.newest_of(&few, most)?,
            None => self.0.newest_leads(filters, most)?,
        };
        match shown {
            ShownBy::LeadDocument => Ok(leads),
            ShownBy::AllDocuments => self.0.of_same_records(&leads),
        }
    }

    /// The documents that pass. `None` if there are too many to list.
    pub fn passing(
        self,
        among: Among<'_>,
        filters: &Filters,
    ) -> Result<Option<HashSet<DocumentId>>, StoreError> {
        if let Among::These(documents) = among {
            let passing = self.0.passing_with_bytes(documents, filters)?;
            return Ok(Some(passing.map(|(document, _)| document).collect()));
        }
        let Some(observations) = self.0.few_observations(filters)? else { return Ok(None) };
        let conditions = Conditions::new(filters);
        let sql = format!(
            "SELECT d.id, 0.0 FROM json_each(?) AS wanted
             CROSS JOIN documents AS d ON d.kind = 'observation' AND d.record_id = wanted.value WHERE true{}",
            conditions.sql()
        );
        let mut values = vec![Value::from(serde_json::to_string(&observations)?)];
        values.extend(conditions.values);
        let mut passing: HashSet<DocumentId> =
            self.0.found(&sql, &values)?.into_iter().map(|found| found.document).collect();
        if filters.wants_files() {
            passing.extend(self.0.of_same_records(&self.0.passing_summaries(filters)?)?);
        }
        Ok(Some(passing))
    }
}

impl Store {
    /// The lead documents of the newest records that pass.
    fn newest_leads(&self, filters: &Filters, most: usize) -> Result<Vec<DocumentId>, StoreError> {
        let conditions = Conditions::beside_scope(filters);
        // One project at a time: then the index has the order, and the query ends early.
        let sql = format!(
            "SELECT d.id, d.created_at FROM documents AS d WHERE d.project_id IS ? AND d.lead = 1{}
             ORDER BY d.created_at DESC, d.id DESC LIMIT ?",
            conditions.sql()
        );
        let mut all: Vec<(i64, i64)> = Vec::new();
        let mut statement = self.db.prepare_cached(&sql)?;
        for project in self.partitions(filters.scope)? {
            let mut values = vec![project.map_or(Value::Null, Value::from)];
            values.extend(conditions.values.iter().cloned());
            values.push(limit(most));
            let rows =
                statement.query_map(params_from_iter(&values), |row| Ok((row.get(1)?, row.get(0)?)))?;
            for row in rows {
                all.push(row?);
            }
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(most);
        Ok(all.into_iter().map(|(_, id)| DocumentId(id)).collect())
    }

    fn newest_of(&self, few: &HashSet<DocumentId>, most: usize) -> Result<Vec<DocumentId>, StoreError> {
        let few: Vec<DocumentId> = few.iter().copied().collect();
        let sql =
            "SELECT d.id, 0.0 FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.id = wanted.value
                   WHERE d.lead = 1 ORDER BY d.created_at DESC, d.id DESC LIMIT ?";
        let found = self.found(sql, &[Value::from(super::rows::ids(&few)), limit(most)])?;
        Ok(found.into_iter().map(|found| found.document).collect())
    }

    /// The documents that pass, with the length of their text.
    fn passing_with_bytes(
        &self,
        documents: &[DocumentId],
        filters: &Filters,
    ) -> Result<impl Iterator<Item = (DocumentId, f64)>, StoreError> {
        let conditions = Conditions::new(filters);
        let sql = passing_sql(&conditions);
        let mut values = vec![Value::from(super::rows::ids(documents))];
        values.extend(conditions.values);
        Ok(self.found(&sql, &values)?.into_iter().map(|found| (found.document, found.score)))
    }

    /// The observations with one of the concepts, or one of the files, that the filters name. `None` if they name
    /// none, or if there are many.
    fn few_observations(&self, filters: &Filters) -> Result<Option<Vec<i64>>, StoreError> {
        let (sql, mut values): (_, Vec<Value>) = if !filters.concepts.is_empty() {
            let marks = marks(&filters.concepts);
            let sql = format!(
                "SELECT DISTINCT observation_id FROM observation_concepts WHERE concept IN ({marks}) LIMIT ?"
            );
            (sql, filters.concepts.iter().cloned().map(Value::from).collect())
        } else if let Some(paths) = filters.paths().into_iter().find(|paths| !paths.is_empty()) {
            // There are far fewer paths than observations, so this steps through the index from path to path.
            let sql = format!(
                "WITH RECURSIVE paths (path) AS (
                     SELECT min(path) FROM observation_files
                     UNION ALL
                     SELECT (SELECT min(path) FROM observation_files WHERE path > paths.path) FROM paths
                     WHERE paths.path IS NOT NULL)
                 SELECT DISTINCT f.observation_id FROM paths CROSS JOIN observation_files AS f ON f.path = paths.path
                 WHERE {} LIMIT ?",
                like_any("paths.path", paths)
            );
            (sql, paths.iter().map(|path| Value::from(containing(path))).collect())
        } else {
            return Ok(None);
        };
        values.push(limit(FEW + 1));
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), |row| row.get(0))?;
        let observations: Vec<i64> = rows.collect::<Result<_, _>>()?;
        Ok((observations.len() <= FEW).then_some(observations))
    }

    /// The summaries that pass. Their documents do not have the files, but there are few summaries.
    fn passing_summaries(&self, filters: &Filters) -> Result<Vec<DocumentId>, StoreError> {
        let conditions = Conditions::new(filters);
        let sql = format!(
            "SELECT d.id, 0.0 FROM documents AS d WHERE d.kind = 'summary' AND +d.lead = 1{}",
            conditions.sql()
        );
        Ok(self.found(&sql, &conditions.values)?.into_iter().map(|found| found.document).collect())
    }

    /// All documents of the records that these belong to.
    fn of_same_records(&self, documents: &[DocumentId]) -> Result<Vec<DocumentId>, StoreError> {
        let sql =
            "SELECT d.id, 0.0 FROM json_each(?) AS wanted CROSS JOIN documents AS l ON l.id = wanted.value
                   CROSS JOIN documents AS d ON d.kind = l.kind AND d.record_id = l.record_id";
        let ids = [Value::from(super::rows::ids(documents))];
        Ok(self.found(sql, &ids)?.into_iter().map(|found| found.document).collect())
    }

    /// The projects of a scope, and `None` for records of no project.
    pub(crate) fn partitions(&self, scope: ProjectScope) -> Result<Vec<Option<i64>>, StoreError> {
        let mut all = match scope {
            ProjectScope::One(project) => vec![Some(project.0)],
            ProjectScope::All => {
                let mut projects = self.db.prepare_cached("SELECT id FROM projects")?;
                projects.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
            }
        };
        all.push(None);
        Ok(all)
    }

    fn found(&self, sql: &str, values: &[impl ToSql]) -> Result<Vec<Match>, StoreError> {
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params_from_iter(values), |row| {
            Ok(Match { document: DocumentId(row.get(0)?), score: row.get(1)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Statement for the documents, of a JSON list, that pass, with the length of their text.
pub(crate) fn passing_sql(conditions: &Conditions) -> String {
    format!(
        "SELECT d.id, octet_length(d.title) + octet_length(d.body) {OUTLINED} WHERE true{}",
        conditions.sql()
    )
}

/// Sorts by score, best first.
fn sort(found: &mut [Match]) {
    found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(b.document.cmp(&a.document)));
}

/// A text as an FTS5 string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\"").replace('\0', " "))
}

fn limit(most: usize) -> Value {
    Value::from(i64::try_from(most).unwrap_or(i64::MAX))
}
