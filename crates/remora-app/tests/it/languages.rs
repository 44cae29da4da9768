//! Recall in other languages: an invented project in French, German, Spanish and Chinese, forty questions about it, and
//! forty prompts that nothing in it answers. Each prompt is the first of a new session, after its start.
//!
//! `cargo test -p remora-app --test it languages -- --nocapture` prints every miss.

use remora_app::recall::Evidence;
use remora_core::memory::{Memory, ObservationType};
use remora_core::settings::Settings;
use remora_core::time::Time;

use crate::curve::Measured;
use crate::memory::{World, observation};

const PROJECT: &str = "tickets";
const SETS: [(&str, &str); 4] = [
    ("fr", include_str!("../golden/fr.txt")),
    ("de", include_str!("../golden/de.txt")),
    ("es", include_str!("../golden/es.txt")),
    ("zh", include_str!("../golden/zh.txt")),
];

/// A prompt and the sentences that answer it; empty for an unrelated prompt.
struct Prompt<'a> {
    text: &'a str,
    answers: Vec<&'a str>,
}

/// Stores the lines of a set, and returns its prompts.
fn live(set: &str) -> (World, Vec<Prompt<'_>>) {
    let (memories, strangers) = set.split_once("# strangers\n").unwrap();
    let mut world = World::new();
    let mut prompts = Vec::new();
    for (day, line) in (1..).zip(memories.lines().skip(1)) {
        let [title, cause, change, question] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let said = format!("{cause} {change}");
        let mut learned = observation(title, &said);
        learned.kind = ObservationType::Bugfix;
        let memory = Memory { provider: "test".into(), observations: vec![learned], ..Memory::default() };
        let at = Time(1_750_000_000_000 + day * 3_600_000);
        world.turn(PROJECT, &format!("ticket {day}"), &said, &memory, at);
        if !question.is_empty() {
            prompts.push(Prompt { text: question, answers: vec![cause, change] });
        }
    }
    prompts.extend(strangers.lines().map(|text| Prompt { text, answers: Vec::new() }));
    assert_eq!(prompts.len(), 80, "40 questions and 40 others");
    (world, prompts)
}

fn ask(name: &'static str, set: &str, by_meaning: bool) -> Vec<Measured> {
    let (mut world, prompts) = live(set);
    if by_meaning {
        world.index();
    }
    let now = Time(1_752_000_000_000);
    let mut all = Vec::new();
    for Prompt { text, answers } in prompts {
        let explained = world.first_prompt(PROJECT, text, &Settings::default(), by_meaning, now);
        let evidence = explained.explanation.evidence;
        let is_answer = evidence
            .passages
            .iter()
            .any(|passage| answers.iter().any(|answer| passage.text.contains(answer)));
        let (is_question, is_injected) = (!answers.is_empty(), explained.injection.is_some());
        if is_question != (is_injected && (is_answer || !is_question)) {
            let Evidence { score, rare, meaning, .. } = evidence;
            println!(
                "{name} ✗ {text}\n     score {score:.2} rare {rare:.2} meaning {meaning:.2} answer {is_answer}: {:?}",
                evidence.passages.first()
            );
        }
        let tokens = explained.injection.map_or(0, |injection| injection.tokens);
        all.push(Measured { set: name, is_question, evidence, is_answer, is_injected, tokens });
    }
    all
}

/// Evidence for injecting something with each prompt of every language.
pub(crate) fn measured(by_meaning: bool) -> Vec<Measured> {
    SETS.into_iter().flat_map(|(name, set)| ask(name, set, by_meaning)).collect()
}

/// The number of questions that are answered, and of other prompts that get no injection, out of forty each.
fn measure(name: &'static str, set: &str, by_meaning: bool) -> (usize, usize) {
    let all = ask(name, set, by_meaning);
    let is_answered = |one: &&Measured| one.is_question && one.is_injected && one.is_answer;
    let is_quiet = |one: &&Measured| !one.is_question && !one.is_injected;
    let (answered, quiet) = (all.iter().filter(is_answered).count(), all.iter().filter(is_quiet).count());
    println!("{name} by meaning {by_meaning}: {answered} of 40 answered, {quiet} of 40 quiet");
    (answered, quiet)
}

/// Requires 85 % of the questions to be answered and 90 % of the other prompts to get nothing.
#[track_caller]
fn holds(name: &'static str) {
    let (_, set) = SETS.into_iter().find(|(known, _)| *known == name).unwrap();
    for by_meaning in [false, true] {
        let (answered, quiet) = measure(name, set, by_meaning);
        assert!(answered >= 34 && quiet >= 36, "{name}: {answered} answered, {quiet} quiet");
    }
}

#[test]
fn a_french_project_answers_in_french() {
    holds("fr");
}

#[test]
fn a_german_project_answers_in_german() {
    holds("de");
}

#[test]
fn a_spanish_project_answers_in_spanish() {
    holds("es");
}

#[test]
fn a_chinese_project_answers_in_chinese() {
    holds("zh");
}
