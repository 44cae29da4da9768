//! The way of an event from a host into the database.

pub(crate) mod enqueue;
mod idempotency;
mod session;
