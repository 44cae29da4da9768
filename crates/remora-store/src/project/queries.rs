//! Queries for projects. A directory may share a project with others, so callers can ask why it joined one, and split
//! it off.

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use serde::Serialize;

use super::Joined;
use crate::handles::Projects;
use crate::rows::list;
use crate::{StoreError, project, retention};
use remora_data::Place;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectRow {
    pub id: ProjectId,
    pub name: String,
    pub key: String,
    pub root: String,
    /// Every directory it is known by.
    pub paths: Vec<String>,
    pub origin: Option<String>,
}

impl Projects<'_> {
    pub fn list(self) -> Result<Vec<ProjectRow>, StoreError> {
        self.0.rows(
            "SELECT id, name, key, root, origin,
                 (SELECT json_group_array(path) FROM project_aliases WHERE project_id = projects.id AND gone_at IS NULL)
             FROM projects ORDER BY id",
            &[],
            |row| {
                Ok(ProjectRow {
                    id: ProjectId(row.get(0)?),
                    name: row.get(1)?,
                    key: row.get(2)?,
                    root: row.get(3)?,
                    origin: row.get(4)?,
                    paths: list(row, 5)?,
                })
            },
        )
    }

    /// The project of a directory, if it is known, by the same rules as for an event from there.
    pub fn at(self, place: &Place) -> Result<Option<ProjectRow>, StoreError> {
        let Some(id) = project::project_of(&self.0.db, place)? else { return Ok(None) };
        Ok(self.0.projects().list()?.into_iter().find(|project| project.id == id))
    }

    /// The project that a directory joined, only because it has the same origin or is below the project's root.
    pub fn joined(self, place: &Place) -> Result<Option<Joined>, StoreError> {
        Ok(project::joined(&self.0.db, place)?)
    }

    /// The same for a directory that joined its project when this session began.
    pub fn joined_with(self, session: SessionId) -> Result<Option<Joined>, StoreError> {
        Ok(project::joined_with(&self.0.db, session)?)
    }
}

impl Projects<'_> {
    /// Gives a directory that shares a project its own, from now on. `None` if it shares none.
    pub fn split(self, place: &Place, now: Time) -> Result<Option<ProjectRow>, StoreError> {
        let transaction = self.0.begin()?;
        let split = project::split(&transaction, place, now)?;
        if split.is_some() {
            retention::audit(&transaction, "project split", &place.root, now)?;
        }
        transaction.commit()?;
        if split.is_none() { Ok(None) } else { self.0.projects().at(place) }
    }
}
