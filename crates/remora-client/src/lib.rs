//! The client side of the daemon, for hooks and commands: find it, start it, wake it, send requests to it.
//!
//! [`presence`] finds out whether a daemon runs, and its port. [`control`] wakes it by datagram, without waiting.
//! [`launch`] starts one in the background, and [`poke`] does either. [`Daemon`] sends requests over HTTP on the loopback address, with the
//! [`token`] of the data directory. [`browsers`] are those that
//! are signed in to the pages. The daemon itself is `remora-server`, which shares the file formats of this crate.
//!
//! This crate transports requests; it does not know what a use case does.

pub mod browsers;
pub mod control;
pub mod launch;
mod poke;
pub mod presence;
mod request;
pub mod token;

use std::time::Duration;

use remora_app::recall::Injection;
use remora_app::recall::prompt::{self, Explained, PromptRequest};
use remora_app::search::SearchRequest;
use remora_search::Results;
use remora_store::DataDir;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use poke::{Poked, poke};

/// The routes of use cases that need the daemon's model and vectors.
pub const SEARCH: &str = "/api/v1/search";
pub const RECALL: &str = "/api/v1/recall";
pub const EXPLAIN: &str = "/api/v1/recall/explain";
/// Creates a link to the pages that works once.
pub const UI_LINK: &str = "/api/v1/ui-link";

/// How long a command waits for an answer. Hooks pass their own limit.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// A client of the running daemon. Every request returns `None` if it fails to answer in time: callers can do without
/// it.
#[derive(Debug, Clone)]
pub struct Daemon {
    dir: DataDir,
    port: u16,
}

impl Daemon {
    /// The data directory's daemon, if one runs and takes requests.
    pub fn find(dir: &DataDir) -> Option<Self> {
        let port = presence::find(dir).ok().flatten()?.port?;
        Some(Self { dir: dir.clone(), port })
    }

    pub fn search(&self, request: &SearchRequest) -> Option<Results> {
        self.post(SEARCH, request, ANSWER_TIMEOUT)
    }

    /// The path of a new link to the pages. The link works once.
    pub fn ui_link(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Link {
            path: String,
        }
        let link: Link = self.post(UI_LINK, &serde_json::json!({}), ANSWER_TIMEOUT)?;
        Some(link.path)
    }

    pub fn explain(&self, request: &PromptRequest) -> Option<Explained> {
        self.post(EXPLAIN, request, ANSWER_TIMEOUT)
    }

    fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        question: &impl Serialize,
        timeout: Duration,
    ) -> Option<A> {
        let token = token::read(&self.dir).ok().flatten()?;
        request::post(self.port, &token, path, question, timeout)
    }
}

impl prompt::Daemon for Daemon {
    fn recall(&self, request: &PromptRequest, timeout: Duration) -> Option<Option<Injection>> {
        self.post(RECALL, request, timeout)
    }
}
