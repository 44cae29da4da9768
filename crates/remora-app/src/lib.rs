//! The use cases of Remora, each one function from a typed request to a typed answer.
//!
//! Hooks, commands, the daemon's HTTP interface and the demo are doors: they read what somebody sent, call a function
//! of this crate, and show what it returned. So the same question has the same answer through every door.
//!
//! | module | use case |
//! |---|---|
//! | [`capture`] | what a host reported becomes a record that may be stored, or is left out |
//! | [`recall`] | what is injected at the start of a session, with a prompt, before a file |
//! | [`search`], [`timeline`], [`records`], [`session_summary`], [`story`], [`feed`], [`files`], [`why`], [`retrievals`], [`stats`] | what somebody asks for |
//! | [`save`], [`judge`], [`edit`], [`facts`], [`forget`], [`pause`], [`privacy`] | what somebody says |
//! | [`import`], [`export`] | what comes from elsewhere, and what goes there |
//! | [`install`], [`context_files`], [`settings`], [`status`], [`costs`], [`notes`], [`queue`], [`backup`], [`projects`], [`doctor`] | how it is run |
//!
//! It never knows a wire format, HTTP, or how an answer looks.

pub mod backup;
pub mod capture;
pub mod context_files;
pub mod costs;
pub mod doctor;
pub mod edit;
mod error;
pub mod export;
pub mod facts;
pub mod feed;
pub mod files;
pub mod forget;
pub mod import;
pub mod install;
pub mod judge;
pub mod notes;
pub mod pause;
pub mod privacy;
pub mod projects;
pub mod queue;
pub mod recall;
pub mod records;
pub mod remedy;
pub mod retrievals;
pub mod save;
mod scope;
pub mod search;
pub mod session_summary;
pub mod settings;
pub mod stats;
pub mod status;
pub mod story;
pub mod timeline;
pub mod why;

pub use error::AppError;
pub use scope::{Whose, latest_session, project, project_named, scope, session};

use remora_search::{Embed, Searcher};

/// What finds by meaning: the daemon keeps both parts between requests, a command makes them anew.
#[expect(missing_debug_implementations, reason = "an embedder is a trait object")]
pub struct Engine<'a> {
    pub searcher: &'a Searcher,
    /// Without one, search goes by words alone.
    pub embedder: Option<&'a mut dyn Embed>,
}
