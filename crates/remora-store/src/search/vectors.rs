//! Stores vectors of documents. Documents without a vector are the indexer's work list.

use remora_core::document::ProjectScope;
use remora_core::ids::{DocumentId, ProjectId};
use remora_core::time::Time;
use rusqlite::{OptionalExtension, params};

use super::DocumentsWith;
use crate::handles::Index;
use crate::{Store, StoreError};

/// A document without a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToEmbed {
    pub document: DocumentId,
    pub title: String,
    pub body: String,
    /// The text before it in the session, if it is short.
    pub before: String,
}

/// A vector for a document: `values` times `scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub of: ToEmbed,
    pub scale: f32,
    pub values: Vec<u8>,
}

/// Which vectors there are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorsWanted<'a> {
    pub model: &'a str,
    /// Whether turns get vectors. Turns without one are removed from the work list or added to it; existing vectors
    /// stay.
    pub of_turns: bool,
}

/// The parts that vectors are read in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorPartitions {
    /// Changes when vectors that were read before are no longer valid. New vectors do not change it.
    pub epoch: [u8; 8],
    /// The projects, and `None` for records of no project.
    pub projects: Vec<Option<ProjectId>>,
}

/// What [`Index::each_vector`] reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VectorRow<'a> {
    /// No more vectors than this follow, to reserve memory for them.
    AtMost(usize),
    Vector {
        document: DocumentId,
        scale: f32,
        value: &'a [u8],
    },
}

/// Checks whether this is the current model.
const IS_WANTED: &str = "SELECT 1 FROM meta WHERE key = 'embedding_model' AND value = ?1";
/// States of `documents.embedded`: 0 not embedded yet, 1 embedded, 2 never to be embedded.
const WAITING: i64 = 0;
const LEFT_OUT: i64 = 2;
/// Number of documents marked in one transaction when the model changes.
const STEP: i64 = 5_000;

impl Index<'_> {
    /// Some documents without a vector, newest first, because they are most likely to be searched next. Before that,
    /// the marks of documents follow `wanted`: vectors of another model are deleted, to be made again.
    pub fn to_embed(self, wanted: VectorsWanted<'_>, most: usize) -> Result<Vec<ToEmbed>, StoreError> {
        self.0.use_model(wanted.model)?;
        self.0.embed_turns(wanted.of_turns)?;
        let sql =
            "SELECT id, title, body, before FROM documents WHERE embedded = 0 ORDER BY id DESC LIMIT ?1";
        let mut statement = self.0.db.prepare_cached(sql)?;
        let rows = statement.query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| {
            Ok(ToEmbed {
                document: DocumentId(row.get(0)?),
                title: row.get(1)?,
                body: row.get(2)?,
                before: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The partitions of the vectors in a scope.
    pub fn vectors(self, scope: ProjectScope) -> Result<VectorPartitions, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = 'vectors_epoch'";
        let epoch = self.0.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        let projects = self.0.partitions(scope)?.into_iter().map(|project| project.map(ProjectId)).collect();
        Ok(VectorPartitions { epoch, projects })
    }

    /// Calls `each` with the vectors that `model` made for a project, or for records of no project: those after
    /// `last`, or all, and then first with their number. Returns the value for `last` in the next call.
    pub fn each_vector(
        self,
        project: Option<ProjectId>,
        model: &str,
        last: Option<i64>,
        mut each: impl FnMut(VectorRow<'_>),
    ) -> Result<i64, StoreError> {
        // Reads the newest id first, in the same snapshot: vectors stored meanwhile come with the next call.
        let _snapshot = self.0.snapshot()?;
        let newest: i64 = self
            .0
            .db
            .prepare_cached("SELECT ifnull(max(id), 0) FROM vectors")?
            .query_row([], |row| row.get(0))?;
        if last == Some(newest) {
            return Ok(newest);
        }
        if last.is_none() {
            let sql = "SELECT count(*) FROM documents WHERE project_id IS ?1";
            let project = project.map(|project| project.0);
            let count: i64 = self.0.db.prepare_cached(sql)?.query_row([project], |row| row.get(0))?;
            each(VectorRow::AtMost(usize::try_from(count).unwrap_or_default()));
        }
        let order = if last.is_some() {
            "vectors AS v CROSS JOIN documents AS d"
        } else {
            "documents AS d CROSS JOIN vectors AS v"
        };
        let sql = format!(
            "SELECT d.id, v.scale, v.value FROM {order} ON v.document_id = d.id
             WHERE d.project_id IS ?1 AND v.model = ?2 AND v.id > ?3"
        );
        let mut statement = self.0.db.prepare_cached(&sql)?;
        let mut rows =
            statement.query(params![project.map(|project| project.0), model, last.unwrap_or(0)])?;
        while let Some(row) = rows.next()? {
            let value = row.get_ref(2)?.as_blob().unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, reason = "stored from an f32")]
            let scale = row.get::<_, f64>(1)? as f32;
            each(VectorRow::Vector { document: DocumentId(row.get(0)?), scale, value });
        }
        Ok(newest)
    }
}

impl Index<'_> {
    /// Stores vectors made by `model`, if it is still the current one. A document that was removed or changed since
    /// it was read gets none.
    pub fn put_vectors(self, model: &str, made: &[Embedded]) -> Result<(), StoreError> {
        let now = self.0.dir().now();
        let transaction = self.0.begin()?;
        if !transaction.prepare_cached(IS_WANTED)?.exists([model.as_bytes()])? {
            return Ok(());
        }
        for Embedded { of, scale, values } in made {
            let marked = transaction
                .prepare_cached(
                    "UPDATE documents SET embedded = 1 WHERE id = ?1 AND title = ?2 AND body = ?3 AND embedded = 0",
                )?
                .execute(params![of.document.0, of.title, of.body])?;
            if marked > 0 {
                transaction
                    .prepare_cached(
                        "INSERT OR REPLACE INTO vectors (document_id, model, scale, value) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![of.document.0, model, f64::from(*scale), values])?;
            }
        }
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('vectors_at', CAST(?1 AS BLOB))",
            )?
            .execute([now.0.to_string()])?;
        transaction.commit()?;
        Ok(())
    }
}

impl Store {
    /// Sets the current model. Vectors of another model are deleted, to be made again.
    fn use_model(&self, model: &str) -> Result<(), StoreError> {
        if self.db.prepare_cached(IS_WANTED)?.exists([model.as_bytes()])? {
            return Ok(());
        }
        let last = i64::try_from(self.index().count(DocumentsWith::Anything)?).unwrap_or(i64::MAX);
        let db = self.writable()?;
        // In small transactions, so that hooks can write in between. After an interruption it starts over.
        for first in (0..=last).step_by(usize::try_from(STEP).unwrap_or(usize::MAX)) {
            let transaction = self.begin()?;
            let range = params![first, first + STEP, model];
            transaction.execute(
                "UPDATE documents SET embedded = 0 WHERE id >= ?1 AND id < ?2 AND embedded = 1
                 AND id NOT IN (SELECT document_id FROM vectors WHERE document_id >= ?1 AND document_id < ?2 AND model = ?3)",
                range,
            )?;
            transaction.execute(
                "DELETE FROM vectors WHERE document_id >= ?1 AND document_id < ?2 AND model <> ?3",
                range,
            )?;
            transaction.commit()?;
        }
        db.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('embedding_model', ?1), ('vectors_epoch', randomblob(8))",
            [model.as_bytes()],
        )?;
        Ok(())
    }

    /// Sets whether turns get vectors. Turns without one are removed from the work list or added to it; existing
    /// vectors stay.
    fn embed_turns(&self, wanted: bool) -> Result<(), StoreError> {
        if wanted {
            let sql = "SELECT 1 FROM meta WHERE key = 'turns_left_out'";
            if !self.db.prepare_cached(sql)?.exists([])? {
                return Ok(());
            }
            while self.mark_turns(LEFT_OUT, WAITING)? > 0 {}
            self.writable()?.execute("DELETE FROM meta WHERE key = 'turns_left_out'", [])?;
            return Ok(());
        }
        let waiting = "SELECT 1 FROM documents WHERE embedded = 0 AND kind = 'turn'";
        if !self.db.prepare_cached(waiting)?.exists([])? {
            return Ok(());
        }
        // The mark is written first: after a crash, the next process checks again.
        self.writable()?
            .execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('turns_left_out', x'01')", [])?;
        while self.mark_turns(WAITING, LEFT_OUT)? > 0 {}
        Ok(())
    }

    /// Marks some turns, in a small transaction, so that hooks can write in between. Returns their number.
    fn mark_turns(&self, from: i64, to: i64) -> Result<usize, StoreError> {
        let sql = "UPDATE documents SET embedded = ?2 WHERE id IN
                       (SELECT id FROM documents WHERE embedded = ?1 AND kind = 'turn' LIMIT ?3)";
        Ok(self.writable()?.prepare_cached(sql)?.execute(params![from, to, STEP])?)
    }

    pub(super) fn vectors_at(&self) -> Result<Option<Time>, StoreError> {
        let sql = "SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM meta WHERE key = 'vectors_at'";
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?.map(Time))
    }

    pub(crate) fn embedding_model(&self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = 'embedding_model'";
        let name: Option<Vec<u8>> =
            self.db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
        Ok(name.map(|name| String::from_utf8_lossy(&name).into_owned()))
    }
}
