//! Tests which sentences are injected with a prompt.

use remora_core::memory::{Memory, Observation};
use remora_core::settings::Settings;
use remora_core::time::Time;

use crate::memory::{World, observation};

const PROJECT: &str = "harbour";
const NOW: Time = Time(1_752_000_000_000);

fn world_with(observations: Vec<Observation>) -> World {
    let mut world = World::new();
    for learned in observations {
        let memory = Memory { provider: "test".into(), observations: vec![learned], ..Memory::default() };
        world.turn(PROJECT, "a turn", "It is done.", &memory, Time(1_750_000_000_000));
    }
    world.index();
    world
}

fn injected(world: &mut World, prompt: &str) -> Option<String> {
    let explained = world.first_prompt(PROJECT, prompt, &Settings::default(), true, NOW);
    explained.injection.map(|injection| injection.text)
}

#[test]
fn a_cause_comes_with_its_change() {
    let cause = "Departures shifted by an hour because the gangway clock ignored daylight saving.";
    let change = "It now reads UTC.";
    let similar = "Departures at the gangway are announced an hour ahead.";
    let mut world = world_with(vec![observation("Clock", &format!("{similar} {cause} {change}"))]);
    let mut settings = Settings::default();
    settings.memory.auto_retrieve_max_results = 2;
    let prompt = "why did departures shift by an hour at the gangway?";
    let injection = world.first_prompt(PROJECT, prompt, &settings, true, NOW).injection.unwrap();
    assert!(injection.text.contains(cause) && injection.text.contains(change), "{}", injection.text);
    assert!(!injection.text.contains(similar), "its change comes before other matches: {}", injection.text);
}

#[test]
fn a_call_is_found_by_its_name() {
    let granted = "access() grants everything to root because it ignores the mode bits of the mount.";
    let others = (0..12).map(|number| {
        observation(
            &format!("Access rule {number}"),
            &format!("Access to berth {number} was granted to crew."),
        )
    });
    let mut world = world_with(others.chain([observation("Mount checks", granted)]).collect());
    let text = injected(&mut world, "Why does access() always grant?").unwrap();
    assert!(text.contains(granted), "{text}");
}

#[test]
fn the_injection_with_a_prompt_has_a_token_limit() {
    let long = |number: usize| {
        let sentence = |part: usize| {
            let detail: Vec<String> = (0..30).map(|word| format!("n{number}p{part}w{word}")).collect();
            format!("Mooring winch {part} of quay {number} had frozen brakes: {}.", detail.join(" "))
        };
        observation(&format!("Winch of quay {number}"), &(0..3).map(sentence).collect::<Vec<_>>().join(" "))
    };
    let mut world = world_with((0..12).map(long).collect());
    let explained =
        world.first_prompt(PROJECT, "why do mooring winch brakes freeze?", &Settings::default(), true, NOW);
    assert!(explained.explanation.evidence.passages.len() <= 8);
    let injection = explained.injection.unwrap();
    assert!((200..=450).contains(&injection.tokens), "{} tokens: {}", injection.tokens, injection.text);
}

#[test]
fn memories_in_a_language_unknown_to_the_model_do_not_match_everything() {
    let mut world = world_with(vec![
        observation(
            "Le cache des tarifs",
            "La clé du cache ne contenait pas la saison, donc l'été lisait l'hiver.",
        ),
        observation(
            "Les paiements du dimanche",
            "Le certificat de la passerelle expirait à minuit, avant la rotation.",
        ),
        observation("缓存返回旧数据", "缓存键里没有季节，所以夏天读到了冬天的票价。"),
    ]);
    for stranger in
        ["please run all the tests again", "what is the capital of France?", "rename this variable to count"]
    {
        assert_eq!(injected(&mut world, stranger), None, "{stranger}");
    }
}

#[test]
fn a_question_that_was_asked_before_gets_its_answer() {
    let mut world = World::new();
    let answer = "An invalid `--sandbox` value is reported like that; `workspace-write` is valid.";
    for (asked, learned) in [
        ("the pilot launcher says credentials missing though I am signed in", observation("Flags", answer)),
        (
            "paint the buoys",
            observation("Buoys", "The buoys are red because the north channel has green ones."),
        ),
    ] {
        let memory = Memory { provider: "test".into(), observations: vec![learned], ..Memory::default() };
        world.turn(PROJECT, asked, "It is done.", &memory, Time(1_750_000_000_000));
    }
    world.index();
    let question = "why does the launcher say credentials missing when I am signed in?";
    // By words only, because by meaning the whole turn matches anyway.
    let text =
        world.first_prompt(PROJECT, question, &Settings::default(), false, NOW).injection.unwrap().text;
    assert!(text.contains(answer), "{text}");
    assert!(!text.contains("signed in"), "the old prompt itself is not injected: {text}");
    assert_eq!(injected(&mut world, "which river does the ferry cross at night?"), None);
}

#[test]
fn a_plan_that_came_as_a_prompt_is_searched_for_answers() {
    let mut world = World::new();
    let why =
        "`access()` always grants, because the vault has one user and encryption is the access control.";
    let plan = format!(
        "Implement the following plan:\n\n# Mend rename on the mount\n\n## Context\n\nRename fails.\n\n## Changes\n\n\
         1. {why}\n2. Remove the check of the mode bits.\n\n## Verification\n\nRename a file."
    );
    world.turn(PROJECT, &plan, "The plan is carried out.", &Memory::default(), Time(1_750_000_000_000));
    world.index();
    let text = injected(&mut world, "why does access() always grant in the vault?").unwrap();
    assert!(text.contains(why), "{text}");
}

#[test]
fn another_record_is_worth_more_than_a_further_sentence_of_the_same_one() {
    let mut world = world_with(vec![
        observation(
            "Why the bilge pump fails",
            "The bilge pump fails at night. The bilge pump fails when it is cold. The bilge pump fails on the quay. \
             The bilge pump fails with old oil.",
        ),
        observation(
            "Float switch",
            "Ropes are changed in spring and the crane is oiled every month. The bilge pump fails if its float switch sticks. The \
             lamps on the mole burn all night, and the crew checks the fenders before each tide.",
        ),
    ]);
    let mut settings = Settings::default();
    settings.memory.auto_retrieve_max_results = 3;
    let prompt = "why does the bilge pump fail?";
    let text = world.first_prompt(PROJECT, prompt, &settings, true, NOW).injection.unwrap().text;
    assert!(text.contains("float switch"), "{text}");
}

#[test]
fn a_repeated_sentence_is_injected_once_as_its_observation() {
    let mut world = World::new();
    let cause = "The tax of invoices was wrong because `round_tax` rounded each line";
    let learned = observation(cause, "Watch out: exported files must keep the old rounding of the tax.");
    let memory = Memory { provider: "test".into(), observations: vec![learned], ..Memory::default() };
    world.turn(PROJECT, "why is the tax wrong?", &format!("{cause}."), &memory, Time(1_750_000_000_000));
    world.index();
    let text = injected(&mut world, "invoices show a wrong tax again, what was the cause?").unwrap();
    assert_eq!(text.matches("rounded each line").count(), 1, "{text}");
    assert!(text.contains(&format!("#1 (claude-code, 3 weeks ago) {cause}. Watch out")), "{text}");
}
