//! How busy a project was.

use remora_core::ids::ProjectId;
use remora_core::time::Time;

use crate::StoreError;
use crate::handles::Projects;

impl Projects<'_> {
    /// The number of observations of one project or of all in each quarter of an hour since then. In every time zone,
    /// days begin with one.
    pub fn activity(self, project: Option<ProjectId>, since: Time) -> Result<Vec<(Time, i64)>, StoreError> {
        let sql = "SELECT created_at / 900000, count(*) FROM observations INDEXED BY observations_by_project
                   WHERE deleted_at IS NULL AND (?1 IS NULL OR project_id = ?1) AND created_at >= ?2
                   GROUP BY 1";
        self.0.rows(sql, &[&project.map(|project| project.0), &since.0], |row| {
            Ok((Time(row.get::<_, i64>(0)? * 900_000), row.get(1)?))
        })
    }
}
