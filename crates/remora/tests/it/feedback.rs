//! Feedback on observations: injected, fetched, cited, judged.

use serde_json::{Value, json};

use crate::client::start;
use crate::context::{injected_at_start, injected_with};
use crate::daemon::Background;
use crate::support::World;

const PROMPT: &str = "Which rounding do the invoice totals of the bakery use?";

fn save(world: &World, text: &str) -> String {
    world.text(&["save", text]).trim().to_owned()
}

fn feedback(world: &World, id: &str) -> Value {
    world.json(&["feedback", id])["feedback"].clone()
}

/// The ids of injected observations, in order.
fn ids(injected: &str) -> Vec<&str> {
    let lines = injected.lines().filter_map(|line| line.strip_prefix("- #"));
    lines.filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn injected_and_used_observations_rank_first_the_next_time() {
    let world = World::new();
    let one = save(&world, "Invoice totals of the bakery use banker's rounding, in cents of the euro.");
    let two = save(&world, "Invoice totals of the bakery use commercial rounding, in cents of the franc.");
    let before = injected_with(&world, "first", PROMPT).unwrap();
    assert_eq!(ids(&before), [two.as_str(), &one], "{before}");
    assert_eq!(feedback(&world, &one)["injected"], 1);
    let shown = world.text(&["show", &one]);
    assert!(
        !shown.contains("fetched 1") && shown.contains("injected 1"),
        "as it was before it was read: {shown}"
    );
    assert_eq!(feedback(&world, &one)["fetched"], 1);
    assert_eq!(world.json(&["show", &one])["feedback"]["fetched"], 1);
    let after = injected_with(&world, "second", PROMPT).unwrap();
    assert_eq!(ids(&after), [one.as_str(), &two], "{after}");
    let found = world.json(&["search", "bakery rounding", "--mode", "text"]);
    assert_eq!(found["hits"][0]["id"], json!(one));
    assert!(found["hits"][0]["why"]["used"].as_f64().unwrap() > 0.0, "{found}");
    let explained = world.text(&["search", "bakery rounding", "--mode", "text", "--explain"]);
    assert!(explained.contains("used before +"), "{explained}");
}

#[test]
fn an_answer_that_names_an_injected_observation_cites_it_once() {
    let world = World::new();
    let id = save(&world, "Invoice totals of the bakery use banker's rounding, in cents of the euro.");
    assert!(injected_with(&world, "one", PROMPT).is_some());
    let message = format!("Banker's rounding, as #{id} says; #{id} has the reason.");
    for session in ["one", "never-injected"] {
        let mut stop = world.message("Stop", &json!({ "last_assistant_message": message }));
        stop["session_id"] = json!(session);
        stop["prompt_id"] = json!(format!("{session} {PROMPT}"));
        world.hook(&stop);
    }
    world.text(&["queue", "drain", "--all"]);
    let feedback = feedback(&world, &id);
    assert_eq!((&feedback["cited"], &feedback["injected"]), (&json!(1), &json!(1)), "{feedback}");
}

#[test]
fn a_wrong_observation_is_not_injected_until_the_verdict_is_undone() {
    let world = World::new();
    let id = save(&world, "Invoice totals of the bakery use banker's rounding, in cents of the euro.");
    let said = world.text(&["feedback", &id, "wrong"]);
    assert!(said.contains("wrong 1"), "{said}");
    assert_eq!(injected_with(&world, "one", PROMPT), None);
    let start = injected_at_start(&world, "one", "startup");
    assert!(start.is_none_or(|start| !start.contains("banker")), "nor at the session start");
    let found = world.json(&["search", "bakery rounding", "--mode", "text"]);
    let is_found = found["hits"].as_array().unwrap().iter().any(|hit| hit["id"] == json!(id));
    assert!(is_found, "search still finds it: {found}");
    world.text(&["feedback", &id, "wrong", "--undo"]);
    assert!(injected_with(&world, "two", PROMPT).is_some());
}

#[test]
fn a_pinned_observation_is_injected_even_with_little_room() {
    let world = World::new();
    let id = save(&world, "The old harbour office closes at noon.");
    for number in 0..20 {
        world.text(&[
            "save",
            &format!("Decision {number} is about the ferry to island {number}."),
            "--type",
            "decision",
        ]);
    }
    let number: Value = id.parse().unwrap();
    let shown = || world.json(&["context", "--tokens", "150"])["observations"].clone();
    let is_shown = || shown().as_array().unwrap().contains(&number);
    assert!(!is_shown());
    world.text(&["feedback", &id, "pin"]);
    assert!(is_shown());
    world.text(&["feedback", &id, "unpin"]);
    assert!(!is_shown());
}

#[test]
fn refused_feedback_says_what_to_do() {
    let world = World::new();
    let id = save(&world, "The old harbour office closes at noon.");
    let fails = |directory: &str, arguments: &[&str], code: i32, expected: &[&str]| {
        let output = world.command(arguments).current_dir(world.path(directory)).output().unwrap();
        let stderr = world.neutral(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(expected.iter().all(|expected| stderr.contains(expected)), "{arguments:?}: {stderr}");
    };
    fails("project", &["feedback", "77", "useful"], 1, &["nothing is known as `77`", "remora search"]);
    fails("project", &["feedback", "s1", "useful"], 2, &["`s1` is not an observation", "--kind observation"]);
    fails("project", &["feedback", &id, "great"], 2, &["expected useful, wrong, pin or unpin"]);
    fails("project", &["feedback", &id, "--undo"], 2, &["VERDICT"]);
    // An observation of another project is not changed by accident.
    let hint = format!("remora feedback {id} wrong --project 1");
    fails("home", &["feedback", &id, "wrong"], 2, &["belongs to another project: project", &hint]);
    assert_eq!(feedback(&world, &id)["wrong"], 0);
    let named =
        world.command(&["feedback", &id, "wrong", "--project", "1"]).current_dir(world.path("home")).output();
    assert!(named.unwrap().status.success());
    assert_eq!(feedback(&world, &id)["wrong"], 1);
}

#[test]
fn programs_fetch_and_judge_over_http() {
    let background = Background::new();
    let world = &background.world;
    let id = save(world, "The old harbour office closes at noon.");
    let client = start(&background);
    let listed = client.list("/api/observations");
    assert_eq!(listed["items"][0]["feedback"]["fetched"], 0, "{listed}");
    client.list(&format!("/api/observations?ids={id}"));
    background.wait("the count", || feedback(world, &id)["fetched"] == 1);
    let address = format!("/api/observations/{id}/feedback");
    let judge = |body: Value| {
        let answer = client.post(&address, &body);
        (answer.status, answer.json())
    };
    let (status, judged) = judge(json!({ "verdict": "wrong" }));
    assert_eq!((status, &judged["feedback"]["wrong"]), (200, &json!(1)), "{judged}");
    let (_, judged) = judge(json!({ "verdict": "wrong", "undo": true, "project": world.project() }));
    assert_eq!(judged["feedback"]["wrong"], 0, "{judged}");
    let (status, refused) = judge(json!({ "verdict": "splendid" }));
    assert_eq!(status, 422, "{refused}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("\"verdict\": \"useful\""), "{refused}");
    assert_eq!(client.post("/api/observations/77/feedback", &json!({ "verdict": "pin" })).status, 404);
    // A request that names a project changes nothing in another.
    world.command(&["save", "Elsewhere."]).current_dir(world.path("home")).output().unwrap();
    let (status, _) = judge(json!({ "verdict": "pin", "project": world.path("home") }));
    assert_eq!(status, 404);
    assert_eq!(world.json(&["feedback", &id])["pinned_at"], Value::Null);
}
