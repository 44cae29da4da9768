//! The user's own notes, stored as last read, so that hooks and search can use them without the vault.
//!
//! The list of notes that are always injected is in `meta`, because a hook has no time to read all notes.

use remora_core::context::PinnedNote;
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{NoteId, SessionId};
use remora_core::privacy::VaultNote;
use remora_core::time::Time;
use remora_data::new_uuid;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::handles::Notes;
use crate::search::documents;
use crate::{Store, StoreError, forget};
use remora_data::hex;

const ALWAYS: &str = "notes_always";
const STATE: &str = "notes_state";
/// Limit for notes that are always injected. The list is cut after it.
const MAX_ALWAYS_INJECTED: usize = 100;

/// A note to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNote {
    /// The folder or address of its vault.
    pub vault: String,
    pub note: VaultNote,
    /// Modification time and size of its file.
    pub stamp: String,
    pub changed_at: Time,
}

/// The fields of a stored note that show whether it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNote {
    pub id: NoteId,
    pub path: String,
    pub stamp: String,
    pub tags: Vec<String>,
    pub changed_at: Time,
}

/// A complete note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRow {
    pub id: NoteId,
    pub path: String,
    pub title: String,
    pub tags: Vec<String>,
    pub text: String,
    pub changed_at: Time,
}

/// The state of the last sync.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesState {
    /// The folder or address of the notes.
    pub source: String,
    /// When the last complete sync ended.
    pub synced_at: Option<Time>,
    /// Why the last sync failed. Stored notes are kept.
    pub problem: Option<String>,
    /// Some of the notes that were left out, with the reasons.
    pub left_out: Vec<String>,
}

impl Notes<'_> {
    /// All notes, in no particular order.
    pub fn known(self) -> Result<Vec<KnownNote>, StoreError> {
        let mut statement = self
            .0
            .db
            .prepare_cached("SELECT id, path, stamp, tags, changed_at FROM notes WHERE deleted_at IS NULL")?;
        let rows = statement.query_map([], |row| {
            Ok(KnownNote {
                id: NoteId(row.get(0)?),
                path: row.get(1)?,
                stamp: row.get(2)?,
                tags: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
                changed_at: Time(row.get(4)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The notes that are injected into every session. With `new_to`, only those that this session has not got yet, or
    /// only in an older version.
    pub fn always_injected(self, new_to: Option<SessionId>) -> Result<Vec<PinnedNote>, StoreError> {
        let ids: Vec<NoteId> = read_meta(&self.0.db, ALWAYS)?.unwrap_or_default();
        let mut notes = Vec::new();
        for id in ids {
            let sql = "SELECT path, title, excerpt, version FROM notes WHERE id = ?1 AND excerpt <> ''
                       AND deleted_at IS NULL";
            let note = self.0.db.prepare_cached(sql)?.query_row([id.0], |row| {
                Ok(PinnedNote {
                    id: id.0,
                    path: row.get(0)?,
                    title: row.get(1)?,
                    text: row.get(2)?,
                    version: row.get(3)?,
                })
            });
            notes.extend(note.optional()?);
        }
        if let Some(session) = new_to.filter(|_| !notes.is_empty()) {
            let before = self.0.injections().before(session)?.notes;
            notes.retain(|note| !before.contains(&(note.id, note.version.clone())));
        }
        Ok(notes)
    }

    pub fn state(self) -> Result<NotesState, StoreError> {
        Ok(read_meta(&self.0.db, STATE)?.unwrap_or_default())
    }

    pub fn get(self, id: NoteId) -> Result<Option<NoteRow>, StoreError> {
        let sql =
            "SELECT path, title, tags, text, changed_at FROM notes WHERE id = ?1 AND deleted_at IS NULL";
        let row = self.0.db.prepare_cached(sql)?.query_row([id.0], |row| {
            Ok(NoteRow {
                id,
                path: row.get(0)?,
                title: row.get(1)?,
                tags: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
                text: row.get(3)?,
                changed_at: Time(row.get(4)?),
            })
        });
        Ok(row.optional()?)
    }
}

impl Notes<'_> {
    /// Stores some notes with their documents in one transaction. Callers pass few at a time, because hooks wait
    /// meanwhile.
    pub fn put(self, notes: &[NewNote]) -> Result<(), StoreError> {
        let now = self.0.dir().now();
        let transaction = self.0.begin()?;
        for note in notes {
            put(&transaction, note, now)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Removes the text and the documents of some notes. Their ids are kept in case they come back.
    pub fn remove(self, notes: &[NoteId]) -> Result<(), StoreError> {
        let now = self.0.dir().now();
        let transaction = self.0.begin()?;
        for note in notes {
            transaction
                .prepare_cached(
                    "UPDATE notes SET stamp = '', title = '', tags = '[]', version = '', excerpt = '', text = '',
                         updated_at = ?2, deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL",
                )?
                .execute(params![note.0, now.0])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Stores which notes are injected into every session, most important first.
    pub fn set_always_injected(self, notes: &[NoteId]) -> Result<(), StoreError> {
        let notes = &notes[..notes.len().min(MAX_ALWAYS_INJECTED)];
        write_meta(self.0, ALWAYS, &notes)
    }

    pub fn set_state(self, state: &NotesState) -> Result<(), StoreError> {
        write_meta(self.0, STATE, state)
    }
}

fn put(db: &Connection, new: &NewNote, now: Time) -> Result<(), StoreError> {
    let NewNote { vault, note, stamp, changed_at } = new;
    // A forgotten note is not read again. The file belongs to the user and stays.
    if forget::is_forgotten(db, &forget::of_note(db, vault, note.path())?)? {
        return Ok(());
    }
    let tags = serde_json::to_string(note.tags())?;
    // A file that was only touched keeps its documents and their vectors.
    let same = db
        .prepare_cached(
            "UPDATE notes SET stamp = ?1, tags = ?2, updated_at = ?3
             WHERE vault = ?4 AND path = ?5 AND title = ?6 AND text = ?7 AND deleted_at IS NULL",
        )?
        .execute(params![stamp, tags, now.0, vault, note.path(), note.title(), note.text()])?;
    if same > 0 {
        return Ok(());
    }
    let number = db
        .prepare_cached(
            "INSERT INTO notes (uuid, vault, path, stamp, title, tags, version, changed_at, excerpt, text, created_at,
                 updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)
             ON CONFLICT (vault, path) DO UPDATE SET stamp = excluded.stamp, title = excluded.title,
                 tags = excluded.tags, version = excluded.version, changed_at = excluded.changed_at,
                 excerpt = excluded.excerpt, text = excluded.text, updated_at = excluded.updated_at, deleted_at = NULL
             RETURNING id",
        )?
        .query_row(
            params![
                new_uuid().as_bytes(),
                vault,
                note.path(),
                stamp,
                note.title(),
                tags,
                version(note),
                changed_at.0,
                note.excerpt(),
                note.text(),
                now.0,
            ],
            |row| row.get(0),
        )?;
    documents::write(db, RecordId { kind: RecordKind::Note, number })?;
    Ok(())
}

fn version(note: &VaultNote) -> String {
    let injected = [note.path(), note.title(), note.excerpt()].join("\0");
    hex(&Sha256::digest(injected)[..8])
}

fn read_meta<T: for<'a> Deserialize<'a>>(db: &Connection, key: &str) -> Result<Option<T>, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let json: Option<Vec<u8>> = db.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
    Ok(json.map(|json| serde_json::from_slice(&json)).transpose()?)
}

/// Writes a value only if it differs, so that a sync without changes writes nothing.
fn write_meta<T: Serialize>(store: &Store, key: &str, value: &T) -> Result<(), StoreError> {
    let json = serde_json::to_vec(value)?;
    let is_there = "SELECT 1 FROM meta WHERE key = ?1 AND value = ?2";
    if !store.db.prepare_cached(is_there)?.exists(params![key, json])? {
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        store.writable()?.execute(sql, params![key, json])?;
    }
    Ok(())
}
