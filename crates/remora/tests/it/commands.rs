use std::fs;

use serde_json::json;

use crate::support::{World, contains};

/// A short session. Snapshots filter out its times, because they are not exact.
fn a_session(world: &World) {
    world.hook(&world.message("SessionStart", &json!({"source": "startup"})));
    world.hook(&world.prompt("p1", "Why does the build fail?"));
    world.hook(&world.message(
        "PostToolUseFailure",
        &json!({"tool_name": "Bash", "tool_use_id": "t1", "prompt_id": "p1", "tool_input": {"command": "cargo build"},
            "error": "Exit code 101\nerror[E0432]: unresolved import"}),
    ));
    world.hook(&world.message(
        "PostToolUse",
        &json!({"tool_name": "Edit", "tool_use_id": "t2", "prompt_id": "p1",
            "tool_input": {"file_path": "/p/src/lib.rs", "old_string": "use a;", "new_string": "use b;"},
            "tool_response": {"filePath": "/p/src/lib.rs", "originalFile": "use a;\n", "structuredPatch": [
                {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-use a;", "+use b;"]}]}}),
    ));
    world.hook(&world.message(
        "Stop",
        &json!({"prompt_id": "p1", "last_assistant_message": "The import had moved; it is fixed."}),
    ));
}

/// The terminal output of these commands, one after the other.
fn transcript(world: &World, commands: &[&[&str]]) -> String {
    let shown = commands
        .iter()
        .map(|arguments| format!("$ remora {}\n{}", arguments.join(" "), world.text(arguments)));
    shown.collect::<Vec<_>>().join("\n")
}

macro_rules! assert_transcript {
    ($text:expr) => {
        insta::with_settings!({filters => vec![
            (r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD HH:MM"),
            (r"\d+\.\d [KM]iB", "[SIZE]"),
            (r"Remora 0\.\d+\.\d+", "Remora [VERSION]"),
        ]}, { insta::assert_snapshot!($text) });
    };
}

#[test]
fn a_new_user_sees_where_to_begin() {
    let world = World::new();
    assert_transcript!(transcript(&world, &[&["status"], &["sessions"], &["queue"]]));
}

#[test]
fn draining_ends_a_turn_after_the_configured_silence() {
    let world = World::new();
    world.hook(&world.prompt("p1", "Why does the build fail?"));
    world.hook(&world.tool("t1"));
    assert_eq!(world.json(&["queue", "drain"])["pending"], 2, "the turn may still be running");
    world.text(&["config", "set", "observer.turn_silence", "0s"]);
    assert_eq!(world.json(&["queue", "drain"])["pending"], 0);
}

#[test]
fn what_was_captured_can_be_seen() {
    let world = World::new();
    a_session(&world);
    assert_transcript!(transcript(
        &world,
        &[&["status"], &["sessions"], &["queue"], &["show", "session-o"], &["show", "e4", "t1"]]
    ));
}

#[test]
fn json_is_complete_and_shows_times_twice() {
    let world = World::new();
    a_session(&world);
    let status = world.json(&["status"]);
    for name in
        ["sessions", "prompts", "observations", "summaries", "facts", "pending", "processing", "failed"]
    {
        assert!(status["counts"][name].is_i64(), "{name}");
    }
    for name in ["running", "pid", "port", "version"] {
        assert!(status["daemon"].get(name).is_some(), "{name}");
    }
    let session = &world.json(&["sessions"])["sessions"][0];
    assert!(session["started_at"].as_str().unwrap().ends_with('Z'));
    assert!(session["started_at_epoch"].is_i64());
    let shown = world.json(&["show", "session-one"]);
    assert_eq!(shown["turns"][0]["closing_message"], "The import had moved; it is fixed.");
    assert_eq!(shown["event_list"].as_array().unwrap().len(), 5);
    assert_eq!(world.json(&["show", "e1", "e2"]).as_array().unwrap().len(), 2);
}

#[test]
fn missing_records_are_reported_with_a_hint() {
    let world = World::new();
    for (arguments, code) in [
        (&["show", "77"][..], 1),
        (&["show", "nonsense"], 1),
        (&["sessions", "--project", "nowhere"], 1),
        (&["resume", "--project"], 1),
        (&["explode"], 2),
        (&["show"], 2),
    ] {
        let output = world.remora(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert!(contains(&output.stderr, "error:"), "{output:?}");
        assert!(code == 2 || contains(&output.stderr, "hint:"), "{output:?}");
    }
}

#[test]
fn pausing_stops_capture_until_resume() {
    let world = World::new();
    assert!(world.text(&["pause"]).contains("paused everywhere"));
    world.hook(&world.tool("t1"));
    assert_eq!(world.count("pending"), 0);
    assert_eq!(world.text(&["resume"]), "Capture is on.\n");
    world.hook(&world.tool("t2"));
    assert_eq!(world.count("pending"), 1);

    assert!(world.text(&["pause", "--project"]).contains("paused in project"));
    world.hook(&world.tool("t3"));
    assert_eq!(world.count("pending"), 1);
    let mut elsewhere = world.tool("t4");
    elsewhere["cwd"] = json!(world.path("home"));
    elsewhere["session_id"] = json!("elsewhere");
    world.hook(&elsewhere);
    assert_eq!(world.count("pending"), 2);
    world.text(&["resume", "--project", "project"]);
    world.hook(&world.tool("t5"));
    assert_eq!(world.count("pending"), 3);
}

#[test]
fn queued_events_become_observations_without_a_daemon() {
    let world = World::new();
    a_session(&world);
    world.hook(&world.prompt("p2", "And now something that goes on"));
    world.hook(&world.message(
        "PostToolUse",
        &json!({"tool_name": "Read", "tool_use_id": "t9", "prompt_id": "p2",
        "tool_input": {"file_path": "/p/a.rs"}, "tool_response": {"file": {"content": "x"}}}),
    ));
    assert_transcript!(transcript(
        &world,
        &[
            &["queue", "drain"],
            &["queue", "drain"],
            &["show", "1"],
            &["show", "s1"],
            &["queue"],
            &["show", "e4"]
        ]
    ));
    assert_eq!(world.json(&["queue", "drain", "--all"])["pending"], 0);
    assert_eq!(world.remora(&["queue", "retry", "e1"]).status.code(), Some(1));
    assert_eq!(world.remora(&["queue", "drop", "nonsense"]).status.code(), Some(2));
    let counts = &world.json(&["status"])["counts"];
    assert_eq!(
        (&counts["observations"], &counts["summaries"]),
        (&json!(1), &json!(1)),
        "one summary per session"
    );
}

#[test]
fn an_invalid_setting_is_reported_and_the_rest_works() {
    let world = World::new();
    fs::create_dir_all(world.data()).unwrap();
    fs::write(world.data().join("config.toml"), "[capture]\nsync = \"maybe\"\n").unwrap();
    world.hook(&world.tool("t1"));
    let status = world.remora(&["status"]);
    assert!(status.status.success());
    assert!(contains(&status.stderr, "capture.sync in config.toml"), "{status:?}");
    assert_eq!(world.remora(&["doctor"]).status.code(), Some(1));
    assert_eq!(world.count("pending"), 1);
}

#[test]
fn help_and_completions_work() {
    let world = World::new();
    for arguments in [&["--help"][..], &["hook", "--help"], &["show", "--help"]] {
        let text = world.text(arguments);
        assert!(text.contains("Usage:"), "{text}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.text(&["completions", shell]).contains("remora"));
    }
    assert!(!world.data().exists(), "help creates no files");
}

#[test]
fn colour_is_only_for_terminals() {
    let world = World::new();
    a_session(&world);
    assert!(!world.text(&["status"]).contains('\u{1b}'));
}
