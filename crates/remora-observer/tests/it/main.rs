//! Tests of the observer on recorded sessions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod answer;
mod claude_cli;
mod fake;
mod mid_turn;
mod pipeline;
mod provider;
mod transcripts;
mod user;
