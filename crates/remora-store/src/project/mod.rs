//! Which project a directory belongs to: read from files ([`locate`]), settled in the database ([`resolve`]).

mod locate;
mod resolve;

pub use locate::{Place, locate};
pub(crate) use resolve::resolve;
