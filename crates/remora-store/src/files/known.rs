//! Lists the files that memory is about.

use remora_core::ids::{ObservationId, ProjectId};
use remora_core::memory::ObservationType;
use remora_core::time::Time;

use crate::handles::KnownFiles;
use crate::{Page, Store, StoreError};

/// A file that observations name.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownFile {
    pub project: String,
    pub project_id: ProjectId,
    /// Relative to the project's root, or the full path if the file is elsewhere.
    pub path: String,
    pub observations: i64,
    /// The number of observations that modified it.
    pub changed: i64,
    /// The time of the latest observation.
    pub last_at: Time,
    /// The latest observations that name exactly this path, latest first.
    pub lines: Vec<AboutLine>,
}

/// An observation about a file, as one line.
#[derive(Debug, Clone, PartialEq)]
pub struct AboutLine {
    pub id: ObservationId,
    pub kind: ObservationType,
    pub title: String,
    pub created_at: Time,
    pub superseded: bool,
}

/// A selection of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileQuery {
    /// `None` for all projects.
    pub project: Option<ProjectId>,
    /// Part of the path; empty matches every file.
    pub part: String,
    /// The number of observations returned with each file.
    pub lines: u32,
    pub limit: u32,
    pub offset: u32,
}

impl KnownFiles<'_> {
    /// The file with the latest observation comes first.
    pub fn list(self, query: &FileQuery) -> Result<Page<KnownFile>, StoreError> {
        let FileQuery { project, part, lines, limit, offset } = query;
        let project = project.map(|project| project.0);
        // Reads observations from the index alone: without `INDEXED BY`, the long rows would be read.
        let sql = "SELECT p.name, o.project_id, f.path, count(DISTINCT f.observation_id),
                       count(*) FILTER (WHERE f.how = 'modified'), max(o.created_at) AS last_at, count(*) OVER ()
                   FROM observations AS o INDEXED BY observations_by_project
                   CROSS JOIN observation_files AS f ON f.observation_id = o.id
                   CROSS JOIN projects AS p ON p.id = o.project_id
                   WHERE o.deleted_at IS NULL AND (?1 IS NULL OR o.project_id = ?1)
                   AND (?2 = '' OR instr(lower(f.path), lower(?2)) > 0)
                   GROUP BY o.project_id, f.path ORDER BY last_at DESC, f.path LIMIT ?3 OFFSET ?4";
        let mut total = 0;
        let mut items = self.0.rows(sql, &[&project, part, limit, offset], |row| {
            total = row.get(6)?;
            Ok(KnownFile {
                project: row.get(0)?,
                project_id: ProjectId(row.get(1)?),
                path: row.get(2)?,
                observations: row.get(3)?,
                changed: row.get(4)?,
                last_at: Time(row.get(5)?),
                lines: Vec::new(),
            })
        })?;
        for file in &mut items {
            file.lines = self.0.lines_about(file.project_id, &file.path, *lines)?;
        }
        Ok(Page { items, total })
    }
}

impl Store {
    /// Observations that name exactly this path, latest first.
    fn lines_about(&self, project: ProjectId, path: &str, most: u32) -> Result<Vec<AboutLine>, StoreError> {
        let sql = "SELECT DISTINCT o.id, o.type, o.title, o.created_at, o.superseded_by IS NOT NULL
                   FROM observation_files AS f JOIN observations AS o ON o.id = f.observation_id
                   WHERE f.path = ?1 AND o.project_id = ?2 AND o.deleted_at IS NULL
                   ORDER BY f.observation_id DESC LIMIT ?3";
        self.rows(sql, &[&path, &project.0, &most], |row| {
            Ok(AboutLine {
                id: ObservationId(row.get(0)?),
                kind: row.get::<_, String>(1)?.into(),
                title: row.get(2)?,
                created_at: Time(row.get(3)?),
                superseded: row.get(4)?,
            })
        })
    }
}
