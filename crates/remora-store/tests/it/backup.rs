use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use remora_core::settings::Sync;
use remora_core::time::Time;
use remora_store::{Enqueued, Store, StoreError, backup, spool};

use crate::support::{World, bash, call, prompt, record, record_with, turn};

const NOON: Time = Time(1_773_144_000_000);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn problems(path: &Path) -> Vec<String> {
    backup::verify(path).unwrap().problems
}

/// Overwrites pages in the middle of a file.
fn overwrite_pages(path: &Path) {
    use std::os::unix::fs::FileExt as _;
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&vec![0xA5; 8 * 4096], 8 * 4096).unwrap();
}

#[test]
fn a_backup_is_one_private_file_with_everything_in_it() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("the first task")));
    let made = backup::make(&world.dir, NOON).unwrap();
    assert_eq!(names(&world.dir.backups()), ["remora-2026-03-10T120000Z.db"]);
    assert_eq!((mode(&made.path), mode(&world.dir.backups())), (0o600, 0o700));
    let verified = backup::verify(&made.path).unwrap();
    assert_eq!(verified.problems, [""; 0]);
    let contents = verified.contents.unwrap();
    assert_eq!((contents.sessions, contents.prompts), (1, 1));
    assert_eq!(names(&world.dir.backups()).len(), 1, "verifying leaves no files behind");
    assert_eq!(backup::list(&world.dir).unwrap(), [made]);
}

#[test]
fn hooks_store_events_during_a_backup_and_the_copy_is_consistent() {
    let world = World::new();
    let text = "x".repeat(60_000);
    for number in 0..60 {
        let body = prompt(&format!("{number} {text}"));
        world.hook(&record_with("a", turn(&format!("p{number}")), body));
    }
    let done = AtomicBool::new(false);
    let stored = thread::scope(|scope| {
        let hooks = scope.spawn(|| {
            let mut stored = 0;
            while !done.load(Ordering::Relaxed) || stored == 0 {
                let event = record_with("a", call(&format!("c{stored}")), bash("make"));
                assert!(matches!(world.hook(&event), Enqueued::Stored(_)));
                stored += 1;
            }
            stored
        });
        let made = backup::make(&world.dir, NOON).unwrap();
        done.store(true, Ordering::Relaxed);
        assert_eq!(problems(&made.path), [""; 0]);
        assert_eq!(backup::verify(&made.path).unwrap().contents.unwrap().prompts, 60);
        hooks.join().unwrap()
    });
    assert!(stored > 0);
    assert_eq!(world.open().counts().unwrap().pending, 60 + stored);
}

#[test]
fn every_kind_of_damage_is_named() {
    let world = World::new();
    for number in 0..50 {
        world.hook(&record_with("a", turn(&format!("p{number}")), prompt(&"words ".repeat(500))));
    }
    let made = backup::make(&world.dir, NOON).unwrap().path;
    let damaged = |name: &str, damage: &dyn Fn(&Path)| {
        let path = world.path(name);
        fs::copy(&made, &path).unwrap();
        damage(&path);
        problems(&path)
    };
    assert_eq!(damaged("none", &|_| {}), [""; 0]);
    assert_eq!(damaged("empty", &|path| fs::write(path, "").unwrap()), ["the file is empty"]);
    assert_eq!(damaged("gone", &|path| fs::remove_file(path).unwrap()), ["there is no such file"]);
    assert_eq!(
        damaged("text", &|path| fs::write(path, "?".repeat(9000)).unwrap()),
        ["file is not a database"]
    );
    assert!(!damaged("pages", &overwrite_pages).is_empty());
    let half = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(fs::metadata(path).unwrap().len() / 2).unwrap();
    };
    assert!(!damaged("half", &half).is_empty());
    let sql = |statement: &'static str| {
        move |path: &Path| {
            #[expect(clippy::disallowed_methods, reason = "the test damages the file")]
            rusqlite::Connection::open(path).unwrap().execute_batch(statement).unwrap();
        }
    };
    let dropped = damaged("dropped", &sql("DROP TABLE observations"));
    assert_eq!(dropped, ["tables are missing: observations"]);
    let keyless = damaged("keyless", &sql("DELETE FROM meta WHERE key = 'hash_key'"));
    assert_eq!(keyless, ["the row hash_key is missing from the table meta"]);
}

#[test]
fn a_damaged_database_is_not_backed_up_and_the_good_backup_stays() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    backup::make(&world.dir, NOON).unwrap();
    world.sql("DROP TABLE facts");
    let error = backup::make(&world.dir, NOON.after(Duration::from_hours(24))).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(names(&world.dir.backups()), ["remora-2026-03-10T120000Z.db"]);
}

#[test]
fn a_restored_database_has_the_content_of_the_backup_and_imports_the_spool() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("before the backup")));
    let made = backup::make(&world.dir, NOON).unwrap();
    fs::write(world.dir.database(), "").unwrap();
    let waiting = record("b", prompt("after the damage"));
    let refused =
        Store::open_for_hook(&world.dir, Sync::Normal).and_then(|store| store.queue().enqueue(&waiting));
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    spool::append(&world.dir, &waiting, remora_core::settings::Sync::Normal).unwrap();
    let later = NOON.after(Duration::from_hours(1));
    let restored = backup::restore(&world.dir, &made.path, later).unwrap();
    assert_eq!(restored.made_at, Some(NOON));
    let aside = restored.set_aside.unwrap();
    assert_eq!(aside, world.dir.path().join("remora.db.damaged-2026-03-10T130000Z"));
    assert!(aside.exists() && made.path.exists());
    assert_eq!(mode(&world.dir.database()), 0o600);
    assert_eq!(world.open_caught_up().counts().unwrap().prompts, 2);
    assert_eq!(world.text("PRAGMA journal_mode"), "wal");
    world.hook(&record_with("a", turn("p2"), prompt("life goes on")));
    assert_eq!(problems(&world.dir.database()), [""; 0]);
}

#[test]
fn the_newest_sound_backup_is_found() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    let good = backup::make(&world.dir, NOON).unwrap();
    let newer = backup::make(&world.dir, NOON.after(Duration::from_hours(24))).unwrap();
    assert_eq!(backup::newest_sound(&world.dir).unwrap(), (Some(newer.clone()), vec![]));
    fs::write(&newer.path, "?".repeat(9000)).unwrap();
    let (found, damaged) = backup::newest_sound(&world.dir).unwrap();
    assert_eq!((found, damaged.len()), (Some(good), 1));
    let error = backup::restore(&world.dir, &newer.path, NOON).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(world.open().counts().unwrap().prompts, 1, "the database stays as it was");
}

#[test]
fn a_lost_database_is_not_replaced_by_an_empty_one() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("task")));
    backup::make(&world.dir, NOON).unwrap();
    let lost = |what: &str| {
        let opened = Store::open(&world.dir).map(drop);
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{what}: {opened:?}");
        let hook = Store::open_for_hook(&world.dir, Sync::Normal)
            .and_then(|store| store.queue().enqueue(&record("b", prompt("x"))));
        assert!(matches!(hook, Err(StoreError::Damaged { .. })), "{what}: {hook:?}");
    };
    world.sql("DROP TABLE sessions");
    lost("a dropped table");
    for name in ["remora.db-wal", "remora.db-shm"] {
        let _ = fs::remove_file(world.dir.path().join(name));
    }
    fs::write(world.dir.database(), "").unwrap();
    lost("an emptied file");
    fs::remove_file(world.dir.database()).unwrap();
    lost("a removed file");
    assert!(!world.dir.database().exists());
}

#[test]
fn a_restored_database_gives_no_id_out_again() {
    let world = World::new();
    world.hook(&record_with("a", turn("p1"), prompt("the first task")));
    let made = backup::make(&world.dir, NOON).unwrap();
    world.hook(&record_with("a", turn("p2"), prompt("the second task")));
    world.sql(
        "INSERT INTO facts (id, uuid, kind, key, value, source, trust, valid_from, created_at, updated_at)
         VALUES (7, randomblob(16), 'fact', 'port', 'eighty', 'agent', 0.5, 1, 1, 1);
         UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'sessions';
         INSERT INTO sqlite_sequence (name, seq) VALUES ('of_another_version', 5)",
    );
    let seen = world.text("SELECT max(id) || '' FROM user_prompts");
    backup::restore(&world.dir, &made.path, NOON).unwrap();
    assert_eq!(problems(&world.dir.database()), [""; 0]);
    assert_eq!(world.text("SELECT count(*) || '' FROM user_prompts"), "1");

    world.hook(&record_with("b", turn("p3"), prompt("the third task")));
    let next = world.text("SELECT max(id) || '' FROM user_prompts");
    assert!(next.parse::<i64>().unwrap() > seen.parse().unwrap(), "{next} after {seen}");
    let counters = "SELECT group_concat(name || ' ' || seq, ', ' ORDER BY name) FROM sqlite_sequence
                    WHERE name IN ('facts', 'sessions', 'of_another_version')";
    assert_eq!(
        world.text(counters),
        "facts 7, sessions 2",
        "a table without rows counts, a damaged counter does not"
    );
}
