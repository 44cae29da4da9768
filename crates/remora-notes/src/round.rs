//! One look at all notes, in steps between which nothing is held: list, then read what changed, a few at a time.

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

/// As many notes are read and stored at a time, and as much text: hooks get in between.
const MOST_AT_ONCE: usize = 32;
const MOST_TEXT: usize = 256 << 10;
/// As many reasons are told why notes were left out.
const MOST_REASONS: usize = 20;

/// A note that is there, not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteFile {
    pub(crate) path: String,
    pub(crate) stamp: String,
    pub(crate) changed_at: Time,
}

/// Where notes are read, and with what key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Folder(PathBuf),
    Api { address: String, key: Secret, dir: DataDir },
}

impl Access {
    /// What the settings say; `None` where notes are off.
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

    /// The folder or the address, for people.
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

/// What is to be done after a look at what there is.
pub struct Round {
    /// As [`Access::name`] says it.
    vault: String,
    source: Source,
    /// Left to read, the last first.
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
    /// Looks at what there is. `known` is what was there the last time, from the same source.
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
                let notes = api.list()?;
                (Source::Api(Box::new(api)), Listing { notes, ..Listing::default() })
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
        // The latest are read first: they are what is worked with. `pop` takes from the end.
        changed.sort_by(|a, b| a.changed_at.cmp(&b.changed_at).then_with(|| a.path.cmp(&b.path)));
        Self {
            vault,
            source,
            changed,
            gone,
            left_out: listing.left_out.iter().map(|reason| shown(reason)).collect(),
        }
    }

    /// Notes that are there no more.
    pub fn gone(&self) -> &[NoteId] {
        &self.gone
    }

    /// Why some notes were left out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out[..self.left_out.len().min(MOST_REASONS)]
    }

    /// How many are left to read.
    pub fn left(&self) -> usize {
        self.changed.len()
    }

    /// Reads some notes that changed; none when all are read. A note that cannot be read is left out; a source that
    /// does not answer ends the round, and the next one goes on where this one was.
    pub fn read_some(&mut self) -> Result<Vec<NewNote>, SourceError> {
        let mut notes = Vec::new();
        let mut size = 0;
        while notes.len() < MOST_AT_ONCE && size < MOST_TEXT {
            let Some(found) = self.changed.pop() else { break };
            let content = match &self.source {
                Source::Folder(root) => folder::read(root, &found.path).map_err(|error| error.to_string()),
                Source::Api(api) => api.read(&found.path)?,
            };
            match content {
                Ok(content) => {
                    // One note must not stop the others.
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

/// A reason has a path in it, and goes to the log.
fn shown(reason: &str) -> String {
    VaultNote::clean_path(reason)
}

fn is_empty(root: &std::path::Path) -> bool {
    std::fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_none())
}
