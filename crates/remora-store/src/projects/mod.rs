//! Finds the project of a directory: read from files ([`locate`]), decided in the database ([`resolve`]).
//! `queries` returns the known projects.

mod queries;
mod resolve;

pub use queries::{FoundProject, JoinedBy, ProjectKey, ProjectRow};
pub use resolve::Joined;
pub(crate) use resolve::{add_alias, adopt, joined, joined_with, project_of, resolve, split};
