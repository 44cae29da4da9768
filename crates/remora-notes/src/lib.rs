//! The user's own notes as a source of memory: a folder of Markdown, or Obsidian's Local REST API.
//!
//! In goes what is known of each note; out come the notes that changed, made fit to be stored, and the names of those
//! that are gone ([`Round`]). Everything here blocks, reads only, and is meant for a thread of its own. This crate writes
//! no database but through `remora-store`; what it keeps itself is the certificate it trusts ([`certificate`]).

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
