//! Which project a directory belongs to: read from files ([`locate`]), settled in the database ([`resolve`]).

mod locate;
mod resolve;

pub use locate::{Place, locate, worktree};
pub(crate) use resolve::{project_of, resolve};
