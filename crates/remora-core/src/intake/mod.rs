//! Reads one JSON value from a stream of bytes in bounded memory.
//!
//! A host hands a hook whatever the tool printed, which may be a hundred megabytes in one string. Ordinary JSON
//! readers hold that string before anybody can look at it, and refuse the half surrogate pairs that hosts
//! written in JavaScript produce when they cut a text. [`Intake`] therefore builds the value itself: each string
//! keeps its head and tail, `<private>` parts are dropped as they stream by (also those in the middle that
//! nobody will ever see, because they decide whether the tail is private), and malformed text becomes U+FFFD.

mod find;
mod json;
mod plain;
mod private;
mod string;

pub use json::{Document, Intake, IntakeError, Limits, Progress};
pub use plain::public_text;
