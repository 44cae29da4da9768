//! Chooses what is injected into an agent's context: at the start of a session, with a prompt, and before a file is
//! opened.
//!
//! There is one function for each moment. It logs the injection in the same step, so that no passage is injected twice.
//! A title alone does not count as injected.

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
use remora_store::injections::{Item, Moment, Retrieval, WhichRetrievals};
use remora_store::{KnownSession, Store, StoreError, locate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use candidates::{Candidate, Outcome};
pub use passages::{Evidence, Gate, ScoredPassage};

use crate::present::{self, ItemJson};

/// Characters of a prompt that are logged with its injection.
const PREVIEW: usize = 120;

/// Text for an agent, framed and ready to be injected, with the records it contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Injection {
    #[serde(rename = "context")]
    pub text: String,
    pub tokens: u64,
    #[serde(rename = "memories", serialize_with = "present::list::<ItemJson, _, _>")]
    #[schemars(with = "Vec<ItemJson>")]
    pub items: Vec<Item>,
    /// Why the search was incomplete, if it was.
    #[serde(default)]
    pub degraded: Option<String>,
}

/// Number of latest injections examined, and the minimum with a prompt for a verdict.
const RECENT_INJECTIONS: u32 = 50;
const TOO_FEW: usize = 5;

/// The number of latest injections with a prompt, if the embedder was too late for all of them.
pub fn always_late(store: &Store) -> Result<Option<usize>, StoreError> {
    let latest = store.injections().list(WhichRetrievals::All, RECENT_INJECTIONS)?;
    let with_prompt = latest.iter().map(|row| &row.retrieval).filter(|row| row.moment == Moment::Prompt);
    let reasons: Vec<Option<&str>> = with_prompt.map(|row| row.degraded.as_deref()).collect();
    let is_always = reasons.iter().all(|reason| reason.is_some_and(EmbedError::is_late));
    Ok((reasons.len() >= TOO_FEW && is_always).then_some(reasons.len()))
}

/// A session that has not begun, so nothing was injected into it. Ids count from 1.
pub const NEW_SESSION: SessionId = SessionId(0);

/// The known session or, while its events cannot be stored, a new one in this directory.
fn session_in(
    store: &Store,
    session: &SessionRef,
    directory: &str,
) -> Result<Option<KnownSession>, StoreError> {
    if let Some(known) = store.sessions().known(session)? {
        return Ok(Some(known));
    }
    let project = store.projects().get(&locate(Path::new(directory)))?;
    Ok(project.map(|project| KnownSession { id: NEW_SESSION, project: project.id, last_prompt_at: None }))
}

/// Logs an injection and returns whether to inject it: another hook may have just injected the same. If nothing can be
/// stored, the text is injected anyway, because twice is better than never.
fn log(store: &Store, retrieval: &Retrieval) -> Result<bool, StoreError> {
    if retrieval.session == NEW_SESSION || store.read_only().is_some() {
        return Ok(true);
    }
    store.injections().log(retrieval)
}

impl Injection {
    fn new(text: String, items: Vec<Item>) -> Self {
        Self { tokens: context::tokens(&text), text, items, degraded: None }
    }

    /// The ids of its observations.
    pub fn observations(&self) -> Vec<i64> {
        self.items.iter().filter_map(|item| item.id.parse().ok()).collect()
    }

    /// The log entry for it, for the main agent. `subject` is the prompt or the file.
    fn retrieval(
        &self,
        session: SessionId,
        moment: Moment,
        subject: &str,
        started: Instant,
        at: Time,
    ) -> Retrieval {
        Retrieval {
            session,
            agent: String::new(),
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
