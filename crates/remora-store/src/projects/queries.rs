//! Queries for projects. A directory may share a project with others, so callers can ask why it joined one, and split
//! it off.

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;

use super::Joined;
use crate::handles::Projects;
use crate::rows::list;
use crate::{StoreError, projects, retention};
use remora_data::{Place, locate};

#[derive(Debug, Clone, PartialEq)]
pub struct ProjectRow {
    pub id: ProjectId,
    pub name: String,
    pub key: String,
    pub root: String,
    /// Every directory it is known by.
    pub paths: Vec<String>,
    pub origin: Option<String>,
}

/// The projects that a name may refer to.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundProject {
    One(Box<ProjectRow>),
    Several(Vec<ProjectRow>),
    None,
}

/// Names one project.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProjectKey<'a> {
    Id(ProjectId),
    /// A directory of it.
    Place(&'a Place),
}

impl From<ProjectId> for ProjectKey<'_> {
    fn from(id: ProjectId) -> Self {
        Self::Id(id)
    }
}

impl<'a> From<&'a Place> for ProjectKey<'a> {
    fn from(place: &'a Place) -> Self {
        Self::Place(place)
    }
}

/// Names the directory that joined a project.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JoinedBy<'a> {
    Place(&'a Place),
    /// The directory joined its project when this session began.
    Session(SessionId),
}

impl Projects<'_> {
    /// Finds a project by its id, by its name if that is unique, or by a directory.
    pub fn find(self, wanted: &str) -> Result<FoundProject, StoreError> {
        let projects = self.0.projects().list()?;
        let mut named: Vec<ProjectRow> =
            projects.into_iter().filter(|p| p.name == wanted || p.id.to_string() == wanted).collect();
        if named.len() > 1 {
            return Ok(FoundProject::Several(named));
        }
        let found = match named.pop() {
            Some(project) => Some(project),
            None => self.0.projects().get(&locate(wanted.as_ref()))?,
        };
        Ok(found.map_or(FoundProject::None, |project| FoundProject::One(Box::new(project))))
    }

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

    /// A project by its id, or of a directory, if it is known, by the same rules as for an event from there.
    pub fn get<'a>(self, project: impl Into<ProjectKey<'a>>) -> Result<Option<ProjectRow>, StoreError> {
        let id = match project.into() {
            ProjectKey::Id(id) => Some(id),
            ProjectKey::Place(place) => projects::project_of(&self.0.db, place)?,
        };
        let Some(id) = id else { return Ok(None) };
        Ok(self.0.projects().list()?.into_iter().find(|project| project.id == id))
    }

    /// The project that a directory joined, only because it has the same origin or is below the project's root.
    pub fn joined(self, by: JoinedBy<'_>) -> Result<Option<Joined>, StoreError> {
        Ok(match by {
            JoinedBy::Place(place) => projects::joined(&self.0.db, place)?,
            JoinedBy::Session(session) => projects::joined_with(&self.0.db, session)?,
        })
    }
}

impl Projects<'_> {
    /// Gives a directory that shares a project its own, from now on. `None` if it shares none.
    pub fn split(self, place: &Place, now: Time) -> Result<Option<ProjectRow>, StoreError> {
        let transaction = self.0.begin()?;
        let split = projects::split(&transaction, place, now)?;
        if split.is_some() {
            retention::audit(&transaction, "project split", &place.root, now)?;
        }
        transaction.commit()?;
        if split.is_none() { Ok(None) } else { self.0.projects().get(place) }
    }
}
