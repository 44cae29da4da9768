//! Keyed hashes of what was forgotten, in the database and in the file `forgotten` beside it, because a restored
//! backup has an old state of the table.
//!
//! The file begins with a mark, new each time it is written, and the database has the same mark while its table has the
//! same hashes. So whoever opens the database sees at once whether it was replaced by one that lacks some. The mark is
//! removed in the transaction that changes the table, and set again once the file is written.

use std::collections::BTreeSet;
use std::fs;
use std::hash::Hasher as _;
use std::io::{self, Read as _};

use remora_core::document::RecordKind;
use remora_core::fact::FactKey;
use remora_core::time::Time;
use remora_sys::file::{self, is_absent};
use rusqlite::{Connection, OptionalExtension, params};
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use uuid::Uuid;

use super::{ForgetPlan, delete_marked, find, mark, take_out};
use crate::search::documents;
use crate::{Store, StoreError, retention};
use remora_data::DataDir;
use remora_data::{hex, new_uuid};

pub(crate) type Hash = [u8; 16];
type Key = [u8; 16];

/// Begins the first line of the file, so that it is no hash.
const MARK: char = '#';
/// The first line, with the 32 digits of a UUID.
const MARK_BYTES: u64 = 33;

pub(super) fn key(db: &Connection) -> Result<Key, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = 'hash_key'";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn hash(key: &Key, parts: &[&[u8]]) -> Hash {
    let mut hash = SipHasher24::new_with_key(key);
    for part in parts {
        hash.write_usize(part.len());
        hash.write(part);
    }
    hash.finish128().as_bytes()
}

/// Hash of a record, by its uuid: a backup would bring back the same row.
pub(super) fn of_record(key: &Key, kind: RecordKind, uuid: &[u8]) -> Hash {
    hash(key, &[kind.name().as_bytes(), uuid])
}

/// Hash of an observation's content: observing the same turn again would yield the same content.
pub(crate) fn of_content(db: &Connection, content_hash: &str) -> Result<Hash, StoreError> {
    Ok(hash(&key(db)?, &[b"content", content_hash.as_bytes()]))
}

/// Hash of a fact.
pub(crate) fn of_statement(db: &Connection, name: &FactKey, value: &str) -> Result<Hash, StoreError> {
    Ok(hash(&key(db)?, &[b"statement", name.as_bytes(), value.as_bytes()]))
}

/// Hash of a note's path: the file stays and would be read again.
pub(crate) fn of_note(db: &Connection, vault: &str, path: &str) -> Result<Hash, StoreError> {
    Ok(hash(&key(db)?, &[b"note", vault.as_bytes(), path.as_bytes()]))
}

/// Whether a record with this uuid was forgotten.
pub(crate) fn is_record_forgotten(db: &Connection, kind: RecordKind, uuid: Uuid) -> Result<bool, StoreError> {
    is_forgotten(db, &of_record(&key(db)?, kind, uuid.as_bytes()))
}

/// Whether something with this hash was forgotten.
pub(crate) fn is_forgotten(db: &Connection, hash: &Hash) -> Result<bool, StoreError> {
    Ok(db.prepare_cached("SELECT 1 FROM tombstones WHERE hash = ?1")?.exists([hash])?)
}

/// Removes a tombstone, because a person stated it again. The caller holds the lock until its transaction is
/// committed.
pub(crate) fn lift(db: &Connection, dir: &DataDir, hash: &Hash) -> Result<(), StoreError> {
    if db.execute("DELETE FROM tombstones WHERE hash = ?1", [hash])? > 0 {
        let mut known = read_file(dir)?;
        known.remove(hash);
        set_mark(db, &replace_file(dir, &known)?)?;
    }
    Ok(())
}

pub(super) fn put(
    db: &Connection,
    hashes: &BTreeSet<Hash>,
    forgetting: Option<i64>,
) -> Result<(), StoreError> {
    let mut insert =
        db.prepare_cached("INSERT OR IGNORE INTO tombstones (hash, forgetting) VALUES (?1, ?2)")?;
    for hash in hashes {
        insert.execute(params![hash, forgetting])?;
    }
    clear_mark(db)
}

/// Removes the tombstones of one forgetting from the table.
pub(super) fn remove_of(db: &Connection, forgetting: i64) -> Result<(), StoreError> {
    db.execute("DELETE FROM tombstones WHERE forgetting = ?1", [forgetting])?;
    clear_mark(db)
}

fn clear_mark(db: &Connection) -> Result<(), StoreError> {
    db.execute("DELETE FROM meta WHERE key = 'forgotten_mark'", [])?;
    Ok(())
}

fn set_mark(db: &Connection, mark: &str) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES ('forgotten_mark', CAST(?1 AS BLOB))";
    db.execute(sql, [mark])?;
    Ok(())
}

pub(super) fn all(db: &Connection) -> Result<BTreeSet<Hash>, StoreError> {
    let mut statement = db.prepare_cached("SELECT hash FROM tombstones")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes the table to the file. The caller holds the lock.
pub(super) fn write_file(db: &Connection, dir: &DataDir) -> Result<(), StoreError> {
    set_mark(db, &replace_file(dir, &all(db)?)?)
}

/// Removes the hashes of one forgetting from the file. The caller holds the lock.
pub(super) fn remove_from_file(db: &Connection, dir: &DataDir, forgetting: i64) -> Result<(), StoreError> {
    let sql = "SELECT hash FROM tombstones WHERE forgetting IS NOT ?1";
    let mut statement = db.prepare(sql)?;
    let rest = statement.query_map([forgetting], |row| row.get(0))?.collect::<Result<_, _>>()?;
    replace_file(dir, &rest)?;
    Ok(())
}

/// Writes the file and returns its mark.
fn replace_file(dir: &DataDir, hashes: &BTreeSet<Hash>) -> Result<String, StoreError> {
    let path = dir.forgotten();
    let mark = format!("{MARK}{}", new_uuid().simple());
    let lines: String = hashes.iter().map(|hash| hex(hash) + "\n").collect();
    file::replace(&path, format!("{mark}\n{lines}").as_bytes()).map_err(StoreError::file(path))?;
    Ok(mark)
}

/// The mark of the file. `None` if there is no file; empty if an earlier version wrote it.
fn file_mark(dir: &DataDir) -> Result<Option<String>, StoreError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        file::open_regular(&dir.forgotten())?.0.take(MARK_BYTES).read_to_end(&mut line)?;
        Ok(line)
    };
    let line = match read() {
        Err(error) if is_absent(&error) => return Ok(None),
        other => other.map_err(StoreError::file(dir.forgotten()))?,
    };
    let line = String::from_utf8(line).unwrap_or_default();
    Ok(Some(if line.starts_with(MARK) { line } else { String::new() }))
}

fn table_mark(db: &Connection) -> Result<Option<String>, StoreError> {
    let sql = "SELECT CAST(value AS TEXT) FROM meta WHERE key = 'forgotten_mark'";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?)
}

fn read_file(dir: &DataDir) -> Result<BTreeSet<Hash>, StoreError> {
    let path = dir.forgotten();
    let text = match fs::read_to_string(&path) {
        Err(error) if is_absent(&error) => return Ok(BTreeSet::new()),
        other => other.map_err(StoreError::file(path))?,
    };
    // A damaged line is skipped; the others stay valid.
    Ok(text.lines().filter_map(|line| from_hex(line.trim()).try_into().ok()).collect())
}

pub(super) fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.map_while(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

impl Store {
    /// Whether the table lacks hashes of the file: the database was replaced by an older one.
    pub(crate) fn may_hold_forgotten(&self) -> Result<bool, StoreError> {
        let Some(mark) = file_mark(self.dir())? else { return Ok(false) };
        if table_mark(&self.db)? == Some(mark) {
            return Ok(false);
        }
        // Another process may be between the table and the file, or an earlier version wrote the file.
        let table = all(&self.db)?;
        Ok(read_file(self.dir())?.iter().any(|hash| !table.contains(hash)))
    }

    /// Fails if the database may hold forgotten records. For those who cannot forget them again: hooks, and readers of
    /// a disk that cannot be written.
    pub fn refuse_forgotten(&self) -> Result<(), StoreError> {
        if self.may_hold_forgotten()? {
            return Err(StoreError::HoldsForgotten { path: self.dir().database() });
        }
        Ok(())
    }

    /// Forgets again what a restored backup brought back, and completes the file.
    pub(crate) fn keep_forgotten(&self) -> Result<(), StoreError> {
        let is_complete = match file_mark(self.dir())? {
            None => !self.db.prepare_cached("SELECT 1 FROM tombstones")?.exists([])?,
            mark => table_mark(&self.db)? == mark,
        };
        if is_complete {
            return Ok(());
        }
        // Another process may be forgetting: compared again while none can.
        let lock = self.dir().lock_schema()?;
        let (file, table) = (read_file(self.dir())?, all(&self.db)?);
        let missing: BTreeSet<Hash> = file.difference(&table).copied().collect();
        if !missing.is_empty() {
            self.forget_again(&missing)?;
        }
        write_file(&self.db, self.dir())?;
        drop(lock);
        Ok(())
    }

    fn forget_again(&self, missing: &BTreeSet<Hash>) -> Result<(), StoreError> {
        let now = self.dir().now();
        let transaction = self.begin()?;
        put(&transaction, missing, None)?;
        let doomed = find::by_tombstones(&transaction, missing)?;
        if !doomed.is_empty() {
            remove(&transaction, &doomed, now)?;
            // Their bytes are still in free pages.
            transaction.execute(
                "INSERT INTO forgettings (records, held, created_at, purge_at, purged_at)
                 VALUES ('[]', '', ?1, ?1, ?1)",
                [now.0],
            )?;
            let detail = format!("{} records, after a restore", doomed.records.len());
            retention::audit(&transaction, "forget again", &detail, now)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Deletes everything immediately.
pub(super) fn remove(db: &Connection, doomed: &ForgetPlan, now: Time) -> Result<(), StoreError> {
    let sessions = find::sessions(db, doomed)?;
    take_out(db, doomed, None)?;
    for record in doomed.records.keys() {
        mark(db, *record, now)?;
        delete_marked(db, *record)?;
    }
    for session in sessions {
        documents::refresh_surroundings(db, session)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use remora_core::ids::ObservationId;
    use remora_core::memory::ObservationType;
    use remora_core::privacy::{Draft, SavedText};
    use remora_core::settings::Sync;

    use super::super::{ForgetQuery, NextStep, Reason, Terms};
    use super::*;
    use crate::{SaveFor, SavedBy, locate};

    /// A store that knows one text.
    fn knows_a_text(dir: &DataDir) -> (Store, ObservationId) {
        let store = Store::open_caught_up(dir).unwrap();
        let project = store.projects().adopt(&locate(dir.path()), Time(1)).unwrap();
        let draft = Draft {
            text: "Totals are cents.".to_owned(),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        let text = SavedText::new(&draft).unwrap();
        let id =
            store.records().save(&SaveFor::Project(project), &text, SavedBy::Person, Time(1)).unwrap().id();
        (store, id)
    }

    fn forget(store: &mut Store, id: ObservationId) {
        let doomed = ForgetQuery::Records { ids: &[id.into()], reason: Reason::Named };
        let doomed = store.forget().plan(doomed).unwrap();
        let terms =
            Terms { topic: None, project: None, undo: Duration::ZERO, by: "ids", who: SavedBy::Person };
        store.forget().forget(&doomed, &terms, Time(2)).unwrap();
    }

    /// Whether file and table are known to have the same hashes, without reading them.
    fn is_marked(store: &Store) -> bool {
        let mark = file_mark(store.dir()).unwrap();
        mark.is_some() && mark == table_mark(&store.db).unwrap()
    }

    #[test]
    fn a_database_replaced_by_hand_is_read_by_nobody_before_it_has_forgotten_again() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let (mut store, id) = knows_a_text(&dir);
        let copy = temp.path().join("copy.db");
        crate::backup::copy_to(&dir, &copy).unwrap();
        forget(&mut store, id);
        drop(store);
        fs::copy(&copy, dir.database()).unwrap();

        let refused = Store::open_read_only_for_hook(&dir).unwrap_err();
        assert!(matches!(refused, StoreError::HoldsForgotten { .. }), "{refused}");
        let hook = Store::open_for_hook(&dir, Sync::Normal).unwrap();
        assert!(matches!(hook.refuse_forgotten(), Err(StoreError::HoldsForgotten { .. })));
        assert!(hook.records().observation(id).unwrap().is_some());
        let store = Store::open(&dir).unwrap();
        assert_eq!(store.records().observation(id).unwrap(), None);
        assert_eq!(
            store.forget().next_step().unwrap(),
            Some(NextStep::Erase),
            "its bytes are still in free pages"
        );
        hook.refuse_forgotten().unwrap();
        assert_eq!(
            Store::open_read_only_for_hook(&dir).unwrap().unwrap().records().observation(id).unwrap(),
            None
        );
    }

    #[test]
    fn file_and_table_have_the_same_mark_only_while_they_have_the_same_hashes() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let (mut store, id) = knows_a_text(&dir);
        assert!(!dir.forgotten().exists() && !store.may_hold_forgotten().unwrap());
        forget(&mut store, id);
        assert!(is_marked(&store));
        store.forget().undo(None, Time(1)).unwrap().unwrap();
        assert!(is_marked(&store) && all(&store.db).unwrap().is_empty());
        // A process that was killed between the table and the file.
        put(&store.db, &BTreeSet::from([[7; 16]]), None).unwrap();
        assert!(!is_marked(&store) && !store.may_hold_forgotten().unwrap());
        store.catch_up().unwrap();
        assert!(is_marked(&store) && read_file(&dir).unwrap() == BTreeSet::from([[7; 16]]));
        lift(&store.db, &dir, &[7; 16]).unwrap();
        assert!(is_marked(&store) && read_file(&dir).unwrap().is_empty());
        // A file as earlier versions wrote it.
        fs::write(dir.forgotten(), hex(&[8; 16]) + "\n").unwrap();
        assert!(store.may_hold_forgotten().unwrap());
        drop(store);
        let store = Store::open(&dir).unwrap();
        assert!(is_marked(&store) && all(&store.db).unwrap() == BTreeSet::from([[8; 16]]));
    }

    #[test]
    fn a_restored_database_with_as_many_tombstones_forgets_what_it_does_not_know() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        let (store, id) = knows_a_text(&dir);
        // The table has one hash that was lifted since, and the file the one of this observation.
        put(&store.db, &BTreeSet::from([[7; 16]]), None).unwrap();
        let sql = "SELECT uuid FROM observations WHERE id = ?1";
        let uuid: [u8; 16] = store.db.query_row(sql, [id.0], |row| row.get(0)).unwrap();
        let forgotten = of_record(&key(&store.db).unwrap(), RecordKind::Observation, &uuid);
        replace_file(&dir, &BTreeSet::from([forgotten])).unwrap();
        drop(store);
        assert_eq!(Store::open(&dir).unwrap().records().observation(id).unwrap(), None);
    }
}
