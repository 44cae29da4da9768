//! Processes the queue in the foreground, with the built-in observer.

use std::thread;
use std::time::Duration;

use remora_core::ids::SessionId;
use remora_store::{Store, StoreError};

use crate::observer::{CLOSING_PAUSE, Observer, Step};

/// Counts of what was processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    pub turns: usize,
    pub events: usize,
    pub observations: usize,
    pub summaries: usize,
}

/// How long after its last activity the transcript of a session may still have unread lines.
const RECENT_WINDOW: Duration = Duration::from_hours(1);

/// Turns every ended turn into memory. A turn counts as ended after `silence`. Transcripts are not read.
pub fn drain(store: &Store, owner: &str, silence: Duration) -> Result<Drained, StoreError> {
    Observer::builtin(owner, silence).drain(store)
}

impl Observer {
    /// Turns every ended turn into memory, for an observer without a model.
    pub fn drain(&self, store: &Store) -> Result<Drained, StoreError> {
        let mut drained = Drained::default();
        let mut has_postponed = false;
        loop {
            let settled = match self.remember_next(store, store.dir().now())? {
                Step::Observed(observed) => observed.give_back(store)?,
                Step::Postponed => {
                    has_postponed = true;
                    continue;
                }
                Step::Nothing if has_postponed => {
                    has_postponed = false;
                    thread::sleep(CLOSING_PAUSE);
                    continue;
                }
                Step::Nothing => break,
            };
            drained.turns += 1;
            drained.events += settled.events;
            drained.observations += settled.observations;
            drained.summaries += usize::from(settled.has_summary);
        }
        for session in self.unread(store)? {
            let late = self.read_late_messages(store, session)?;
            drained.observations += late.map_or(0, |settled| settled.observations);
        }
        Ok(drained)
    }

    /// Sessions whose transcripts may have grown since they were last read.
    pub fn unread(&self, store: &Store) -> Result<Vec<SessionId>, StoreError> {
        store.sessions().growing_transcripts(store.dir().now().before(RECENT_WINDOW))
    }
}
