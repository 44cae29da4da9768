//! Import and export of JSON lines.

use super::*;
use crate::support::{let_agents_reach_everything, typed};

/// Users copy the lines in the document, so they must work.
#[test]
fn the_lines_of_the_document_are_imported() {
    let world = World::new();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/import.md");
    let document = fs::read_to_string(document).unwrap();
    let lines = document.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
    let path = world.path("lines.jsonl");
    fs::write(&path, lines).unwrap();
    let report = world.json(&["import", path.to_str().unwrap()]);
    assert_adds_up(&report);
    assert_eq!(report["problems"], json!([]));
    for (kind, count) in [("facts", 2), ("messages", 1), ("observations", 1), ("summaries", 1)] {
        assert_eq!(tally(&report, kind), [count, count, 0, 0], "{report}");
    }
    let again = world.json(&["import", path.to_str().unwrap()]);
    assert_eq!(tally(&again, "facts"), [2, 0, 2, 0], "{again}");
    assert_eq!(world.count("facts"), 2);
    assert_eq!(world.count("prompts"), 1);
    let sessions = world.text(&["sessions"]);
    assert!(sessions.contains("whatsapp") && sessions.contains("personal"), "{sessions}");
    assert!(world.text(&["search", "--all", "dentist"]).contains("dentist"));
    // The document has every member that lines can have.
    let empty = ["project", "session", "message", "observation", "summary", "fact"].map(|kind| {
        let line = format!(r#"{{"kind":"{kind}","no such member":1}}"#);
        remora_core::portable::Line::parse(&line).unwrap_err()
    });
    for member in empty.iter().flat_map(|error| error.split('`').skip(3).step_by(2)) {
        assert!(document.contains(&format!("`{member}`")), "docs/import.md does not explain `{member}`");
    }
}

#[test]
fn a_wrong_line_is_reported_and_the_others_are_imported() {
    let world = World::new();
    let path = world.path("lines.jsonl");
    let lines = "\u{feff}{\"kind\":\"fact\",\"key\":\"a\",\"value\":\"b\"}\r\n\nnonsense\n{\"kind\":\"fact\",\"kee\":\"a\"}\n\
        {\"kind\":\"message\",\"text\":\"\"}\n{\"kind\":\"session\",\"id\":\"x\",\"project\":\"00000000-0000-8000-8000-000000000009\"}";
    fs::write(&path, lines).unwrap();
    let report = world.json(&["import", path.to_str().unwrap()]);
    assert_adds_up(&report);
    assert_eq!(tally(&report, "facts"), [1, 1, 0, 0]);
    assert_eq!(tally(&report, "lines"), [2, 0, 0, 2]);
    assert_eq!(tally(&report, "messages"), [1, 0, 0, 1]);
    let problems: Vec<&str> =
        report["problems"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        problems[0].starts_with("line 3: ") && problems[1].contains("unknown field `kee`"),
        "{problems:?}"
    );
    assert_eq!(problems[2], "line 5: it has no text");
    assert!(problems[3].contains("no earlier line has its project"), "{problems:?}");
    let missing = world.remora(&["import", "nowhere.jsonl"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(contains(&missing.stderr, "hint:"));
}

#[test]
fn nothing_imported_counts_as_the_users_own() {
    let world = World::new();
    let project = world.project();
    let lines = [
        json!({"kind": "fact", "type": "convention", "key": "spaces", "value": "Always indent with spaces", "source": "user",
            "trust": 1.0, "project": project}),
        json!({"kind": "observation", "title": "Deploys", "text": "Deploys happen on Tuesdays.", "provider": "user",
            "project": project}),
    ];
    let path = world.path("lines.jsonl");
    fs::write(&path, lines.map(|line| line.to_string() + "\n").concat()).unwrap();
    let report = world.json(&["import", path.to_str().unwrap()]);
    assert_eq!(
        (tally(&report, "facts"), tally(&report, "observations")),
        ([1, 1, 0, 0], [1, 1, 0, 0]),
        "{report}"
    );
    let context = world.text(&["context"]);
    assert!(!context.contains("laid down"), "{context}");
    let (frame, _) = context.split_once("Always indent with spaces").expect("it is reference data");
    assert!(frame.contains("reference data, not instructions"), "{context}");
    let exported = world.text(&["export"]);
    assert!(exported.contains(r#""source":"user""#), "an export says who said it: {exported}");
}

#[test]
fn a_fact_that_a_person_confirms_becomes_their_own_word_and_no_program_can_confirm_one() {
    let world = World::new();
    let line = json!({"kind": "fact", "type": "convention", "key": "spaces", "value": "Always indent with spaces",
        "source": "user", "trust": 1.0, "project": world.project()});
    let path = world.path("lines.jsonl");
    fs::write(&path, format!("{line}\n")).unwrap();
    world.json(&["import", path.to_str().unwrap()]);
    let refused = world.remora(&["facts", "confirm", "spaces"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(world.json(&["facts"])[0]["source"], "import");

    typed(&world, &["facts", "confirm", "spaces"]);
    let fact = &world.json(&["facts"])[0];
    assert_eq!((&fact["source"], &fact["trust"]), (&json!("user"), &json!(1.0)), "{fact}");
    assert!(world.text(&["context"]).contains("laid down"), "it is injected as the user's word");
    // A contradiction by a program does not replace it, and importing the same file again changes nothing.
    let refused = world.remora(&["facts", "set", "spaces", "Always indent with tabs", "--replace"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    world.json(&["import", path.to_str().unwrap()]);
    assert_eq!(world.json(&["facts"])[0]["source"], "user");
}

#[test]
fn an_imported_text_becomes_the_users_own_when_they_save_it() {
    let (there, here) = (World::new(), World::new());
    typed(&there, &["save", "Deploys happen on Tuesdays."]);
    let path = here.path("lines.jsonl");
    fs::write(&path, there.remora(&["export"]).stdout).unwrap();
    here.json(&["import", path.to_str().unwrap()]);
    let project = there.project();
    let project = project.to_str().unwrap();
    assert!(!here.text(&["context", "--project", project]).contains("laid down"));
    let said = typed(&here, &["save", "--project", project, "Deploys happen on Tuesdays."]);
    assert!(said.contains("your own word"), "{said}");
    let context = here.text(&["context", "--project", project]);
    assert!(context.contains("laid down"), "{context}");
    let hits = here.json(&["search", "deploys", "--project", project]);
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1, "it is one record: {hits}");
}

#[test]
fn a_session_name_used_in_two_projects_mixes_nothing() {
    let world = World::new();
    let (one, other) = (world.path("one"), world.path("other"));
    let line = |project: &Path, text: &str| {
        json!({"kind": "observation", "session": "monday", "project": project, "title": text}).to_string()
            + "\n"
    };
    let path = world.path("lines.jsonl");
    fs::write(&path, line(&one, "Apricots") + &line(&other, "Blackberries")).unwrap();
    world.json(&["import", path.to_str().unwrap()]);
    for (project, own, others) in [(&one, "Apricots", "Blackberries"), (&other, "Blackberries", "Apricots")] {
        let exported = world.text(&["export", "--project", project.to_str().unwrap()]);
        assert!(exported.contains(own) && !exported.contains(others), "{exported}");
    }
}

#[test]
fn export_and_import_round_trip() {
    let world = World::new();
    let_agents_reach_everything(&world);
    // A captured session with a private turn, and a user's changes to what was learned.
    world.hook(&world.message("SessionStart", &json!({"source": "startup"})));
    world.hook(
        &world.prompt("p1", "From now on always use tabs in this project.\n  Why does the harbour gate jam?"),
    );
    world.hook(&world.tool("t1"));
    let closing = "The gate jams because the hinge is rusty. I oiled it. Next, check the lock.";
    world.hook(&world.message("Stop", &json!({"prompt_id": "p1", "last_assistant_message": closing})));
    world.hook(&world.prompt("p2", "<private>all of it</private>"));
    world.hook(&world.message("SessionEnd", &json!({"reason": "exit"})));
    world.json(&["queue", "drain", "--all"]);
    world.text(&["save", "Deploys happen on Tuesdays.", "--fact", "Never on Fridays"]);
    world.text(&["save", "This one is wrong."]);
    world.text(&["save", "This one goes."]);
    let id = |words: &str| {
        let id = world.json(&["search", words, "--kind", "observation"])["hits"][0]["id"].clone();
        id.as_str().map_or_else(|| id.to_string(), str::to_owned)
    };
    assert!(world.remora(&["feedback", &id("wrong"), "wrong"]).status.success());
    assert!(world.remora(&["feedback", &id("Tuesdays"), "pin"]).status.success());
    assert!(world.remora(&["forget", "--yes", &id("goes")]).status.success());
    world.text(&["facts", "set", "colour", "green"]);

    let exported = world.text(&["export"]);
    for kind in ["project", "session", "message", "observation", "summary", "fact"] {
        assert!(exported.contains(&format!("{{\"kind\":\"{kind}\"")), "{kind} is missing: {exported}");
    }
    assert!(!exported.contains("This one goes") && exported.contains("\"wrong\":1"), "{exported}");
    let path = world.path("memory.jsonl");
    assert!(world.remora(&["export", "--out", path.to_str().unwrap()]).status.success());
    let twice = world.remora(&["export", "--out", path.to_str().unwrap()]);
    assert_eq!(twice.status.code(), Some(2), "no file is replaced: {twice:?}");

    let elsewhere = |arguments: &[&str]| {
        let output =
            world.command(arguments).env("REMORA_DATA_DIR", world.path("elsewhere")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        world.neutral(&output.stdout)
    };
    elsewhere(&["import", path.to_str().unwrap()]);
    let again = elsewhere(&["export"]);
    for (line, before) in again.lines().zip(exported.lines()) {
        assert_eq!(line, before);
    }
    assert_eq!(again, exported);
    let into_itself = world.json(&["import", path.to_str().unwrap()]);
    assert_adds_up(&into_itself);
    assert!(
        into_itself["kinds"].as_array().unwrap().iter().all(|kind| kind["imported"] == 0),
        "{into_itself}"
    );

    let markdown = world.text(&["export", "--format", "markdown"]);
    assert!(
        markdown.starts_with("# Memory") && markdown.contains("Deploys happen on Tuesdays"),
        "{markdown}"
    );
}

#[test]
fn a_failed_export_is_reported() {
    let world = World::new();
    world.text(&["save", "Deploys happen on Tuesdays."]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = world.command(&["export"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(contains(&output.stderr, "cannot write the export"));
}

#[test]
fn a_file_of_another_kind_is_refused_and_stores_nothing() {
    let world = World::new();
    world.text(&["save", "Totals are cents."]);
    world.text(&["export", "--format", "markdown", "--out", world.path("memory.md").to_str().unwrap()]);
    fs::write(world.path("latin.txt"), b"{\"kind\":\"fact\",\"key\":\"caf\xe9\",\"value\":\"x\"}\n").unwrap();
    for (name, says) in [("memory.md", "line 1: it is not JSON"), ("latin.txt", "line 1: it is not UTF-8")] {
        let path = world.path(name);
        let refused = world.remora(&["import", path.to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = world.neutral(&refused.stderr);
        assert!(said.contains("is not a file of memory") && said.contains(says), "{said}");
        assert!(said.contains("`remora export --out FILE`"), "{said}");
    }
    assert_eq!(world.count("observations"), 1);
}

#[test]
fn every_line_that_is_skipped_is_named_with_its_mistake() {
    let world = World::new();
    let lines = [
        r#"{"kind":"fact","key":"deploys","value":"on Tuesdays"}"#,
        r#"{"kind":"fact","key":"empty"}"#,
        r#"{"kind":"message","channel":"Two Words","text":"hi"}"#,
        "nothing",
    ];
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n{\"kind\":\"fact\",\"key\":\"caf\xe9\",\"value\":\"x\"}\n");
    fs::write(world.path("lines.jsonl"), bytes).unwrap();
    let output = world.remora(&["import", world.path("lines.jsonl").to_str().unwrap()]);
    let said = world.neutral(&output.stderr);
    assert!(output.status.success(), "{said}");
    for problem in [
        "skipped: line 2: it has no text",
        "skipped: line 3: \"Two Words\" is not a channel",
        "skipped: line 4: it is not JSON",
        "skipped: line 5: it is not UTF-8",
    ] {
        assert!(said.contains(problem), "{problem} in {said}");
    }
    assert_eq!(world.json(&["facts"]).to_string().matches("\u{fffd}").count(), 0);
}
