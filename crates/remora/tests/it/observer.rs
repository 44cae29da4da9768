//! The daemon with a language model: a fake one on loopback, everything else real.

use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::fake::{Api, Behaviour, Fake};
use crate::support::World;

fn answer(title: &str) -> Behaviour {
    let text = format!(
        "<observation><type>bugfix</type><title>{title}</title><narrative>{title}, and why.</narrative></observation>"
    );
    Behaviour::json(200, &Api::Openai.answer(&text))
}

/// A user who has set up a model.
struct Office {
    world: World,
    fake: Fake,
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = self.world.remora(&["daemon", "stop"]);
    }
}

impl Office {
    fn new(script: impl Into<Vec<Behaviour>>) -> Self {
        Self { world: World::new(), fake: Fake::start(script) }
    }

    fn daemon(&self) -> Child {
        let mut command = self.world.command(&["daemon", "run"]);
        command.env("REMORA_OBSERVER_PROVIDER", "openai").env("REMORA_OPENAI_BASE_URL", self.fake.url());
        command.env("REMORA_OBSERVER_TIMEOUT", "20s");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// A turn that is worth a call: four events.
    fn turn(&self, session: &str, number: usize) {
        let send = |event: &str, more: Value| {
            let mut message = self.world.message(event, &more);
            message["session_id"] = json!(session);
            message["prompt_id"] = json!(format!("{session}-{number}"));
            self.world.hook(&message);
        };
        send("UserPromptSubmit", json!({ "prompt": format!("Fix bug {number} of {session}") }));
        send(
            "PostToolUse",
            json!({ "tool_name": "Write", "tool_use_id": format!("{session}-{number}"),
                "tool_input": { "file_path": "/p/a.rs", "content": "x" },
                "tool_response": { "type": "create", "filePath": "/p/a.rs" } }),
        );
        send("PostToolUse", self.world.tool(&format!("m{session}{number}")));
        send("Stop", json!({ "last_assistant_message": format!("Bug {number} of {session} is fixed.") }));
    }

    fn count(&self, name: &str) -> i64 {
        self.world.count(name)
    }

    fn wait(&self, what: &str, ready: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !ready() {
            assert!(Instant::now() < deadline, "{what}: {}", self.world.json(&["status"])["counts"]);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// After whatever happened, a fresh daemon makes exactly one observation a turn.
    fn recovers(&self, turns: i64) {
        self.fake.set([answer("Found in the end")]);
        let mut daemon = self.daemon();
        self.wait("the rest", || {
            let counts = &self.world.json(&["status"])["counts"];
            counts["pending"] == 0 && counts["processing"] == 0
        });
        assert_eq!((self.count("observations"), self.count("failed")), (turns, 0));
        assert_eq!(self.count("summaries"), turns);
        assert!(self.world.remora(&["daemon", "stop"]).status.success());
        assert!(daemon.wait().unwrap().success());
        assert_eq!(self.world.json(&["doctor"])["ok"], true);
    }
}

fn kill(mut daemon: Child) {
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn a_model_makes_the_memory_and_the_daemon_says_how_it_is_doing() {
    let office = Office::new([answer("The index was off by one")]);
    office.turn("one", 1);
    let mut daemon = office.daemon();
    office.wait("an observation", || office.count("observations") == 1);
    let observation = office.world.json(&["show", "1"]);
    assert_eq!(observation["title"], "The index was off by one");
    assert_eq!(
        (&observation["provider"], &observation["model"]),
        (&json!("openai"), &json!("fake-openai-1"))
    );
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn a_daemon_killed_after_its_claim_has_lost_nothing() {
    let office = Office::new([Behaviour::Hang]);
    office.turn("one", 1);
    let daemon = office.daemon();
    office.wait("the question", || office.fake.requests().len() == 1);
    assert_eq!(office.count("processing"), 4);
    kill(daemon);
    office.recovers(1);
}

#[test]
fn a_daemon_killed_with_the_answer_in_its_hands_has_lost_nothing() {
    let office = Office::new([Behaviour::Hang]);
    office.turn("one", 1);
    let database = Connection::open(office.world.data().join("remora.db")).unwrap();
    let daemon = office.daemon();
    office.wait("the question", || office.fake.requests().len() == 1);
    kill(daemon);
    // Again, and this time the answer comes, but nobody can write while we hold the database.
    let daemon = office.daemon();
    office.wait("the question again", || office.fake.requests().len() == 2);
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    office.fake.release(&answer("Never stored"));
    thread::sleep(Duration::from_millis(100));
    kill(daemon);
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!(office.count("observations"), 0);
    office.recovers(1);
}

#[test]
fn a_daemon_killed_inside_its_transaction_has_stored_nothing_and_lost_nothing() {
    let office = Office::new([answer("Half stored")]);
    office.turn("one", 1);
    let database = Connection::open(office.world.data().join("remora.db")).unwrap();
    database.busy_timeout(Duration::ZERO).unwrap();
    // The memory is written, and then the transaction goes on and on.
    database
        .execute_batch(
            "CREATE TRIGGER slow AFTER INSERT ON session_summaries BEGIN
                 DELETE FROM meta WHERE key = (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
                     WHERE i < 2000000000) SELECT 'none' FROM n WHERE i = 2000000000);
             END",
        )
        .unwrap();
    let daemon = office.daemon();
    office.wait("the question", || office.fake.requests().len() == 1);
    // While it writes, nobody else can.
    office.wait("its transaction", || database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err());
    thread::sleep(Duration::from_millis(50));
    kill(daemon);
    database.execute_batch("DROP TRIGGER slow").unwrap();
    assert_eq!((office.count("observations"), office.count("summaries")), (0, 0));
    office.recovers(1);
}

#[test]
fn a_daemon_killed_right_after_its_transaction_makes_nothing_twice() {
    let office = Office::new([answer("Stored once")]);
    office.turn("one", 1);
    let database = Connection::open(office.world.data().join("remora.db")).unwrap();
    let daemon = office.daemon();
    let stored = || {
        database.query_row("SELECT count(*) FROM observations", [], |row| row.get::<_, i64>(0)).unwrap() == 1
    };
    while !stored() {
        thread::yield_now();
    }
    kill(daemon);
    office.recovers(1);
    assert_eq!(office.fake.requests().len(), 1);
}

#[test]
fn some_sessions_are_worked_on_at_once_and_a_stop_lets_go_of_them() {
    let office = Office::new([Behaviour::Hang]);
    for session in ["one", "two", "three"] {
        office.turn(session, 1);
    }
    let mut daemon = office.daemon();
    office.wait("two questions", || office.fake.requests().len() == 2);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(office.fake.requests().len(), 2, "the third waits for one of them");
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());
    assert_eq!((office.count("pending"), office.count("processing")), (12, 0));
}

#[test]
fn a_changed_setting_counts_from_the_next_turn_on() {
    let office = Office::new([answer("By a model")]);
    let mut daemon = office.world.command(&["daemon", "run"]).stderr(Stdio::null()).spawn().unwrap();
    office.turn("one", 1);
    office.wait("the built-in observation", || office.count("observations") == 1);
    for (name, value) in [("openai.base_url", office.fake.url()), ("observer.provider", "openai".to_owned())]
    {
        assert!(office.world.remora(&["config", "set", name, &value]).status.success());
    }
    office.turn("one", 2);
    office.wait("the model's", || office.count("observations") == 2);
    assert_eq!(office.world.json(&["show", "1"])["provider"], "builtin");
    assert_eq!(office.world.json(&["show", "2"])["provider"], "openai");
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());
}
