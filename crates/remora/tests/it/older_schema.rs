//! What happens to the data directory of a build with an older schema: nothing of it is refused, lost or done twice.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use remora_core::time::Time;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{World, contains, feed, let_agents_reach_everything};

const OLDER: &str = include_str!("../../../remora-store/tests/fixtures/version_14.sql");
const OLDER_VERSION: i64 = 14;
/// When the last event of that memory was stored.
const LAST_EVENT: i64 = 1_795_062_723_626;

/// Tables that no command of these tests writes.
const UNTOUCHED: [&str; 9] = [
    "observations",
    "observation_files",
    "observation_concepts",
    "session_summaries",
    "facts",
    "notes",
    "documents",
    "vectors",
    "llm_usage",
];

impl World {
    /// A world with the memory of the older build.
    fn older() -> Self {
        let world = Self::new();
        fs::create_dir_all(world.data()).unwrap();
        world.make_older("remora.db");
        // Soon after the last event of that memory: whatever the date, the same is due.
        world.set_clock(Time(LAST_EVENT).after(Duration::from_mins(10)));
        world
    }

    /// Makes a database of the older build in the data directory.
    fn make_older(&self, name: &str) -> PathBuf {
        let path = self.data().join(name);
        let database = Connection::open(&path).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        database.execute_batch(OLDER).unwrap();
        // A backup is one file without a log.
        if name != "remora.db" {
            database.pragma_update(None, "journal_mode", "DELETE").unwrap();
        }
        path
    }

    fn schema(&self) -> i64 {
        let database = Connection::open(self.data().join("remora.db")).unwrap();
        database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    /// The rows of the tables that stay as they are.
    fn rows(&self) -> Vec<String> {
        let database = Connection::open(self.data().join("remora.db")).unwrap();
        let mut all = Vec::new();
        for table in UNTOUCHED {
            // The forgetting in the fixture is over, so its record is purged when a command catches up.
            let live = if table == "observations" { "WHERE deleted_at IS NULL" } else { "" };
            let mut statement = database.prepare(&format!("SELECT * FROM {table} {live}")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let value = |column| row.get_ref(column).map(|value| format!("{value:?}")).unwrap();
                all.push(format!("{table}: {}", (0..columns).map(value).collect::<Vec<_>>().join(" ")));
            }
        }
        assert!(all.len() > 100, "{all:#?}");
        all
    }

    fn backups(&self) -> Vec<String> {
        let entries = fs::read_dir(self.data().join("backups")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[test]
fn every_reading_command_answers_from_the_memory_of_an_older_build() {
    for arguments in [
        &["search", "--all", "fog horn"] as &[&str],
        &["show", "3", "s5", "t4", "f5", "n1", "e2"],
        &["timeline", "3", "--project", "lighthouse"],
        &["sessions"],
        &["project", "list"],
        &["context", "--project", "lighthouse"],
        &["context-files", "status"],
        &["retrievals"],
        &["facts", "list", "--project", "lighthouse"],
        &["facts", "history", "oil", "--project", "lighthouse"],
        &["edit", "3", "--history"],
        &["feedback", "3"],
        &["forget", "list"],
        &["queue", "list"],
        &["index", "status"],
        &["notes", "status"],
        &["status"],
        &["export"],
    ] {
        let world = World::older();
        let_agents_reach_everything(&world);
        let before = world.rows();
        let output = world.remora(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert_eq!(world.rows(), before, "{arguments:?}");
        assert_eq!(world.schema(), remora_store::SCHEMA_VERSION, "{arguments:?}");
    }
    let world = World::older();
    let_agents_reach_everything(&world);
    let found = world.json(&["search", "--all", "fog horn"]);
    assert_eq!(found["hits"][0]["title"], "Fog horn", "{found}");
    assert!(world.text(&["context", "--project", "lighthouse"]).contains("watch: six hours"));
    assert_eq!(world.json(&["queue", "list"])["total"], 5);
    assert_eq!(world.json(&["doctor"])["ok"], true);
}

#[test]
fn an_event_that_meets_an_older_schema_waits_in_the_spool_and_keeps_its_place() {
    let world = World::older();
    world.hook(&world.message("SessionStart", &json!({"source": "startup"})));
    world.hook(&world.prompt("p1", "Is the lens clean?"));
    world.hook(&world.tool("c1"));
    assert_eq!(world.schema(), OLDER_VERSION, "a hook never migrates");
    let read = world.remora(&["sessions"]);
    assert!(read.status.success() && world.schema() == remora_store::SCHEMA_VERSION, "{read:?}");
    // After the migration, the first hook takes the others in before its own event.
    world.hook(&world.message("Stop", &json!({"last_assistant_message": "The lens is clean."})));
    let database = Connection::open(world.data().join("remora.db")).unwrap();
    let kinds: String = database
        .query_row(
            "SELECT group_concat(kind ORDER BY id) FROM event_traces WHERE session_id =
                 (SELECT id FROM sessions WHERE content_session_id = 'session-one')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(kinds, "session_started,prompt_submitted,tool_used,turn_ended");
    assert_eq!(world.count("pending"), 5 + 4);
}

#[test]
fn a_process_that_is_killed_while_it_migrates_loses_nothing() {
    let before = World::older().rows();
    for wait in 0..40 {
        let world = World::older();
        let mut child =
            world.command(&["status"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let reached = world.schema();
        assert!([OLDER_VERSION, remora_store::SCHEMA_VERSION].contains(&reached), "{reached}");
        assert_eq!(world.count("pending"), 5);
        assert_eq!(world.schema(), remora_store::SCHEMA_VERSION);
        assert_eq!(world.rows(), before);
        assert!(world.text(&["verify"]).contains("sound"));
    }
}

#[test]
fn processes_that_open_it_at_once_migrate_it_once_and_hooks_lose_nothing() {
    let world = World::older();
    let before = world.rows();
    let commands: Vec<_> = (0..6)
        .map(|number| {
            let which: &[&str] = if number % 2 == 0 { &["status"] } else { &["sessions"] };
            world.command(which).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let hooks: Vec<_> = (0..20)
        .map(|number| {
            feed(&mut world.hook_command(), world.tool(&format!("c{number}")).to_string().as_bytes())
        })
        .collect();
    for command in commands {
        let output = command.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    for mut hook in hooks {
        assert!(hook.wait().unwrap().success());
    }
    assert_eq!(world.count("pending"), 5 + 20);
    assert_eq!(world.rows(), before);
    assert_eq!(world.backups().len(), 1, "{:?}", world.backups());
}

#[test]
fn a_backup_of_an_older_build_is_verified_restored_and_brought_up_to_date() {
    let world = World::older();
    let before = world.rows();
    let backup = world.make_older("elsewhere.db");
    let backup = backup.to_str().unwrap();
    world.text(&["status"]);
    assert!(world.text(&["verify", backup]).contains("sound"));
    fs::write(world.data().join("remora.db"), "damaged").unwrap();
    let restored = world.json(&["restore", "--yes", backup]);
    assert_eq!(restored["contents"]["observations"], 9, "{restored}");
    assert_eq!(world.schema(), remora_store::SCHEMA_VERSION);
    assert_eq!(world.rows(), before);
    // The backup that the first command made before its migration is one, too.
    let made = world.backups().into_iter().find(|name| name.starts_with("before-schema-100-")).unwrap();
    world.text(&["restore", "--yes", world.data().join("backups").join(made).to_str().unwrap()]);
    assert_eq!(world.rows(), before);
}

#[test]
fn a_database_of_an_older_build_is_verified_and_backed_up_without_being_changed() {
    let world = World::older();
    assert!(world.text(&["verify"]).contains("sound"));
    world.text(&["backup"]);
    assert_eq!((world.schema(), world.backups().len()), (OLDER_VERSION, 1));
    let before = world.rows();
    world.text(&["restore", "--yes"]);
    assert_eq!((world.schema(), world.rows()), (remora_store::SCHEMA_VERSION, before));
}

#[test]
fn what_is_forgotten_is_removed_from_the_backups_of_an_older_build() {
    let world = World::older();
    let_agents_reach_everything(&world);
    fs::create_dir_all(world.data().join("backups")).unwrap();
    let backup = world.make_older("backups/remora-2026-03-10T120000Z.db");
    let other = world.make_older("remora.db.old");
    let forgotten = world.json(&["forget", "drawing mistake", "--all", "--similar", "2", "--now", "--yes"]);
    let rewritten = forgotten["erased"]["rewritten"].as_array().unwrap();
    for path in [&backup, &other] {
        assert!(rewritten.contains(&json!(path)), "{forgotten}");
        assert!(!contains(&fs::read(path).unwrap(), "drawing mistake"), "{}", path.display());
        assert!(world.text(&["verify", path.to_str().unwrap()]).contains("sound"));
    }
    assert_eq!(forgotten["erased"]["removed"], json!([]), "{forgotten}");
    world.text(&["restore", "--yes", backup.to_str().unwrap()]);
    assert_eq!(world.remora(&["show", "7"]).status.code(), Some(1));
    assert!(world.text(&["show", "6"]).contains("The old chart"));
}

#[test]
fn a_backup_of_an_older_build_without_anything_forgotten_stays_as_it_is() {
    let world = World::older();
    let_agents_reach_everything(&world);
    let saved =
        world.json(&["save", "The new lens came from Fresnel's workshop.", "--project", "lighthouse"]);
    fs::create_dir_all(world.data().join("backups")).unwrap();
    let backup = world.make_older("backups/remora-2026-03-10T120000Z.db");
    // The fixture has a record that is forgotten and not purged yet.
    let forgotten = "DELETE FROM observations WHERE deleted_at IS NOT NULL; DELETE FROM forgettings";
    Connection::open(&backup).unwrap().execute_batch(forgotten).unwrap();
    let bytes = fs::read(&backup).unwrap();
    world.json(&["forget", &saved["id"].to_string(), "--now", "--yes"]);
    assert!(fs::read(&backup).unwrap() == bytes);
}

#[test]
fn an_export_of_an_older_memory_is_imported_whole() {
    let world = World::older();
    let_agents_reach_everything(&world);
    let lines = world.path("memory.jsonl");
    world.text(&["export", "--out", lines.to_str().unwrap()]);
    let other = World::new();
    let imported = other.json(&["import", lines.to_str().unwrap()]);
    let_agents_reach_everything(&other);
    assert_eq!(imported["skipped"].as_array().map_or(0, Vec::len), 0, "{imported}");
    let found = other.json(&["search", "--all", "fog horn"]);
    assert_eq!(found["hits"][0]["title"], "Fog horn", "{found}");
    let count = |world: &World, table: &str| -> i64 {
        let database = Connection::open(world.data().join("remora.db")).unwrap();
        let sql = format!("SELECT count(*) FROM {table} WHERE deleted_at IS NULL");
        database.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    for table in ["observations", "user_prompts", "facts"] {
        assert_eq!(count(&other, table), count(&world, table), "{table}");
    }
}

#[test]
fn a_schema_of_before_is_refused_with_the_way_to_keep_the_memory() {
    let world = World::older();
    let set = |version: i64| {
        let database = Connection::open(world.data().join("remora.db")).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
    };
    set(13);
    let before = world.rows();
    for arguments in
        [&["search", "--all", "fog"] as &[&str], &["status"], &["save", "A text."], &["queue", "drain"]]
    {
        let refused = world.remora(arguments);
        let said =
            String::from_utf8_lossy(&refused.stderr).into_owned() + &String::from_utf8_lossy(&refused.stdout);
        assert!(said.contains("has schema 13, which this program cannot bring up to date"), "{said}");
    }
    let refused = world.remora(&["search", "--all", "fog"]);
    let hint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_ne!(refused.status.code(), Some(0));
    for part in ["remora export --out memory.jsonl", "mv ", "remora import memory.jsonl"] {
        assert!(hint.contains(part), "{hint}");
    }
    // Hooks lose nothing meanwhile.
    world.hook(&world.tool("c1"));
    assert_eq!((world.schema(), world.rows(), world.backups()), (13, before, Vec::<String>::new()));
    let verified = world.remora(&["verify"]);
    assert!(contains(&verified.stdout, "it has schema 13"), "{verified:?}");
    let backup = world.make_older("elsewhere.db");
    Connection::open(&backup).unwrap().pragma_update(None, "user_version", 13).unwrap();
    let refused = world.remora(&["restore", "--yes", backup.to_str().unwrap()]);
    assert!(contains(&refused.stderr, "has schema 13"), "{refused:?}");
    assert!(contains(&refused.stderr, "remora import memory.jsonl"), "{refused:?}");
    set(OLDER_VERSION);
    let pending: Value = world.json(&["status"])["counts"]["pending"].clone();
    assert_eq!(pending, 5 + 1, "the event came in from the spool");
}
