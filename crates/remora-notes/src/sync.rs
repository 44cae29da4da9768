//! The steps of a sync that change the store, and [`sync`], which runs all of them.

use remora_core::settings::Memory;
use remora_store::notes::NotesState;
use remora_store::{Store, StoreError};

use crate::always::always_injected;
use crate::error::SourceError;
use crate::round::{Access, Round};

/// Upper limit for the notes removed in one transaction.
const STEP: usize = 100;

/// The result of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    pub read: usize,
    pub gone: usize,
    pub problem: Option<SourceError>,
}

/// Removes some notes. `false` if none were left.
pub fn forget_some(store: &Store) -> Result<bool, StoreError> {
    let ids: Vec<_> = store.notes().known()?.iter().take(STEP).map(|note| note.id).collect();
    if !ids.is_empty() {
        store.notes().remove(&ids)?;
    }
    Ok(!ids.is_empty())
}

/// Updates which notes are injected into every session. Called repeatedly during a sync, so that the first notes take
/// effect before the last are read.
pub fn settle(store: &Store, settings: &Memory) -> Result<(), StoreError> {
    let known = store.notes().known()?;
    store.notes().set_always_injected(&always_injected(&known, settings))
}

/// Reads all changed notes in the foreground. `progress` receives the number left to read.
pub fn sync(store: &Store, settings: &Memory, mut progress: impl FnMut(usize)) -> Result<Done, StoreError> {
    let Some(access) = Access::new(settings, store.dir()) else {
        let gone = store.notes().known()?.len();
        while forget_some(store)? {}
        store.notes().set_always_injected(&[])?;
        store.notes().set_state(&NotesState::default())?;
        return Ok(Done { gone, ..Done::default() });
    };
    let name = access.name();
    let mut state = store.notes().state()?;
    if state.source != name {
        while forget_some(store)? {}
        state = NotesState { source: name, ..NotesState::default() };
    }
    let mut done = Done::default();
    match Round::begin(&access, &store.notes().known()?) {
        Ok(mut round) => {
            done.gone = round.gone().len();
            for ids in round.gone().chunks(STEP) {
                store.notes().remove(ids)?;
            }
            loop {
                progress(round.left());
                match round.read_some() {
                    Ok(notes) if notes.is_empty() && round.left() == 0 => break,
                    Ok(notes) => {
                        done.read += notes.len();
                        store.notes().put(&notes)?;
                    }
                    Err(problem) => {
                        done.problem = Some(problem);
                        break;
                    }
                }
            }
            state.left_out = round.left_out().to_vec();
        }
        Err(problem) => done.problem = Some(problem),
    }
    if done.problem.is_none() {
        state.synced_at = Some(store.dir().now());
    }
    state.problem = done.problem.as_ref().map(ToString::to_string);
    settle(store, settings)?;
    store.notes().set_state(&state)?;
    Ok(done)
}
