//! The use cases of Remora, each one function from a typed request to a typed answer.
//!
//! Hooks, commands, the daemon's HTTP interface and the demo are doors: they parse their input, call a function of this
//! crate, and format the result. So the same request has the same result through every door.
//!
//! | module | use cases |
//! |---|---|
//! | [`caller`] | says who asks, and which projects they may reach |
//! | [`capture`] | decides what of a host's report may be stored |
//! | [`recall`] | chooses what is injected at the start of a session, with a prompt, before a file |
//! | [`search`]: [`timeline`], [`records`], [`related`], [`session_summary`], [`story`], [`feed`], [`files`], [`why`], [`retrievals`] | answers queries |
//! | `memory`: [`save`], [`judge`], [`edit`], [`facts`], [`forget`], [`privacy`] | applies what a user says |
//! | `transfer`: [`import`], [`export`] | exchanges memory with other programs |
//! | `operate`: [`install`], [`context_files`], [`settings`], [`status`], [`stats`], [`costs`], [`notes`], [`index`], [`queue`], [`pause`], [`backup`], [`projects`], [`doctor`] | runs and maintains Remora |
//!
//! [`present`] has the JSON of what the use cases return. This crate knows no host's wire format, no HTTP, and no
//! terminal.

pub mod caller;
pub mod capture;
mod error;
mod memory;
mod operate;
pub mod present;
pub mod recall;
mod runtime;
mod scope;
pub mod search;
mod transfer;

pub use memory::{edit, facts, forget, judge, privacy, save};
pub use operate::{
    backup, context_files, costs, doctor, index, install, notes, pause, projects, queue, remedy, settings,
    stats, status,
};
pub use search::{feed, files, records, related, retrievals, session_summary, story, timeline, why};
pub use transfer::{export, import};

pub use caller::{Ancestors, Caller, REACH_HINT, Reach};
pub use error::{AppError, ErrorKind};
pub use runtime::{Alone, Local, Outside, Runtime};
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

impl SearchBackend<'_> {
    /// The same parts for one search of several.
    pub fn reborrow(&mut self) -> SearchBackend<'_> {
        let embedder: Option<&mut dyn Embed> = match &mut self.embedder {
            Some(embedder) => Some(&mut **embedder),
            None => None,
        };
        SearchBackend { searcher: self.searcher, embedder }
    }
}
