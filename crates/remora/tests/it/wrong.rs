//! What a person called wrong is not injected again, whichever way a session asks for memory.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::context::{drain, hear, injected_at_start, injected_with};
use crate::mcp::Host;
use crate::support::World;

const SAID: &str = "Uploads failed with 413 because the proxy limits bodies to one megabyte. I raised \
                    `client_max_body_size` to 20 MB in `nginx.conf`, so larger files pass. Next: describe the limit of \
                    the proxy in the handbook.";
const ASKED: &str = "Why do the uploads of large files fail with 413?";
/// Parts of what was said. None may be in a context while it is wrong.
const PARTS: [&str; 4] = ["failed with 413", "limits bodies", "client_max_body_size", "in the handbook"];

fn send(world: &World, session: &str, event: &str, more: &Value) {
    let mut message = world.message(event, more);
    message["session_id"] = session.into();
    message["prompt_id"] = format!("{session} {ASKED}").into();
    world.hook(&message);
}

/// A session as a host runs it, from its start to its end. Returns what was injected on the way.
fn session(world: &World, name: &str, said: &str) -> String {
    let mut injected = vec![injected_at_start(world, name, "startup"), injected_with(world, name, ASKED)];
    let file = world.project().join("nginx.conf");
    let ahead = json!({ "tool_name": "Read", "tool_use_id": format!("r-{name}"), "tool_input": { "file_path": file } });
    // In a context of its own: nothing is injected twice into one.
    let apart = format!("{name}-file");
    injected.push(injected_at_start(world, &apart, "startup"));
    injected.push(hear(world, &apart, world.message("PreToolUse", &ahead)));
    send(
        world,
        name,
        "PostToolUse",
        &json!({ "tool_name": "Write", "tool_use_id": format!("w-{name}"),
            "tool_input": { "file_path": file, "content": "client_max_body_size 20m;" },
            "tool_response": { "type": "create", "filePath": file } }),
    );
    send(world, name, "Stop", &json!({ "last_assistant_message": said }));
    send(world, name, "SessionEnd", &json!({ "reason": "exit" }));
    drain(world);
    injected.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// What the other ways give: the context files of the repository, the MCP tool, and the command.
fn elsewhere(world: &World) -> String {
    world.text(&["context-files", "refresh"]);
    let root = fs::read_to_string(world.project().join("CLAUDE.md")).unwrap_or_default();
    let mut host = Host::new(world);
    let tool = host.call("get_project_context", json!({})).to_string();
    [root, tool, world.text(&["context"])].join("\n")
}

fn assert_silent(text: &str, when: &str) {
    for part in PARTS {
        assert!(!text.contains(part), "{when}: {part} is in {text}");
    }
}

/// Makes everything older than the time in which an equal observation is an echo.
fn an_hour_passes(world: &World) {
    let db = Connection::open(world.data().join("remora.db")).unwrap();
    db.execute("UPDATE observations SET created_at = created_at - 3600000", []).unwrap();
}

/// The id of the newest observation that says it.
fn newest(world: &World) -> String {
    let db = Connection::open(world.data().join("remora.db")).unwrap();
    let sql = "SELECT CAST(max(id) AS TEXT) FROM observations WHERE title LIKE 'Uploads failed%'";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn what_was_called_wrong_comes_back_in_no_way_until_the_last_word_says_so() {
    let world = World::new();
    assert!(
        std::process::Command::new("git")
            .args(["init", "-q"])
            .current_dir(world.project())
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(session(&world, "one", SAID), "");
    world.text(&["context-files", "enable"]);
    let before = session(&world, "two", "It is done.");
    for part in PARTS {
        assert!(before.contains(part), "{part} in {before}");
    }
    assert!(before.contains("Known of nginx.conf"), "{before}");
    assert!(elsewhere(&world).contains("limits bodies"));
    world.text(&["feedback", "1", "wrong"]);
    assert_silent(&elsewhere(&world), "after the verdict");
    assert_silent(&session(&world, "three", SAID), "after the verdict");
    // It was learned again within seconds, and has no observation of its own.
    assert_silent(&session(&world, "four", "It is done."), "after an echo");
    assert_silent(&elsewhere(&world), "after an echo");
    an_hour_passes(&world);
    session(&world, "five", SAID);
    let again = newest(&world);
    let again = again.as_str();
    assert_ne!(again, "1", "it has an observation of its own now");
    assert_silent(&session(&world, "six", "It is done."), "learned again later");
    assert_silent(&elsewhere(&world), "learned again later");
    // The last word holds, on any record that says it.
    world.text(&["feedback", again, "pin"]);
    let pinned = session(&world, "seven", "It is done.");
    assert!(pinned.contains(&format!("#{again} ")) && pinned.contains("limits bodies"), "{pinned}");
    world.text(&["feedback", "1", "wrong"]);
    assert_silent(&session(&world, "eight", "It is done."), "wrong after pinned");
    assert_eq!(world.json(&["show", again])["pinned_at"], Value::Null);
    world.text(&["feedback", again, "useful"]);
    assert!(session(&world, "nine", "It is done.").contains("limits bodies"));
    world.text(&["feedback", again, "wrong"]);
    assert_silent(&session(&world, "ten", "It is done."), "wrong after useful");
    world.text(&["feedback", again, "wrong", "--undo"]);
    assert_silent(&session(&world, "eleven", "It is done."), "the other is still wrong");
    world.text(&["feedback", "1", "useful"]);
    assert!(session(&world, "twelve", "It is done.").contains("limits bodies"));
}

#[test]
fn a_correction_that_differs_in_one_word_is_injected() {
    let world = World::new();
    session(&world, "one", SAID);
    world.text(&["feedback", "1", "wrong"]);
    let corrected = SAID.replace("one megabyte", "ten megabytes").replace("20 MB", "40 MB");
    session(&world, "two", &corrected);
    let start = injected_at_start(&world, "three", "startup").unwrap();
    assert!(start.contains("ten megabytes") && !start.contains("one megabyte"), "{start}");
}

#[test]
fn every_line_that_why_shows_has_a_command_that_works() {
    let world = World::new();
    // Too short for an observation, so that only the turn and the summary have it.
    let chat = |session: &str| {
        injected_with(&world, session, "Where is the staging server of the bakery?");
        let mut stop = world.message(
            "Stop",
            &json!({ "last_assistant_message":
            "The staging server of the bakery is in Oslo on the ninth rack." }),
        );
        stop["session_id"] = session.into();
        stop["prompt_id"] = format!("{session} Where is the staging server of the bakery?").into();
        world.hook(&stop);
        drain(&world);
    };
    chat("one");
    assert_eq!(world.count("observations"), 0);
    let asked = |session: &str| {
        let start = injected_at_start(&world, session, "startup").unwrap_or_default();
        let prompt = injected_with(&world, session, "In which city is the staging server of the bakery?");
        start + &prompt.unwrap_or_default()
    };
    assert!(asked("two").contains("Oslo"));
    let why = world.json(&["why", "-n", "2", "--session", "two"]);
    let lines: Vec<Value> =
        why.as_array().unwrap().iter().flat_map(|why| why["lines"].as_array().unwrap().clone()).collect();
    let commands: Vec<&str> = lines.iter().map(|line| line["judged_by"].as_str().unwrap()).collect();
    assert!(!commands.is_empty() && commands.iter().all(|id| id.starts_with(['t', 's'])), "{why:#}");
    let first = commands[0];
    let said = world.remora(&["feedback", first, "wrong"]);
    assert!(
        world.neutral(&said.stderr).contains(&format!("`remora feedback {first} wrong --undo`")),
        "{said:?}"
    );
    assert!(!asked("three").contains("Oslo"));
    chat("four");
    assert!(!asked("five").contains("Oslo"), "learned again");
    world.text(&["feedback", first, "wrong", "--undo"]);
    assert!(asked("six").contains("Oslo"));
    assert_eq!(world.remora(&["feedback", first, "pin"]).status.code(), Some(2));
    assert_eq!(world.remora(&["feedback", "t99", "wrong"]).status.code(), Some(1));
}
