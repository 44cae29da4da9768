//! The daemon: one background process a data directory that turns what waits into knowledge.
//!
//! In come datagrams from hooks and commands (`ear`) and requests from programs ([`http`]); out comes a queue worked off
//! ([`daemon`]). A kernel lock (`remora_client::presence`) makes it the only one, not a PID file. What it answers is
//! computed by `remora-app`. This crate knows no SQL and no host's wire format.

pub mod activity;
mod backups;
mod context_files;
pub mod daemon;
mod ear;
pub mod embedders;
pub mod finder;
mod forgetting;
mod git_status;
mod housekeeping;
pub mod http;
mod indexer;
mod notes;
pub mod shared;
pub mod store_thread;
mod worker;
