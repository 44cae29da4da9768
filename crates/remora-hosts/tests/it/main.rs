//! Tests that messages of real hosts are read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod claude_code;
mod generic;
mod recorded;
mod transcript;
