//! The doctor finds each planted fault by name, and none in a healthy installation.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::World;

/// An installation with one observed session, and hooks in Claude Code.
struct Installation {
    world: World,
}

impl Installation {
    fn new() -> Self {
        let world = World::new();
        fs::create_dir_all(world.path("home/.claude")).unwrap();
        world.text(&["install", "--yes"]);
        world.hook(&world.message("SessionStart", &json!({"source": "startup"})));
        world.hook(&world.prompt("p1", "Why does the login fail?"));
        world.hook(&world.message(
            "Stop",
            &json!({"prompt_id": "p1", "last_assistant_message": "The token had expired, because the clock of the test server is an hour behind."}),
        ));
        world.text(&["queue", "drain"]);
        Self { world }
    }

    /// The doctor as a user runs it: hooks may start the daemon.
    fn run(&self, arguments: &[&str]) -> Output {
        let arguments = [&["doctor"], arguments].concat();
        self.world
            .command(&arguments)
            .env("REMORA_DAEMON_AUTOSTART", "true")
            .env("REMORA_DAEMON_PORT", "0")
            .output()
            .unwrap()
    }

    fn report(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["--json"], arguments].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(i32::from(report["ok"] == false)), "{report}");
        report
    }

    fn database(&self) -> Connection {
        Connection::open(self.world.data().join("remora.db")).unwrap()
    }

    fn set(&self, name: &str, value: &str) {
        self.world.text(&["config", "set", name, value]);
    }
}

/// Names and states of all checks that are not fine.
fn found(report: &Value) -> Vec<(String, String)> {
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["state"] != "ok")
        .map(|check| (text(check, "name"), text(check, "state")))
        .collect()
}

#[test]
fn a_healthy_installation_has_nothing_to_report() {
    let installation = Installation::new();
    let report = installation.report(&[]);
    assert_eq!(found(&report), [], "{report:#}");
    assert!(report["checks"].as_array().unwrap().len() >= 30, "{report}");
    assert_eq!(report["recent_problems"], json!([]));
}

/// A fault: the check that must find it, the expected state, and how to cause it.
type Fault = (&'static str, &'static str, fn(&Installation));

const FAULTS: &[Fault] = &[
    ("permissions", "wrong", |at| {
        fs::set_permissions(at.world.data(), fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("database", "wrong", |at| {
        let path = at.world.data().join("remora.db");
        at.database().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let half = bytes.len() / 2 / 4096 * 4096;
        bytes[half..half + 4096 * 8].fill(0xA5);
        fs::write(&path, bytes).unwrap();
    }),
    ("schema", "wrong", |at| at.database().execute_batch("PRAGMA user_version = 999").unwrap()),
    ("queue", "wrong", |at| {
        at.world.hook(&at.world.tool("t9"));
        at.database()
            .execute_batch(
                "UPDATE pending_messages SET created_at = created_at - 86400000;
                 UPDATE sessions SET last_activity_at = last_activity_at - 86400000",
            )
            .unwrap();
    }),
    ("failed events", "wrong", |at| {
        at.world.hook(&at.world.tool("t9"));
        at.database()
            .execute_batch("UPDATE pending_messages SET status = 'failed', last_error = 'no answer'")
            .unwrap();
    }),
    ("lost events", "wrong", |at| log(at, "error", "hook: an event is lost: the disk is full")),
    ("log", "note", |at| log(at, "error", "daemon: the port cannot be had")),
    ("bugs", "wrong", |at| {
        let version = env!("CARGO_PKG_VERSION");
        log(at, "error", &format!("hook: bug: panic at src/x.rs:1:2 (version {version})"));
    }),
    ("settings", "wrong", |at| {
        fs::write(at.world.data().join("config.toml"), "[daemon]\nport = \"no\"\n").unwrap();
    }),
    ("capture", "note", |at| drop(at.world.text(&["pause"]))),
    ("Claude Code", "wrong", |at| {
        let path = at.world.path("home/.claude/settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        settings["hooks"].as_object_mut().unwrap().remove("Stop");
        fs::write(path, settings.to_string()).unwrap();
    }),
    ("receipt", "wrong", |at| fs::write(at.world.data().join("installed.json"), "{").unwrap()),
    ("plugin", "note", |at| {
        let path = at.world.path("home/.claude/settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        settings["enabledPlugins"] = json!({"remora@remora": true, "other@place": true});
        fs::write(path, settings.to_string()).unwrap();
    }),
    ("facts", "note", |at| {
        at.world.text(&["facts", "set", "port", "7070"]);
        at.database()
            .execute_batch(
                "INSERT INTO facts (uuid, project_id, kind, key, value, source, trust, valid_from, valid_to, created_at, updated_at)
                 SELECT randomblob(16), project_id, kind, key, '8080', 'agent', 0.5, valid_from, valid_from, created_at,
                     updated_at FROM facts",
            )
            .unwrap();
    }),
    ("hooks firing", "wrong", |at| {
        at.database().execute_batch("UPDATE sessions SET host = 'codex'").unwrap();
        let folder = at.world.path("home/.claude/projects/-home-me-x");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("one.jsonl"), "{}\n").unwrap();
    }),
    ("API key", "wrong", |at| at.set("observer.provider", "anthropic")),
    ("provider", "wrong", |at| {
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        at.set("openai.base_url", &format!("http://127.0.0.1:{port}/v1"));
        at.set("observer.provider", "openai");
    }),
    ("budget", "note", |at| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        at.set("openai.base_url", &format!("http://{}/v1", listener.local_addr().unwrap()));
        // It only has to accept connections until the test ends.
        std::mem::forget(listener);
        at.set("observer.provider", "openai");
        let now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
        at.database()
            .execute_batch(&format!(
                "INSERT INTO llm_usage (provider, model, input_tokens, output_tokens, cached_tokens, estimated, outcome,
                     created_at) VALUES ('openai', 'm', 600000, 1, 0, 0, 'answered', {now})"
            ))
            .unwrap();
    }),
    ("search index", "wrong", |at| at.database().execute_batch("DELETE FROM documents").unwrap()),
    ("backups", "wrong", |at| {
        at.database().execute_batch("UPDATE sessions SET started_at = started_at - 30 * 86400000").unwrap();
    }),
    ("backups", "wrong", |at| {
        at.world.text(&["backup"]);
        for backup in fs::read_dir(at.world.data().join("backups")).unwrap() {
            File::options().write(true).open(backup.unwrap().path()).unwrap().set_len(1000).unwrap();
        }
    }),
    ("notes", "note", |at| at.set("memory.obsidian_vault", "/nowhere/notes")),
    ("spool", "note", |at| {
        at.database().execute_batch("PRAGMA user_version = 999").unwrap();
        at.world.hook(&at.world.tool("t9"));
    }),
    ("data directory", "wrong", |at| {
        let data = at.world.data();
        fs::remove_dir_all(&data).unwrap();
        fs::write(data, "a file").unwrap();
    }),
];

fn log(at: &Installation, level: &str, message: &str) {
    let now = remora_core::time::Time::now().iso_millis();
    let path = at.world.data().join("remora.log");
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{text}{now} {level} {message}\n")).unwrap();
}

#[test]
fn every_planted_fault_is_found_by_name_with_a_hint() {
    let mut wrong = Vec::new();
    for (name, state, plant) in FAULTS {
        let installation = Installation::new();
        plant(&installation);
        let report = installation.report(&[]);
        let finding = (name.to_string(), state.to_string());
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == *name);
        let hint = check.and_then(|check| check["hint"].as_str()).unwrap_or_default();
        assert!(!report.to_string().contains("database  "), "the path of the database is named: {report}");
        if !found(&report).contains(&finding) || hint.is_empty() {
            wrong.push(format!("{name}: {:?}, hint {hint:?}", found(&report)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_daemon_of_another_version_and_a_taken_port_are_found() {
    let installation = Installation::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let doctor = || {
        let mut command = installation.world.command(&["doctor", "--json"]);
        let output =
            command.env("REMORA_DAEMON_AUTOSTART", "true").env("REMORA_DAEMON_PORT", &port).output().unwrap();
        found(&serde_json::from_slice(&output.stdout).unwrap())
    };
    let pair = |name: &str, state: &str| (name.to_owned(), state.to_owned());
    assert_eq!(doctor(), [pair("port", "note")]);
    // This process plays the daemon by holding its lock.
    let data = installation.world.data();
    let lock = File::create(data.join("daemon.lock")).unwrap();
    lock.lock().unwrap();
    let card = json!({"pid": 1, "version": "0.0.1", "started_at": 1, "port": 1});
    fs::write(data.join("daemon.json"), card.to_string()).unwrap();
    assert_eq!(doctor(), [pair("daemon", "wrong"), pair("port", "wrong"), pair("token", "wrong")]);
}

#[test]
fn what_is_safe_to_fix_is_fixed() {
    let fixable = ["permissions", "queue", "Claude Code", "search index", "backups"];
    for (name, _, plant) in FAULTS.iter().filter(|(name, ..)| fixable.contains(name)) {
        let installation = Installation::new();
        plant(&installation);
        let report = installation.report(&["--fix"]);
        assert_eq!(found(&report), [], "{name}: {report:#}");
        assert_eq!(report["fixed"][0]["is_done"], true, "{name}: {report:#}");
    }
}

#[test]
fn hooks_that_an_agent_does_not_run_are_found() {
    let installation = Installation::new();
    let world = &installation.world;
    let settings = world.path("home/.claude/settings.json");
    let installed = fs::read_to_string(&settings).unwrap();
    let message = |report: &Value, name: &str| {
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name && check["state"] == "wrong");
        check.map_or_else(String::new, |check| check["message"].as_str().unwrap().to_owned())
    };
    for (added, reason) in [
        ("// mine\n", "ignores a file with comments"),
        ("\"disableAllHooks\": true,", "`disableAllHooks` is true, so this agent runs no hooks"),
    ] {
        fs::write(&settings, installed.replacen('{', &format!("{{ {added}"), 1)).unwrap();
        let found = message(&installation.report(&[]), "Claude Code");
        assert!(found.contains(reason), "{found}");
        assert!(world.text(&["install", "--host", "claude-code", "--yes"]).contains(reason));
    }
    fs::write(&settings, &installed).unwrap();

    let gemini = world.path("home/.gemini/settings.json");
    fs::create_dir_all(gemini.parent().unwrap()).unwrap();
    fs::write(&gemini, "{\"hooksConfig\": {\"enabled\": false}}").unwrap();
    world.text(&["install", "--host", "gemini", "--yes"]);
    let found = message(&installation.report(&[]), "Gemini CLI");
    assert!(found.contains("`hooksConfig.enabled` is false"), "{found}");
}

#[test]
fn hooks_of_a_program_that_is_gone_are_found() {
    let installation = Installation::new();
    let world = &installation.world;
    let settings = world.path("home/.claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace(env!("CARGO_BIN_EXE_remora"), "/gone/remora")).unwrap();
    let shown = || String::from_utf8(installation.run(&[]).stdout).unwrap();
    assert!(shown().contains("hooks call /gone/remora, which is gone"), "{}", shown());
    fs::write(&settings, text.replace(env!("CARGO_BIN_EXE_remora"), "/bin/sh/../remora")).unwrap();
    // Without a receipt, they count as set up by hand.
    fs::remove_file(world.data().join("installed.json")).unwrap();
    let shown = shown();
    assert!(
        shown.contains("which is gone") && shown.contains("remora install --host claude-code"),
        "{shown}"
    );
}

#[test]
fn the_plugin_of_claude_code_alone_counts_as_installed() {
    let installation = Installation::new();
    installation.world.text(&["uninstall", "--yes"]);
    let path = installation.world.path("home/.claude/settings.json");
    let set = |settings: Value| fs::write(&path, settings.to_string()).unwrap();
    set(json!({"enabledPlugins": {"remora@remora": true}}));
    let report = installation.report(&[]);
    assert_eq!(found(&report), [], "{report:#}");
    let status = installation.world.text(&["status"]);
    assert!(status.contains("hooks installed in Claude Code"), "{status}");
    let claude_code = |state: &str| vec![("Claude Code".to_owned(), state.to_owned())];
    set(json!({"enabledPlugins": {"remora@remora": true}, "disableAllHooks": true}));
    assert_eq!(found(&installation.report(&[])), claude_code("wrong"), "it runs no hooks at all");
    set(json!({"enabledPlugins": {"remora@remora": false}}));
    assert_eq!(found(&installation.report(&[])), claude_code("wrong"), "the plugin is off");
}

#[test]
fn files_that_are_in_order_need_not_be_writable() {
    let installation = Installation::new();
    let settings = installation.world.path("home/.claude/settings.json");
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
    let report = installation.report(&[]);
    assert_eq!(found(&report), [], "{report:#}");
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o644)).unwrap();
    fs::hard_link(&settings, installation.world.path("second-name")).unwrap();
    let report = installation.report(&[]);
    assert_eq!(found(&report), [], "{report:#}");
}

#[test]
fn the_report_fits_a_narrow_terminal() {
    let installation = Installation::new();
    installation.set("observer.provider", "anthropic");
    let shown = |columns: &str| {
        let mut command = installation.world.command(&["doctor"]);
        command.env("COLUMNS", columns).env("REMORA_DAEMON_PORT", "0").env("REMORA_DAEMON_AUTOSTART", "true");
        installation.world.neutral(&command.output().unwrap().stdout)
    };
    let narrow = shown("60");
    for line in narrow.lines().filter(|line| !line.contains('/')) {
        assert!(line.chars().count() <= 60, "{line}");
    }
    insta::with_settings!({filters => vec![
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD HH:MM"),
        (r"[\d.]+ [KMG]iB( free|\n)", "[SIZE]$1"),
        (r"(reserve +)(4 MiB in reserve for a full disk|nothing in reserve.*)", "$1[RESERVE]"),
        (r"(program +)\S+ \d+\.\d+\.\d+", "$1[PROGRAM]"),
    ]}, { insta::assert_snapshot!(shown("120")) });
}
