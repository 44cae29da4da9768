//! What is injected into an agent's context: at the start of a session, with a prompt, and before it opens a file.
//!
//! Each moment has one function. What was injected is logged in the same step, so that it does not come twice, and a
//! title never counts as injected.

mod candidates;
pub mod file;
mod passages;
pub mod prompt;
pub mod start;
pub mod trial;

use std::path::Path;
use std::time::Instant;

use remora_core::context;
use remora_core::event::SessionRef;
use remora_core::ids::SessionId;
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_search::EmbedError;
use remora_store::retrievals::{Item, Moment, Retrieval, WhichRetrievals};
use remora_store::{KnownSession, Store, StoreError, locate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use candidates::{Candidate, Fate};
pub use passages::{Evidence, Gate, ScoredPassage};

/// How much of a prompt is logged beside what was injected with it.
const PREVIEW: usize = 120;

/// Text for an agent, framed as it is to be handed on, and the records it is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Injection {
    #[serde(rename = "context")]
    pub text: String,
    pub tokens: u64,
    #[serde(rename = "memories")]
    pub items: Vec<Item>,
    /// What could not be asked, and so is missing.
    #[serde(default)]
    pub degraded: Option<String>,
}

/// How many of the latest injections with a prompt are looked at, and how few say nothing yet.
const LATELY: u32 = 50;
const TOO_FEW: usize = 5;

/// How many prompts in a row the embedder was too late for, if it was for all of the latest.
pub fn always_late(store: &Store) -> Result<Option<usize>, StoreError> {
    let latest = store.retrievals(WhichRetrievals::All, LATELY)?;
    let with_prompt = latest.iter().map(|row| &row.retrieval).filter(|row| row.moment == Moment::Prompt);
    let reasons: Vec<Option<&str>> = with_prompt.map(|row| row.degraded.as_deref()).collect();
    let is_always = reasons.iter().all(|reason| reason.is_some_and(EmbedError::is_late));
    Ok((reasons.len() >= TOO_FEW && is_always).then_some(reasons.len()))
}

/// A session that has not begun: nothing was injected into it. Ids count from 1.
pub const NEW_SESSION: SessionId = SessionId(0);

/// The session of this name or, while its events cannot be stored, one that begins in this directory.
fn session_in(
    store: &Store,
    session: &SessionRef,
    directory: &str,
) -> Result<Option<KnownSession>, StoreError> {
    if let Some(known) = store.known_session(session)? {
        return Ok(Some(known));
    }
    let project = store.project_at(&locate(Path::new(directory)))?;
    Ok(project.map(|project| KnownSession { id: NEW_SESSION, project: project.id, last_prompt_at: None }))
}

/// Logs what is injected, and says whether it still is to be: another hook may just have injected it. If nothing can be stored,
/// it is injected all the same: better twice than never.
fn log(store: &mut Store, retrieval: &Retrieval) -> Result<bool, StoreError> {
    if retrieval.session == NEW_SESSION || store.read_only().is_some() {
        return Ok(true);
    }
    store.log_retrieval(retrieval)
}

impl Injection {
    fn new(text: String, items: Vec<Item>) -> Self {
        Self { tokens: context::tokens(&text), text, items, degraded: None }
    }

    /// The observations it is made of.
    pub fn observations(&self) -> Vec<i64> {
        self.items.iter().filter_map(|item| item.id.parse().ok()).collect()
    }

    /// The log entry for it. `agent` is empty for the main one; `subject` is the prompt or the file.
    fn retrieval(
        &self,
        (session, agent): (SessionId, &str),
        moment: Moment,
        subject: &str,
        started: Instant,
        at: Time,
    ) -> Retrieval {
        Retrieval {
            session,
            agent: agent.to_owned(),
            moment,
            prompt: one_line(subject, PREVIEW),
            tokens: self.tokens,
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            degraded: self.degraded.clone(),
            items: self.items.clone(),
            at,
        }
    }
}
