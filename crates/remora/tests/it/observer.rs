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

/// A user who has configured a model.
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

    /// A turn that is worth a model call: four events.
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

    /// Provider and title of the first observation.
    fn first(&self) -> (String, String) {
        let row = self.world.json(&["show", "1"]);
        (row["provider"].as_str().unwrap().to_owned(), row["title"].as_str().unwrap().to_owned())
    }

    fn doctor(&self) -> (Option<i32>, String) {
        let output = self.world.remora(&["doctor"]);
        (output.status.code(), self.world.neutral(&output.stdout))
    }

    /// Checks that a new daemon asks the model, and that there is exactly one observation, by the model.
    fn recovers(&self) {
        self.fake.set([answer("Found in the end")]);
        let mut daemon = self.daemon();
        self.wait("the rest", || {
            let counts = &self.world.json(&["status"])["counts"];
            counts["pending"] == 0 && counts["processing"] == 0 && counts["awaiting_model"] == 0
        });
        assert_eq!((self.count("observations"), self.count("failed")), (1, 0));
        assert_eq!((self.count("summaries"), self.first().0.as_str()), (1, "openai"));
        assert!(self.world.remora(&["daemon", "stop"]).status.success());
        assert!(daemon.wait().unwrap().success());
        assert_eq!(self.world.json(&["doctor"])["ok"], true);
    }
}

#[test]
fn debug_lines_follow_a_turn_and_no_line_quotes_it() {
    let marker = "purple-marmot-4711";
    let unreadable = Behaviour::json(200, &Api::Openai.answer(&format!("I cannot say more than {marker}.")));
    let down = Behaviour::json(500, &json!({ "error": { "message": "overloaded" } }));
    let office = Office::new([answer(marker), unreadable, down]);
    for number in 1..=3 {
        let send = |event: &str, more: &Value| {
            let mut message = office.world.message(event, more);
            message["session_id"] = json!(format!("{marker}-{number}"));
            message["prompt_id"] = json!(format!("{marker}-{number}"));
            office.world.hook(&message);
        };
        send("UserPromptSubmit", &json!({ "prompt": format!("Fix {marker} please") }));
        for id in ["one", "two"] {
            let id = format!("{id}{number}");
            send(
                "PostToolUse",
                &json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": format!("echo {marker}") },
                    "tool_response": { "stdout": marker, "stderr": "", "interrupted": false } }),
            );
        }
        let told = format!("{marker} is fixed. It came from a wrong index.");
        send("Stop", &json!({ "last_assistant_message": told }));
    }
    let mut daemon = office.daemon();
    office.wait("three questions", || office.fake.requests().len() >= 3 && office.count("processing") == 0);
    let port =
        office.world.json(&["daemon", "status"])["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let token = std::fs::read_to_string(office.world.data().join("token")).unwrap();
    let client = crate::client::Client { port: port.unwrap(), token };
    let project = office.world.project();
    client.get(&format!("/api/search?q={marker}&cwd={}", project.display()));
    client.get(&format!("/{marker}"));
    client.post("/api/context/semantic", &json!({ "explain": true, "prompt": marker, "cwd": project }));
    client
        .post("/api/sessions/init", &json!({ "contentSessionId": marker, "cwd": project, "prompt": marker }));
    client.post("/api/sessions/observations", &json!({ marker: marker }));
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());

    let (usual, all) =
        (office.world.text(&["logs"]), office.world.text(&["logs", "--level", "debug", "-n", "1000"]));
    assert!(usual.contains(" info daemon: version") && !usual.contains(" debug "), "{usual}");
    assert!(usual.lines().all(|line| all.contains(line)), "{usual}{all}");
    for part in [
        "debug observer: turn 1 of session 1: claimed, 4 events",
        "debug observer: turn 1 of session 1: drafted, ",
        "debug observer: openai ",
        " answered in ",
        "debug net: 127.0.0.1: HTTP 200 in ",
        "debug net: 127.0.0.1: HTTP 500 in ",
        "debug net: a service does not answer; the next request is in ",
        "debug daemon: http: GET /api/search: 200 in ",
        "debug daemon: http: GET no route: 404 in ",
        "debug daemon: http: POST /api/sessions/observations: 422 in ",
        "debug daemon: expired data was deleted",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let times: Vec<&str> = all.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert!(times.is_sorted(), "{all}");
    let entries: Vec<Value> = office
        .world
        .text(&["logs", "--level", "debug", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(entries.iter().any(|entry| entry["level"] == "debug"), "{entries:?}");
    for entry in std::fs::read_dir(office.world.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains(".log") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains(marker) && !text.contains("wrong index"), "{}: {text}", path.display());
        }
    }
    let problems = office.world.json(&["doctor"])["recent_problems"].to_string();
    assert!(problems.contains("warn observer: ") && !problems.contains("debug"), "{problems}");
}

fn kill(mut daemon: Child) {
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn a_model_revises_observations_and_the_daemon_reports_its_health() {
    let office = Office::new([answer("The index was off by one")]);
    office.turn("one", 1);
    let mut daemon = office.daemon();
    office.wait("the answer", || {
        let counts = &office.world.json(&["status"])["counts"];
        counts["observations"] == 1 && counts["pending"] == 0 && counts["processing"] == 0
    });
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
fn a_daemon_killed_during_a_model_call_has_stored_the_built_in_observation() {
    let office = Office::new([Behaviour::Hang]);
    office.turn("one", 1);
    let daemon = office.daemon();
    office.wait("the question", || office.fake.requests().len() == 1);
    assert_eq!((office.count("pending"), office.count("processing")), (0, 4));
    let hits = office.world.json(&["search", "bug fixed"]);
    assert_eq!(hits["hits"][0]["id"], "1", "{hits}");
    kill(daemon);
    assert_eq!(office.first(), ("builtin".to_owned(), "Changed a.rs".to_owned()));
    office.recovers();
}

#[test]
fn a_daemon_killed_before_storing_an_answer_loses_nothing() {
    let office = Office::new([Behaviour::Hang]);
    office.turn("one", 1);
    let database = Connection::open(office.world.data().join("remora.db")).unwrap();
    let daemon = office.daemon();
    office.wait("the question", || office.fake.requests().len() == 1);
    kill(daemon);
    // Again, and this time the answer arrives, but cannot be written because the test holds the database.
    let daemon = office.daemon();
    office.wait("the question again", || office.fake.requests().len() == 2);
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    office.fake.release(&answer("Never stored"));
    thread::sleep(Duration::from_millis(100));
    kill(daemon);
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!((office.count("observations"), office.first().0.as_str()), (1, "builtin"));
    office.recovers();
}

#[test]
fn a_daemon_killed_inside_a_transaction_stores_nothing_of_it_and_loses_nothing() {
    // Both transactions: that of the built-in observation and that of the model's answer.
    for (step, memory) in [("INSERT ON session_summaries", 0), ("UPDATE OF title ON observations", 1)] {
        let office = Office::new([answer("Half stored")]);
        office.turn("one", 1);
        let database = Connection::open(office.world.data().join("remora.db")).unwrap();
        database.busy_timeout(Duration::ZERO).unwrap();
        // After its first write, the transaction does not end.
        database
            .execute_batch(&format!(
                "CREATE TRIGGER slow AFTER {step} BEGIN
                     DELETE FROM meta WHERE key = (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
                         WHERE i < 2000000000) SELECT 'none' FROM n WHERE i = 2000000000);
                 END"
            ))
            .unwrap();
        let daemon = office.daemon();
        if memory == 1 {
            office.wait("the question", || office.fake.requests().len() == 1);
        }
        // While the daemon writes, the database is locked. A transaction that ends is not the slow one.
        let mut since = None;
        office.wait("its transaction", || database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err());
        while since.is_none_or(|since: Instant| since.elapsed() < Duration::from_millis(300)) {
            let busy = database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err();
            since = if busy { since.or(Some(Instant::now())) } else { None };
            thread::sleep(Duration::from_millis(5));
        }
        kill(daemon);
        database.execute_batch("DROP TRIGGER slow").unwrap();
        assert_eq!((office.count("observations"), office.count("summaries")), (memory, memory), "{step}");
        if memory == 1 {
            assert_eq!(office.first().0, "builtin");
        }
        office.recovers();
    }
}

#[test]
fn a_daemon_killed_right_after_a_transaction_duplicates_nothing() {
    // After the transaction of the built-in observation, or after that of the model's answer.
    for provider in ["builtin", "openai"] {
        let office = Office::new([answer("Stored once")]);
        office.turn("one", 1);
        let database = Connection::open(office.world.data().join("remora.db")).unwrap();
        let daemon = office.daemon();
        let stored = || {
            let sql = "SELECT count(*) FROM observations WHERE provider IN (?1, 'openai')";
            database.query_row(sql, [provider], |row| row.get::<_, i64>(0)).unwrap() == 1
        };
        while !stored() {
            thread::yield_now();
        }
        kill(daemon);
        office.recovers();
        let questions = office.fake.requests().len();
        assert!(questions == 1 || provider == "builtin" && questions == 2, "{provider}: {questions}");
    }
}

#[test]
fn four_bad_answers_leave_the_built_in_observation_and_doctor_says_what_to_do() {
    let office = Office::new([Behaviour::json(200, &Api::Openai.answer("Dear user, all is well."))]);
    office.turn("one", 1);
    let mut daemon = office.daemon();
    office.wait("the last attempt", || office.count("failed") == 4);
    assert_eq!((office.count("observations"), office.first().0.as_str()), (1, "builtin"));
    let (code, doctor) = office.doctor();
    assert_eq!(code, Some(1), "{doctor}");
    for part in ["4 events failed", "Dear user", "`remora queue retry --all`"] {
        assert!(doctor.contains(part), "{part}: {doctor}");
    }
    office.fake.set([answer("Read at last")]);
    // Wakes the daemon.
    assert!(office.world.remora(&["queue", "retry", "--all"]).status.success());
    office.wait("the answer", || office.first().0 == "openai");
    let (code, doctor) = office.doctor();
    assert_eq!((office.count("failed"), code), (0, Some(0)), "{doctor}");
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn an_outage_is_reported() {
    let office = Office::new([Behaviour::json(503, &Api::Openai.error(503, "come back later"))]);
    for (name, value) in [("openai.base_url", office.fake.url()), ("observer.provider", "openai".to_owned())]
    {
        assert!(office.world.remora(&["config", "set", name, &value]).status.success());
    }
    office.turn("one", 1);
    let mut daemon = office.daemon();
    office.wait("the outage", || office.count("awaiting_model") == 4);
    assert_eq!(
        (office.count("pending"), office.count("processing"), office.first().0.as_str()),
        (0, 0, "builtin")
    );
    let (code, doctor) = office.doctor();
    assert_eq!(code, Some(1), "{doctor}");
    assert!(
        doctor.contains("openai cannot be asked since 20") && doctor.contains("come back later"),
        "{doctor}"
    );
    assert!(doctor.contains("`remora config set observer.provider builtin`"), "{doctor}");
    let status = office.world.text(&["status"]);
    assert!(status.contains("4 observed and waiting for the model"), "{status}");
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());
    // Without a daemon, the doctor reads the state from the queue.
    let (code, doctor) = office.doctor();
    assert_eq!(code, Some(1), "{doctor}");
    assert!(
        doctor.contains("4 events wait for openai since 20") && doctor.contains("come back later"),
        "{doctor}"
    );
}

#[test]
fn a_model_with_unusable_settings_is_reported_with_a_hint() {
    let world = World::new();
    world.text(&["config", "set", "observer.provider", "anthropic"]);
    let doctor = world.remora(&["doctor"]);
    let text = String::from_utf8_lossy(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(1), "{text}");
    assert!(text.contains("`anthropic` needs an API key"), "{text}");

    let set = world.remora(&["config", "set", "observer.provider", "claude-cli"]);
    let note = String::from_utf8_lossy(&set.stderr);
    for part in ["needs a Claude Code login", "`/login`", "`remora config set observer.provider anthropic`"] {
        assert!(note.contains(part), "{part}: {note}");
    }
    let doctor = world.remora(&["doctor"]);
    let text = String::from_utf8_lossy(&doctor.stdout);
    assert!(text.contains("claude-cli, with your Claude Code login"), "{text}");
    assert!(text.contains("needs the program `claude`, and it is not on the PATH"), "{text}");
    let with_key = world.command(&["doctor"]).env("ANTHROPIC_API_KEY", "test-key").output().unwrap();
    let text = String::from_utf8_lossy(&with_key.stdout);
    assert!(
        text.contains("ANTHROPIC_API_KEY is set in this shell, and claude-cli does not use it"),
        "{text}"
    );
    assert!(text.contains("`remora config set observer.provider anthropic`"), "{text}");
}

#[test]
fn some_sessions_run_in_parallel_and_a_stop_releases_them() {
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
    assert_eq!((office.count("observations"), office.count("pending")), (3, 0), "no wait for a model");
    assert_eq!(office.count("processing"), 12, "all events stay ready for the next daemon");
    let database = Connection::open(office.world.data().join("remora.db")).unwrap();
    let sql = "SELECT count(*) FROM pending_messages WHERE claimed_by IS NOT NULL";
    assert_eq!(database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn a_changed_setting_applies_from_the_next_turn() {
    let office = Office::new([answer("By a model")]);
    let mut daemon = office.world.command(&["daemon", "run"]).stderr(Stdio::null()).spawn().unwrap();
    office.turn("one", 1);
    office.wait("the built-in observation", || office.count("observations") == 1);
    for (name, value) in [("openai.base_url", office.fake.url()), ("observer.provider", "openai".to_owned())]
    {
        assert!(office.world.remora(&["config", "set", name, &value]).status.success());
    }
    office.turn("one", 2);
    office.wait("the model's", || {
        office.count("observations") == 2 && office.world.json(&["show", "2"])["provider"] == "openai"
    });
    assert_eq!(office.world.json(&["show", "1"])["provider"], "builtin");
    assert_eq!(office.world.json(&["show", "2"])["provider"], "openai");
    assert!(office.world.remora(&["daemon", "stop"]).status.success());
    assert!(daemon.wait().unwrap().success());
}
