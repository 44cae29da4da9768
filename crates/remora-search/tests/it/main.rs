//! Tests of search with a real store and the real model.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]

mod feedback;
mod golden;
mod hostile;
mod indexing;
mod planning;
mod support;
