//! What an agent is told at the start of a session: pure functions from records and a budget to text.
//!
//! The budget is in tokens, estimated as characters / 4. Each part has a cap of its own, what a part leaves over goes to
//! the timeline, and only whole items are shown: half a sentence costs as much as it misleads.

mod about_file;
mod files;
mod frame;
mod noted;
mod recalled;
mod timeline;

use std::fmt::Write;

use crate::feedback::Feedback;
use crate::memory::ObservationType;
use crate::time::Time;

pub use about_file::{AboutFile, about_file};
pub use files::{folder_section, project_section};
pub use frame::framed;
use frame::safe;
pub use noted::Noted;
pub use recalled::{LONGEST_TEXT, Recalled, recalled};

/// The most characters of one line of a summary, and of one fact.
const LONGEST_LINE: usize = 400;
const LONGEST_FACT: usize = 200;

/// What there is to tell about a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    pub project: String,
    /// What always holds, most important first.
    pub facts: Vec<String>,
    /// The user's own notes, those that are told first coming first.
    pub notes: Vec<Noted>,
    /// The latest first.
    pub summaries: Vec<PastSession>,
    pub observations: Vec<Known>,
    /// Files that were worked on lately, or that git calls changed.
    pub hot_files: Vec<String>,
}

/// A session as its last summary tells it.
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
    u64::try_from(text.chars().count().div_ceil(4)).unwrap_or(u64::MAX)
}

/// Tells as much of the material as fits into `budget` tokens, frame included; `None` when there is nothing to tell.
pub fn render(material: &Material, budget: u64, now: Time) -> Option<Context> {
    let is_empty =
        material.facts.is_empty() && material.summaries.is_empty() && material.observations.is_empty();
    if is_empty && material.notes.is_empty() {
        return None;
    }
    let header = format!(
        "# Memory of {}\nMore: `remora search WORDS`, `remora show ID`, `remora timeline ID`.\n",
        safe(&material.project, 80)
    );
    let mut left = budget.checked_sub(tokens(&framed(&header)))?;
    let mut body = header;
    let mut add = |part: String, left: &mut u64| {
        *left = left.saturating_sub(tokens(&part));
        body.push_str(&part);
    };
    let facts = facts(&material.facts, left * 15 / 100);
    add(facts, &mut left);
    let (told, notes) = noted::render(&material.notes, left * 30 / 100);
    add(told, &mut left);
    let sessions = sessions(&material.summaries, left * 40 / 100);
    add(sessions, &mut left);
    let (timeline, shown) = timeline::render(&material.observations, &material.hot_files, left, now);
    add(timeline, &mut left);
    let is_more = !is_empty || !notes.is_empty();
    is_more.then(|| Context { text: framed(&body), shown, notes })
}

fn facts(facts: &[String], budget: u64) -> String {
    let lines = facts.iter().map(|fact| format!("- {}\n", safe(fact, LONGEST_FACT)));
    part("\n## Standing facts\n", lines, budget)
}

fn sessions(sessions: &[PastSession], budget: u64) -> String {
    let Some((last, earlier)) = sessions.split_first() else { return String::new() };
    let lines = [
        ("Asked", &last.request),
        ("Done", &last.completed),
        ("Next", &last.next_steps),
        ("Learned", &last.learned),
    ];
    let lines = lines
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(name, text)| format!("- {name}: {}\n", safe(text, LONGEST_LINE)));
    let mut told = part(&format!("\n## Last session ({})\n", day(last.at)), lines, budget);
    let left = budget.saturating_sub(tokens(&told));
    let lines = earlier.iter().map(|session| {
        let outcome = if session.completed.is_empty() { &session.learned } else { &session.completed };
        let mut line = format!("- {}: {}", day(session.at), safe(&session.request, 120));
        if !outcome.trim().is_empty() {
            let _ = write!(line, " → {}", safe(outcome, 120));
        }
        line + "\n"
    });
    told.push_str(&part("\n## Earlier sessions\n", lines, left));
    told
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
