//! Queries for projects. A directory may share a project with others, so callers can ask why it joined one, and split
//! it off.

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::TransactionBehavior;
use serde::Serialize;

use super::Joined;
use crate::rows::list;
use crate::{Store, StoreError, project, retention};
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

impl Store {
    pub fn projects(&self) -> Result<Vec<ProjectRow>, StoreError> {
        self.rows(
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
    pub fn project_at(&self, place: &Place) -> Result<Option<ProjectRow>, StoreError> {
        let Some(id) = project::project_of(&self.db, place)? else { return Ok(None) };
        Ok(self.projects()?.into_iter().find(|project| project.id == id))
    }

    /// The project that a directory joined, only because it has the same origin or is below the project's root.
    pub fn joined(&self, place: &Place) -> Result<Option<Joined>, StoreError> {
        Ok(project::joined(&self.db, place)?)
    }

    /// The same for a directory that joined its project when this session began.
    pub fn joined_with(&self, session: SessionId) -> Result<Option<Joined>, StoreError> {
        Ok(project::joined_with(&self.db, session)?)
    }

    /// Gives a directory that shares a project its own, from now on. `None` if it shares none.
    pub fn split(&mut self, place: &Place, now: Time) -> Result<Option<ProjectRow>, StoreError> {
        let transaction = self.writable()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let split = project::split(&transaction, place, now)?;
        if split.is_some() {
            retention::audit(&transaction, "project split", &place.root, now)?;
        }
        transaction.commit()?;
        if split.is_none() { Ok(None) } else { self.project_at(place) }
    }
}
