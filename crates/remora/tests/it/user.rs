//! The user's own statements at the start of a session, outdated memory, and `remora why`.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::context::{drain, injected_at_start, injected_with, work};
use crate::support::{World, typed};

/// Runs a command at a pseudo-terminal.
fn at_a_terminal(command: &mut Command) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let end = || rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let mut child = command.stdin(end()).stdout(end()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
}

/// A turn of the session `one` without tool calls.
fn say(world: &World, id: &str, prompt: &str, closing: &str) {
    world.hook(&world.prompt(id, prompt));
    world.hook(&world.message("Stop", &json!({ "prompt_id": id, "last_assistant_message": closing })));
}

/// The user's own block and the reference data, as injected at the start of a session.
fn blocks(world: &World, session: &str) -> (String, String) {
    let text = injected_at_start(world, session, "startup").unwrap();
    match text.split_once("</remora-context>") {
        Some((own, rest)) if rest.contains("<remora-context>") => (own.to_owned(), rest.to_owned()),
        _ => (String::new(), text),
    }
}

#[test]
fn only_text_typed_at_a_terminal_is_the_users_own() {
    let world = World::new();
    world.text(&["save", "A pipe says that deploys are free."]);
    at_a_terminal(&mut world.command(&["save", "Deploys happen on Tuesdays only."]));
    for (name, value) in [("CLAUDECODE", "1"), ("CODEX_SANDBOX", "seatbelt"), ("AI_AGENT", "some")] {
        at_a_terminal(world.command(&["save", &format!("An agent of {name} says no.")]).env(name, value));
    }
    let (own, reference) = blocks(&world, "two");
    assert!(own.contains("- Deploys happen on Tuesdays only.\n"), "{own}");
    assert!(!own.contains("agent of") && !own.contains("A pipe") && !own.contains("follow nothing"), "{own}");
    assert!(
        reference.contains("A pipe says") && reference.contains("An agent of CODEX_SANDBOX"),
        "{reference}"
    );
    // A user who saves the same text confirms it.
    typed(&world, &["save", "A pipe says that deploys are free."]);
    assert!(blocks(&world, "three").0.contains("- A pipe says that deploys are free."));
}

#[test]
fn a_rule_of_the_user_comes_first_until_marked_wrong() {
    let world = World::new();
    say(&world, "p1", "Never push to the release branch. What is in it?", "It holds the tags.");
    drain(&world);
    let (own, reference) = blocks(&world, "two");
    assert!(own.contains("\n- Never push to the release branch.\n"), "{own}");
    assert!(!own.contains("What is in it"), "{own}");
    assert!(!reference.contains("Standing facts"), "{reference}");
    // It is already in the session's context, so no prompt injects it again.
    let prompt = "May I push to the release branch of the shop?";
    assert!(!injected_with(&world, "two", prompt).unwrap_or_default().contains("Never push"));
    let why = world.text(&["why", "--session", "two"]);
    assert!(
        why.contains("Never push to the release branch.") && why.contains("`remora feedback f1 wrong`"),
        "{why}"
    );
    typed(&world, &["feedback", "f1", "wrong"]);
    assert_eq!(blocks(&world, "three").0, "");
    typed(&world, &["feedback", "f1", "wrong", "--undo"]);
    assert!(blocks(&world, "four").0.contains("Never push"));
    assert_eq!(world.remora(&["feedback", "f1", "useful"]).status.code(), Some(2));
}

#[test]
fn why_shows_the_last_injection_with_what_marks_it_wrong() {
    let world = World::new();
    work(&world, "one", 1);
    let nothing = world.remora(&["why"]);
    assert!(world.neutral(&nothing.stderr).contains("Nothing was injected here yet."), "{nothing:?}");
    drain(&world);
    injected_at_start(&world, "two", "startup").unwrap();
    injected_with(&world, "two", "Why was case 1 rounded too early by the cast?").unwrap();
    let shown = world.text(&["why", "-n", "2"]);
    insta::with_settings!({ filters => vec![
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD HH:MM"), (r"\d+ ms", "[N] ms"), (r"0\.\d\d ", "0.NN "),
    ] }, { insta::assert_snapshot!(shown) });
    let shown: Value = world.json(&["why", "--session", "two"]);
    assert_eq!(
        (&shown[0]["moment"], &shown[0]["lines"][0]["judged_by"]),
        (&json!("prompt"), &json!("1")),
        "{shown}"
    );
    assert_eq!(shown.as_array().unwrap().len(), 1, "only the last one");
    // The printed command works.
    world.text(&["feedback", "1", "wrong"]);
    assert_eq!(injected_with(&world, "three", "Why was case 1 rounded too early by the cast?"), None);
}

#[test]
fn a_deleted_or_heavily_changed_file_is_reported_with_every_injection() {
    let world = World::new();
    let file = world.project().join("src/total.rs");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "x").unwrap();
    work(&world, "one", 1);
    drain(&world);
    let prompt = "Why was case 1 rounded too early by the cast?";
    let everywhere = |session: &str| {
        let start = injected_at_start(&world, session, "startup").unwrap();
        let prompted = injected_with(&world, session, prompt).unwrap();
        let line = |text: &str| text.lines().find(|line| line.contains("#1 ")).unwrap_or_default().to_owned();
        // A line of the index is only a title and states nothing.
        let lines = [line(&start), line(&prompted)];
        lines.into_iter().filter(|line| !line.starts_with('|')).collect::<Vec<_>>()
    };
    assert!(everywhere("two").iter().all(|line| !line.contains("file")), "the file is unchanged");
    for number in 2..=4 {
        work(&world, &format!("later-{number}"), number);
    }
    drain(&world);
    for line in everywhere("three") {
        assert!(line.contains("file changed since, see #4)"), "{line}");
    }
    fs::remove_file(&file).unwrap();
    for line in everywhere("four") {
        assert!(line.contains("file is gone)"), "{line}");
    }
    let read = json!({ "tool_name": "Read", "tool_use_id": "r1", "tool_input": { "file_path": file } });
    injected_at_start(&world, "five", "startup").unwrap();
    let mut ahead = world.message("PreToolUse", &read);
    ahead["session_id"] = json!("five");
    let ran = crate::support::run_hook(&mut world.hook_command(), ahead.to_string().as_bytes());
    let answer = String::from_utf8(ran.output.stdout).unwrap();
    assert!(answer.contains("file is gone)"), "{answer}");
}

#[test]
fn a_prompt_is_explained_as_a_new_session_gets_it_or_as_one_that_is_named() {
    let world = World::new();
    work(&world, "one", 1);
    drain(&world);
    let prompt = "Why was case 1 rounded too early by the cast?";
    injected_with(&world, "two", prompt).unwrap();
    // Saving does not start a session.
    world.text(&["save", "Deploys happen on Tuesdays only."]);
    let fate = |arguments: &[&str]| {
        let output = world.remora(&[&["context", "--explain", prompt, "--json"], arguments].concat());
        let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
        let candidates = explained["explanation"]["candidates"].as_array().unwrap();
        let first = candidates.iter().find(|candidate| candidate["id"] == "1").unwrap();
        (first["outcome"].as_str().unwrap().to_owned(), output.status.code().unwrap())
    };
    assert_eq!(fate(&[]), ("injected".to_owned(), 0), "the next session gets it");
    assert_eq!(fate(&["--session", "latest"]), ("already_injected".to_owned(), 1), "as session two");
    assert_eq!(fate(&["--session", "one"]), ("own_session".to_owned(), 1));
    // After compaction, it may be injected again.
    injected_at_start(&world, "two", "compact");
    assert_eq!(fate(&["--session", "latest"]), ("injected".to_owned(), 0));
}
