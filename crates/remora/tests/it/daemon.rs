use std::collections::HashSet;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{World, assert_harmless, run_hook};

/// A world whose hooks may start a daemon. Stops any running daemon when dropped.
pub(crate) struct Background {
    pub(crate) world: World,
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.command(&["daemon", "stop"]).output();
    }
}

impl Background {
    pub(crate) fn new() -> Self {
        Self { world: World::new() }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env_remove("REMORA_DAEMON_AUTOSTART");
        command
    }

    /// Runs a hook as in normal use: it starts the daemon if none is running.
    fn hook(&self, message: &Value) {
        let mut command = self.command(&["hook", "claude-code"]);
        assert_harmless(&run_hook(&mut command, message.to_string().as_bytes()));
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        let status = self.command(&["daemon", "status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        status["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())
    }

    pub(crate) fn counts(&self) -> Value {
        self.world.json(&["status"])["counts"].clone()
    }

    /// Waits for a condition. Fails after a timeout.
    pub(crate) fn wait(&self, what: &str, ready: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !ready() {
            assert!(Instant::now() < deadline, "{what}: {}", self.counts());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Like [`Background::wait`], for a database that may be damaged, so that counts are not available.
    pub(crate) fn wait_quietly(&self, what: &str, ready: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !ready() {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.world.remora(&["logs"]));
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn run_daemon(&self) -> Child {
        let mut command = self.command(&["daemon", "run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }
}

/// One turn in which a file is changed, sent by `hook`.
pub(crate) fn turn(world: &World, session: &str, number: usize, hook: impl Fn(&Value)) {
    let send = |event: &str, more: &Value| {
        let mut message = world.message(event, more);
        message["session_id"] = json!(session);
        message["prompt_id"] = json!(format!("{session}-{number}"));
        hook(&message);
    };
    send("UserPromptSubmit", &json!({"prompt": format!("Please fix bug {number} of {session}")}));
    send(
        "PostToolUse",
        &json!({"tool_name": "Write", "tool_use_id": format!("{session}-{number}"),
            "tool_input": {"file_path": "/p/a.rs", "content": "x"},
            "tool_response": {"type": "create", "filePath": "/p/a.rs"}}),
    );
    let told = format!("Bug {number} of {session} is fixed. It came from a wrong index.");
    send("Stop", &json!({"last_assistant_message": told}));
}

pub(crate) fn is_alive(pid: u32) -> bool {
    // A zombie counts as ended.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn every_command_that_changes_memory_starts_the_daemon() {
    let background = Background::new();
    let id = background.world.text(&["save", "Totals are cents."]).trim().to_owned();
    let changes: [&[&str]; 5] = [
        &["save", "Rates are whole."],
        &["edit", &id, "--title", "Totals are whole cents"],
        &["feedback", &id, "useful"],
        &["facts", "set", "port", "eighty"],
        &["forget", &id, "--yes"],
    ];
    for arguments in changes {
        // Otherwise the pause between two attempts to start one applies.
        let _ = std::fs::remove_file(background.world.data().join("daemon.start"));
        let output = background.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        background.wait("a daemon", || background.pid().is_some());
        assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success(), "{arguments:?}");
    }
}

#[test]
fn a_hook_starts_the_daemon_and_events_become_observations() {
    let background = Background::new();
    turn(&background.world, "one", 1, |message| background.hook(message));
    background.wait("an observation", || background.counts()["observations"] == 1);
    let pid = background.pid().unwrap();
    turn(&background.world, "one", 2, |message| background.hook(message));
    background.wait("another", || background.counts()["observations"] == 2);
    assert_eq!(background.pid(), Some(pid), "still the same daemon");
    assert_eq!(background.counts()["pending"], 0);
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    background.wait("its end", || !is_alive(pid));
    let left: Vec<String> = std::fs::read_dir(background.world.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("sock") || name == "daemon.json" || name.ends_with("-wal"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(background.command(&["daemon", "stop"]).output().unwrap().status.code(), Some(1));
}

#[test]
fn after_an_update_a_hook_starts_the_daemon_which_migrates_the_database() {
    let background = Background::new();
    let world = &background.world;
    // No command runs below, because it would do the daemon's work.
    std::fs::create_dir_all(world.data()).unwrap();
    let database = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    database.execute_batch(include_str!("../../../remora-store/tests/fixtures/version_14.sql")).unwrap();
    let version = || database.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let newest = remora_store::SCHEMA_VERSION;
    assert!(version() < newest);
    let before = 7;
    background.hook(&world.prompt("p1", "When does the release go out?"));
    let prompts = || {
        let count = database.query_row("SELECT count(*) FROM user_prompts", [], |row| row.get::<_, i64>(0));
        count.unwrap_or_default()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while version() != newest || prompts() != before + 1 {
        assert!(Instant::now() < deadline, "schema {} of {newest}, {} prompts", version(), prompts());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn one_of_two_hundred_daemons_started_at_once_survives() {
    let background = Background::new();
    let mut started: Vec<Child> = (0..200).map(|_| background.run_daemon()).collect();
    let mut running = Vec::new();
    let deadline = Instant::now() + Duration::from_mins(1);
    while started.len() > 1 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
        running.clear();
        for mut child in started.drain(..) {
            match child.try_wait().unwrap() {
                Some(status) => assert!(status.success(), "losing the race is not an error: {status}"),
                None => running.push(child),
            }
        }
        std::mem::swap(&mut started, &mut running);
    }
    assert_eq!(started.len(), 1);
    assert_eq!(background.pid(), Some(started[0].id()));
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    assert!(started[0].wait().unwrap().success());
}

#[test]
fn a_daemon_killed_at_any_moment_loses_and_duplicates_nothing() {
    let background = Background::new();
    let (sessions, rounds) = (20, 10);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut wait = 1;
            for _ in 0..300 {
                let mut daemon = background.run_daemon();
                thread::sleep(Duration::from_millis(wait));
                wait = (wait * 7 + 3) % 41;
                daemon.kill().unwrap();
                daemon.wait().unwrap();
            }
        });
        for worker in 0..4 {
            let world = &background.world;
            scope.spawn(move || {
                for round in 0..rounds {
                    for session in (worker..sessions).step_by(4) {
                        turn(world, &format!("s{session}"), round, |message| world.hook(message));
                    }
                }
            });
        }
    });
    assert!(background.command(&["daemon", "start"]).output().unwrap().status.success());
    background.wait("the rest", || {
        let counts = background.counts();
        counts["pending"] == 0 && counts["processing"] == 0
    });
    let counts = background.counts();
    assert_eq!(
        (&counts["observations"], &counts["failed"]),
        (&json!(sessions * rounds), &json!(0)),
        "{counts}"
    );
    let mut titles = HashSet::new();
    for id in 1..=sessions * rounds {
        let observation = background.world.json(&["show", &id.to_string()]);
        assert!(titles.insert(observation["title"].to_string()), "{observation}");
    }
    assert_eq!(background.world.json(&["doctor"])["ok"], true);
}

#[test]
fn after_many_sessions_and_kills_no_process_is_left() {
    let background = Background::new();
    for number in 0..50 {
        turn(&background.world, &format!("s{number}"), 1, |message| background.hook(message));
        if number % 3 == 0
            && let Some(pid) =
                background.pid().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()))
        {
            // It may have ended in the meantime.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    let _ = background.command(&["daemon", "start"]).output();
    background.wait("the rest", || {
        let counts = background.counts();
        counts["pending"] == 0 && counts["processing"] == 0
    });
    assert_eq!(background.counts()["observations"], 50);
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    let data = background.world.data();
    background.wait("the end of all", || processes_in(&data) == 0);
    assert!(!data.join("daemon.sock").exists() && !data.join("daemon.json").exists());
}

/// A detached daemon has the data directory as its working directory.
fn processes_in(data: &std::path::Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == data))
        .count()
}

/// The first command starts a daemon without waiting for it, so the second one meets it while it starts.
#[test]
fn after_stop_no_daemon_runs_or_waits() {
    let background = Background::new();
    let world = &background.world;
    let lines = world.path("lines.jsonl");
    world.text(&["save", "Totals are cents."]);
    std::fs::write(&lines, world.text(&["export"])).unwrap();
    for round in 0..20 {
        // Otherwise the pause between two attempts to start one applies.
        let _ = std::fs::remove_file(world.data().join("daemon.start"));
        let run = |arguments: &[&str]| {
            let output = background.command(arguments).output().unwrap();
            assert!(output.status.success(), "{round}: {arguments:?}: {output:?}");
        };
        run(&["import", lines.to_str().unwrap()]);
        if round % 2 == 0 {
            run(&["daemon", "start"]);
        }
        run(&["daemon", "stop"]);
        assert_eq!(processes_in(&world.data()), 0, "{round}");
    }
    let log = world.text(&["logs", "--lines", "1000"]);
    assert_eq!(log.matches(" started, ").count(), 20, "{log}");
}

/// Stands in for Claude Code: it reads no input, answers nothing, and has started another process.
#[test]
fn after_a_killed_daemon_no_model_is_left_running() {
    let background = Background::new();
    let world = &background.world;
    let (program, pids) = (world.path("claude"), world.path("pids"));
    let script = format!(
        "#!/bin/sh\nsleep 1000 &\necho $! $$ > '{0}.new'\nmv '{0}.new' '{0}'\nwait\n",
        pids.display()
    );
    // Written by another process: a file that is open for writing anywhere cannot be executed.
    let write = Command::new("/bin/sh")
        .args(["-c", r#"printf '%s' "$2" > "$1" && chmod 700 "$1""#, "sh"])
        .args([program.as_os_str(), script.as_ref()])
        .status();
    assert!(write.unwrap().success());
    world.text(&["config", "set", "claude_cli.program", program.to_str().unwrap()]);
    world.text(&["config", "set", "observer.provider", "claude-cli"]);
    turn(world, "one", 1, |message| world.hook(message));
    let mut daemon = background.run_daemon();
    background.wait_quietly("a question to the model", || pids.exists());
    let started = std::fs::read_to_string(&pids).unwrap();
    let started: Vec<u32> = started.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert!(started.len() == 2 && started.iter().all(|pid| is_alive(*pid)));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    background.wait("the end of the model", || !started.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn an_idle_daemon_ends_by_itself() {
    let background = Background::new();
    let mut daemon =
        background.command(&["daemon", "run"]).env("REMORA_DAEMON_IDLE_EXIT", "1s").spawn().unwrap();
    assert!(daemon.wait().unwrap().success());
    assert_eq!(background.pid(), None);
}

#[test]
fn a_daemon_whose_data_directory_is_deleted_ends_and_brings_nothing_back() {
    let background = Background::new();
    let world = &background.world;
    let mut daemon = background.run_daemon();
    background.wait("its start", || world.data().join("daemon.sock").exists());
    turn(world, "one", 1, |message| world.hook(message));
    background.wait("an observation", || world.count("observations") == 1);
    // The daemon may create a file in it meanwhile.
    background.wait_quietly("an empty directory", || std::fs::remove_dir_all(world.data()).is_ok());
    assert!(daemon.wait().unwrap().success());
    assert!(!world.data().exists());
}

#[test]
fn a_daemon_hands_over_only_to_a_newer_version() {
    let background = Background::new();
    assert!(background.command(&["daemon", "start"]).output().unwrap().status.success());
    let pid = background.pid().unwrap();
    let say = |text: &[u8]| {
        UnixDatagram::unbound().unwrap().send_to(text, background.world.data().join("daemon.sock")).unwrap();
    };
    say(b"poke 0.0.1");
    say(b"\xff nonsense");
    assert_eq!(background.pid(), Some(pid));
    say(b"poke 999.0.0");
    background.wait("the handover", || !is_alive(pid));
    assert_eq!(background.pid(), None);
}

#[test]
fn a_signal_ends_the_daemon_cleanly() {
    let background = Background::new();
    let mut daemon = background.run_daemon();
    background.wait("its start", || background.world.data().join("daemon.sock").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(daemon.wait().unwrap().success());
    assert!(!background.world.data().join("daemon.sock").exists());
}

#[test]
fn a_data_directory_with_a_long_path_is_served_too() {
    let background = Background::new();
    let deep = background.world.path(&"deep/".repeat(40));
    let mut command = background.command(&["daemon", "start"]);
    assert!(command.env("REMORA_DATA_DIR", &deep).output().unwrap().status.success());
    let mut command = background.command(&["daemon", "stop"]);
    assert!(command.env("REMORA_DATA_DIR", &deep).output().unwrap().status.success());
}
