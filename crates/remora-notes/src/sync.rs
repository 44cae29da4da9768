//! The steps of a look at all notes that concern the store, and all of them in one go.

use remora_core::settings::Memory;
use remora_core::time::Time;
use remora_store::notes::NotesState;
use remora_store::{Store, StoreError};

use crate::always::always_injected;
use crate::error::SourceError;
use crate::round::{Access, Round};

/// As many notes are removed in one transaction.
const STEP: usize = 100;

/// What came of a look at all notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    pub read: usize,
    pub gone: usize,
    pub problem: Option<SourceError>,
}

/// Removes some notes; `false` when none are left.
pub fn forget_some(store: &mut Store) -> Result<bool, StoreError> {
    let ids: Vec<_> = store.known_notes()?.iter().take(STEP).map(|note| note.id).collect();
    if !ids.is_empty() {
        store.remove_notes(&ids)?;
    }
    Ok(!ids.is_empty())
}

/// Settles which notes are always told. Said again and again while notes come in, so that the first are not kept waiting.
pub fn settle(store: &mut Store, settings: &Memory) -> Result<(), StoreError> {
    let known = store.known_notes()?;
    store.set_always_injected(&always_injected(&known, settings))
}

/// Looks at all notes, here and now. `progress` hears how many are left to read.
pub fn sync(
    store: &mut Store,
    settings: &Memory,
    mut progress: impl FnMut(usize),
) -> Result<Done, StoreError> {
    let Some(access) = Access::new(settings, store.dir()) else {
        let gone = store.known_notes()?.len();
        while forget_some(store)? {}
        store.set_always_injected(&[])?;
        store.set_notes_state(&NotesState::default())?;
        return Ok(Done { gone, ..Done::default() });
    };
    let name = access.name();
    let mut state = store.notes_state()?;
    if state.source != name {
        while forget_some(store)? {}
        state = NotesState { source: name, ..NotesState::default() };
    }
    let mut done = Done::default();
    match Round::begin(&access, &store.known_notes()?) {
        Ok(mut round) => {
            done.gone = round.gone().len();
            for ids in round.gone().chunks(STEP) {
                store.remove_notes(ids)?;
            }
            loop {
                progress(round.left());
                match round.read_some() {
                    Ok(notes) if notes.is_empty() && round.left() == 0 => break,
                    Ok(notes) => {
                        done.read += notes.len();
                        store.put_notes(&notes)?;
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
        state.synced_at = Some(Time::now());
    }
    state.problem = done.problem.as_ref().map(ToString::to_string);
    settle(store, settings)?;
    store.set_notes_state(&state)?;
    Ok(done)
}
