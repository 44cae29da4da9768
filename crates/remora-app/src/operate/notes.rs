//! The user's own notes: their source, which of them every session gets, and problems.

use remora_core::context::PinnedNote;
use remora_core::settings::NotesSource;
use remora_store::notes::{KnownNote, NotesState};

use crate::{AppError, Runtime};

#[derive(Debug, Clone, PartialEq)]
pub struct Notes {
    /// The source in the settings; `None` if there is none or notes are off.
    pub source: Option<Source>,
    /// Result of the last sync.
    pub state: NotesState,
    /// Every indexed note, latest change first.
    pub known: Vec<KnownNote>,
    /// Notes injected into every session, most important first.
    pub always: Vec<PinnedNote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Folder,
    Api,
}

/// Why the source of notes cannot be read, if there is one.
pub fn problem(rt: &dyn Runtime) -> Option<String> {
    let settings = &rt.settings().memory;
    let store = rt.store();
    settings.notes_source()?;
    store.notes().state().ok()?.problem
}

pub fn notes(rt: &dyn Runtime) -> Result<Notes, AppError> {
    let settings = &rt.settings().memory;
    let store = rt.store();
    let source = settings.notes_source().map(|source| match source {
        NotesSource::Folder(_) => Source::Folder,
        NotesSource::Api(_) => Source::Api,
    });
    let mut known = store.notes().known()?;
    known.sort_by(|a, b| b.changed_at.cmp(&a.changed_at).then_with(|| a.path.cmp(&b.path)));
    Ok(Notes { source, state: store.notes().state()?, known, always: store.notes().always_injected(None)? })
}
