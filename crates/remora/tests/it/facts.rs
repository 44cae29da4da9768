//! Facts: who said them, and what contradicts them.

use serde_json::{Value, json};

use crate::client::{self, Answer};
use crate::daemon::Background;
use crate::support::{World, typed};

fn say(world: &World, number: usize, text: &str) {
    let id = format!("p{number}");
    world.hook(&world.prompt(&id, text));
    world
        .hook(&world.message("Stop", &json!({"prompt_id": id, "last_assistant_message": "I will do that."})));
    world.text(&["queue", "drain"]);
}

fn fact(world: &World, key: &str) -> Value {
    let all = world.json(&["facts"]);
    let found = all.as_array().unwrap().iter().find(|fact| fact["key"] == key);
    found.unwrap_or_else(|| panic!("{key} in {all}")).clone()
}

#[test]
fn what_a_person_sets_outranks_what_was_extracted_and_conflicts_are_shown() {
    let world = World::new();
    say(&world, 1, "From now on always use tabs for indentation in this project.");
    let learned = world.json(&["facts"]);
    let key = learned[0]["key"].as_str().unwrap().to_owned();
    assert_eq!(
        (&learned[0]["source"], &learned[0]["session"]),
        (&json!("user"), &json!("session-one")),
        "{learned}"
    );
    assert_eq!(learned[0]["prompt_number"], 1);

    let shown = typed(&world, &["facts", "set", &key, "Two spaces, everywhere.", "--kind", "convention"]);
    assert!(shown.contains("Before:") && shown.contains("said by user"), "{shown}");
    assert_eq!(fact(&world, &key)["value"], "Two spaces, everywhere.");
    say(&world, 2, "From now on always use tabs for indentation in this project.");
    let held = fact(&world, &key);
    assert_eq!((&held["value"], &held["session"]), (&json!("Two spaces, everywhere."), &Value::Null));
    assert_eq!(held["conflicts"].as_array().unwrap().len(), 1, "{held}");
    let listed = world.text(&["facts"]);
    assert!(listed.contains("conflict: user said"), "{listed}");

    typed(&world, &["facts", "confirm", &key]);
    assert!(fact(&world, &key)["conflicts"].is_null());
    say(&world, 3, "From now on always use tabs for indentation in this project.");
    assert!(fact(&world, &key)["conflicts"].is_null(), "the conflict is settled");
    let history = world.json(&["facts", "history", &key]);
    assert_eq!(history.as_array().unwrap().len(), 3, "{history}");
    assert_eq!(history[0]["value"], "Two spaces, everywhere.");

    typed(&world, &["facts", "rm", &key]);
    assert_eq!(world.json(&["facts"]), json!([]));
    assert_eq!(world.remora(&["facts", "rm", &key]).status.code(), Some(1));
}

#[test]
fn a_program_cannot_replace_a_users_fact_or_another_one_silently() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    world.text(&["facts", "set", "port", "8080"]);
    assert_eq!(fact(&world, "port")["source"], "agent");
    let refused = world.remora(&["facts", "set", "port", "9090"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    world.text(&["facts", "set", "port", "9090", "--replace"]);
    typed(&world, &["facts", "set", "port", "7070"]);
    let refused = world.remora(&["facts", "set", "port", "9090", "--replace"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(
        (&fact(&world, "port")["value"], &fact(&world, "port")["source"]),
        (&json!("7070"), &json!("user"))
    );
    for (action, about) in
        [("rm", "only a person can end what a person said"), ("confirm", "only a person can confirm")]
    {
        let refused = world.remora(&["facts", action, "port"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(about), "{refused:?}");
    }
    world.text(&["facts", "--global", "set", "editor", "helix"]);
    assert_eq!(world.json(&["facts", "--global"]).as_array().unwrap().len(), 1);
    assert_eq!(world.json(&["facts"]).as_array().unwrap().len(), 2);
    // Search finds facts, and private parts are removed from them.
    assert_eq!(world.json(&["search", "port 7070"])["hits"][0]["kind"], "fact");
    world.text(&["facts", "set", "key <private>hidden</private>", "of <private>hidden</private> worth"]);
    assert!(!world.json(&["facts"]).to_string().contains("hidden"));
    assert_eq!(world.remora(&["facts", "set", "x", "<private>all</private>"]).status.code(), Some(2));
    let empty = world.remora(&["facts", "set", "", "x"]);
    assert!(String::from_utf8_lossy(&empty.stderr).contains("remora facts set"), "{empty:?}");
}

#[test]
fn another_value_keeps_the_kind_of_a_fact_through_every_door() {
    let background = Background::new();
    let world = &background.world;
    world.text(&["facts", "set", "indentation", "Tabs.", "--kind", "convention"]);
    let set = world.json(&["facts", "set", "indentation", "Two spaces.", "--replace"]);
    assert_eq!(set["fact"]["kind"], "convention", "{set}");
    assert_eq!(world.json(&["facts", "set", "port", "8080"])["fact"]["kind"], "fact");
    let client = client::start(&background);
    let body = json!({"key": "indentation", "value": "Four spaces.", "project": "project", "replace": true});
    let set = client.post("/api/memory/facts", &body).json();
    assert_eq!(
        (&set["fact"]["kind"], &set["fact"]["value"]),
        (&json!("convention"), &json!("Four spaces.")),
        "{set}"
    );
    let set = world.json(&["facts", "set", "indentation", "Tabs.", "--kind", "preference", "--replace"]);
    assert_eq!(set["fact"]["kind"], "preference", "{set}");
}

#[test]
fn facts_over_http_are_set_changed_confirmed_and_ended_by_key() {
    let background = Background::new();
    let world = &background.world;
    world.hook(&world.tool("t1"));
    typed(world, &["facts", "set", "owner", "Ada"]);
    let client = client::start(&background);
    let send = |method: &str, path: &str, body: &Value| -> Answer {
        let body = body.to_string();
        let head = format!(
            "{}Content-Type: application/json\r\nContent-Length: {}\r\n",
            client.friendly(),
            body.len()
        );
        client.send(method, path, &head, body.as_bytes())
    };
    let post = |body: &Value| send("POST", "/api/memory/facts", body);
    let project = "project";
    assert_eq!(post(&json!({"key": "package manager", "value": "pnpm", "project": project})).status, 200);
    let conflict = post(&json!({"key": "package manager", "value": "yarn", "project": project}));
    assert_eq!(conflict.status, 409, "{conflict:?}");
    let path = "/api/memory/facts/package%20manager";
    let changed = send("PATCH", path, &json!({"value": "yarn", "project": project}));
    assert_eq!((changed.status, &changed.json()["value"]), (200, &json!("yarn")));
    // A caller with the token is a program, and cannot confirm for a person.
    assert_eq!(send("PATCH", path, &json!({"confirm": true, "project": project})).status, 422);
    assert_eq!(send("DELETE", "/api/memory/facts/owner?project=project", &json!({})).status, 422);
    let old =
        client.list("/api/memory/facts?project=project&key=package%20manager")["facts"][1]["id"].clone();
    typed(world, &["facts", "set", "package manager", "npm"]);
    assert_eq!(send("POST", "/api/v1/facts/undo", &json!({"id": format!("f{old}")})).status, 422);
    for said in ["source", "by"] {
        let body = json!({"key": "shell", "value": "zsh", "project": project, said: "user"});
        assert_eq!(post(&body).status, 422, "{said}");
    }
    typed(world, &["facts", "rm", "package manager"]);
    assert_eq!(post(&json!({"key": "package manager", "value": "yarn", "project": project})).status, 200);
    assert_eq!(
        send("PATCH", "/api/memory/facts/none", &json!({"value": "x", "project": project})).status,
        404
    );
    assert_eq!(
        send("PATCH", "/api/memory/facts/owner", &json!({"value": "Eve", "project": project})).status,
        409
    );
    let list = client.list("/api/memory/facts?project=project");
    assert_eq!(list["facts"].as_array().unwrap().len(), 2, "{list}");
    assert_eq!(client.list("/api/memory/facts")["facts"], json!([]), "no fact holds everywhere");
    let history = client.list("/api/memory/facts?project=project&key=package%20manager");
    assert_eq!(history["facts"].as_array().unwrap().len(), 4, "{history}");
    let ended = send("DELETE", &format!("{path}?project=project"), &json!({}));
    assert_eq!(ended.status, 200, "{ended:?}");
    assert_eq!(send("DELETE", &format!("{path}?project=project"), &json!({})).status, 404);
}

#[test]
fn a_fact_is_injected_with_its_key() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    typed(&world, &["facts", "set", "package manager", "pnpm"]);
    typed(&world, &["facts", "set", "line length", "100", "--kind", "convention"]);
    world.text(&["facts", "set", "api port", "8080"]);
    world.text(&["facts", "set", "release name", "daisy of the western harbour"]);
    typed(&world, &["facts", "confirm", "api port"]);
    let context = world.text(&["context"]);
    for line in ["- package manager: pnpm", "- line length: 100", "- api port: 8080"] {
        assert!(context.lines().any(|shown| shown == line), "{line}: {context}");
    }
    let injected = world.text(&["context", "--explain", "Is the western harbour daisy the release name?"]);
    let own = "#f4 (fact by agent, today) release name: daisy of the western harbour";
    assert!(injected.contains(own), "{injected}");
    // A session gets it, and `why` names it in the same words.
    world.hook(&world.message("SessionStart", &json!({"source": "startup"})));
    let why = world.text(&["why"]);
    for said in ["line length: 100", "package manager: pnpm", "api port: 8080"] {
        assert!(why.contains(said), "{said}: {why}");
    }
}

#[test]
fn keys_that_differ_in_case_or_spaces_are_the_same_key() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    typed(&world, &["facts", "set", "Package Manager", "pnpm"]);
    let line = |(key, value): (&str, &str)| {
        json!({"kind": "fact", "project": world.project(), "key": key, "value": value}).to_string() + "\n"
    };
    let lines = [("package manager", "npm"), ("Package  Manager", "bun")].map(line).concat();
    let file = world.path("facts.jsonl");
    std::fs::write(&file, lines).unwrap();
    world.text(&["import", file.to_str().unwrap()]);
    let held = fact(&world, "package manager");
    assert_eq!(world.json(&["facts"]).as_array().unwrap().len(), 1, "{}", world.text(&["facts"]));
    assert_eq!(
        (&held["value"], held["conflicts"].as_array().map(Vec::len)),
        (&json!("pnpm"), Some(2)),
        "{held}"
    );
    typed(&world, &["facts", "confirm", " PACKAGE manager"]);
    assert!(fact(&world, "package manager")["conflicts"].is_null());
}

#[test]
fn facts_that_hold_everywhere_hold_in_a_new_directory_and_their_conflicts_can_be_settled() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    typed(&world, &["facts", "--global", "set", "editor", "helix"]);
    let new = world.path("new");
    std::fs::create_dir(&new).unwrap();
    let there = |arguments: &[&str]| {
        let output = world.command(arguments).current_dir(&new).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for arguments in [&["facts"][..], &["facts", "--json"], &["search", "helix"], &["context"]] {
        assert!(there(arguments).contains("helix"), "{arguments:?}: {}", there(arguments));
    }
    assert!(there(&["search", "unheard"]).contains("There is no memory of"));
    let contended = world.data().join("remora.db");
    let sql = "INSERT INTO facts (uuid, kind, key, value, source, trust, valid_from, valid_to, created_at, updated_at)
               VALUES (randomblob(16), 'fact', 'editor', 'vim', 'agent', 0.5, 9, 9, 9, 9)";
    rusqlite::Connection::open(contended).unwrap().execute(sql, []).unwrap();
    let shown = there(&["facts"]);
    assert!(shown.contains("`remora facts --global confirm \"editor\"`"), "{shown}");
    typed(&world, &["facts", "--global", "confirm", "editor"]);
    assert!(!there(&["facts"]).contains("conflict"));
}
