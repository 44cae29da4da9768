//! Works the queue off with the built-in observer.

use std::time::Duration;

use remora_core::time::Time;
use remora_store::{Store, StoreError};

use crate::builtin;
use crate::turn::Turn;

/// What was made of the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    pub turns: usize,
    pub events: usize,
    pub observations: usize,
    pub summaries: usize,
}

const MOST_EVENTS: u32 = 2000;

/// Turns every turn that has ended into memory; one that is `silence` old counts as ended.
pub fn drain(store: &mut Store, owner: &str, silence: Duration) -> Result<Drained, StoreError> {
    let mut drained = Drained::default();
    while step(store, owner, silence, &mut drained)? {}
    Ok(drained)
}

/// Turns one turn that has ended into memory; `false` when there is none.
pub fn drain_one(store: &mut Store, owner: &str, silence: Duration) -> Result<bool, StoreError> {
    step(store, owner, silence, &mut Drained::default())
}

fn step(
    store: &mut Store,
    owner: &str,
    silence: Duration,
    drained: &mut Drained,
) -> Result<bool, StoreError> {
    let Some(batch) = store.claim(owner, MOST_EVENTS, silence, Time::now())? else { return Ok(false) };
    let root = store.session_root(batch.session)?;
    let mut turn = Turn::new(batch.events.iter().map(|event| &event.body), &root);
    // What an agent in the background reports later belongs to the prompt that sent it.
    if turn.prompt.is_empty() {
        turn.prompt = store.prompt_text(batch.session, batch.prompt_number)?;
    }
    let memory = builtin::observe(&turn);
    drained.turns += 1;
    drained.events += batch.events.len();
    drained.observations += memory.observations.len();
    drained.summaries += usize::from(memory.summary.is_some());
    // Memory is as old as what it is about.
    let at = batch.events.last().map_or_else(Time::now, |event| event.at);
    store.confirm(&batch, &memory, None, at)?;
    Ok(true)
}
