//! The user's own notes as a source of memory: a folder of Markdown, or Obsidian's Local REST API.
//!
//! [`Round`] takes the known notes and returns the notes that changed, ready to be stored, and the ids of those that
//! are gone. Everything here blocks, only reads, and is meant for a thread of its own. The crate changes the database
//! only through `remora-store`; it stores nothing itself but the certificate it trusts ([`certificate`]).

mod always;
mod api;
pub mod certificate;
mod error;
mod folder;
mod round;
mod sync;

pub use always::{always_injected, unknown_names};
pub use api::Offered;
pub use error::SourceError;
pub use round::{Access, Round};
pub use sync::{Done, forget_some, settle, sync};
