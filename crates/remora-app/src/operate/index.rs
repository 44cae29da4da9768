//! Rebuilds the search index: documents, full text and vectors. The records themselves stay as they are.

use remora_core::document::ProjectScope;
use remora_store::{Store, StoreError};

use crate::Runtime;

/// How far a rebuild is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    pub done: usize,
    pub all: usize,
}

/// Drops everything that was derived from the records.
pub fn drop_all(rt: &mut dyn Runtime, scope: ProjectScope) -> Result<(), StoreError> {
    let store = rt.store();
    // All documents are dropped at once, those of one project in steps.
    while store.index().drop_documents(scope)? > 0 && scope != ProjectScope::All {}
    Ok(())
}

/// Makes the documents that are missing.
pub fn fill(
    rt: &mut dyn Runtime,
    scope: ProjectScope,
    mut progress: impl FnMut(IndexProgress),
) -> Result<(), StoreError> {
    let store = rt.store();
    loop {
        let state = store.index().state(scope)?;
        progress(IndexProgress { done: state.indexed, all: state.records });
        if !store.index().fill()? {
            return Ok(());
        }
    }
}

/// What a step of [`embed`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It made vectors, or waited for a process that does.
    More,
    /// It cannot make more.
    Stuck,
}

/// Repeats `step` until no vector is missing, or until it makes no more.
pub fn embed<E: From<StoreError>>(
    rt: &mut dyn Runtime,
    scope: ProjectScope,
    mut progress: impl FnMut(IndexProgress),
    mut step: impl FnMut(&Store) -> Result<Step, E>,
) -> Result<(), E> {
    let store = rt.store();
    loop {
        let state = store.index().state(scope)?;
        progress(IndexProgress { done: state.with_vector, all: state.with_vector + state.to_embed });
        if state.to_embed == 0 || step(store)? == Step::Stuck {
            return Ok(());
        }
    }
}
