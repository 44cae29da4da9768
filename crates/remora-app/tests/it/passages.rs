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

/// A memory with one turn, observed as the built-in observer does: the title is cut at a clause of the sentence.
fn world_with_turn(prompt: &str, title: &str, said: &str) -> World {
    let mut world = World::new();
    let memory =
        Memory { provider: "test".into(), observations: vec![observation(title, said)], ..Memory::default() };
    world.turn(PROJECT, prompt, said, &memory, Time(1_750_000_000_000));
    world.index();
    world
}

#[test]
fn a_title_never_stands_for_a_sentence_that_says_more() {
    for (asked, title, said, question) in [
        (
            "the tide tables are wrong",
            "The tide tables were an hour off",
            "The tide tables were an hour off because the importer reads local time as UTC.",
            "why were the tide tables an hour off?",
        ),
        (
            "the berth service is down",
            "Fixed the port: the service could not connect",
            "Fixed the port: the service could not connect because the database listens on 5433 since the upgrade.",
            "Which port does the database listen on since the upgrade?",
        ),
        (
            "the crane stops",
            "The root cause is that the crane controller rejects each second frame",
            "The root cause is that the crane controller rejects each second frame, so the watchdog stops it.",
            "why does the watchdog stop the crane?",
        ),
        (
            "起重机停了",
            "起重机控制器拒绝每个第二帧",
            "起重机控制器拒绝每个第二帧，因为校验和用了旧的多项式。",
            "起重机控制器为什么拒绝第二帧？",
        ),
    ] {
        let mut world = world_with_turn(asked, title, said);
        let text = injected(&mut world, question).unwrap_or_default();
        assert!(text.contains(said.trim_end_matches(['.', '。'])), "{question}: {text}");
        assert_eq!(text.matches(title).count(), 1, "once, and with its end: {text}");
        assert!(text.contains("- #1 ("), "as the observation, not as the turn: {text}");
    }
}

#[test]
fn a_title_of_one_record_does_not_cut_the_sentence_of_another() {
    let mut world = world_with(vec![
        observation("The gangway sensor reports open while the gate is closed", "It was noticed on pier 4."),
        observation(
            "Gangway sensor",
            "The gangway sensor reports open while the gate is closed because salt bridges its contacts.",
        ),
    ]);
    let text =
        injected(&mut world, "why does the gangway sensor report open while the gate is closed?").unwrap();
    assert!(text.contains("because salt bridges its contacts"), "{text}");
}

#[test]
fn a_sentence_that_introduces_a_list_comes_with_the_list() {
    let items = [
        "the ballast pump starts before its valve is open. It then runs dry for four seconds",
        "the valve controller confirms an order before it carries it out. Nobody read its manual",
        "the alarm of the ballast tank is muted after the second repetition. It stays mute until noon",
    ];
    let list: String = items.map(|item| format!("- {item}.\n")).concat();
    let said = format!("The ballast tanks overflowed for these three reasons:\n\n{list}");
    let mut world = World::new();
    world.turn(PROJECT, "look at the tanks", &said, &Memory::default(), Time(1_750_000_000_000));
    world.index();
    let text = injected(&mut world, "for which reasons did the ballast tanks overflow?").unwrap();
    for item in items {
        assert!(text.contains(item), "{text}");
    }
    let mut world = World::new();
    let said = "The ballast tanks overflowed for these three reasons:\n\n```\n0 1 2\n3 4 5\n6 7 8\n```\n";
    world.turn(PROJECT, "look at the tanks", said, &Memory::default(), Time(1_750_000_000_000));
    world.index();
    assert_eq!(injected(&mut world, "for which reasons did the ballast tanks overflow?"), None);
}

#[test]
fn the_last_item_of_a_list_does_not_replace_the_list() {
    let said = "Two things were wrong with the invoices of the agency:\n\n\
        - the VAT was rounded on each line. It must be rounded once.\n\
        - the due date used the server's time zone. Customers in Lisbon got a day less.";
    // What the built-in observer makes of it: the title ends before the colon.
    let narrative = "The VAT was rounded on each line. It must be rounded once. The due date used the server's time zone. \
        Customers in Lisbon got a day less.";
    let title = "Two things were wrong with the invoices of the agency";
    let memory = Memory {
        provider: "test".into(),
        observations: vec![observation(title, narrative)],
        ..Memory::default()
    };
    let mut world = World::new();
    world.turn(PROJECT, "look at the invoices", said, &memory, Time(1_750_000_000_000));
    world.index();
    let text = injected(&mut world, "what was wrong with the invoices of the agency?").unwrap();
    let list =
        format!("{title}: the VAT was rounded on each line. It must be rounded once. the due date used");
    assert!(text.contains(&list), "{text}");
    assert_eq!(text.matches("Customers in Lisbon").count(), 1, "{text}");
}

#[test]
fn a_long_sentence_is_injected_to_its_end() {
    let middle = "of which the harbour master keeps a list in the office on the mole, ".repeat(6);
    let said = format!(
        "The quay lamps are switched by the lock keeper, {middle}since the relay of 1998 cannot be replaced."
    );
    assert!(said.chars().count() > 450);
    let mut world = world_with(vec![observation("Lamps", &said)]);
    let text = injected(&mut world, "why are the quay lamps switched by the lock keeper?").unwrap();
    assert!(text.contains("since the relay of 1998 cannot be replaced."), "{text}");
}
