//! Finds the project of a directory: read from files ([`locate`]), decided in the database ([`resolve`]).

mod locate;
mod resolve;

pub use locate::{Place, locate, worktree};
pub use resolve::Joined;
pub(crate) use resolve::{add_alias, adopt, joined, joined_with, project_of, resolve, split};
