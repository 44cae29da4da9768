//! The daemon: one background process per data directory that turns queued events into observations.
//!
//! Hooks and commands wake it with datagrams (`ear`); other programs send HTTP requests ([`http`]). The main
//! loop is in [`daemon`]. A kernel lock (`remora_client::presence`), not a PID file, keeps it the only one.
//! Its answers are computed by `remora-app`. This crate knows no SQL and no host's wire format.

pub mod activity;
mod backups;
mod context_files;
pub mod daemon;
mod ear;
mod embedders;
pub mod finder;
mod forgetting;
mod git_status;
mod housekeeping;
pub mod http;
mod indexer;
mod notes;
mod runtime;
pub mod shared;
pub mod store_thread;
pub mod trace;
mod worker;
