//! The same query over every interface gives the same answer, because one function computes it.

use std::fs;

use serde_json::{Value, json};

use crate::client::start;
use crate::context::{drain, injected_at_start, injected_with, work};
use crate::daemon::Background;
use crate::mcp::Host;
use crate::support::{World, let_agents_reach_everything};

const PROMPT: &str = "Why was case 1 rounded too early by the cast?";

/// The parts of the hits that do not differ between two runs of the same search.
fn hits(results: &Value) -> Vec<(Value, Value, Value)> {
    let hits = results["hits"].as_array().unwrap().iter();
    hits.map(|hit| (hit["id"].clone(), hit["snippet"].clone(), hit["score"].clone())).collect()
}

#[test]
fn a_command_http_and_a_hook_give_the_same_answer() {
    let background = Background::new();
    let world = &background.world;
    // Without vectors, so that scores do not depend on how many are indexed yet.
    world.text(&["config", "set", "search.embedder", "off"]);
    work(world, "one", 1);
    work(world, "two", 2);
    drain(world);
    let alone = world.json(&["search", "rounded", "cast"]);
    let client = start(&background);
    let project = world.project();
    let by_command = world.json(&["search", "rounded", "cast"]);
    let by_parameters = client.get(&format!("/api/search?q=rounded+cast&cwd={}", project.display())).json();
    let request = json!({ "whose": { "directory": project }, "text": "rounded cast" });
    let by_body = client.post("/api/v1/search", &request).json();
    assert!(!hits(&alone).is_empty());
    for answer in [&by_command, &by_parameters, &by_body] {
        assert_eq!(hits(answer), hits(&alone));
    }

    let by_command = world.json(&["context", "--explain", PROMPT])["context"].clone();
    let question = json!({ "explain": true, "prompt": PROMPT, "cwd": project });
    let by_http = client.post("/api/context/semantic", &question).json()["context"].clone();
    // On a busy machine a hook may exceed its time limit.
    let by_hook = (0..5).find_map(|attempt| injected_with(world, &format!("new{attempt}"), PROMPT)).unwrap();
    assert!(by_hook.contains("because of a cast"), "{by_hook}");
    assert_eq!((by_command, by_http), (json!(by_hook), json!(by_hook)));

    let by_command = world.json(&["context"])["text"].clone();
    let by_http =
        client.get(&format!("/api/context/inject?cwd={}", project.display())).json()["context"].clone();
    let by_hook = injected_at_start(world, "begins", "startup").unwrap();
    assert!(by_hook.contains("because of a cast"), "{by_hook}");
    assert_eq!((by_command, by_http), (json!(by_hook), json!(by_hook)));

    let by_command = world.json(&["timeline", "rounded", "cast"]);
    let by_http = client.get(&format!("/api/timeline?q=rounded+cast&cwd={}", project.display())).json();
    assert_eq!(by_command["anchor"], by_http["anchor"]);
    assert_eq!(by_command["items"], by_http["items"]);

    // A query that is an id is that record through every door. No text contains this one.
    let by_command = world.json(&["timeline", "t1"]);
    let by_http = client.list(&format!("/api/timeline?q=t1&cwd={}", project.display()));
    let mut host = Host::new(world);
    let by_tool = host.call("timeline", json!({ "query": "t1" }))["structuredContent"].clone();
    assert_eq!(by_command["anchor"], "t1");
    assert_eq!((&by_http["anchor"], &by_tool["anchor"]), (&json!("t1"), &json!("t1")));
    assert_eq!(by_command["items"], by_http["items"]);
    // The limit is the same, too: the tool shortens what the others refuse.
    assert!(world.remora(&["timeline", "--before", "100"]).status.success());
    assert_eq!(world.remora(&["timeline", "--before", "101"]).status.code(), Some(2));
    let asked = |before: u32| format!("/api/timeline?before={before}&cwd={}", project.display());
    assert_eq!((client.get(&asked(100)).status, client.get(&asked(101)).status), (200, 422));
    assert_eq!(host.call("timeline", json!({ "before": 101 }))["isError"], false);
    host.end();
}

#[test]
fn a_directory_without_memory_gets_what_holds_everywhere_through_every_door() {
    let background = Background::new();
    let world = &background.world;
    let_agents_reach_everything(world);
    world.text(&["config", "set", "search.embedder", "off"]);
    work(world, "one", 1);
    drain(world);
    world.text(&["facts", "--global", "set", "port", "Use port 1 for tests."]);
    let new = world.path("new");
    fs::create_dir(&new).unwrap();
    let here = |arguments: &[&str]| {
        let output = world.command(arguments).current_dir(&new).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let alone = here(&["context", "--json"])["text"].clone();
    assert!(alone.as_str().unwrap().contains("Use port 1 for tests."), "{alone}");

    // An id of another project's record, which is also a word of the fact.
    let found = here(&["search", "1", "--json"]);
    assert_eq!(found["hits"][0]["kind"], "fact", "{found}");
    let past = world.command(&["search", "port", "--offset", "5"]).current_dir(&new).output().unwrap();
    assert_eq!(past.status.code(), Some(1), "{past:?}");
    assert!(String::from_utf8_lossy(&past.stderr).contains("in this directory"), "{past:?}");

    let client = start(&background);
    let by_http = client.list(&format!("/api/context/inject?cwd={}", new.display()))["context"].clone();
    let mut host = Host::of("2025-06-18", world.command(&["mcp"]).current_dir(&new));
    let by_tool = host.call("get_project_context", json!({}))["structuredContent"]["context"].clone();
    host.end();
    assert_eq!((&here(&["context", "--json"])["text"], &by_http), (&alone, &alone));
    // Only the way to read more differs.
    assert!(by_tool.as_str().unwrap().contains("Use port 1 for tests."), "{by_tool}");
}

#[test]
fn a_name_that_begins_with_a_dot_is_a_name_through_every_door() {
    let background = Background::new();
    let world = &background.world;
    let_agents_reach_everything(world);
    world.text(&["config", "set", "search.embedder", "off"]);
    let dotfiles = world.path("home/.dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    let text = "The prompt of the shell shows the branch.";
    assert!(world.command(&["save", text]).current_dir(&dotfiles).status().unwrap().success());
    let search = &["search", "branch", "-p", ".dotfiles"];
    let timeline = &["timeline", "-p", ".dotfiles"];
    let alone = [world.json(search)["hits"][0]["id"].clone(), world.json(timeline)["items"][0]["id"].clone()];
    assert_eq!(alone, [json!("1"), json!("1")]);
    let by_path = world.json(&["search", "branch", "-p", "../home/.dotfiles"]);
    assert_eq!(by_path["hits"][0]["id"], "1", "a relative path is one of the caller's directory");

    let client = start(&background);
    assert_eq!(world.json(search)["hits"][0]["id"], "1");
    assert_eq!(client.list("/api/search?q=branch&project=.dotfiles")["hits"][0]["id"], "1");
    let mut host = Host::new(world);
    let asked = json!({ "query": "branch", "project": ".dotfiles" });
    assert_eq!(host.call("search", asked)["structuredContent"]["hits"][0]["id"], "1");
    host.end();
}

#[test]
fn every_list_of_sessions_has_those_of_agents_only() {
    let background = Background::new();
    let world = &background.world;
    work(world, "one", 1);
    work(world, "two", 2);
    drain(world);
    world.text(&["save", "Deploys happen on Tuesdays only."]);
    let names = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["content_session_id"].as_str().unwrap().to_owned()).collect()
    };
    let client = start(&background);
    let all = client.list("/api/sessions");
    assert_eq!((names(&all["items"]), &all["total"]), (vec!["two".to_owned(), "one".to_owned()], &json!(2)));
    assert_eq!(names(&world.json(&["sessions"])["sessions"]), names(&all["items"]));
    assert_eq!(names(&world.json(&["sessions", "--host", "claude-code", "-n", "1"])["sessions"]), ["two"]);
    assert_eq!(names(&world.json(&["sessions", "--host", "generic"])["sessions"]), [""; 0]);
}

#[test]
fn a_known_name_wins_over_a_path_of_the_same_spelling() {
    let background = Background::new();
    let world = &background.world;
    world.text(&["config", "set", "search.embedder", "off"]);
    world.text(&["save", "The prompt of the shell shows the branch."]);
    rename(world, "team/shell");
    let search = &["search", "branch", "-p", "team/shell"];
    assert_eq!(world.json(search)["hits"][0]["id"], "1");
    assert_eq!(world.json(&["timeline", "-p", "team/shell"])["items"][0]["id"], "1");
    std::fs::create_dir_all(world.project().join("team/shell")).unwrap();
    world.text(&["context-files", "enable", "-p", "team/shell"]);
    assert!(world.project().join("CLAUDE.md").exists(), "that of the project, not of the folder");
    start(&background);
    assert_eq!(world.json(search)["hits"][0]["id"], "1", "with a daemon, too");
}

/// Gives all projects a name that only an import could give them.
#[expect(clippy::disallowed_methods, reason = "no command renames a project")]
fn rename(world: &World, name: &str) {
    let db = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    db.execute("UPDATE projects SET name = ?1", [name]).unwrap();
}

#[test]
fn recall_with_a_prompt_follows_the_settings_of_search() {
    let world = World::new();
    work(&world, "one", 1);
    drain(&world);
    assert!(injected_with(&world, "two", PROMPT).is_some());
    let candidates = || {
        let output = world.remora(&["context", "--explain", PROMPT, "--json"]);
        let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = explained["explanation"]["candidates"].as_array().unwrap().clone();
        all.iter().map(|candidate| candidate["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(candidates().contains(&"turn".to_owned()));
    world.text(&["config", "set", "search.index_turns", "false"]);
    assert!(!candidates().contains(&"turn".to_owned()));
    world.text(&["config", "set", "search.max_age_days", "1"]);
    age(&world, "2 days");
    assert_eq!(candidates(), [""; 0]);
    assert_eq!(injected_with(&world, "three", PROMPT), None);
}

/// Moves all observations into the past.
#[expect(clippy::disallowed_methods, reason = "time does not pass in a test")]
fn age(world: &World, by: &str) {
    let db = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    let then = format!("unixepoch('now', '-{by}') * 1000");
    db.execute_batch(&format!(
        "UPDATE observations SET created_at = {then}; UPDATE documents SET created_at = {then};"
    ))
    .unwrap();
}

#[test]
fn a_moved_project_is_found_in_its_new_directory() {
    let world = World::new();
    work(&world, "one", 1);
    drain(&world);
    let moved = world.path("elsewhere");
    fs::rename(world.project(), &moved).unwrap();
    let output = world.command(&["search", "rounded"]).current_dir(&moved).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    fs::create_dir(world.project()).unwrap();
}
