//! Injection with a prompt, measured on half a year of an invented project: three hundred observations, forty prompts
//! for which one of them matters, forty for which none does.
//!
//! `cargo test -p remora-app --test it story -- --nocapture` prints the injection for each prompt. Use `tune` (forty
//! and forty more) and `dev` to improve something, and `held` only to check whether it helped. In `across`, the prompts
//! are in another language than the memory; the built-in model knows only English, so that set is not measured.

use std::fmt::Write as _;

use remora_app::recall::Evidence;
use remora_core::event::Body;
use remora_core::host::Host;
use remora_core::ids::ObservationId;
use remora_core::memory::{Memory, Observation};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_search::{Embed, SearchQuery};
use serde::Deserialize;

use crate::curve::Measured;
use crate::memory::World;

/// The history that `remora demo --keep` imports. Each session's line is followed by its observations.
const STORY: &str = include_str!("../../../remora/src/demo/ferries.jsonl");
const PROMPTS: &str = include_str!("../golden/prompts.jsonl");
const PROJECT: &str = "ferries";
/// The sets that are asserted on; the others are only printed.
const MEASURED: [&str; 2] = ["dev", "held"];

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Message(Session),
    Observation(Learned),
}

#[derive(Deserialize)]
struct Session {
    #[serde(rename = "session")]
    name: String,
    date: String,
    channel: String,
    #[serde(rename = "text")]
    prompt: String,
    #[serde(rename = "answer")]
    closing: String,
}

#[derive(Deserialize)]
struct Learned {
    text: String,
    #[serde(flatten)]
    observation: Observation,
}

#[derive(Deserialize)]
struct Golden {
    half: String,
    prompt: String,
    /// Titles of which one must be injected. If empty, nothing may be injected.
    expected: Vec<String>,
}

/// The injection for a prompt.
struct Outcome {
    golden: Golden,
    injected: Vec<(String, f64)>,
    tokens: u64,
    evidence: Evidence,
    /// Rank and score of the expected record among all results.
    place: String,
}

impl Outcome {
    fn is_right(&self) -> bool {
        let is_expected = |(title, _): &(String, f64)| self.golden.expected.contains(title);
        if self.golden.expected.is_empty() {
            self.injected.is_empty()
        } else {
            self.injected.iter().any(is_expected)
        }
    }
}

fn lines<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Stores the story as it happened: each turn of a session, and the memory made from it.
fn live_through_the_story() -> World {
    let mut sessions: Vec<(Session, Memory)> = Vec::new();
    for line in lines(STORY) {
        match line {
            Line::Message(session) => {
                sessions.push((session, Memory { provider: "test".into(), ..Memory::default() }));
            }
            Line::Observation(Learned { text, observation }) => {
                let observation = Observation { narrative: text, ..observation };
                sessions.last_mut().unwrap().1.observations.push(observation);
            }
        }
    }
    let count: usize = sessions.iter().map(|(_, memory)| memory.observations.len()).sum();
    assert_eq!(count, 300, "the story");
    let mut world = World::new();
    for (session, memory) in sessions {
        let at = Time::from_iso(&session.date).unwrap();
        let host: Host = session.channel.parse().unwrap();
        let asked = Body::PromptSubmitted { text: session.prompt };
        let ended = Body::TurnEnded { message: session.closing, error: None };
        world.hook_of(host, PROJECT, &session.name, asked, at);
        world.hook_of(host, PROJECT, &session.name, ended, at);
        world.remember(&memory, at);
    }
    world
}

/// Runs each prompt as the first of a new session, after its start.
fn ask(world: &mut World, by_meaning: bool) -> Vec<Outcome> {
    let now = Time::from_iso("2025-08-01T09:00:00Z").unwrap();
    let mut outcomes = Vec::new();
    for golden in lines::<Golden>(PROMPTS) {
        let explained = world.first_prompt(PROJECT, &golden.prompt, &Settings::default(), by_meaning, now);
        let tokens = explained.injection.as_ref().map_or(0, |injection| injection.tokens);
        let items = explained.injection.map(|injection| injection.items).unwrap_or_default();
        let injected = items.into_iter().map(|item| (title(world, &item.id), item.score.unwrap_or_default()));
        let injected = injected.collect();
        let place = place(world, &golden, by_meaning, now);
        outcomes.push(Outcome { golden, injected, tokens, place, evidence: explained.explanation.evidence });
    }
    outcomes
}

/// Evidence for injecting something with each prompt that is measured or used for tuning.
pub(crate) fn measured(by_meaning: bool) -> Vec<Measured> {
    let mut world = live_through_the_story();
    if by_meaning {
        world.index();
    }
    let outcomes = ask(&mut world, by_meaning);
    let outcomes = outcomes.into_iter().filter(|outcome| outcome.golden.half != "across");
    let of = |outcome: Outcome| Measured {
        set: "en",
        is_question: !outcome.golden.expected.is_empty(),
        is_answer: outcome
            .evidence
            .passages
            .iter()
            .any(|passage| outcome.golden.expected.contains(&title(&world, &passage.record.to_string()))),
        is_injected: !outcome.injected.is_empty(),
        evidence: outcome.evidence,
        tokens: outcome.tokens,
    };
    outcomes.map(of).collect()
}

/// The title of an observation; for other records, the id.
fn title(world: &World, id: &str) -> String {
    let observation =
        id.parse().ok().and_then(|number| world.store.records().observation(ObservationId(number)).unwrap());
    observation.map_or_else(|| id.to_owned(), |row| row.observation.title)
}

/// Rank of the best expected result or, if nothing is expected, of the best result.
fn place(world: &mut World, golden: &Golden, by_meaning: bool, now: Time) -> String {
    let mut query = world.query(PROJECT, &golden.prompt);
    query = SearchQuery { limit: 40, now, ..query };
    let embedder = by_meaning.then_some(&mut world.embedder as &mut dyn Embed);
    let hits = world.searcher.search(&world.store, embedder, &query).unwrap().hits;
    let is_explicit = |title: &String| golden.expected.is_empty() || golden.expected.contains(title);
    let Some(at) = hits.iter().position(|hit| is_explicit(&hit.title)) else { return "not found".into() };
    let hit = &hits[at];
    let cosine = hit.why.cosine.unwrap_or_default();
    let (coverage, matched) = (hit.why.coverage, hit.why.matched.join(" "));
    format!(
        "{}. {:.2} = cosine {cosine:.2}, words {coverage:.2} ({matched}) {}",
        at + 1,
        hit.score,
        hit.title
    )
}

/// The number of prompts in these sets with the right result: one of the expected records, or nothing.
fn right(outcomes: &[Outcome], halves: &[&str], is_relevant: bool) -> (usize, usize) {
    let belongs = |outcome: &&Outcome| {
        halves.contains(&outcome.golden.half.as_str()) && outcome.golden.expected.is_empty() != is_relevant
    };
    let all: Vec<&Outcome> = outcomes.iter().filter(belongs).collect();
    (all.iter().filter(|outcome| outcome.is_right()).count(), all.len())
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table = String::new();
    for outcome in outcomes {
        let Golden { half, prompt, expected } = &outcome.golden;
        let mark = if outcome.is_right() { "  " } else { "✗ " };
        let _ = writeln!(table, "{mark}{half:<7}{}", prompt.replace('\n', " "));
        for title in expected {
            let _ = writeln!(table, "         expected {title}");
        }
        let _ = writeln!(table, "         at best  {}", outcome.place);
        for (title, score) in &outcome.injected {
            let _ = writeln!(table, "         {score:.2}     {title}");
        }
    }
    for half in ["tune", "dev", "held", "across"] {
        let (answered, relevant) = right(outcomes, &[half], true);
        let (silent, others) = right(outcomes, &[half], false);
        let _ = writeln!(
            table,
            "{half:<7}{answered} of {relevant} got what they need, {silent} of {others} rightly got nothing"
        );
    }
    table
}

/// The number of the forty prompts with a right injection, and of the forty others without one.
fn measure(world: &mut World, by_meaning: bool) -> (usize, usize, String) {
    let outcomes = ask(world, by_meaning);
    let table = table(&outcomes);
    println!("{table}");
    let (answered, relevant) = right(&outcomes, &MEASURED, true);
    let (silent, others) = right(&outcomes, &MEASURED, false);
    assert_eq!((relevant, others), (40, 40), "the prompts");
    (answered, silent, table)
}

#[test]
fn nine_of_ten_prompts_get_what_they_need_and_nine_of_ten_others_nothing() {
    let mut world = live_through_the_story();
    world.index();
    let (answered, silent, table) = measure(&mut world, true);
    assert!(answered >= 36 && silent >= 36, "{table}");
}

/// This is the case of a hook without a daemon.
#[test]
fn word_search_alone_answers_fewer_prompts_and_is_rarely_wrong() {
    let mut world = live_through_the_story();
    let (answered, silent, table) = measure(&mut world, false);
    assert!(answered >= 25 && silent >= 36, "{table}");
}
