//! Backup, damage and recovery, from a user's view.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::daemon::{Background, turn};
use crate::support::{World, contains, run_hook};

impl World {
    fn database(&self) -> PathBuf {
        self.data().join("remora.db")
    }

    /// Creates a few observations through hooks.
    fn observe(&self) {
        for number in 1..=3 {
            turn(self, "one", number, |message| self.hook(message));
        }
        self.text(&["queue", "drain"]);
        assert_eq!(self.count("observations"), 3);
    }

    /// Removes the write-ahead log, as if it was lost or not copied.
    fn remove_log(&self) {
        for name in ["remora.db-wal", "remora.db-shm"] {
            let _ = fs::remove_file(self.data().join(name));
        }
    }

    fn assert_memory_is_there(&self) {
        let found = self.json(&["search", "wrong index"]);
        assert!(found["hits"].as_array().is_some_and(|hits| !hits.is_empty()), "{found}");
        let verified = self.json(&["verify"]);
        assert_eq!((&verified["ok"], &verified["contents"]["observations"]), (&json!(true), &json!(3)));
    }

    fn set_aside(&self) -> Vec<String> {
        let names = fs::read_dir(self.data()).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let beginnings = ["remora.db.damaged-", "remora.db.replaced-"];
        let is_aside = |name: &String| {
            name.ends_with('Z') && beginnings.iter().any(|beginning| name.starts_with(beginning))
        };
        names.filter(is_aside).collect()
    }
}

type Damage = (&'static str, fn(&World));

const DAMAGES: [Damage; 5] = [
    ("emptied", |world| {
        world.remove_log();
        fs::write(world.database(), "").unwrap();
    }),
    ("dropped tables", |world| {
        let database = rusqlite::Connection::open(world.database()).unwrap();
        database.execute_batch("DROP TABLE observations; DROP TABLE sessions;").unwrap();
    }),
    ("overwritten pages", |world| {
        world.remove_log();
        let file = OpenOptions::new().write(true).open(world.database()).unwrap();
        file.write_all_at(&vec![0xA5; 16 * 4096], 0).unwrap();
    }),
    ("cut short", |world| {
        world.remove_log();
        let file = OpenOptions::new().write(true).open(world.database()).unwrap();
        file.set_len(5 * 4096).unwrap();
    }),
    ("removed", |world| {
        world.remove_log();
        fs::remove_file(world.database()).unwrap();
    }),
];

#[test]
fn a_restore_brings_back_everything_in_the_backup_after_any_damage() {
    for (name, damage) in DAMAGES {
        let world = World::new();
        world.observe();
        let made = world.json(&["backup"])["backup"].clone();
        damage(&world);

        let verify = world.remora(&["verify"]);
        assert_eq!(verify.status.code(), Some(1), "{name}: {verify:?}");
        assert!(contains(&verify.stderr, "`remora restore`"), "{name}: {verify:?}");
        let status = world.remora(&["status"]);
        assert_eq!(status.status.code(), Some(3), "{name}: {status:?}");
        assert!(contains(&status.stderr, "`remora restore`"), "{name}: {status:?}");
        let doctor = world.remora(&["doctor"]);
        assert_eq!(doctor.status.code(), Some(1), "{name}: {doctor:?}");

        // An event that arrives in the meantime goes to the spool.
        world.hook(&world.prompt("later", "What about the harbour?"));
        let restored = world.json(&["restore", "--yes"]);
        assert_eq!((&restored["from"], &restored["taken_in"]), (&made["path"], &json!(1)), "{name}");
        assert_eq!(restored["set_aside"].is_null(), name == "removed", "{name}: {restored}");
        world.assert_memory_is_there();
        let found = world.json(&["search", "harbour"]);
        assert!(found.to_string().contains("harbour?"), "{name}: {found}");
        world.hook(&world.tool("goes-on"));
        assert!(world.text(&["queue"]).contains("make goes-on"), "{name}");
        assert!(world.text(&["doctor"]).contains("may be missing") || name == "removed", "{name}");
    }
}

#[test]
fn a_backup_is_made_listed_and_private() {
    let world = World::new();
    let none = world.remora(&["backup"]);
    assert_eq!(none.status.code(), Some(3));
    assert!(contains(&none.stderr, "there is no database"), "{none:?}");
    assert!(world.text(&["backup", "list"]).contains("`remora backup`"));
    world.observe();
    assert!(world.text(&["backup"]).starts_with("Backed up to [TEMP]/home/.remora/backups/remora-"));
    let list = world.json(&["backup", "list"]);
    let path = list[0]["path"].as_str().unwrap();
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path), 0o600);
    assert_eq!(mode(world.data().join("backups").to_str().unwrap()), 0o700);
    assert!(world.text(&["backup", "list"]).contains(".db"));
    assert!(world.text(&["doctor"]).contains("the newest sound one is from"));
}

#[test]
fn a_backup_to_a_named_file_can_be_restored() {
    let world = World::new();
    world.observe();
    let elsewhere = world.path("elsewhere.db");
    let elsewhere = elsewhere.to_str().unwrap();
    world.text(&["backup", "--to", elsewhere]);
    assert!(world.text(&["verify", elsewhere]).contains("sound"));
    assert_eq!(world.json(&["backup", "list"]), json!([]));
    let again = world.remora(&["backup", "--to", elsewhere]);
    assert_eq!(again.status.code(), Some(2), "no file is replaced: {again:?}");
    fs::remove_file(world.database()).unwrap();
    world.remove_log();
    let nothing = world.remora(&["restore", "--yes"]);
    assert_eq!(nothing.status.code(), Some(1), "{nothing:?}");
    assert!(contains(&nothing.stderr, "remora restore FILE"), "{nothing:?}");
    world.text(&["restore", "--yes", elsewhere]);
    world.assert_memory_is_there();
}

#[test]
fn a_damaged_backup_is_skipped_and_a_named_one_refused() {
    let world = World::new();
    world.observe();
    world.text(&["backup"]);
    let newer = world.data().join("backups/remora-2099-01-01T000000Z.db");
    fs::write(&newer, "?".repeat(9000)).unwrap();
    let refused = world.remora(&["restore", "--yes", newer.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(world.set_aside().is_empty(), "nothing was changed");
    let restored = world.json(&["restore", "--yes"]);
    assert_eq!(restored["skipped"][0]["path"], json!(newer));
    world.assert_memory_is_there();
    assert_eq!(world.set_aside().len(), 1);
}

#[test]
fn a_damaged_search_index_is_rebuilt_without_losing_records() {
    let world = World::new();
    world.observe();
    world.text(&["backup"]);
    turn(&world, "two", 1, |message| world.hook(message));
    world.text(&["queue", "drain"]);
    let database = rusqlite::Connection::open(world.database()).unwrap();
    let sql = "UPDATE documents_text_data SET block = x'0011223344' WHERE id > 10";
    assert!(database.execute(sql, []).unwrap() > 0);
    drop(database);
    let verified = remora_store::backup::verify(&world.database()).unwrap();
    assert!(!verified.is_sound() && !verified.is_lost(), "no backup takes its place: {verified:?}");
    let verify = world.remora(&["verify"]);
    assert_eq!(verify.status.code(), Some(1));
    assert!(contains(&verify.stderr, "`remora index rebuild`"), "{verify:?}");
    world.text(&["index", "rebuild"]);
    assert!(world.text(&["verify"]).contains("sound"));
    assert_eq!(world.count("observations"), 4);
}

#[test]
fn a_restore_by_mistake_can_be_undone() {
    let world = World::new();
    world.observe();
    world.text(&["backup"]);
    turn(&world, "two", 1, |message| world.hook(message));
    world.text(&["queue", "drain"]);
    let restored = world.json(&["restore", "--yes"]);
    assert_eq!(world.count("observations"), 3);
    assert_eq!(restored["can_go_back"], true);
    world.text(&["restore", "--yes", restored["set_aside"].as_str().unwrap()]);
    assert_eq!(world.count("observations"), 4);
}

#[test]
fn a_sound_database_that_a_restore_replaces_is_not_called_damaged() {
    let world = World::new();
    world.observe();
    world.text(&["backup"]);
    let restored = world.remora(&["restore", "--yes"]);
    assert!(restored.status.success() && !contains(&restored.stdout, "damaged"), "{restored:?}");
    let aside = world.set_aside();
    assert!(aside.len() == 1 && contains(&restored.stdout, &aside[0]), "{aside:?}: {restored:?}");
    let start = world.message("SessionStart", &json!({"source": "startup"}));
    let started = run_hook(&mut world.hook_command(), start.to_string().as_bytes());
    assert!(contains(&started.output.stdout, "restored from a backup"), "{:?}", started.output);
    assert!(!contains(&started.output.stdout, "damaged"), "{:?}", started.output);
    // Forgetting covers it as well.
    let id = world.json(&["search", "wrong index", "--all"])["hits"][0]["id"].as_str().unwrap().to_owned();
    world.text(&["forget", &id, "--yes", "--now"]);
    let verified = remora_store::backup::verify(&world.data().join(&aside[0])).unwrap();
    assert_eq!(verified.contents.unwrap().observations, 2);
}

#[test]
fn a_restore_asks_before_it_replaces_a_database() {
    let world = World::new();
    world.observe();
    world.text(&["backup"]);
    turn(&world, "two", 1, |message| world.hook(message));
    world.text(&["queue", "drain"]);
    for arguments in [&["restore"][..], &["restore", "--json"]] {
        let refused = world.remora(arguments);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(contains(&refused.stderr, "nothing was restored"), "{refused:?}");
        assert!(contains(&refused.stderr, "`remora restore --yes`"), "{refused:?}");
    }
    assert_eq!(world.count("observations"), 4);
    fs::remove_file(world.database()).unwrap();
    world.remove_log();
    world.text(&["restore"]);
    world.assert_memory_is_there();
}

#[test]
fn what_import_names_to_go_back_to_outlives_later_backups() {
    let other = World::new();
    other.text(&["save", "Totals are cents."]);
    let lines = other.path("lines.jsonl");
    fs::write(&lines, other.text(&["export"])).unwrap();
    let world = World::new();
    world.observe();
    let before = world.count("observations");
    let imported = world.remora(&["import", lines.to_str().unwrap()]);
    let named = String::from_utf8_lossy(&imported.stderr).into_owned();
    let restore = named.split('`').find_map(|part| part.strip_prefix("remora restore ")).unwrap();
    assert!(world.count("observations") > before, "{named}");
    // The first of them may be made in the same second.
    for _ in 0..3 {
        world.text(&["backup"]);
    }
    world.text(&["restore", "--yes", restore]);
    assert_eq!(world.count("observations"), before);
}

#[test]
fn a_recent_backup_that_the_size_limit_removes_is_named() {
    let world = World::new();
    world.observe();
    let database = rusqlite::Connection::open(world.database()).unwrap();
    database.execute_batch("CREATE TABLE filler AS SELECT randomblob(700000) AS bytes").unwrap();
    drop(database);
    let first = world.json(&["backup"])["backup"]["path"].as_str().unwrap().to_owned();
    let make =
        |arguments: &[&str]| world.command(arguments).env("REMORA_BACKUP_MOST_MB", "1").output().unwrap();
    let second = make(&["backup", "--json"]);
    assert!(contains(&second.stderr, &first) && contains(&second.stderr, "backup.most_mb"), "{second:?}");
    let second: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!(second["removed"][0]["path"], json!(first));
    let lines = world.path("lines.jsonl");
    fs::write(&lines, world.text(&["export"])).unwrap();
    let imported = make(&["import", lines.to_str().unwrap()]);
    assert!(contains(&imported.stderr, second["backup"]["path"].as_str().unwrap()), "{imported:?}");
}

#[test]
fn a_database_emptied_under_a_running_daemon_is_restored() {
    let background = Background::new();
    let world = &background.world;
    // Before the daemon starts: it would observe some of the turns itself, and `queue drain` does not wait for it.
    world.observe();
    world.text(&["backup"]);
    background.command(&["daemon", "start"]).output().unwrap();
    OpenOptions::new().write(true).open(world.database()).unwrap().set_len(0).unwrap();
    world.hook(&world.prompt("later", "What about the harbour?"));
    background.wait_quietly("a restored database", || world.remora(&["verify"]).status.success());
    world.assert_memory_is_there();
    // The daemon stores the event once the database is restored.
    background.wait_quietly("the spool", || world.json(&["status"])["spool"]["records"] == 0);
    let found = world.json(&["search", "harbour"]);
    assert!(found.to_string().contains("harbour?"), "{found}");
}

/// The daemon says that it has started before it opens the database, so whatever happens in between must end well, too.
#[test]
fn a_database_emptied_while_the_daemon_starts_is_restored() {
    for pause in [0, 1, 2, 4, 8, 16, 32] {
        let background = Background::new();
        let world = &background.world;
        world.observe();
        world.text(&["backup"]);
        let mut daemon =
            background.command(&["daemon", "run"]).stderr(std::process::Stdio::null()).spawn().unwrap();
        background.wait_quietly("a started daemon", || world.data().join("daemon.json").exists());
        std::thread::sleep(std::time::Duration::from_millis(pause));
        OpenOptions::new().write(true).open(world.database()).unwrap().set_len(0).unwrap();
        world.hook(&world.prompt("later", "What about the harbour?"));
        background.wait_quietly("a restored database", || world.remora(&["verify"]).status.success());
        world.assert_memory_is_there();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
}

#[test]
fn a_running_daemon_is_stopped_for_a_restore_and_started_again() {
    let background = Background::new();
    let world = &background.world;
    world.observe();
    world.text(&["backup"]);
    background.command(&["daemon", "start"]).output().unwrap();
    let before = background.pid().unwrap();
    let restored = background.command(&["restore", "--yes"]).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    background.wait("a new daemon", || background.pid().is_some_and(|pid| pid != before && pid != 0));
    world.assert_memory_is_there();
}

#[test]
fn without_a_backup_restore_suggests_a_new_database() {
    let world = World::new();
    world.observe();
    world.remove_log();
    fs::write(world.database(), "").unwrap();
    let status = world.remora(&["status"]);
    assert_eq!(status.status.code(), Some(3));
    assert!(contains(&status.stderr, "`mv "), "{status:?}");
    let verified: Value = serde_json::from_slice(&world.remora(&["verify", "--json"]).stdout).unwrap();
    assert_eq!(verified["problems"], json!(["the file is empty"]));
}

/// Overwrites the first page of each table and index that the condition selects.
fn overwrite_roots(world: &World, condition: &str) {
    let database = rusqlite::Connection::open(world.database()).unwrap();
    let sql = format!("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0 AND ({condition})");
    let mut pages = database.prepare(&sql).unwrap();
    let pages: Vec<u32> = pages.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let file = OpenOptions::new().write(true).open(world.database()).unwrap();
    for page in pages {
        file.write_all_at(&[0; 4096], u64::from(page - 1) * 4096).unwrap();
    }
}

/// Damage that a look at the schema does not find.
const HIDDEN_DAMAGES: [Damage; 5] = [
    ("found by a check of every page only", |world| overwrite_roots(world, "name = 'event_traces'")),
    ("met when the store is opened", |world| overwrite_roots(world, "name = 'tombstones'")),
    ("met when claims are returned", |world| overwrite_roots(world, "name = 'pending_messages'")),
    ("behind ten problems of the index", |world| {
        // Without the indexes that the check itself needs.
        let counted = "('sessions', 'user_prompts', 'observations', 'documents')";
        let condition = format!("type = 'index' AND tbl_name NOT IN {counted} OR name = 'event_traces'");
        overwrite_roots(world, &condition);
    }),
    ("no corruption to SQLite", |world| {
        world.remove_log();
        let file = OpenOptions::new().write(true).open(world.database()).unwrap();
        // The format of the schema, which SQLite does not support.
        file.write_all_at(&[0, 0, 0, 9], 44).unwrap();
    }),
];

#[test]
fn a_daemon_that_starts_restores_the_database_by_itself_and_says_so() {
    for (name, damage) in DAMAGES.into_iter().chain(HIDDEN_DAMAGES) {
        let background = Background::new();
        let world = &background.world;
        world.observe();
        world.text(&["backup"]);
        damage(world);
        world.hook(&world.prompt("later", "What about the harbour?"));
        background.command(&["daemon", "start"]).output().unwrap();
        let restored = || {
            let doctor = world.remora(&["doctor", "--json"]);
            contains(&doctor.stdout, "the database was restored from")
                && contains(&doctor.stdout, "may be missing")
        };
        background.wait_quietly(name, restored);
        world.assert_memory_is_there();
        let log = world.text(&["logs"]);
        assert!(log.contains("the database was damaged"), "{name}: {log}");
        assert_eq!(world.set_aside().len(), usize::from(name != "removed"), "{name}");
    }
}

#[test]
fn a_daemon_that_cannot_restore_runs_on_and_says_why_and_hooks_use_the_spool() {
    for (name, damage) in DAMAGES.into_iter().chain(HIDDEN_DAMAGES) {
        // Without a backup, a new database takes the place of one that was removed.
        if name == "removed" {
            continue;
        }
        let background = Background::new();
        let world = &background.world;
        world.observe();
        damage(world);
        background.command(&["daemon", "start"]).output().unwrap();
        let pid = background.pid();
        let log = || world.neutral(&world.remora(&["logs"]).stdout);
        background.wait_quietly(name, || log().contains("no sound backup"));
        background.wait_quietly("a check", || log().contains(" daemon: the database is damaged: "));
        for number in 0..3 {
            world.hook(&world.prompt(&format!("later-{number}"), "What about the harbour?"));
        }
        assert_eq!(background.pid(), pid, "{name}: {}", log());
        assert!(log().matches(" started, ").count() <= 2, "{name}: {}", log());
        assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success(), "{name}");
        // In the spool or, if a hook does not need what is damaged, in the database.
        assert!(contains(&world.all_bytes(), "What about the harbour?"), "{name}: {}", log());
    }
}

/// The daemon has checked the database already, and would check it again the next day.
#[test]
fn damage_that_an_event_meets_under_a_running_daemon_is_restored() {
    let background = Background::new();
    let world = &background.world;
    world.observe();
    world.text(&["backup"]);
    background.command(&["daemon", "start"]).output().unwrap();
    background.wait_quietly("the first check", || world.data().join("check.json").exists());
    overwrite_roots(world, "tbl_name = 'event_traces'");
    for number in 0..3 {
        world.hook(&world.prompt(&format!("later-{number}"), "What about the harbour?"));
    }
    background.wait_quietly("a restored database", || world.remora(&["verify"]).status.success());
    background.wait_quietly("the spool", || world.json(&["status"])["spool"]["records"] == 0);
    let found = world.json(&["search", "harbour", "--all"]);
    assert!(found.to_string().contains("harbour?"), "{found}");
}

#[test]
fn an_idle_daemon_makes_a_backup_once_a_day() {
    let background = Background::new();
    let world = &background.world;
    world.observe();
    background.command(&["daemon", "start"]).output().unwrap();
    let backups = || world.json(&["backup", "list"]).as_array().unwrap().clone();
    background.wait_quietly("a backup", || !backups().is_empty());
    let path = backups()[0]["path"].as_str().unwrap().to_owned();
    assert!(world.text(&["verify", &path]).contains("sound"));
    background.wait_quietly("the log", || world.text(&["logs"]).contains("made, "));
    background.command(&["daemon", "restart"]).output().unwrap();
    assert!(world.data().join("check.json").exists());
    assert_eq!(backups().len(), 1, "one per day");
}

#[test]
fn a_database_deleted_under_a_running_daemon_loses_nothing() {
    let background = Background::new();
    let world = &background.world;
    background.command(&["daemon", "start"]).output().unwrap();
    world.observe();
    world.text(&["backup"]);
    // Created after the backup, so no file has it once the database is gone.
    turn(world, "two", 1, |message| world.hook(message));
    background.wait("an observation", || world.count("observations") == 4);
    fs::remove_file(world.database()).unwrap();
    world.remove_log();
    world.hook(&world.prompt("later", "What about the harbour?"));
    background.wait_quietly("a restored database", || world.database().exists());
    background.wait_quietly("the spool", || {
        let status = world.remora(&["status", "--json"]);
        serde_json::from_slice::<Value>(&status.stdout)
            .is_ok_and(|status| status["counts"]["observations"] == 4 && status["spool"]["records"] == 0)
    });
    let found = world.json(&["search", "harbour"]);
    assert!(found.to_string().contains("harbour?"), "{found}");
}

/// The log's index holds the locks: with two of them, the daemon and a hook would overwrite each other's
/// data.
#[test]
fn an_index_deleted_under_a_running_daemon_loses_nothing() {
    let background = Background::new();
    let world = &background.world;
    background.command(&["daemon", "start"]).output().unwrap();
    turn(world, "one", 1, |message| world.hook(message));
    // A process that is writing at that moment holds its locks in the file.
    background.wait_quietly("an idle daemon", || {
        let status = world.json(&["status"]);
        status["counts"]["observations"] == 1
            && status["counts"]["pending"] == 0
            && status["embedder"]["missing"] == 0
    });
    fs::remove_file(world.data().join("remora.db-shm")).unwrap();
    turn(world, "one", 2, |message| world.hook(message));
    turn(world, "two", 1, |message| world.hook(message));
    let observed = || {
        let status = world.remora(&["status", "--json"]);
        let status = serde_json::from_slice::<Value>(&status.stdout).unwrap_or_default();
        status["counts"]["prompts"] == 3 && status["counts"]["pending"] == 0
    };
    background.wait_quietly("memory of every turn", observed);
    let verified = world.json(&["verify"]);
    assert_eq!(verified["ok"], true, "{verified}");
    let log = world.text(&["logs"]);
    assert!(log.contains("the index of the log was removed or replaced; nothing is lost"), "{log}");
}
