//! What the crate promises, seen from outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "tests print their figures")]

mod corpus;
mod secrets;
