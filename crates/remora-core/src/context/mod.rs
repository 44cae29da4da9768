//! What is injected: pure functions from records and a budget to text.
//!
//! The budget is in tokens, estimated as characters / 4, a character of a script without spaces as one. Each part has a
//! limit of its own, what a part leaves over goes to the index of titles, and only whole items are shown: half a sentence
//! costs as much as it misleads.

mod about_file;
mod files;
mod frame;
mod noted;
mod recalled;
mod timeline;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::feedback::Feedback;
use crate::memory::ObservationType;
use crate::time::Time;

pub use about_file::{AboutFile, LONGEST_NOTE, about_file};
pub use files::{folder_section, project_section};
pub use frame::framed;
use frame::safe;
pub use noted::Noted;
pub use recalled::{LONGEST_TEXT, Recalled, recalled};

/// The most characters of one line of a summary, and of one fact.
const LONGEST_LINE: usize = 400;
const LONGEST_FACT: usize = 200;

/// What is known of a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    pub project: String,
    /// Preferences, conventions and corrections in the user's own words, the most important first.
    pub laid_down: Vec<String>,
    /// What the most valuable observations say, in a sentence or two, by their ids.
    pub substance: BTreeMap<i64, String>,
    /// What always holds, most important first.
    pub facts: Vec<String>,
    /// The user's own notes, the most important first.
    pub notes: Vec<Noted>,
    /// The latest first.
    pub summaries: Vec<PastSession>,
    pub observations: Vec<Known>,
    /// Files that were worked on lately, or that git calls changed.
    pub hot_files: Vec<String>,
}

/// A session by its summary.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSession {
    pub at: Time,
    pub request: String,
    pub learned: String,
    pub completed: String,
    pub next_steps: String,
}

/// An observation as the timeline shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    pub id: i64,
    pub at: Time,
    pub kind: ObservationType,
    pub title: String,
    /// Estimated tokens of its narrative and facts: what it costs to read on.
    pub tokens: u64,
    /// Estimated tokens of the work behind it.
    pub discovery_tokens: u64,
    /// The file it is mostly about.
    pub file: Option<String>,
    /// It comes before everything that is not.
    pub pinned: bool,
    pub feedback: Feedback,
}

/// What was made of the material.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub text: String,
    /// The observations it shows.
    pub shown: Vec<i64>,
    /// Which of the notes it shows, counted.
    pub notes: Vec<usize>,
}

/// Estimated tokens of a text.
pub fn tokens(text: &str) -> u64 {
    let (mut spaced, mut unspaced) = (0_u64, 0_u64);
    for character in text.chars() {
        if crate::text::is_unspaced(character) {
            unspaced += 1;
        } else {
            spaced += 1;
        }
    }
    spaced.div_ceil(4) + unspaced
}

/// How many observations get a sentence of substance at the start of a session.
const WITH_SUBSTANCE: usize = 8;
/// The most characters of that.
pub const LONGEST_SUBSTANCE: usize = 260;

/// The observations whose substance is worth reading at the start of a session, the most valuable first.
pub fn most_valuable(material: &Material, now: Time) -> Vec<i64> {
    let by_worth = timeline::by_start_worth(&material.observations, &material.hot_files, now);
    by_worth.into_iter().take(WITH_SUBSTANCE).map(|known| known.id).collect()
}

/// As much of the material as fits into `budget` tokens, frame included; `None` when there is nothing.
///
/// First comes what the user laid down, in a block of its own that does not say "reference data". Then where things
/// stand, what is most valuable with its substance, and the titles of the rest.
pub fn render(material: &Material, budget: u64, now: Time) -> Option<Context> {
    let is_empty = material.facts.is_empty()
        && material.summaries.is_empty()
        && material.observations.is_empty()
        && material.laid_down.is_empty();
    if is_empty && material.notes.is_empty() {
        return None;
    }
    let header = format!(
        "# Memory of {}\nMore: `remora search WORDS`, `remora show ID`, `remora timeline ID`.\n",
        safe(&material.project, 80)
    );
    let mut left = budget.checked_sub(tokens(&framed(&header)))?;
    let laid_down = laid_down(&material.laid_down, left * 20 / 100);
    left = left.saturating_sub(tokens(&laid_down));
    let mut body = header;
    let mut add = |part: String, left: &mut u64| {
        *left = left.saturating_sub(tokens(&part));
        body.push_str(&part);
    };
    add(facts(&material.facts, left * 15 / 100), &mut left);
    let (noted, notes) = noted::render(&material.notes, left * 30 / 100);
    add(noted, &mut left);
    add(sessions(&material.summaries, left * 40 / 100), &mut left);
    let (known, mut shown) = valuable(material, left * 70 / 100, now);
    add(known, &mut left);
    let rest: Vec<Known> =
        material.observations.iter().filter(|known| !shown.contains(&known.id)).cloned().collect();
    let (timeline, titles) = timeline::render(&rest, &material.hot_files, left, now);
    add(timeline, &mut left);
    shown.extend(titles);
    let is_more = !is_empty || !notes.is_empty();
    is_more.then(|| Context { text: format!("{laid_down}{}", framed(&body)), shown, notes })
}

/// The user's own words stand apart: they are what an agent should go by.
fn laid_down(words: &[String], budget: u64) -> String {
    const OPENING: &str = "What the user laid down for this project, in their own words:";
    let lines = words.iter().map(|words| format!("- {}\n", safe(words, LONGEST_FACT)));
    let list = part("", lines, budget.saturating_sub(tokens(OPENING) + 20));
    if list.is_empty() { list } else { frame::own_words(OPENING, &list) + "\n" }
}

/// The most valuable observations, with what they say.
fn valuable(material: &Material, budget: u64, now: Time) -> (String, Vec<i64>) {
    let mut text = "\n## Worth knowing\n".to_owned();
    let mut shown = Vec::new();
    let by_worth = timeline::by_start_worth(&material.observations, &material.hot_files, now);
    for known in by_worth.into_iter().take(WITH_SUBSTANCE) {
        let Some(substance) = material.substance.get(&known.id) else { continue };
        let title = safe(&known.title, 120);
        let substance = safe(substance, LONGEST_SUBSTANCE + 20);
        let says = if substance.starts_with(title.trim_end_matches(['.', '…'])) {
            substance
        } else {
            format!("{title}: {substance}")
        };
        let line = format!("- #{} {} {says}\n", known.id, known.kind.emoji());
        if tokens(&text) + tokens(&line) <= budget {
            text.push_str(&line);
            shown.push(known.id);
        }
    }
    if shown.is_empty() { (String::new(), shown) } else { (text, shown) }
}

fn facts(facts: &[String], budget: u64) -> String {
    let lines = facts.iter().map(|fact| format!("- {}\n", safe(fact, LONGEST_FACT)));
    part("\n## Standing facts\n", lines, budget)
}

/// Where things stand: what the last sessions were asked for, what came of it, what is open.
fn sessions(sessions: &[PastSession], budget: u64) -> String {
    let Some((last, earlier)) = sessions.split_first() else { return String::new() };
    let lines = [
        ("Asked", &last.request),
        ("Done", &last.completed),
        ("Open", &last.next_steps),
        ("Learned", &last.learned),
    ];
    let lines = lines
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(name, text)| format!("- {name}: {}\n", safe(text, LONGEST_LINE)));
    let mut text = part(&format!("\n## Where things stand ({})\n", day(last.at)), lines, budget);
    let left = budget.saturating_sub(tokens(&text));
    let lines = earlier.iter().map(|session| {
        let outcome = if session.completed.is_empty() { &session.learned } else { &session.completed };
        let mut line = format!("- {}: {}", day(session.at), safe(&session.request, 120));
        if !outcome.trim().is_empty() {
            let _ = write!(line, " → {}", safe(outcome, 160));
        }
        if !session.next_steps.trim().is_empty() {
            let _ = write!(line, " (open: {})", safe(&session.next_steps, 120));
        }
        line + "\n"
    });
    text.push_str(&part("\n## Earlier sessions\n", lines, left));
    text
}

/// A heading with as many lines as fit; nothing at all without a line.
fn part(heading: &str, lines: impl Iterator<Item = String>, budget: u64) -> String {
    let mut text = heading.to_owned();
    let mut any = false;
    for line in lines {
        if tokens(&text) + tokens(&line) > budget {
            break;
        }
        text.push_str(&line);
        any = true;
    }
    if any { text } else { String::new() }
}

/// `Dec 14, 2025`, where the user is.
fn day(at: Time) -> String {
    at.format("%b %-d, %Y")
}
