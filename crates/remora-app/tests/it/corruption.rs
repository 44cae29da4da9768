//! Sixty ways to damage a database. In each case, everything remembered before the backup is there afterwards, the
//! database is sound, and a possible loss is recorded.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use remora_app::backup::{self, Search};
use remora_core::event::Body;
use remora_core::memory::{Memory, Observation, ObservationType};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::backup::{last_check, verify};
use remora_store::{DataDir, EmptyWal, Store};

use crate::memory::World;

const PAGE: u64 = 4096;
const MEMORIES: i64 = 60;

fn observation(number: i64) -> Memory {
    let narrative = format!("The cause of failure {number} was a stale cache entry. ").repeat(20);
    let observation = Observation {
        kind: ObservationType::Bugfix,
        title: format!("Failure {number} was a stale cache entry"),
        subtitle: String::new(),
        narrative,
        facts: Vec::new(),
        concepts: Vec::new(),
        files_read: Vec::new(),
        files_modified: vec![format!("src/case_{number}.rs")],
        discovery_tokens: 0,
        tool_name: None,
    };
    Memory { observations: vec![observation], provider: "test".into(), ..Memory::default() }
}

/// A database with a backup of it.
fn populate(dir: &DataDir) -> Vec<u8> {
    let mut world = World::at(dir);
    for number in 0..MEMORIES {
        world.turn("app", &format!("why does {number} fail?"), "done", &observation(number), Time::now());
    }
    world.store.empty_wal(EmptyWal::Always).unwrap();
    drop(world);
    backup::make(dir, &Settings::default().backup).unwrap();
    fs::read(dir.database()).unwrap()
}

enum Damage {
    /// Overwrites a number of pages, from the first one given, with this byte.
    Pages(u64, u64, u8),
    /// Overwrites the root page of a table or an index.
    Root(&'static str, u8),
    Bytes(u64, &'static [u8]),
    CutTo(u64),
    Sql(&'static str),
    Log(&'static [u8]),
    Replaced(&'static [u8]),
    Removed,
}

fn damages(pages: u64) -> Vec<Damage> {
    use Damage::{Bytes, CutTo, Log, Pages, Removed, Replaced, Root, Sql};
    let mut all = vec![
        Bytes(0, b"not a database at all"),
        Bytes(16, &[0xFF, 0xFF]),
        Bytes(18, &[9, 9]),
        Bytes(28, &[0xFF; 4]),
        Bytes(60, &[0; 4]),
        Bytes(96, &[0; 4]),
        CutTo(1),
        CutTo(100),
        CutTo(PAGE),
        CutTo(PAGE * 3 + 17),
        CutTo(pages / 2 * PAGE),
        CutTo((pages - 1) * PAGE),
        Sql("DROP TABLE observations"),
        Sql("DROP TABLE sessions"),
        Sql("DROP TABLE event_traces"),
        Sql("DROP TABLE vectors"),
        Sql("DROP TABLE documents_text"),
        Sql("DELETE FROM meta WHERE key = 'hash_key'"),
        Sql("UPDATE meta SET value = x'00' WHERE key = 'hash_key'"),
        Sql("PRAGMA user_version = 0"),
        Sql("DROP TABLE user_prompts"),
        Sql("INSERT INTO documents_text (documents_text) VALUES ('delete-all')"),
        Sql("DELETE FROM documents_trigram_data"),
        Sql("DELETE FROM documents_text_data"),
        Sql("DROP TABLE meta"),
        Log(b"garbage in the place of the log"),
        Log(&[0xA5; 8192]),
        Replaced(b""),
        Replaced(b"hello"),
        Replaced(&[0; 8192]),
        Removed,
    ];
    for byte in [0x00, 0xA5] {
        all.extend(
            ["observations", "sessions", "event_traces", "user_prompts", "projects", "documents", "vectors"]
                .map(|table| Root(table, byte)),
        );
        all.extend(
            ["documents_text_data", "documents_trigram_data", "sqlite_autoindex_sessions_1"]
                .map(|table| Root(table, byte)),
        );
    }
    let whole = (0..10).map(|part| Pages(1 + part * (pages - 2) / 10, 3, 0xA5));
    all.extend(whole);
    all
}

#[expect(clippy::disallowed_methods, reason = "it damages what no code of ours would")]
fn inflict(dir: &DataDir, damage: &Damage) {
    let path = dir.database();
    let connect = || rusqlite::Connection::open(&path).unwrap();
    let write = |at: u64, bytes: &[u8]| {
        OpenOptions::new().write(true).open(&path).unwrap().write_all_at(bytes, at).unwrap();
    };
    match damage {
        Damage::Pages(first, count, byte) => {
            write(first * PAGE, &vec![*byte; usize::try_from(count * PAGE).unwrap()]);
        }
        Damage::Root(name, byte) => {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
            let page: u32 = connect().query_row(sql, [name], |row| row.get(0)).unwrap();
            write(u64::from(page - 1) * PAGE, &[*byte; 4096]);
        }
        Damage::Bytes(at, bytes) => write(*at, bytes),
        Damage::CutTo(length) => {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(*length).unwrap();
        }
        Damage::Sql(sql) => {
            let db = connect();
            db.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
            db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            db.execute_batch(sql).unwrap();
        }
        Damage::Log(bytes) => fs::write(path.with_extension("db-wal"), bytes).unwrap(),
        Damage::Replaced(bytes) => fs::write(&path, bytes).unwrap(),
        Damage::Removed => fs::remove_file(&path).unwrap(),
    }
}

fn remove_beside(path: &Path) {
    for extension in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(path.with_extension(extension));
    }
}

#[test]
fn every_damage_is_detected_and_recovered_first_third() {
    assert_third_comes_back(0);
}

#[test]
fn every_damage_is_detected_and_recovered_second_third() {
    assert_third_comes_back(1);
}

#[test]
fn every_damage_is_detected_and_recovered_last_third() {
    assert_third_comes_back(2);
}

/// Tests every third damage. Each restore waits for hooks that may still be running, so the tests are split.
fn assert_third_comes_back(third: usize) {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    let sound = populate(&dir);
    let pages = sound.len() as u64 / PAGE;
    let all = damages(pages);
    assert!(all.len() >= 60, "{}", all.len());
    for (number, damage) in all.iter().enumerate().skip(third).step_by(3) {
        remove_beside(&dir.database());
        let _ = fs::remove_file(dir.path().join("check.json"));
        fs::write(dir.database(), &sound).unwrap();
        inflict(&dir, damage);
        // The check of an idle daemon, and then the start of the next one.
        backup::check(&dir).unwrap();
        let recovered = backup::recover(&dir, Search::Brief);
        let recovered = recovered.unwrap_or_else(|error| panic!("{number}: {error}"));
        let store = Store::open(&dir).unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(store.counts().unwrap().observations, MEMORIES, "{number}");
        let verified = verify(&dir.database()).unwrap();
        assert!(verified.is_sound(), "{number}: {:?}", verified.problems);
        if let Some((recovery, _)) = &recovered {
            let noted = last_check(&dir).unwrap().restored.unwrap();
            assert_eq!(noted.from, recovery.restored.from, "{number}");
        } else {
            assert!(is_harmless(damage), "{number}: not noticed");
        }
        while store.index().fill().unwrap() {}
        let found = store.counts().unwrap();
        assert_eq!(found.observations, MEMORIES, "{number}");
        drop(store);
        let mut world = World::at(&dir);
        let query = world.query("app", "stale cache entry");
        let found = world.searcher.search(&world.store, None, &query).unwrap();
        assert!(!found.hits.is_empty(), "{number}: nothing found");
        world.hook(
            "app",
            &format!("after-{number}"),
            Body::PromptSubmitted { text: "go on".into() },
            Time::now(),
        );
    }
}

/// A check reports ten problems at most. Without those of the records, the search index seems to be all that is damaged.
#[test]
fn records_damaged_behind_much_damage_of_the_search_index_are_restored() {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    let sound = populate(&dir);
    let mut hidden = 0;
    for victim in ["event_traces", "session_summaries", "facts", "tombstones", "projects", "revisions"] {
        remove_beside(&dir.database());
        fs::write(dir.database(), &sound).unwrap();
        for root in index_roots(&dir) {
            inflict(&dir, &Damage::Pages(root - 1, 1, 0));
        }
        inflict(&dir, &Damage::Root(victim, 0));
        hidden += usize::from(verify(&dir.database()).unwrap().is_index_alone());
        let (recovery, _) = backup::recover(&dir, Search::EveryPage).unwrap().unwrap();
        assert!(recovery.restored.made_at.is_some(), "{victim}: {recovery:?}");
        assert_eq!(Store::open(&dir).unwrap().counts().unwrap().observations, MEMORIES, "{victim}");
    }
    assert!(hidden > 0);
}

/// The root pages of indexes that the check itself does not need.
#[expect(clippy::disallowed_methods, reason = "it reads what no code of ours would")]
fn index_roots(dir: &DataDir) -> Vec<u64> {
    let db = rusqlite::Connection::open(dir.database()).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0
               AND type = 'index' AND tbl_name NOT IN ('sessions', 'user_prompts', 'observations', 'documents')";
    let mut roots = db.prepare(sql).unwrap();
    let roots = roots.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    roots.map(|root| root.unwrap().cast_unsigned()).collect()
}

/// SQLite ignores an invalid log, and has no checksum of unused pages.
fn is_harmless(damage: &Damage) -> bool {
    matches!(damage, Damage::Log(_) | Damage::Bytes(60 | 96, _))
}
