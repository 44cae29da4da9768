//! Directories that share a memory, and how they are separated.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{World, contains, run_hook};

fn clone_of(world: &World, name: &str, origin: &str) -> PathBuf {
    let root = world.path(name);
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(root.join(".git/config"), format!("[remote \"origin\"]\n\turl = {origin}\n")).unwrap();
    root
}

/// The text injected at the start of a session.
fn start(world: &World, directory: &Path, session: &str) -> String {
    let message =
        world.message("SessionStart", &json!({"source": "startup", "cwd": directory, "session_id": session}));
    let ran = run_hook(&mut world.hook_command(), message.to_string().as_bytes());
    String::from_utf8(ran.output.stdout).unwrap()
}

#[test]
fn a_clone_that_joins_by_its_origin_is_reported_once_and_can_be_separated() {
    let world = World::new();
    let origin = "https://example.org/team/app.git";
    let (first, second) = (clone_of(&world, "first", origin), clone_of(&world, "second", origin));
    start(&world, &first, "one");
    let mut save = world.command(&["save", "The harbour gate opens at noon."]);
    assert!(save.current_dir(&first).output().unwrap().status.success());

    let text = start(&world, &second, "two");
    assert!(text.contains("harbour gate"), "clones share a memory: {text}");
    assert!(text.contains("shares the memory of") && text.contains("remora project split"), "{text}");
    assert!(!start(&world, &first, "three").contains("shares the memory"), "the first clone joined nothing");
    let status = world.command(&["status"]).current_dir(&second).output().unwrap();
    assert!(contains(&status.stdout, "remora project split"), "{status:?}");

    let split = world.command(&["project", "split"]).current_dir(&second).output().unwrap();
    assert!(split.status.success(), "{split:?}");
    assert!(!start(&world, &second, "four").contains("harbour gate"), "it has its own memory");
    assert!(start(&world, &first, "five").contains("harbour gate"));
    let again = world.command(&["project", "split"]).current_dir(&second).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "there is nothing to separate: {again:?}");
    assert_eq!(world.json(&["projects"])["projects"].as_array().unwrap().len(), 2);
}

#[test]
fn a_loss_is_reported_at_the_start_of_the_next_session() {
    let world = World::new();
    let project = world.project();
    start(&world, &project, "one");
    world.text(&["save", "The harbour gate opens at noon."]);
    world.text(&["backup"]);
    world.text(&["restore", "--yes"]);
    let text = start(&world, &project, "two");
    assert!(text.contains("restored from a backup") && text.contains("may be missing"), "{text}");
    assert!(text.contains("harbour gate"), "{text}");
}
