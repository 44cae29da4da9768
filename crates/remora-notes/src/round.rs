//! One pass over all notes, in steps: list, then read the changed ones, a few at a time. Nothing is held between
//! steps.

use std::collections::{HashMap, HashSet};
use std::panic;
use std::path::PathBuf;

use remora_core::ids::NoteId;
use remora_core::privacy::VaultNote;
use remora_core::settings::{Memory, NotesSource, Secret};
use remora_core::time::Time;
use remora_store::DataDir;
use remora_store::notes::{KnownNote, NewNote};

use crate::api::Api;
use crate::error::SourceError;
use crate::folder::{self, Listing};

/// Upper limits for one step, in notes and in bytes of text. Steps are small so that hooks can write in between.
const MAX_AT_ONCE: usize = 32;
const MAX_TEXT: usize = 256 << 10;
/// Upper limit for the reported reasons why notes were left out.
const MAX_REASONS: usize = 20;

/// A note in the source, not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteFile {
    pub(crate) path: String,
    pub(crate) stamp: String,
    pub(crate) changed_at: Time,
}

/// The source of the notes, with the key it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Folder(PathBuf),
    Api { address: String, key: Secret, dir: DataDir },
}

impl Access {
    /// Reads the settings. `None` if notes are disabled.
    pub fn new(settings: &Memory, dir: &DataDir) -> Option<Self> {
        Some(match settings.notes_source()? {
            NotesSource::Folder(folder) => Self::Folder(expanded(folder)),
            NotesSource::Api(address) => Self::Api {
                address: address.trim_end_matches('/').to_owned(),
                key: settings.obsidian_api_key.clone(),
                dir: dir.clone(),
            },
        })
    }

    /// The folder or address, as shown to users.
    pub fn name(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Api { address, .. } => address.clone(),
        }
    }
}

fn expanded(folder: &str) -> PathBuf {
    match (folder.strip_prefix('~'), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(folder),
    }
}

enum Source {
    Folder(PathBuf),
    Api(Box<Api>),
}

/// The work that is left of one pass over all notes.
pub struct Round {
    /// Same as [`Access::name`].
    vault: String,
    source: Source,
    /// Notes left to read. The next one is last.
    changed: Vec<NoteFile>,
    gone: Vec<NoteId>,
    left_out: Vec<String>,
}

impl std::fmt::Debug for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Round")
            .field("changed", &self.changed.len())
            .field("gone", &self.gone.len())
            .finish_non_exhaustive()
    }
}

impl Round {
    /// Lists the source and compares it with `known`, the stored notes of the same source.
    pub fn begin(access: &Access, known: &[KnownNote]) -> Result<Self, SourceError> {
        let (source, listing) = match access {
            Access::Folder(root) => {
                let listing = folder::list(root)?;
                if listing.notes.is_empty() && !known.is_empty() && is_empty(root) {
                    return Err(SourceError::Emptied(root.clone()));
                }
                (Source::Folder(root.clone()), listing)
            }
            Access::Api { address, key, dir } => {
                let api = Api::connect(address, key, dir)?;
                let listing = api.list()?;
                (Source::Api(Box::new(api)), listing)
            }
        };
        Ok(Self::compare(access.name(), source, listing, known))
    }

    fn compare(vault: String, source: Source, listing: Listing, known: &[KnownNote]) -> Self {
        let stamps: HashMap<&str, &str> =
            known.iter().map(|note| (note.path.as_str(), note.stamp.as_str())).collect();
        let mut there = HashSet::new();
        let mut changed = Vec::new();
        for found in listing.notes {
            let path = VaultNote::clean_path(&found.path);
            if stamps.get(path.as_str()) != Some(&found.stamp.as_str()) {
                changed.push(found);
            }
            there.insert(path);
        }
        let is_unseen = |path: &str| {
            listing.unseen.iter().any(|folder| {
                path.strip_prefix(folder.as_str())
                    .is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with('/'))
            })
        };
        let gone = known.iter().filter(|note| !there.contains(&note.path) && !is_unseen(&note.path));
        let gone = gone.map(|note| note.id).collect();
        // The newest are read first, because the user is working with them. `pop` takes from the end.
        changed.sort_by(|a, b| a.changed_at.cmp(&b.changed_at).then_with(|| a.path.cmp(&b.path)));
        Self {
            vault,
            source,
            changed,
            gone,
            left_out: listing.left_out.iter().map(|reason| shown(reason)).collect(),
        }
    }

    /// Stored notes that the source no longer has.
    pub fn gone(&self) -> &[NoteId] {
        &self.gone
    }

    /// Why some notes were left out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out[..self.left_out.len().min(MAX_REASONS)]
    }

    /// The number of notes left to read.
    pub fn left(&self) -> usize {
        self.changed.len()
    }

    /// Reads some of the changed notes; empty once all are read. An unreadable note is left out. A source that does
    /// not answer ends the round, and the next round continues.
    pub fn read_some(&mut self) -> Result<Vec<NewNote>, SourceError> {
        let mut notes = Vec::new();
        let mut size = 0;
        while notes.len() < MAX_AT_ONCE && size < MAX_TEXT {
            let Some(found) = self.changed.pop() else { break };
            let content = match &self.source {
                Source::Folder(root) => folder::read(root, &found.path).map_err(|error| error.to_string()),
                Source::Api(api) => api.read(&found.path)?,
            };
            match content {
                Ok(content) => {
                    // A panic on one note must not stop the others.
                    let Ok(note) = panic::catch_unwind(|| VaultNote::new(&found.path, &content)) else {
                        self.left_out.push(shown(&format!("{}: reading it hit a bug", found.path)));
                        continue;
                    };
                    size += note.text().len();
                    let (vault, stamp, changed_at) = (self.vault.clone(), found.stamp, found.changed_at);
                    notes.push(NewNote { vault, note, stamp, changed_at });
                }
                Err(reason) => self.left_out.push(shown(&format!("{}: {reason}", found.path))),
            }
        }
        Ok(notes)
    }
}

/// Redacts a reason: it contains a path and goes to the log.
fn shown(reason: &str) -> String {
    VaultNote::clean_path(reason)
}

fn is_empty(root: &std::path::Path) -> bool {
    std::fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_none())
}
