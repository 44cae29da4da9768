//! Tests of the crate's public interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "tests print their figures")]

mod corpus;
mod secrets;
