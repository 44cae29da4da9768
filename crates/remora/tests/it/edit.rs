//! Editing observations.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::client;
use crate::daemon::{Background, turn};
use crate::support::{World, contains, let_agents_reach_everything};

fn observed(world: &World) {
    for number in 1..=3 {
        turn(world, "one", number, |message| world.hook(message));
    }
    world.text(&["queue", "drain"]);
    assert_eq!(world.count("observations"), 3);
}

fn hits(world: &World, query: &str) -> Vec<String> {
    let output = world.remora(&["search", query, "--kind", "observation", "--mode", "text", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_text_that_is_too_long_is_cut_with_a_warning() {
    let world = World::new();
    observed(&world);
    let cut = world.remora(&["edit", "1", "--narrative", &"The lantern burns. ".repeat(4_000)]);
    assert!(contains(&cut.stderr, "bytes left out, because a memory is at most 48 KiB"), "{cut:?}");
    let title = world.remora(&["edit", "1", "--title", "Lanterns burn"]);
    assert!(!contains(&title.stderr, "left out"), "the long text is kept as it is: {title:?}");
}

#[test]
fn an_edit_is_searchable_at_once_and_can_be_undone_step_by_step() {
    let world = World::new();
    observed(&world);
    let before = world.json(&["show", "1"]);
    let edited =
        world.remora(&["edit", "#1", "--title", "The quendrith was read too early", "--type", "decision"]);
    assert!(
        contains(&edited.stderr, "`remora edit 1 --undo`"),
        "a shell takes `#1` for a comment: {edited:?}"
    );
    world.text(&[
        "edit",
        "1",
        "--narrative",
        "The lantern has to be lit first.",
        "--fact",
        "Lanterns burn for an hour",
    ]);
    // The edited observation is the first hit; a neighbour may follow it.
    assert_eq!((&*hits(&world, "quendrith")[0], &*hits(&world, "lantern")[0]), ("1", "1"));
    let edited = world.json(&["show", "1"]);
    assert_eq!(
        (&edited["type"], &edited["facts"]),
        (&json!("decision"), &json!(["Lanterns burn for an hour"]))
    );
    assert_eq!(edited["files_modified"], before["files_modified"], "other fields are unchanged");
    let history = world.json(&["edit", "1", "--history"]);
    assert_eq!(history.as_array().unwrap().len(), 2, "{history}");
    assert_eq!(history[1]["before"]["title"], before["title"]);
    world.text(&["edit", "1", "--undo"]);
    assert!(hits(&world, "lantern").is_empty());
    assert_eq!(hits(&world, "quendrith")[0], "1");
    world.text(&["edit", "1", "--undo"]);
    let shown = world.json(&["show", "1"]);
    assert_eq!(
        (&shown["title"], &shown["narrative"], &shown["facts"]),
        (&before["title"], &before["narrative"], &before["facts"])
    );
    assert_eq!(world.remora(&["edit", "1", "--undo"]).status.code(), Some(1));
    assert!(world.text(&["verify"]).contains("sound"));
}

#[test]
fn an_edit_prints_what_it_did_and_the_undo_command() {
    let world = World::new();
    observed(&world);
    let said = |arguments: &[&str]| {
        let output = world.command(arguments).env("EDITOR", "true").output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(said(&["edit", "1"]), "Nothing was changed.\n");
    assert_eq!(said(&["edit", "#1", "--title", "A trap"]), "To undo: `remora edit 1 --undo`\n");
    for wrong in [["edit", "1", "--superseded-by", "1"], ["edit", "1", "--merge", "#1"]] {
        assert!(said(&wrong).starts_with("error: observation 1 cannot replace itself\n"), "{wrong:?}");
    }
    let failed = world.command(&["edit", "1"]).env("EDITOR", "false").output().unwrap();
    let failed = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(failed.contains("the editor `false` failed") && failed.contains("hint: "), "{failed}");
}

#[test]
fn an_edit_in_the_editor_is_private_and_leaves_no_file() {
    let world = World::new();
    observed(&world);
    let editor = world.path("editor");
    fs::write(&editor, "#!/bin/sh\nstat -c %a \"$1\" >&2\nsed -i 's/^title:.*/title: Lanterns <private>and more<\\/private> first/' \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let edited = world.command(&["edit", "2"]).env("EDITOR", &editor).output().unwrap();
    assert!(edited.status.success() && contains(&edited.stderr, "600"), "{edited:?}");
    let title = world.json(&["show", "2"])["title"].to_string();
    assert!(title.contains("Lanterns") && !title.contains("and more"), "{title}");
    let left = fs::read_dir(world.data())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("edit-"));
    assert_eq!(left.count(), 0);
    assert_eq!(world.remora(&["edit", "2"]).status.code(), Some(2), "without an editor it says so");
    assert_eq!(world.remora(&["edit", "t1", "--title", "x"]).status.code(), Some(2));
    assert_eq!(world.remora(&["edit", "99", "--title", "x"]).status.code(), Some(1));
}

#[test]
fn search_shows_what_replaces_an_observation_and_a_merge_keeps_every_word() {
    let world = World::new();
    observed(&world);
    world.text(&["edit", "1", "--narrative", "The lantern of the first gate burns."]);
    world.text(&["edit", "2", "--narrative", "The lantern of the second gate smokes."]);
    world.text(&["edit", "3", "--narrative", "The lantern of the third gate is out."]);
    assert_eq!(hits(&world, "lantern").len(), 3);
    world.text(&["edit", "1", "--superseded-by", "3"]);
    let mut found = hits(&world, "lantern");
    found.sort();
    assert_eq!(found, ["2", "3"], "a superseded observation is hidden");
    world.text(&["edit", "3", "--merge", "2"]);
    assert_eq!(hits(&world, "lantern"), ["3"]);
    assert!(world.json(&["show", "3"])["facts"].to_string().contains("smokes"));
    world.text(&["edit", "3", "--undo"]);
    assert_eq!(hits(&world, "lantern").len(), 2);
    assert!(!world.json(&["show", "3"])["facts"].to_string().contains("smokes"));
    world.text(&["edit", "1", "--undo"]);
    assert_eq!(hits(&world, "lantern").len(), 3);
}

#[test]
fn earlier_versions_of_an_observation_are_forgotten_with_it() {
    let world = World::new();
    let_agents_reach_everything(&world);
    observed(&world);
    world.text(&["edit", "1", "--narrative", "The quendrith lantern burns."]);
    world.text(&["edit", "1", "--narrative", "Something else."]);
    world.text(&["forget", "--all", "quendrith lantern", "--similar", "2", "--yes", "--now"]);
    let bytes = fs::read(world.data().join("remora.db")).unwrap();
    assert!(!contains(&bytes, "quendrith"));
    assert_eq!(world.count("observations"), 3, "the edited text no longer matches, so it stays");
}

#[test]
fn over_http_an_observation_is_changed_by_its_id() {
    let background = Background::new();
    let world = &background.world;
    observed(world);
    let client = client::start(&background);
    let patch = |id: &str, body: &Value| {
        let body = body.to_string();
        let head = format!(
            "{}Content-Type: application/json\r\nContent-Length: {}\r\n",
            client.friendly(),
            body.len()
        );
        client.send("PATCH", &format!("/api/v1/observations/{id}"), &head, body.as_bytes())
    };
    let changed = patch("1", &json!({"title": "Lanterns first", "type": "decision"}));
    assert_eq!((changed.status, &changed.json()["title"]), (200, &json!("Lanterns first")));
    assert_eq!(client.list("/api/v1/observations/1/revisions")["revisions"][0]["action"], "edit");
    assert_eq!(client.post("/api/v1/observations/1/undo", &json!({})).status, 200);
    assert_eq!(client.post("/api/v1/observations/1/undo", &json!({})).status, 404);
    assert_eq!(patch("1", &json!({"merge": ["2"]})).status, 200);
    assert_eq!(patch("2", &json!({"superseded_by": "3"})).status, 200);
    for (id, body, status) in [
        ("1", json!({}), 422),
        ("1", json!({"title": "x", "merge": ["2"]}), 422),
        ("1", json!({"type": "rumour"}), 422),
        ("1", json!({"superseded_by": "1"}), 422),
        ("99", json!({"title": "x"}), 404),
    ] {
        assert_eq!(patch(id, &body).status, status, "{id} {body}");
    }
}

#[test]
fn the_last_word_on_what_replaces_what_counts_and_no_cycle_hides_records() {
    let world = World::new();
    observed(&world);
    for (id, gate) in [("1", "first"), ("2", "second"), ("3", "third")] {
        world.text(&["edit", id, "--narrative", &format!("The lantern of the {gate} gate burns.")]);
    }
    let superseded = |id: &str| world.json(&["show", id])["superseded_by"].clone();
    world.text(&["edit", "1", "--superseded-by", "2"]);
    world.text(&["edit", "2", "--superseded-by", "3"]);
    assert_eq!(hits(&world, "lantern"), ["3"]);
    // 1 is what 3 is replaced by, although it was replaced by 2, which 3 replaced.
    world.text(&["edit", "3", "--superseded-by", "1"]);
    assert_eq!([superseded("1"), superseded("2"), superseded("3")], [json!(null), json!("3"), json!("1")]);
    assert_eq!(hits(&world, "lantern"), ["1"]);
    // The undo of either restores both.
    for id in ["1", "3"] {
        world.text(&["edit", id, "--undo"]);
        assert_eq!(
            [superseded("1"), superseded("2"), superseded("3")],
            [json!("2"), json!("3"), json!(null)]
        );
        world.text(&["edit", "3", "--superseded-by", "1"]);
    }
    // The same with a merge.
    world.text(&["edit", "3", "--merge", "1"]);
    assert_eq!([superseded("1"), superseded("3")], [json!("3"), json!(null)]);
    world.text(&["edit", "3", "--undo"]);
    assert_eq!([superseded("1"), superseded("3")], [json!(null), json!("1")]);
}

#[test]
fn a_change_that_is_made_twice_is_one_step_and_an_undo_is_a_change() {
    let world = World::new();
    observed(&world);
    let said = |arguments: &[&str]| {
        let output = world.remora(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let steps = |id: &str| world.json(&["edit", id, "--history"]).as_array().unwrap().len();
    for change in [["edit", "1", "--merge", "2"], ["edit", "1", "--superseded-by", "3"]] {
        assert_ne!(said(&change), "Nothing was changed.\n");
        let before = (steps("1"), steps("2"), steps("3"));
        assert_eq!(said(&change), "Nothing was changed.\n");
        assert_eq!((steps("1"), steps("2"), steps("3")), before);
    }
    assert_eq!(said(&["edit", "1", "--undo"]), "");
    assert_eq!(said(&["edit", "1", "--undo"]), "");
    assert_eq!(
        (steps("1"), steps("2"), world.json(&["show", "2"])["superseded_by"].clone()),
        (0, 0, Value::Null)
    );
}

#[test]
fn a_record_says_what_replaces_it_and_what_it_replaces() {
    let background = Background::new();
    let world = &background.world;
    observed(world);
    world.text(&["edit", "1", "--superseded-by", "3"]);
    assert!(world.text(&["show", "1"]).contains("superseded by 3"), "{}", world.text(&["show", "1"]));
    assert!(world.text(&["show", "3"]).contains("replaces   1"), "{}", world.text(&["show", "3"]));
    assert_eq!(world.json(&["show", "1"])["superseded_by"], "3");
    assert_eq!(world.json(&["show", "3"])["replaces"], json!([1]));
    assert!(world.text(&["timeline", "1"]).contains("(superseded by 3)"));
    let client = client::start(&background);
    let listed = client.list("/api/observations?ids=1");
    assert_eq!(listed["items"][0]["superseded_by"], "3", "{listed}");
    let timeline = client.list("/api/timeline?anchor=1");
    assert!(
        timeline["items"].as_array().unwrap().iter().any(|item| item["superseded_by"] == "3"),
        "{timeline}"
    );
}

#[test]
fn an_observation_is_not_replaced_by_one_of_another_project() {
    let world = World::new();
    let_agents_reach_everything(&world);
    observed(&world);
    let other = world.path("other");
    fs::create_dir(&other).unwrap();
    let saved = world.command(&["save", "Tides are high."]).current_dir(&other).output().unwrap();
    let id = String::from_utf8_lossy(&saved.stdout).trim().to_owned();
    let refused = world.remora(&["edit", "1", "--superseded-by", &id]);
    assert!(contains(&refused.stderr, "are of different projects"), "{refused:?}");
    assert_eq!(world.json(&["show", "1"])["superseded_by"], Value::Null);
}
