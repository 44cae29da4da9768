//! Finds the project of a directory: read from files ([`locate`]), decided in the database ([`resolve`]).
//! `queries` returns the known projects.

mod locate;
mod queries;
mod resolve;

pub use locate::{Place, locate, worktree};
pub use queries::ProjectRow;
pub use resolve::Joined;
pub(crate) use resolve::{add_alias, adopt, joined, joined_with, project_of, resolve, split};
