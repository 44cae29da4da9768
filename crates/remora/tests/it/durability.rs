use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Ran, World, assert_harmless, feed, run_hook};

/// Records how SQLite syncs each event that is stored, because a power cut cannot be staged.
pub(crate) const SEE_SYNC: &str = "CREATE TABLE seen (level INTEGER);
    CREATE TRIGGER see AFTER INSERT ON event_traces BEGIN
        INSERT INTO seen SELECT synchronous FROM pragma_synchronous;
    END;";

/// The ids of all stored tool calls, in queue order.
fn stored_calls(world: &World) -> Vec<String> {
    let queue = world.json(&["queue", "--limit", "100000"]);
    let events = queue["events"].as_array().unwrap();
    let command = |event: &Value| event["payload"]["call"]["command"].as_str().map(str::to_owned);
    events.iter().filter_map(command).map(|command| command.replace("make ", "")).collect()
}

fn assert_sound(world: &World) {
    let doctor = world.json(&["doctor"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
}

#[test]
fn thirty_concurrent_processes_store_every_event_once_from_a_cold_start() {
    let world = World::new();
    thread::scope(|scope| {
        for process in 0..30 {
            let world = &world;
            scope.spawn(move || {
                for number in 0..200 {
                    world.hook(&world.tool(&format!("{process}-{number}")));
                }
            });
        }
    });
    assert_eq!(world.count("pending"), 6000);
    let calls = stored_calls(&world);
    assert_eq!(calls.len(), 6000);
    assert_eq!(calls.iter().collect::<HashSet<_>>().len(), 6000);
    assert_sound(&world);
}

/// A small random number generator. Quality does not matter here.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn processes_killed_at_any_moment_lose_nothing_they_acknowledged() {
    let world = World::new();
    let mut dice = Dice(7);
    let mut acknowledged = Vec::new();
    for number in 0..300 {
        let id = format!("k{number}");
        let mut hook = feed(&mut world.hook_command(), world.tool(&id).to_string().as_bytes());
        // At the same time, one process takes in the spool and another writes.
        let other_id = format!("o{number}");
        let mut other = feed(&mut world.hook_command(), world.tool(&other_id).to_string().as_bytes());
        let mut owner =
            world.command(&["status"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(dice.below(12_000)));
        hook.kill().unwrap();
        if dice.below(2) == 0 {
            owner.kill().unwrap();
        }
        if hook.wait().unwrap().success() {
            acknowledged.push(id);
        }
        assert!(other.wait().unwrap().success());
        acknowledged.push(other_id);
        owner.wait().unwrap();
    }
    let stored = stored_calls(&world);
    let distinct: HashSet<&String> = stored.iter().collect();
    assert_eq!(stored.len(), distinct.len(), "something is stored twice");
    let lost: Vec<&String> = acknowledged.iter().filter(|id| !distinct.contains(id)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(acknowledged.len() > 300, "some hooks must have ended before they were killed");
    assert_sound(&world);
}

#[test]
fn events_spooled_while_the_database_is_locked_are_taken_in_exactly_once() {
    let world = World::new();
    world.hook(&world.tool("before"));
    let database = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let world = &world;
            scope.spawn(move || world.hook(&world.tool(&format!("locked-{number}"))));
        }
    });
    assert_eq!(world.count("pending"), 9, "events in the spool are counted");
    database.execute_batch("ROLLBACK").unwrap();
    drop(database);
    // Several processes find the spool at the same time.
    let owners: Vec<_> =
        (0..6).map(|_| world.command(&["status"]).stdout(Stdio::null()).spawn().unwrap()).collect();
    for mut owner in owners {
        assert!(owner.wait().unwrap().success());
    }
    let calls = stored_calls(&world);
    assert_eq!(calls.len(), 9);
    assert_eq!(calls.iter().collect::<HashSet<_>>().len(), 9);
    assert_eq!(world.json(&["status"])["spool"]["records"], 0);
}

#[test]
fn the_write_ahead_log_does_not_grow_with_the_number_of_hooks() {
    let world = World::new();
    for number in 0..150 {
        world.hook(&world.tool(&format!("t{number}")));
    }
    let wal = std::fs::metadata(world.data().join("remora.db-wal")).unwrap().len();
    assert!(wal < 2 << 20, "{wal}");
    assert_eq!(world.count("pending"), 150);
}

#[test]
fn a_hook_waits_for_the_database_without_an_error() {
    let world = World::new();
    let ran: Vec<Ran> = thread::scope(|scope| {
        let hooks: Vec<_> = (0..8)
            .map(|number| {
                let world = &world;
                scope.spawn(move || {
                    let message = world.tool(&format!("t{number}")).to_string();
                    run_hook(&mut world.hook_command(), message.as_bytes())
                })
            })
            .collect();
        hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
    });
    ran.iter().for_each(assert_harmless);
    assert_eq!(world.count("pending"), 8);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
fn a_hook_waits_for_the_disk_only_if_the_settings_say_so() {
    let world = World::new();
    world.hook(&world.tool("first"));
    let db = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    db.execute_batch(SEE_SYNC).unwrap();
    world.hook(&world.tool("second"));
    fs::write(world.data().join("config.toml"), "[capture]\nsync = \"full\"\n").unwrap();
    world.hook(&world.tool("third"));
    let levels: String = db.query_row("SELECT group_concat(level) FROM seen", [], |row| row.get(0)).unwrap();
    assert_eq!(levels, "1,2", "NORMAL, then FULL");
}
