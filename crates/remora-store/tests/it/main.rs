//! Tests of the store on real files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod asking;
mod backup;
mod context_files;
mod documents;
mod facts;
mod feedback;
mod idempotency;
mod import;
mod ledger;
mod notes;
mod opening;
mod projects;
mod queue;
mod retention;
mod spool;
mod superseded;
mod support;
mod transcripts;
