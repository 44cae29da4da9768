//! Finds secrets in text and replaces them: text in, redacted text out.
//!
//! [`redact`] replaces every secret it finds by `[redacted:kind]`. [`names_a_secret`] answers for the name of a
//! field whose value cannot be judged by itself. Two parts do the work: `secrets` is how a text is searched,
//! `rules` is the table of what is searched for. A new kind of secret is one more entry in that table.
//!
//! Hooks run this on every event, so a text without secrets costs one pass over its bytes, no allocation and no
//! compiled expression.
//!
//! This crate opens no file, keeps no state, and never knows what a text is about: no events, no hosts, no
//! settings. Which texts pass through it is decided by `remora_core::privacy`.

mod rules;
mod secrets;

pub use secrets::{Find, Reader, Rule, names_a_secret, redact, rules};
