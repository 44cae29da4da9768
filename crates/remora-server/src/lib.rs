//! The daemon: one background process a data directory that turns what waits into knowledge.
//!
//! In come datagrams from hooks and commands ([`control`]) and requests from programs ([`http`]); out comes a queue
//! worked off ([`daemon`]). That there is one and only one is held by a kernel lock ([`presence`]), not by a PID file.
//! This crate knows no SQL and no host's wire format.

pub mod activity;
mod context_files;
pub mod control;
pub mod daemon;
pub mod embedders;
pub mod finder;
mod git_status;
mod housekeeping;
pub mod http;
mod indexer;
pub mod launch;
mod notes;
pub mod presence;
pub mod shared;
pub mod store_thread;
mod worker;
