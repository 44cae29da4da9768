//! Search with the real program, with and without a daemon.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use remora_core::memory::ObservationType;
use remora_core::privacy::{Draft, SavedText};
use remora_core::time::Time;
use remora_store::{DataDir, SaveFor, SavedBy, Store, locate};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Client, start};
use crate::daemon::Background;
use crate::support::{World, contains, feed, let_agents_reach_everything};

/// The ids of the hits, possibly none.
fn ids(world: &World, arguments: &[&str]) -> Vec<String> {
    let page = page(&world.remora(&[&["search", "--json"], arguments].concat()));
    page["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

fn page(output: &Output) -> Value {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let page: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(output.status.code() == Some(1), page["hits"].as_array().unwrap().is_empty(), "{output:?}");
    page
}

fn save(world: &World, arguments: &[&str]) -> String {
    world.text(&[&["save"], arguments].concat()).trim().to_owned()
}

/// The program, run in another directory.
fn elsewhere(world: &World, arguments: &[&str]) -> Command {
    fs::create_dir_all(world.path("other")).unwrap();
    let mut command = world.command(arguments);
    command.current_dir(world.path("other"));
    command
}

/// Saves many observations directly in the store, which is faster than commands.
fn save_many(world: &World, directory: &Path, count: usize) {
    let store = Store::open(&DataDir::new(world.data())).unwrap();
    let target = SaveFor::Directory(locate(directory));
    for number in 0..count {
        let text = format!(
            "Note {number} is about part-{number}-end of the machine. It turned out that wheel {} drives it, and that \
             nobody had oiled it since the last inspection in the winter of {}.",
            number * 7,
            1900 + number % 100
        );
        let draft = Draft {
            text,
            title: None,
            kind: ObservationType::Discovery,
            facts: vec![format!("Part {number} weighs {} grams", number * 3)],
            files: Vec::new(),
        };
        store
            .records()
            .save(&target, &SavedText::new(&draft).unwrap(), SavedBy::Program, Time::now())
            .unwrap();
    }
}

fn count(world: &World, sql: &str) -> i64 {
    let database = Connection::open(world.data().join("remora.db")).unwrap();
    database.busy_timeout(Duration::from_secs(10)).unwrap();
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn wait(what: &str, ready: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(3);
    while !ready() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_prompt_and_an_event_are_found_the_moment_their_hooks_return() {
    let world = World::new();
    world.hook(&world.prompt("p1", "Why does the flux capacitor overheat?"));
    let found = world.json(&["search", "--mode", "text", "capacitor"]);
    assert_eq!((&found["hits"][0]["kind"], &found["total"]), (&json!("turn"), &json!(1)));
    world.hook(&world.tool("zanzibar"));
    let found = world.json(&["search", "--mode", "text", "zanzibar"]);
    assert_eq!(found["hits"][0]["kind"], "event");
    for name in ["id", "kind", "title", "snippet", "score", "why", "project", "created_at"] {
        assert!(found["hits"][0].get(name).is_some(), "{name}: {found}");
    }
    assert!(found["hits"][0]["snippet"].is_string(), "{found}");
    // Every printed id can be shown.
    let id = found["hits"][0]["id"].as_str().unwrap();
    assert_eq!(world.json(&["show", id])["kind_of_record"], "event");
}

#[test]
fn saved_text_is_found_shown_and_on_the_timeline() {
    let world = World::new();
    fs::create_dir_all(world.project().join("src")).unwrap();
    let first = save(
        &world,
        &[
            "The tests need a running database. Start it with `make db`.",
            "--type",
            "decision",
            "--file",
            "src/../src/db.rs",
            "--fact",
            "Port 5433 belongs to the test database",
        ],
    );
    let second =
        save(&world, &["Clock skew of two seconds broke the validation of JWT", "--title", "JWT and clocks"]);
    let mut input = world.command(&["save", "-"]);
    let output = feed(&mut input, "Cache keys carry the tenant\nand the locale".as_bytes())
        .wait_with_output()
        .unwrap();
    let third = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert_eq!([first.as_str(), &second, &third], ["1", "2", "3"]);
    // Saving the same text again returns the same observation.
    assert_eq!(
        save(&world, &["Clock skew of two seconds broke the validation of JWT", "--title", "JWT and clocks"]),
        "2"
    );
    let mut told = String::new();
    for arguments in [
        &["search", "database"][..],
        &["search", "JWT seconds", "--explain"],
        &["search", "port"],
        &["search", "--type", "decision"],
        &["search", "--file", "db.rs"],
        &["search", "--from", "yesterday", "--to", "today", "-n", "1"],
        &["search", "zebra"],
        &["search", "database", "--offset", "5"],
        &["show", "1", "obs_2_narrative"],
        &["timeline", "2", "--before", "1", "--after", "1"],
        &["timeline", "JWT"],
        &["timeline"],
        &["index", "status"],
    ] {
        let output = world.remora(arguments);
        let said = [world.neutral(&output.stdout), world.neutral(&output.stderr)].concat();
        writeln!(told, "$ remora {}\n{said}=> {}\n", arguments.join(" "), output.status.code().unwrap())
            .unwrap();
    }
    insta::with_settings!({filters => vec![
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "YYYY-MM-DD HH:MM"),
        (r"\d{4}-\d\d-\d\d\n", "YYYY-MM-DD\n"),
        (r"(\n[ >] )\d\d:\d\d", "${1}HH:MM"),
    ]}, { insta::assert_snapshot!(told) });
    let saved = world.json(&["show", "1"]);
    assert_eq!(saved["files_read"], json!(["src/db.rs"]));
    assert_eq!((&saved["type"], &saved["provider"]), (&json!("decision"), &json!("program")));
    assert_eq!(world.json(&["sessions"])["sessions"], json!([]), "no agent worked here");
    let session = &world.json(&["show", "saved-"]);
    assert_eq!((&session["host"], &session["status"]), (&json!("generic"), &json!("completed")));
}

#[test]
fn matching_words_are_bold_if_colour_is_on() {
    let world = World::new();
    save(&world, &["The tests need a running database, says the manual", "--title", "Manual"]);
    let output = world.command(&["search", "database"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(contains(&output.stdout, "\u{1b}[1mdatabase\u{1b}[0m"), "{output:?}");
    assert!(!contains(&world.remora(&["search", "database"]).stdout, "\u{1b}"));
}

#[test]
fn a_save_does_not_end_the_turn_of_an_agent_at_work() {
    let world = World::new();
    world.hook(&world.prompt("p1", "Fix the clock"));
    world.hook(&world.tool("t1"));
    save(&world, &["The clock is wound on Mondays"]);
    world.text(&["queue", "drain"]);
    assert_eq!(world.count("pending"), 2);
}

#[test]
fn private_text_and_secrets_are_not_saved() {
    let world = World::new();
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let text = format!("The bot logs in with {secret}. <private>The merger is on Friday.</private>");
    let id = save(
        &world,
        &[&text, "--fact", &format!("token {secret}"), "--title", "<private>merger</private> bot"],
    );
    for wrong in ["<private>The merger is on Friday.</private>", "", "  "] {
        let output = world.remora(&["save", wrong]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(contains(&output.stderr, "hint:") && output.stdout.is_empty(), "{output:?}");
    }
    assert_eq!(world.count("observations"), 1);
    assert_eq!(ids(&world, &["bot"]), [id]);
    let bytes = world.all_bytes();
    for private in [secret.as_str(), "merger"] {
        assert!(!contains(&bytes, private), "{private}");
    }
}

#[test]
fn mistakes_are_reported_with_a_hint() {
    let world = World::new();
    for (arguments, code) in [
        (&["search", "--project", "nowhere", "x"][..], 1),
        (&["save", "x", "--project", "nowhere"], 1),
        (&["search", "--all", "--session", "nobody"], 1),
        (&["search", "--all", "--from", "the beginning"], 2),
        (&["search", "--all", "--type", "epiphany"], 2),
        (&["search", "--all", "--limit", "0"], 2),
        (&["index", "rebuild", "--project", "nowhere"], 1),
    ] {
        let output = world.remora(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert!(contains(&output.stderr, "error:") && output.stdout.is_empty(), "{output:?}");
        assert!(code == 2 || contains(&output.stderr, "`"), "{output:?}");
    }
}

#[test]
fn no_project_sees_another() {
    let background = Background::new();
    let world = &background.world;
    let_agents_reach_everything(world);
    let here = save(world, &["The heron fishes at dawn"]);
    let there = elsewhere(world, &["save", "The heron nests in the reeds"]).output().unwrap();
    let there = String::from_utf8(there.stdout).unwrap().trim().to_owned();
    let mut foreign = world.prompt("p1", "Where does the heron sleep?");
    foreign["cwd"] = json!(world.path("other"));
    foreign["session_id"] = json!("foreign");
    world.hook(&foreign);
    let client = start(&background);
    wait("vectors", || count(world, "SELECT count(*) FROM documents WHERE embedded = 0") == 0);
    for mode in ["text", "semantic", "hybrid"] {
        assert_eq!(ids(world, &["heron", "--mode", mode]), [here.as_str()], "{mode}");
        let own = client.list(&format!("/api/search?q=heron&project=project&mode={mode}"));
        assert_eq!((&own["total"], &own["hits"][0]["id"]), (&json!(1), &json!(here)), "{mode}");
    }
    assert_eq!(ids(world, &["--all", "heron", "--kind", "observation"]).len(), 2);
    assert_eq!(ids(world, &["--project", "other", "heron", "--kind", "observation"]), [there.as_str()]);
    let all = format!("ids={here},{there}");
    let items = client.list(&format!("/api/observations?{all}&project=other"))["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert_eq!(items[0]["id"].to_string(), there);
    assert_eq!(client.get(&format!("/api/timeline?anchor={there}&project=project")).status, 404);
    assert_eq!(client.list(&format!("/api/timeline?anchor={here}"))["items"].as_array().unwrap().len(), 1);
    let cwd = world.path("other");
    let by_directory = client.list(&format!("/api/search?q=heron&kind=observation&cwd={}", cwd.display()));
    assert_eq!(by_directory["hits"][0]["id"], json!(there));
    for (wrong, status) in [
        ("search?q=heron", 422),
        ("search?q=heron&project=nowhere", 404),
        ("search?q=heron&project=../other", 404),
        ("search?q=heron&cwd=other", 422),
        ("search?q=heron&projekt=project", 422),
        ("timeline?q=heron", 422),
        ("timeline?project=all", 422),
    ] {
        assert_eq!(client.get(&format!("/api/{wrong}")).status, status, "{wrong}");
    }
}

/// The response bodies, as `docs/http.md` describes them.
#[test]
fn the_bodies_of_search_are_these() {
    let background = Background::new();
    let world = &background.world;
    save(world, &["The tests need a running database. Start it with `make db`.", "--type", "decision"]);
    save(world, &["Clock skew broke the validation of JWT", "--fact", "The skew was two seconds"]);
    let client = start(&background);
    let mut told = String::new();
    for path in [
        "search?q=jwt+seconds&project=project&mode=text",
        "search?project=project&type=decision",
        "search?q=zebra&project=project&mode=text",
        "search?q=zebra",
        "search?q=zebra&project=project&mode=psychic",
        "search?q=zebra&project=project&dateFrom=soon",
        "timeline?anchor=2&project=project",
        "timeline?anchor=99",
        "observations?ids=2&project=project",
    ] {
        let answer = client.get(&format!("/api/{path}"));
        writeln!(told, "GET /api/{path}\n=> {}\n{:#}\n", answer.status, answer.json()).unwrap();
    }
    insta::with_settings!({filters => vec![
        (r#"_at": "\d[^"]+""#, r#"_at": "[TIME]""#),
        (r#"_epoch": \d+"#, r#"_epoch": [EPOCH]"#),
        (r#""(score|rank_score|lexical_score|lexical_weight|recency|coverage|weight)": -?[0-9.e-]+"#, r#""$1": [NUMBER]"#),
    ]}, { insta::assert_snapshot!(world.neutral(told.as_bytes())) });
}

#[test]
fn a_running_daemon_answers_searches() {
    let background = Background::new();
    let world = &background.world;
    save(world, &["Deploys happen on Tuesdays only"]);
    let mode = || page(&world.remora(&["search", "--json", "deploys"]))["plan"]["mode"].clone();
    assert_eq!(mode(), "text");
    start(&background);
    wait("vectors", || count(world, "SELECT count(*) FROM vectors") == 1);
    assert_eq!(mode(), "hybrid");
    // An observation saved while the daemon runs gets its vector, too.
    save(world, &["Releases are signed by two people"]);
    wait("vectors", || count(world, "SELECT count(*) FROM vectors") == 2);
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    assert_eq!(mode(), "text");
    let asked = page(&world.remora(&["search", "--json", "--mode", "semantic", "who signs"]));
    assert_eq!((&asked["plan"]["mode"], &asked["hits"][0]["id"]), (&json!("semantic"), &json!("2")));
}

#[test]
fn a_daemon_killed_while_indexing_resumes() {
    const NOTES: usize = 200;
    let background = Background::new();
    let world = &background.world;
    save_many(world, &world.project(), NOTES);
    let vectors = || count(world, "SELECT count(*) FROM vectors");
    let documents = count(world, "SELECT count(*) FROM documents");
    let mut client = None;
    for _ in 0..3 {
        let before = vectors();
        client = Some(start(&background));
        wait("some vectors", || vectors() > before);
        let pid = Pid::from_raw(i32::try_from(background.pid().unwrap()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        wait("its end", || background.pid().is_none());
    }
    assert!(vectors() < documents, "the daemon finished before the test could kill it");
    drop(client);
    let client = start(&background);
    wait("all vectors", || count(world, "SELECT count(*) FROM documents WHERE embedded = 0") == 0);
    assert_eq!(vectors(), documents);
    assert_eq!(
        count(world, "SELECT count(*) FROM (SELECT DISTINCT kind, record_id, part FROM documents)"),
        documents
    );
    for number in 0..NOTES {
        let page = client.list(&format!("/api/search?q=part-{number}-end&project=project&limit=50"));
        let mut found: Vec<&str> =
            page["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
        assert!(found.contains(&(number + 1).to_string().as_str()), "{number}");
        found.sort_unstable();
        let before = found.len();
        found.dedup();
        assert_eq!(found.len(), before, "{number}");
    }
}

#[test]
fn a_rebuild_that_is_killed_loses_nothing() {
    let world = World::new();
    save_many(&world, &world.project(), 300);
    elsewhere(&world, &["save", "Another project's note"]).output().unwrap();
    for milliseconds in [20, 60, 150] {
        let mut rebuild = feed(&mut world.command(&["index", "rebuild"]), b"");
        thread::sleep(Duration::from_millis(milliseconds));
        let _ = rebuild.kill();
        rebuild.wait().unwrap();
        assert_eq!(world.count("observations"), 301);
    }
    let state = world.json(&["index", "rebuild", "--resume"]);
    assert_eq!(
        (&state["records"], &state["indexed"], &state["missing"]),
        (&json!(301), &json!(301), &json!(0))
    );
    assert_eq!(state["documents"], 601);
    assert_eq!(state["vectors"], 601);
    let other = "SELECT min(v.id) FROM vectors AS v JOIN documents AS d ON d.id = v.document_id WHERE d.project_id = 2";
    let kept = count(&world, other);
    let state = world.json(&["index", "rebuild", "--project", "project"]);
    assert_eq!((&state["documents"], &state["vectors"]), (&json!(600), &json!(600)));
    assert_eq!(count(&world, other), kept);
    assert_eq!(ids(&world, &["part-7-end", "--mode", "text", "-n", "1"]), ["8"]);
}

#[test]
fn settings_affect_search_results() {
    let background = Background::new();
    let world = &background.world;
    world.hook(&world.prompt("p1", "Where is the walrus?"));
    save(world, &["The walrus is in the attic"]);
    assert_eq!(ids(world, &["walrus"]).len(), 2);
    world.text(&["config", "set", "search.index_turns", "false"]);
    assert_eq!(ids(world, &["walrus"]), ["1"]);
    assert_eq!(ids(world, &["walrus", "--kind", "turn"]).len(), 1);
    count_changed(world, "UPDATE observations SET created_at = 1; UPDATE documents SET created_at = 1");
    assert_eq!(ids(world, &["walrus"]), ["1"]);
    world.text(&["config", "set", "search.max_age_days", "30"]);
    assert!(ids(world, &["walrus"]).is_empty());
    assert_eq!(ids(world, &["walrus", "--to", "today"]), ["1"]);
    world.text(&["config", "set", "search.embedder", "off"]);
    let client = start(&background);
    let found = client.list("/api/search?q=walrus&project=project&mode=semantic&dateTo=today");
    assert_eq!(found["plan"]["mode"], "text");
    assert_eq!(count(world, "SELECT count(*) FROM vectors"), 0);
}

fn count_changed(world: &World, sql: &str) {
    Connection::open(world.data().join("remora.db")).unwrap().execute_batch(sql).unwrap();
}

/// Adversarial texts, the same in every run.
fn hostile() -> Vec<String> {
    let pieces = [
        "\"",
        "'",
        "(",
        ")",
        "*",
        "^",
        ":",
        "-",
        "+",
        "NEAR",
        "NEAR(",
        "AND",
        "OR",
        "NOT",
        "title:",
        "body:x",
        "{",
        "}",
        "%",
        "_",
        "\\",
        ";",
        "--",
        "/*",
        "*/",
        "DROP TABLE documents",
        "\u{0}",
        "\u{1b}[31m",
        "é",
        "日本語",
        "の",
        "🦀",
        "\u{202e}",
        "\u{fdd0}5\u{fdd1}",
        "\n",
        "\t",
        "a",
        "of the",
        "x*",
        "\"a b\"",
        "documents_text",
        "rank",
        "MATCH",
        "<script>",
        "&&",
        "||",
        "$(id)",
        "`id`",
        "..",
        "/etc/passwd",
        "C:\\",
        "1e999",
        "0x",
        "null",
    ];
    let mut state: usize = 7;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut all: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
    all.push("word ".repeat(2_000));
    all.push("(".repeat(3_000));
    all.push("\"".repeat(501));
    while all.len() < 300 {
        let count = 1 + next(6);
        let separator = if next(2) == 0 { " " } else { "" };
        let words: Vec<&str> = (0..count).map(|_| pieces[next(pieces.len())]).collect();
        all.push(words.join(separator));
    }
    all
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        write!(all, "%{byte:02X}").unwrap();
        all
    })
}

#[test]
fn no_text_breaks_a_search() {
    let background = Background::new();
    let world = &background.world;
    let_agents_reach_everything(world);
    world.hook(&world.prompt("p1", "Is a \"quoted\" word of the (prompt) found?"));
    save(world, &["A note with a word, an é and 日本語, x and null"]);
    elsewhere(world, &["save", "A foreign note with a word, an é and 日本語, x and null"]).output().unwrap();
    let client: Client = start(&background);
    wait("vectors", || count(world, "SELECT count(*) FROM documents WHERE embedded = 0") == 0);
    for text in hostile() {
        let answer = client.get(&format!("/api/search?project=project&q={}", encoded(&text)));
        assert_eq!(answer.status, 200, "{text:?}: {answer:?}");
        for hit in answer.json()["hits"].as_array().unwrap() {
            assert_eq!(hit["project"], "project", "{text:?}");
        }
    }
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    for text in hostile().iter().filter(|text| !text.contains('\0')) {
        let output = world.remora(&["search", "--", text]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{text:?}: {output:?}");
        assert!(
            !contains(&output.stderr, "error:") && !contains(&output.stderr, "panicked"),
            "{text:?}: {output:?}"
        );
        assert!(
            !contains(&output.stdout, "foreign") && !contains(&output.stdout, "\u{1b}"),
            "{text:?}: {output:?}"
        );
    }
}
