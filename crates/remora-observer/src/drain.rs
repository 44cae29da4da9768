//! Works the queue off in the foreground, with the observer that needs nobody.

use std::time::Duration;

use remora_core::time::Time;
use remora_store::{Store, StoreError};

use crate::observer::Observer;

/// What was made of the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    pub turns: usize,
    pub events: usize,
    pub observations: usize,
    pub summaries: usize,
}

/// Turns every turn that has ended into memory; one that is `silence` old counts as ended.
pub fn drain(store: &mut Store, owner: &str, silence: Duration) -> Result<Drained, StoreError> {
    let observer = Observer::builtin(owner, silence);
    let mut drained = Drained::default();
    while let Some(settled) = observer.observe(store, Time::now())? {
        drained.turns += 1;
        drained.events += settled.events;
        drained.observations += settled.observations;
        drained.summaries += usize::from(settled.has_summary);
    }
    Ok(drained)
}
