//! The user's own notes: where they come from, which are injected into every session, and what is wrong.

use remora_core::context::Noted;
use remora_core::settings::{NotesSource, Settings};
use remora_store::Store;
use remora_store::notes::{KnownNote, NotesState};

use crate::AppError;

#[derive(Debug, Clone, PartialEq)]
pub struct Notes {
    /// Whether the settings name a source, and notes are on.
    pub source: Option<Source>,
    /// How the last look at it went.
    pub state: NotesState,
    /// Every note that is indexed, the latest change first.
    pub known: Vec<KnownNote>,
    /// What every session gets, the most important first.
    pub always: Vec<Noted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Folder,
    Api,
}

pub fn notes(store: &Store, settings: &Settings) -> Result<Notes, AppError> {
    let source = settings.memory.notes_source().map(|source| match source {
        NotesSource::Folder(_) => Source::Folder,
        NotesSource::Api(_) => Source::Api,
    });
    let mut known = store.known_notes()?;
    known.sort_by(|a, b| b.changed_at.cmp(&a.changed_at).then_with(|| a.path.cmp(&b.path)));
    Ok(Notes { source, state: store.notes_state()?, known, always: store.always_injected()? })
}
