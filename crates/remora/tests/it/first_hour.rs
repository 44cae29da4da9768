//! What a new user tries in the first hour.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{World, contains, let_agents_reach_everything};

/// A session with one turn: a prompt, a command, an edit, a closing message. The turn is observed.
fn learn(world: &World, session: &str, said: &str) {
    let send = |event: &str, more: Value| {
        let mut message = world.message(event, &more);
        message["session_id"] = session.into();
        world.hook(&message);
    };
    send(
        "UserPromptSubmit",
        json!({"prompt_id": format!("p-{session}"), "prompt": "Why are the quotes of the islands wrong?"}),
    );
    send(
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_use_id": format!("t-{session}"),
            "tool_input": {"command": "cargo test --test islands -- --nocapture"},
            "tool_response": {"stdout": "test result: ok. 4 passed", "stderr": "", "interrupted": false}}),
    );
    send(
        "PostToolUse",
        json!({"tool_name": "Edit", "tool_use_id": format!("u-{session}"),
            "tool_input": {"file_path": world.project().join("src/cache.rs"), "old_string": "zone", "new_string": "tariff"},
            "tool_response": {"filePath": world.project().join("src/cache.rs"), "originalFile": "zone\n", "structuredPatch": [
                {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-zone", "+tariff"]}]}}),
    );
    send("Stop", json!({"prompt_id": format!("p-{session}"), "last_assistant_message": said}));
    send("SessionEnd", json!({"reason": "exit"}));
    world.text(&["queue", "drain", "--all"]);
}

const SAID: &str = "The stale quotes are fixed: the cache key lacked the tariff, so prices of last week were valid hits. \
                    I changed the key because the tariff changes at midnight UTC.";

fn ids(found: &Value) -> Vec<String> {
    found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["id"].to_string().trim_matches('"').to_owned())
        .collect()
}

#[test]
fn every_command_that_shows_something_works_without_arguments() {
    let world = World::new();
    for command in ["queue", "config", "daemon", "index", "notes", "context-files", "projects", "version"] {
        let output = world.remora(&[command]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{command}: {output:?}");
    }
    assert!(world.text(&["queue", "list"]).contains("The queue is empty"));
    assert!(world.text(&["version"]).starts_with(concat!("remora ", env!("CARGO_PKG_VERSION"))));
    assert_eq!(world.remora(&["daemon", "status"]).status.code(), Some(1), "for scripts");
}

#[test]
fn an_empty_memory_is_not_an_error_and_names_the_next_step() {
    let world = World::new();
    for arguments in [
        &["search", "tariff"][..],
        &["timeline"],
        &["timeline", "tariff"],
        &["facts"],
        &["why"],
        &["context"],
        &["sessions"],
        &["retrievals"],
    ] {
        let output = world.remora(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert!(!contains(&output.stderr, "error:"), "{output:?}");
        let said = [output.stdout, output.stderr].concat();
        assert!(contains(&said, "`remora ") || contains(&said, "Work with your agent"), "{arguments:?}");
        // The JSON output has the usual format.
        let json = world.json(arguments);
        assert!(json.is_object() || json.is_array(), "{arguments:?}: {json}");
    }
    assert_eq!(world.json(&["search", "tariff"])["hits"], json!([]));
}

#[test]
fn a_setting_can_be_removed_and_the_file_edited() {
    let world = World::new();
    world.text(&["config", "set", "daemon.port", "4000"]);
    assert!(world.text(&["config", "unset", "daemon.port"]).contains("(the default)"));
    let edit = |script: &str| {
        let editor = world.path("editor");
        fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        world.command(&["config", "edit"]).env("EDITOR", format!("sh {}", editor.display())).output().unwrap()
    };
    assert!(edit("printf '[daemon]\\nport = 4001\\n' > \"$1\"").status.success());
    assert_eq!(world.text(&["config", "get", "daemon.port"]), "4001\n");
    let wrong = edit("printf '[daemon]\\nport = \"no\"\\n' > \"$1\"");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(contains(&wrong.stderr, "config.toml is saved, but a part of it cannot be used"), "{wrong:?}");
    assert!(
        contains(&wrong.stderr, "daemon.port") && contains(&wrong.stderr, "remora config edit"),
        "{wrong:?}"
    );
    assert!(contains(&world.remora(&["config", "edit"]).stderr, "EDITOR"));
}

#[test]
fn ids_are_accepted_as_injected_text_prints_them_and_unknown_ones_reported() {
    let world = World::new();
    learn(&world, "one", SAID);
    for id in ["1", "#1", "s1", "#s1", "t1", "#t1"] {
        assert!(world.remora(&["show", id]).status.success(), "{id}");
    }
    assert!(world.remora(&["timeline", "#1"]).status.success());
    assert!(world.remora(&["feedback", "#1", "useful"]).status.success());
    assert!(world.remora(&["edit", "#1", "--type", "decision"]).status.success());
    assert!(world.remora(&["forget", "--dry-run", "#1"]).status.success());
    let both = world.remora(&["show", "1", "999"]);
    assert_eq!(both.status.code(), Some(1));
    assert!(contains(&both.stdout, "cache key") && contains(&both.stderr, "`999`"), "{both:?}");
    // A number that is not an id is searched as text.
    world.text(&["save", "The gateway answers 413 if the tariff file is larger than a megabyte"]);
    assert!(world.text(&["search", "413"]).contains("gateway answers 413"));
    assert!(world.text(&["timeline", "413"]).contains("gateway answers 413"));
    assert_eq!(world.remora(&["timeline", "414"]).status.code(), Some(1));
}

#[test]
fn a_turn_is_one_hit_and_what_was_saved_comes_first() {
    let world = World::new();
    learn(&world, "one", SAID);
    let found = world.json(&["search", "cache", "key", "tariff", "quotes"]);
    assert_eq!((ids(&found), &found["total"]), (vec!["1".to_owned()], &json!(1)), "{found:#}");
    assert_eq!(found["hits"][0]["duplicates"].as_array().unwrap().len(), 2, "{found:#}");
    let newest = world.json(&["search"]);
    assert_eq!(ids(&newest), ["1"], "{newest:#}");
    // Turns are returned if requested.
    assert_eq!(ids(&world.json(&["search", "quotes", "--kind", "turn"])), ["t1"]);
    let saved = world.text(&["save", "Tariff quotes are checked by finance on Fridays"]);
    let found = world.json(&["search", "tariff", "quotes"]);
    assert_eq!(ids(&found)[0], saved.trim(), "{found:#}");
}

#[test]
fn a_wrong_record_stays_wrong_when_it_is_learned_again_and_no_other_is_touched() {
    let world = World::new();
    learn(&world, "one", SAID);
    learn(
        &world,
        "two",
        "The port of the test server is 8081, because 8080 is taken by the proxy on every machine here.",
    );
    world.text(&["feedback", "1", "wrong"]);
    let wrong = |id: &str| world.json(&["show", id])["feedback"]["wrong"].as_i64().unwrap_or_default();
    assert_eq!((wrong("1"), wrong("2")), (1, 0));
    learn(&world, "three", SAID);
    let context = || world.text(&["context"]);
    assert!(
        !context().contains("#1 ") && !context().contains("#3 ") && context().contains("#2 "),
        "{}",
        context()
    );
    // The last verdict counts.
    world.text(&["feedback", "1", "pin"]);
    assert_eq!(wrong("1"), 0);
    assert!(context().contains("#1 "), "{}", context());
    world.text(&["feedback", "1", "wrong"]);
    assert_eq!(world.json(&["show", "1"])["pinned_at"], Value::Null);
    assert!(!context().contains("#1 "), "{}", context());
}

#[test]
fn commands_of_a_session_can_be_read_after_they_were_observed() {
    let world = World::new();
    learn(&world, "one", SAID);
    let shown = world.text(&["show", "one"]);
    assert!(shown.contains("Bash cargo test --test islands -- --nocapture"), "{shown}");
    assert_eq!(shown.matches("cache.rs").count(), 1, "{shown}");
    assert_eq!(shown.matches("The stale quotes are fixed").count(), 1, "{shown}");
    let event = &world.json(&["show", "one"])["event_list"][1];
    assert_eq!((&event["tool"], &event["status"]), (&json!("Bash"), &json!("done")), "{event}");
    // Forgotten turns are gone from there, too.
    world.text(&["forget", "t1", "--yes"]);
    assert!(!world.text(&["show", "one"]).contains("islands"), "{}", world.text(&["show", "one"]));
}

#[test]
fn a_secret_in_a_command_is_in_no_trace() {
    let world = World::new();
    let secret = ["ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    world.hook(&world.prompt("p1", "Push it"));
    let mut call = world.tool("t1");
    call["tool_input"]["command"] = format!("git push https://me:{secret}@github.com/me/x").into();
    world.hook(&call);
    world
        .hook(&world.message("Stop", &json!({"prompt_id": "p1", "last_assistant_message": "It is pushed."})));
    world.text(&["queue", "drain", "--all"]);
    assert!(world.text(&["show", "session-one"]).contains("git push"));
    assert!(!contains(&world.all_bytes(), &secret));
}

#[test]
fn outside_git_the_nearest_known_directory_above_is_the_project() {
    let world = World::new();
    let_agents_reach_everything(&world);
    let folder = world.project().join("docs/drafts");
    fs::create_dir_all(&folder).unwrap();
    let begin = |session: &str, directory: &std::path::Path| {
        let mut message = world.message("SessionStart", &json!({"source": "startup"}));
        message["session_id"] = session.into();
        message["cwd"] = json!(directory);
        world.hook(&message);
        let sessions = world.json(&["sessions"]);
        let sessions = sessions["sessions"].as_array().unwrap();
        let found = sessions.iter().find(|row| row["content_session_id"] == session).unwrap();
        found["project_id"].clone()
    };
    let project = begin("one", &world.project());
    assert_eq!(begin("two", &folder), project);
    // Commands find the same project.
    world.text(&["save", "Drafts are written in British English"]);
    let output = world.command(&["search", "drafts"]).current_dir(&folder).output().unwrap();
    assert!(contains(&output.stdout, "British English"), "{output:?}");
    // The output says so, and the user can change it.
    let at = |arguments: &[&str]| world.command(arguments).current_dir(&folder).output().unwrap();
    assert!(contains(&at(&["status"]).stdout, "because it is inside it"), "{:?}", at(&["status"]));
    assert!(at(&["project", "split"]).status.success());
    assert_ne!(begin("own", &folder), project);
    // A repository inside it is a separate project.
    let repository = world.project().join("tool");
    fs::create_dir_all(repository.join(".git")).unwrap();
    fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_ne!(begin("three", &repository), project);
    // The memory of the home directory is never shared.
    let home = begin("four", &world.path("home"));
    fs::create_dir_all(world.path("home/other")).unwrap();
    assert_ne!(begin("five", &world.path("home/other")), home);
    // Nor is that of a world-writable directory.
    let shared = world.path("shared");
    fs::create_dir_all(shared.join("mine")).unwrap();
    fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
    let above = begin("six", &shared);
    assert_ne!(begin("seven", &shared.join("mine")), above);
}

#[test]
fn a_failed_write_is_an_error_and_a_closed_pipe_is_not() {
    let world = World::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = world.command(&["status"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(contains(&output.stderr, "cannot be written"), "{output:?}");
    let mut child = world
        .command(&["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn answers_fit_a_narrow_terminal() {
    let world = World::new();
    learn(&world, "one", SAID);
    world.text(&[
        "save",
        "A rather long sentence about tariffs that certainly has no room on one line of a narrow terminal",
    ]);
    for columns in [60, 80, 120] {
        for arguments in [
            &["status"][..],
            &["sessions"],
            &["projects"],
            &["search", "tariff"],
            &["timeline"],
            &["show", "1"],
            &["show", "one"],
            &["queue"],
            &["facts"],
            &["config"],
            &["notes"],
            &["doctor"],
            &["demo"],
            &["forget", "--dry-run", "#1"],
            &["feedback", "#1", "useful"],
            &["edit", "#1", "--type", "decision"],
            &["edit", "#1", "--history"],
        ] {
            let output = world.command(arguments).env("COLUMNS", columns.to_string()).output().unwrap();
            let text = world.neutral(&output.stdout);
            // A path is not wrapped.
            for line in text.lines().filter(|line| !line.contains('/')) {
                assert!(line.chars().count() <= columns, "{arguments:?} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn whether_a_hook_starts_the_daemon_is_said_the_same_everywhere() {
    let world = World::new();
    let said = |command: &str, autostart: &str| {
        let output = world.command(&[command]).env("REMORA_DAEMON_AUTOSTART", autostart).output().unwrap();
        world.neutral(&output.stdout)
    };
    for command in ["status", "daemon", "doctor"] {
        let (off, on) = (said(command, "false"), said(command, "true"));
        assert!(off.contains("not running, and no hook starts it: daemon.autostart is false"), "{off}");
        assert!(on.contains("not running; the next hook starts it"), "{on}");
    }
    // Only where a setting comes from can it be changed.
    assert!(said("doctor", "false").contains("`unset REMORA_DAEMON_AUTOSTART`"));
    world.text(&["config", "set", "daemon.autostart", "false"]);
    let output = world.command(&["doctor"]).env_remove("REMORA_DAEMON_AUTOSTART").output().unwrap();
    assert!(contains(&output.stdout, "`remora config unset daemon.autostart`"), "{output:?}");
}

#[test]
fn short_answers_are_wrapped_and_an_unknown_project_names_the_list() {
    let world = World::new();
    let_agents_reach_everything(&world);
    learn(&world, "one", SAID);
    for arguments in [&["verify"][..], &["update", "--check"], &["update"], &["context-files"], &["import"]] {
        let output = world.command(arguments).env("COLUMNS", "60").output().unwrap();
        let text = world.neutral(&[output.stdout, output.stderr].concat());
        // Neither a path nor a command is broken.
        for line in text.lines().filter(|line| !line.contains('/') && !line.contains('`')) {
            assert!(line.chars().count() <= 60, "{arguments:?}: {line}");
        }
    }
    let unknown = world.remora(&["search", "tariff", "--project", "nowhere"]);
    assert!(contains(&unknown.stderr, "`remora project list`"), "{unknown:?}");
}

#[test]
fn answers_are_pleasant_at_sixty_columns() {
    let world = World::new();
    learn(&world, "one", SAID);
    let shown = [&["status"][..], &["sessions"], &["search", "tariff"], &["show", "1"], &["show", "one"]]
        .map(|arguments| {
            let output = world.command(arguments).env("COLUMNS", "60").output().unwrap();
            format!("$ remora {}\n{}", arguments.join(" "), world.neutral(&output.stdout))
        });
    insta::with_settings!({filters => vec![
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD HH:MM"),
        (r"\d+\.\d [KM]iB", "[SIZE]"),
        (r"Remora 0\.\d+\.\d+", "Remora [VERSION]"),
    ]}, { insta::assert_snapshot!(shown.join("\n")) });
}
