//! The use cases of Remora, each one function from a typed request to a typed answer.
//!
//! Hooks, commands, the daemon's HTTP interface and the demo are doors: they parse their input, call a function of this
//! crate, and format the result. So the same request has the same result through every door.
//!
//! | module | use case |
//! |---|---|
//! | [`caller`] | says who asks, and which projects they may reach |
//! | [`capture`] | decides what of a host's report may be stored |
//! | [`recall`] | chooses what is injected at the start of a session, with a prompt, before a file |
//! | [`search`], [`timeline`], [`records`], [`related`], [`session_summary`], [`story`], [`feed`], [`files`], [`why`], [`retrievals`], [`stats`] | answer queries |
//! | [`save`], [`judge`], [`edit`], [`facts`], [`forget`], [`pause`], [`privacy`] | apply what a user says |
//! | [`import`], [`export`] | exchange memory with other programs |
//! | [`install`], [`context_files`], [`settings`], [`status`], [`costs`], [`notes`], [`index`], [`queue`], [`backup`], [`projects`], [`doctor`] | run and maintain Remora |
//!
//! This crate knows no wire format, no HTTP, and no output format.

pub mod backup;
pub mod caller;
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
pub mod index;
pub mod install;
pub mod judge;
pub mod notes;
pub mod pause;
pub mod privacy;
pub mod projects;
pub mod queue;
pub mod recall;
pub mod records;
pub mod related;
pub mod remedy;
mod repeats;
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

pub use caller::{Ancestors, Caller, REACH_HINT, Reach};
pub use error::AppError;
pub use scope::{
    ProjectSelector, is_relative_path, latest_session, project, project_named, project_or_global, scope,
    session, session_id,
};

use remora_search::{Embed, Searcher};

/// The parts of a semantic search. The daemon keeps both between requests; a command builds them for each run.
#[expect(missing_debug_implementations, reason = "an embedder is a trait object")]
pub struct SearchBackend<'a> {
    pub searcher: &'a Searcher,
    /// If `None`, search uses words only.
    pub embedder: Option<&'a mut dyn Embed>,
}
