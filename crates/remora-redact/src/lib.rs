//! Finds secrets in text and replaces them: the input is text, the output is redacted text.
//!
//! [`redact`] replaces every secret it finds by `[redacted:kind]`. [`names_a_secret`] checks the name of a field
//! whose value cannot be judged by itself. There are two parts: `secrets` searches the text, and `rules` is the table
//! of patterns. A new kind of secret is one more entry in that table.
//!
//! Hooks run this on every event, so a text without secrets costs one pass over its bytes, no allocation and no
//! compiled expression.
//!
//! This crate opens no file, keeps no state, and knows nothing about events, hosts or settings.
//! `remora_core::privacy` decides which texts pass through it.

mod rules;
mod secrets;

pub use secrets::{Find, Reader, Rule, names_a_secret, redact, rules};
