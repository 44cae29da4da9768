//! Forgotten records are in no file, and do not come back.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client;
use crate::daemon::{Background, turn};
use crate::install::Terminal;
use crate::pages::send_from_page;
use crate::support::{World, contains, let_agents_reach_everything, try_typed, typed};

/// Files below the data directory and the project that contain the text, ignoring case.
pub(crate) fn files_with(world: &World, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![world.data(), world.project()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path)
                && contains(&bytes.to_ascii_lowercase(), &text.to_lowercase())
            {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

fn is_named(paths: &[String], part: &str) -> bool {
    paths.iter().any(|path| path.contains(part))
}

/// A message in a turn of a session.
fn message(world: &World, session: &str, turn: usize, event: &str, more: &Value) -> Value {
    let mut message = world.message(event, more);
    message["session_id"] = json!(session);
    message["prompt_id"] = json!(format!("{session}-{turn}"));
    message
}

/// Sessions whose turns have the phrases in every place that a hook can store.
fn story(world: &World, phrases: &[String]) -> Vec<Value> {
    let mut messages = Vec::new();
    for (number, five) in phrases.chunks(5).enumerate() {
        let session = format!("story-{}", number / 3);
        let mut push = |event: &str, more: &Value| {
            messages.push(message(world, &session, number, event, more));
        };
        push(
            "UserPromptSubmit",
            &json!({"prompt": format!("Why does the {} fail when it rains over the bridge?", five[0])}),
        );
        push(
            "PostToolUseFailure",
            &json!({"tool_name": "Bash", "tool_use_id": format!("run-{number}"),
                "tool_input": {"command": format!("make \"{}\"", five[1])},
                "error": format!("Exit code 2\nundefined reference to {}", five[1])}),
        );
        push(
            "PostToolUse",
            &json!({"tool_name": "Edit", "tool_use_id": format!("edit-{number}"),
                "tool_input": {"file_path": format!("/p/src/{}/lib.rs", five[2]), "old_string": "a", "new_string": five[2]},
                "tool_response": {"filePath": format!("/p/src/{}/lib.rs", five[2]), "structuredPatch": []}}),
        );
        push(
            "Stop",
            &json!({"last_assistant_message": format!(
                "The cause was the {}: it was read before it was written. I decided to lock it first.\nNext: tell {} about it.",
                five[3], five[3])}),
        );
        push(
            "UserPromptSubmit",
            &json!({"prompt_id": format!("{session}-{number}-rule"),
                "prompt": format!("From now on always use {} for the tests in this project.", five[4])}),
        );
        push(
            "Stop",
            &json!({"prompt_id": format!("{session}-{number}-rule"),
            "last_assistant_message": "Noted: the tests will use that from now on."}),
        );
    }
    messages
}

/// Events that are not observed yet, each with one phrase: two in a tool's output, one in a model's answer,
/// one in a transcript, and one in the spool.
fn queued(world: &World, phrases: &[String]) -> Vec<Value> {
    let database = || rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    let mut messages = Vec::new();
    for (number, phrase) in phrases.iter().enumerate() {
        let column = [None, None, Some("status = 'failed', last_error"), Some("heard"), None][number];
        let printed = if column.is_none() { phrase } else { "nothing" };
        let more = json!({"tool_name": "Bash", "tool_use_id": format!("q-{number}"),
            "tool_input": {"command": "cat notes"},
            "tool_response": {"stdout": format!("it says \"{printed}\"\n"), "stderr": "", "interrupted": false}});
        let event = message(world, "queue", 1, "PostToolUse", &more);
        if number == 4 {
            let busy = database();
            busy.execute_batch("BEGIN EXCLUSIVE").unwrap();
            world.hook(&event);
            busy.execute_batch("ROLLBACK").unwrap();
        } else {
            world.hook(&event);
        }
        if let Some(column) = column {
            let last = "(SELECT max(id) FROM pending_messages)";
            let sql = format!("UPDATE pending_messages SET {column} = ?1 WHERE id = {last}");
            let text = json!({"said": [{"text": phrase, "at": null}], "closing": null, "digest": null, "running": null});
            assert_eq!(database().execute(&sql, [text.to_string()]).unwrap(), 1);
        }
        messages.push(event);
    }
    messages
}

/// Whichever part was ignored, more might go than was meant.
#[test]
fn ids_with_conditions_are_refused_through_every_door() {
    let background = Background::new();
    let world = &background.world;
    world.text(&["save", "The prompt of the shell shows the branch."]);
    for more in [["--file", "a.rs"], ["--session", "1"], ["--from", "yesterday"], ["--to", "yesterday"]] {
        let output = world.remora(&[&["forget", "--yes", "1"][..], &more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}: {output:?}");
    }
    let client = client::start(&background);
    for more in ["topic", "file", "session", "dateFrom", "dateTo"] {
        let mut body = json!({"ids": ["1"], "confirm": true});
        body[more] = json!("yesterday");
        assert_eq!(client.post("/api/v1/forget", &body).status, 422, "{more}");
    }
    assert_eq!(world.count("observations"), 1);
    world.text(&["forget", "--yes", "obs_1_narrative"]);
    assert_eq!(world.count("observations"), 0, "every id that search prints is an id");
}

#[test]
fn fifty_forgotten_phrases_are_found_in_no_file_and_do_not_come_back() {
    let world = World::new();
    let_agents_reach_everything(&world);
    let phrases: Vec<String> = (0..50).map(|number| format!("Zorbal{number:02} quendrith")).collect();
    let (told, rest) = phrases.split_at(40);
    let mut messages = story(&world, told);
    for message in &messages {
        world.hook(message);
    }
    world.text(&["queue", "drain", "--all"]);
    let mut saved = String::new();
    for phrase in &rest[..5] {
        saved = world.text(&[
            "save",
            &format!("Remember that the {phrase} must stay closed."),
            "--title",
            phrase,
        ]);
    }
    // Then the phrase is only in an earlier version.
    world.text(&["edit", saved.trim(), "--title", "Something else", "--narrative", "It may be opened."]);
    world.text(&["context-files", "enable", "--claude-md"]);
    // A prompt about it, so that its injection is logged.
    let asked = message(
        &world,
        "later",
        1,
        "UserPromptSubmit",
        &json!({"prompt": format!("What about the {}?", told[3])}),
    );
    world.hook(&asked);
    messages.push(asked);
    world.text(&["backup"]);
    // Creates a database that was set aside.
    world.text(&["restore", "--yes"]);
    messages.extend(queued(&world, &rest[5..]));
    for phrase in &phrases {
        let files = files_with(&world, phrase);
        assert!(!files.is_empty(), "{phrase} was never stored");
    }
    let places: Vec<String> = phrases.iter().flat_map(|phrase| files_with(&world, phrase)).collect();
    for part in ["remora.db", "backups/", "remora.db.replaced-", "CLAUDE.md", "spool"] {
        assert!(is_named(&places, part), "{part}: {places:?}");
    }
    for phrase in &phrases {
        let arguments = ["forget", "--all", "--topic", phrase, "--similar", "2", "--yes", "--now", "--json"];
        // As a person, because rules of the user are among it.
        let output = try_typed(&world, &arguments);
        if output.ends_with("exit 1\n") {
            // Already erased, with a turn that had another phrase, too.
            assert_eq!(files_with(&world, phrase), [""; 0], "{phrase}");
            continue;
        }
        let forgotten: Value =
            serde_json::from_str(output.trim_end_matches("exit 0\n")).unwrap_or_else(|_| panic!("{output}"));
        assert_eq!(forgotten["erased"]["left"], json!([]), "{phrase}");
        assert_eq!(forgotten["erased"]["removed"], json!([]), "{phrase}");
    }
    let found = |phrase: &str| {
        let word = phrase.split(' ').next().unwrap();
        [files_with(&world, phrase), files_with(&world, word)].concat()
    };
    for phrase in &phrases {
        assert_eq!(found(phrase), [""; 0], "{phrase}");
    }
    let before = world.json(&["status"])["counts"].clone();
    for message in &messages {
        world.hook(message);
    }
    world.text(&["queue", "drain", "--all"]);
    for phrase in &phrases {
        assert_eq!(found(phrase), [""; 0], "{phrase} came back");
    }
    assert_eq!(world.json(&["status"])["counts"]["observations"], before["observations"]);
    assert!(world.text(&["verify"]).contains("sound"));
    for backup in world.json(&["backup", "list"]).as_array().unwrap() {
        assert!(world.text(&["verify", backup["path"].as_str().unwrap()]).contains("sound"));
    }
    let audit: String = rusqlite::Connection::open(world.data().join("remora.db"))
        .unwrap()
        .query_row(
            "SELECT detail FROM audit_log WHERE action = 'forget' ORDER BY id DESC LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(audit.contains("by topic"), "{audit}");
}

/// The result of a keyword search in all projects.
fn search(world: &World, query: &str) -> Value {
    let output = world.remora(&["search", query, "--all", "--mode", "text", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// The memory as a user sees it, without times and without counters that reading changes.
fn visible(world: &World) -> Vec<Value> {
    let hits = |query: &str| {
        let found = search(world, query);
        let hits = found["hits"].as_array().unwrap().iter();
        // Equally good hits are ordered by document, and the documents are new.
        let mut hits: Vec<String> = hits.map(|hit| format!("{} {}", hit["id"], hit["title"])).collect();
        hits.sort();
        json!(hits)
    };
    let status = world.json(&["status"]);
    vec![
        status["counts"].clone(),
        hits("wrong index"),
        hits("fix bug 2"),
        hits("one"),
        world.json(&["queue"])["events"].clone(),
        world.json(&["retrievals"]),
    ]
}

#[test]
fn undo_restores_everything_including_search() {
    let world = World::new();
    let_agents_reach_everything(&world);
    for number in 1..=4 {
        turn(&world, "one", number, |message| world.hook(message));
    }
    world.text(&["queue", "drain"]);
    turn(&world, "two", 2, |message| world.hook(message));
    let before = visible(&world);
    assert!(before[1].as_array().unwrap().len() > 2, "{before:?}");
    for what in [
        &["--topic", "bug 2"][..],
        &["--session", "one"],
        &["--everything"],
        &["1", "t2", "s1"],
        &["--file", "a.rs"],
    ] {
        let plan = world.json(&[&["forget", "--dry-run"], what].concat());
        assert_eq!(visible(&world), before, "a dry run changes nothing");
        assert!(!plan["plan"]["records"].as_array().unwrap().is_empty(), "{what:?}: {plan}");
        let forgotten = world.json(&[&["forget", "--yes"], what].concat());
        assert_eq!(forgotten["plan"]["records"], plan["plan"]["records"]);
        assert_ne!(visible(&world), before, "{what:?}");
        for record in plan["plan"]["records"].as_array().unwrap() {
            let found = search(&world, "bug").to_string();
            let id = format!("\"id\":{}", record["id"]);
            assert!(!found.contains(&id), "{what:?}: {id} in {found}");
        }
        assert_eq!(world.json(&["forget", "list"]).as_array().unwrap().len(), 1);
        world.text(&["forget", "undo"]);
        assert_eq!(visible(&world), before, "{what:?}");
        assert!(world.text(&["verify"]).contains("sound"));
        assert_eq!(world.remora(&["forget", "undo"]).status.code(), Some(1), "once");
    }
}

#[test]
fn forgotten_records_are_purged_by_the_next_command_once_due() {
    let world = World::new();
    let_agents_reach_everything(&world);
    for number in 1..=3 {
        turn(&world, "one", number, |message| world.hook(message));
    }
    world.text(&["queue", "drain"]);
    world.text(&["forget", "--all", "bug 2", "--similar", "2", "--yes"]);
    assert!(!files_with(&world, "bug 2").is_empty(), "it can still be undone");
    let database = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    assert_eq!(database.execute("UPDATE forgettings SET purge_at = 1", []).unwrap(), 1);
    drop(database);
    assert_eq!(world.remora(&["forget", "undo"]).status.code(), Some(1), "too late");
    world.text(&["status"]);
    assert_eq!(files_with(&world, "bug 2"), [""; 0]);
    assert_eq!(world.count("observations"), 2);
}

#[test]
fn a_backup_kept_elsewhere_does_not_restore_forgotten_records() {
    let world = World::new();
    let_agents_reach_everything(&world);
    for number in 1..=3 {
        turn(&world, "one", number, |message| world.hook(message));
    }
    // The events are not observed yet when the backup is made.
    let copy = world.path("copy.db");
    world.text(&["backup", "--to", copy.to_str().unwrap()]);
    world.text(&["queue", "drain"]);
    let id = world.json(&["search", "bug 3", "--kind", "observation"])["hits"][0]["id"].clone();
    world.text(&["forget", "bug 2", "--yes", "--now", "--all"]);
    world.text(&["forget", id.as_str().unwrap(), "--yes", "--now"]);
    world.text(&["restore", "--yes", copy.to_str().unwrap()]);
    world.text(&["queue", "drain", "--all"]);
    let shown = world.json(&["search", "bug", "--all"]).to_string();
    assert!(shown.contains("ug 1 of one") && !shown.contains("ug 2 of one"), "{shown}");
    let observations: Vec<String> = world.json(&["search", "bug", "--all", "--kind", "observation"])["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["title"].to_string())
        .collect();
    assert!(!observations.iter().any(|title| title.contains("ug 3")), "{observations:?}");
    world.text(&["status"]);
    assert_eq!(files_with(&world, "ug 2 of one"), [""; 0]);
}

#[test]
fn neighbours_and_other_projects_keep_their_records() {
    let world = World::new();
    let_agents_reach_everything(&world);
    for number in 1..=3 {
        turn(&world, "one", number, |message| world.hook(message));
    }
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    turn(&world, "two", 2, |message| {
        let mut message = message.clone();
        message["cwd"] = json!(elsewhere);
        world.hook(&message);
    });
    world.text(&["queue", "drain"]);
    let counts = |world: &World| world.json(&["status"])["counts"].clone();
    let before = counts(&world);
    world.text(&["forget", "bug 2", "--similar", "2", "--yes", "--now"]);
    let after = counts(&world);
    assert_eq!(after["observations"], before["observations"].as_i64().unwrap() - 1);
    let found = world.json(&["search", "bug 2", "--all", "--mode", "text"]).to_string();
    assert!(found.contains("Bug 2 of two") && !found.contains("ug 2 of one"), "{found}");
    let database = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    let sql = "SELECT count(*) FROM documents WHERE concat(title, body, prompt, before, after) LIKE '%ug 2 of one%'";
    let left: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "no neighbour mentions it");
    assert_eq!(files_with(&world, "ug 2 of one"), [""; 0]);
}

#[test]
fn nothing_is_forgotten_without_a_plan_and_confirmation() {
    let world = World::new();
    turn(&world, "one", 1, |message| world.hook(message));
    world.text(&["queue", "drain"]);
    let unasked = world.remora(&["forget", "bug 1"]);
    assert_eq!(unasked.status.code(), Some(2));
    assert!(contains(&unasked.stdout, "bug 1 of one"), "{unasked:?}");
    assert!(contains(&unasked.stderr, "`--yes`"), "{unasked:?}");
    for (arguments, code) in [
        (&["forget", "--yes"][..], 2),
        (&["forget", "xy", "--yes"], 2),
        (&["forget", "77", "--yes"], 1),
        (&["forget", "--all", "no such words", "--yes"], 1),
        (&["forget", "--all", "--everything", "--yes"], 2),
        (&["forget", "--from", "nonsense", "--yes"], 2),
    ] {
        let refused = world.remora(arguments);
        assert_eq!(refused.status.code(), Some(code), "{arguments:?}: {refused:?}");
        assert!(contains(&refused.stderr, "error:"), "{refused:?}");
    }
    assert_eq!(world.count("observations"), 1);
}

#[test]
fn forgetting_needs_a_typed_yes_at_a_terminal() {
    let world = World::new();
    let id = world.text(&["save", "The harbour gate opens at dawn only."]);
    for (answer, is_kept) in [("\n", true), ("y\n", false)] {
        let mut terminal = Terminal::start(&world, &["forget", id.trim()]);
        terminal.wait_for("Forget this? [y/N]");
        terminal.say(answer);
        terminal.end();
        assert_eq!(world.remora(&["search", "harbour"]).status.success(), is_kept, "{answer:?}");
    }
    let id = world.text(&["save", "The harbour office closes at noon."]);
    // JSON is for programs, which do not answer.
    let shown = Terminal::start(&world, &["forget", "--json", id.trim()]).end();
    assert!(shown.contains("`--yes`") && !shown.contains("[y/N]"), "{shown}");
}

#[test]
fn an_agent_cannot_save_forgotten_text_again() {
    let world = World::new();
    let text = "The harbour gate opens at dawn only.";
    let id = world.text(&["save", text]);
    world.text(&["forget", id.trim(), "--yes", "--now"]);
    let again = world.remora(&["save", text]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert_eq!(files_with(&world, "harbour gate"), [""; 0]);
}

#[test]
fn a_forgotten_note_is_not_read_again_and_its_file_stays() {
    let world = World::new();
    let vault = world.path("vault");
    fs::create_dir(&vault).unwrap();
    fs::write(vault.join("plan.md"), "# Plan\n\nThe quendrith opens in May.\n").unwrap();
    fs::write(vault.join("other.md"), "# Other\n\nNothing of interest.\n").unwrap();
    world.text(&["config", "set", "memory.obsidian_vault", vault.to_str().unwrap()]);
    world.text(&["notes", "sync"]);
    assert!(!files_with(&world, "quendrith").is_empty());
    typed(&world, &["forget", "quendrith", "--all", "--yes", "--now", "--similar", "2"]);
    assert_eq!(files_with(&world, "quendrith"), [""; 0]);
    fs::write(vault.join("plan.md"), "# Plan\n\nThe quendrith opens in June.\n").unwrap();
    world.text(&["notes", "sync"]);
    assert_eq!(files_with(&world, "quendrith"), [""; 0]);
    assert!(Path::new(&vault.join("plan.md")).exists());
}

#[test]
fn forgetting_over_http_is_a_dry_run_until_confirmed() {
    let background = Background::new();
    let world = &background.world;
    for number in 1..=3 {
        turn(world, "one", number, |message| world.hook(message));
    }
    world.text(&["queue", "drain"]);
    world.text(&["backup"]);
    let client = client::start(&background);
    let ask = |more: &Value| {
        let mut body = json!({"project": "all", "topic": "bug 2", "threshold": 2});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post("/api/v1/forget", &body)
    };
    let plan = ask(&json!({})).json();
    assert_eq!((&plan["dry_run"], plan["forgotten"].is_null()), (&json!(true), true), "{plan}");
    assert_eq!(world.count("observations"), 3);
    let done = ask(&json!({"confirm": true})).json();
    assert_eq!(done["dry_run"], false, "{done}");
    assert_eq!(world.count("observations"), 2);
    let undone = client.post("/api/v1/forget/undo", &json!({}));
    assert_eq!(undone.status, 200, "{undone:?}");
    assert_eq!(world.count("observations"), 3);
    assert_eq!(client.post("/api/v1/forget/undo", &json!({})).status, 404);
    let done = ask(&json!({"confirm": true, "now": true})).json();
    assert_eq!(done["erased"]["left"], json!([]), "{done}");
    assert_eq!(files_with(world, "bug 2"), [""; 0]);
    for (body, status) in [
        (json!({"project": "all"}), 422),
        (json!({"topic": "bug 1"}), 422),
        (json!({"ids": ["1"], "topic": "bug 1"}), 422),
        (json!({"project": "all", "topic": "no such words", "threshold": 2, "confirm": true}), 404),
        (json!({"ids": ["77"], "confirm": true}), 404),
    ] {
        assert_eq!(client.post("/api/v1/forget", &body).status, status, "{body}");
    }
}

#[test]
fn the_daemon_erases_forgotten_records_once_due() {
    let background = Background::new();
    let world = &background.world;
    let_agents_reach_everything(world);
    for number in 1..=3 {
        turn(world, "one", number, |message| world.hook(message));
    }
    world.text(&["queue", "drain"]);
    client::start(&background);
    world.text(&["forget", "--all", "bug 2", "--similar", "2", "--yes"]);
    let database = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    database.execute("UPDATE forgettings SET purge_at = 1", []).unwrap();
    drop(database);
    // A hook wakes the daemon.
    world.hook(&world.prompt("p9", "Something else entirely"));
    background.wait_quietly("the end of it", || files_with(world, "bug 2").is_empty());
    assert_eq!(world.count("observations"), 2);
}

#[test]
fn a_topic_of_two_chinese_characters_is_accepted() {
    let world = World::new();
    world.text(&["save", "支払いは整数で計算する。", "--title", "金額"]);
    world.text(&["save", "The tests need a database."]);
    let plan = world.json(&["forget", "--dry-run", "--topic", "整数", "--similar", "2"]);
    assert_eq!(plan["plan"]["records"].as_array().unwrap().len(), 1, "{plan}");
    for short in ["整", "ab"] {
        assert_eq!(
            world.remora(&["forget", "--dry-run", "--topic", short]).status.code(),
            Some(2),
            "{short}"
        );
    }
}

#[test]
fn after_everything_was_erased_a_running_session_is_captured_from_its_next_prompt_on() {
    let background = Background::new();
    let world = &background.world;
    turn(world, "one", 1, |message| world.hook(message));
    world.text(&["queue", "drain"]);
    world.text(&["save", "The quendrith opens in May."]);
    world.text(&["context-files", "enable", "--claude-md"]);
    world.text(&["backup"]);
    let asked = json!({"prompt": "Please fix bug 2 of one"});
    world.hook(&message(world, "one", 2, "UserPromptSubmit", &asked));
    assert!(is_named(&files_with(world, "quendrith"), "CLAUDE.md"));
    let client = client::start(&background);
    let erase = |word: &str| send_from_page(&client, "POST", "/api/v1/erase", &json!({ "word": word }));
    assert_eq!(erase("yes").status, 422);
    let erased = erase("erase").json();
    assert_eq!(erased["left"], json!([]), "{erased}");
    let nothing_is_left = |when: &str| {
        for text in ["bug 1", "bug 2", "quendrith"] {
            assert_eq!(files_with(world, text), [""; 0], "{text} {when}");
        }
    };
    nothing_is_left("afterwards");
    let rest_of_the_turn = || {
        let run = json!({"tool_name": "Bash", "tool_use_id": "late", "tool_input": {"command": "make"},
            "tool_response": {"stdout": "bug 2 is gone", "stderr": "", "interrupted": false}});
        world.hook(&message(world, "one", 2, "PostToolUse", &run));
        world.hook(&message(
            world,
            "one",
            2,
            "SubagentStop",
            &json!({"agent_id": "a", "agent_type": "Explore",
            "last_assistant_message": "bug 2 was in a.rs"}),
        ));
        let told = json!({"last_assistant_message": "Bug 2 of one is fixed."});
        world.hook(&message(world, "one", 2, "Stop", &told));
    };
    rest_of_the_turn();
    world.hook(&message(world, "one", 2, "SessionStart", &json!({"source": "compact"})));
    world.text(&["queue", "drain", "--all"]);
    let counts = world.json(&["status"])["counts"].clone();
    assert_eq!(
        (&counts["sessions"], &counts["prompts"], &counts["pending"]),
        (&json!(0), &json!(0), &json!(0))
    );
    turn(world, "one", 3, |message| world.hook(message));
    // Late events of the old turn, from the background.
    rest_of_the_turn();
    world.text(&["queue", "drain", "--all"]);
    background.wait("the new turn", || world.count("observations") == 1);
    assert_eq!(world.json(&["status"])["counts"]["sessions"], 1);
    nothing_is_left("after the rest of its turn");
}

#[test]
fn a_copy_in_the_data_directory_is_refused_or_rewritten_whatever_its_name() {
    let world = World::new();
    world.text(&["save", "The quendrith hums at night."]);
    let inside = world.data().join("my-own-copy.db");
    let refused = world.remora(&["backup", "--to", inside.to_str().unwrap()]);
    assert!(contains(&refused.stderr, "is in the data directory"), "{refused:?}");
    assert!(!inside.exists());
    let elsewhere = world.path("copy.db");
    world.text(&["backup", "--to", elsewhere.to_str().unwrap()]);
    fs::copy(&elsewhere, world.data().join("by-hand.bin")).unwrap();
    let foreign = world.data().join("foreign.db");
    let other = rusqlite::Connection::open(&foreign).unwrap();
    other.execute_batch("CREATE TABLE mine (text TEXT); INSERT INTO mine VALUES ('harbour')").unwrap();
    drop(other);
    let before = fs::read(&foreign).unwrap();
    world.text(&["forget", "1", "--now", "--yes"]);
    assert_eq!(files_with(&world, "quendrith"), Vec::<String>::new());
    assert!(world.data().join("by-hand.bin").exists());
    assert_eq!(fs::read(&foreign).unwrap(), before, "a database of another program stays as it is");
}
