//! Reads one JSON value from a stream of bytes in bounded memory.
//!
//! A host passes whatever a tool printed to a hook, which may be a hundred megabytes in one string. Ordinary JSON
//! readers hold that string in memory first, and reject the halved surrogate pairs that hosts written in JavaScript
//! produce when they cut a text. [`Intake`] therefore builds the value itself: each string keeps its head and tail,
//! `<private>` parts are dropped as they stream by (also in the discarded middle, because they decide whether the
//! tail is private), and malformed text becomes U+FFFD.

mod find;
mod json;
mod plain;
mod private;
mod string;

pub use json::{Document, Intake, IntakeError, Limits, Progress};
pub use plain::public_text;
