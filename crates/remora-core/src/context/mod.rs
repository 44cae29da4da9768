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
mod since;
mod standing;
mod timeline;
mod valuable;

use std::collections::{BTreeMap, HashSet};

use crate::document::{RecordId, RecordKind};
use crate::feedback::Feedback;
use crate::memory::ObservationType;
use crate::time::Time;

pub use about_file::{AboutFile, LONGEST_NOTE, about_file};
pub use files::{folder_section, project_section};
pub use frame::{framed, framed_short, safe, safe_text};
pub use noted::Noted;
pub use recalled::{LONGEST_TEXT, PromptContext, Recalled, recalled};
pub use since::FileSince;
pub use valuable::{MOST_SENTENCES, most_valuable, substance};

/// The most characters of one fact, of a project's name, and of the command that reaches Remora.
const LONGEST_FACT: usize = 200;
const LONGEST_NAME: usize = 80;
const LONGEST_NOTICE: usize = 400;
const LONGEST_COMMAND: usize = 400;

/// What is known of a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    pub project: String,
    /// What the reader must know about this memory itself.
    pub notices: Vec<String>,
    /// Preferences, conventions and corrections in the user's own words, the most important first.
    pub laid_down: Vec<LaidDown>,
    /// Sentences of the most valuable observations by their ids: what [`substance`] returns.
    pub substance: BTreeMap<i64, Vec<String>>,
    /// Observations among those whose file is not what it was.
    pub files_since: BTreeMap<i64, FileSince>,
    /// What always holds, most important first.
    pub facts: Vec<String>,
    /// The user's own notes, the most important first.
    pub notes: Vec<Noted>,
    /// The latest first.
    pub summaries: Vec<PastSession>,
    pub observations: Vec<Known>,
    /// Files that were worked on lately, or that git calls changed.
    pub hot_files: Vec<String>,
    /// Files that git called changed when it was last asked.
    pub uncommitted: Vec<String>,
}

/// Something the user laid down, in their own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidDown {
    /// A fact, or an observation that the user saved.
    pub id: RecordId,
    pub text: String,
}

/// A session by its summary.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSession {
    pub at: Time,
    pub request: String,
    pub learned: String,
    pub completed: String,
    pub next_steps: String,
    /// What the commands of the session prove: which checks pass or fail.
    pub notes: String,
}

impl PastSession {
    /// Whether more is known of it than what was wanted.
    pub fn is_substantial(&self) -> bool {
        [&self.completed, &self.learned, &self.next_steps].iter().any(|part| !part.trim().is_empty())
    }
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

/// Text to inject, and the records it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub text: String,
    /// The observations in it, by their ids.
    pub observations: Vec<i64>,
    /// The notes in it, by their places in the material.
    pub notes: Vec<usize>,
    /// What it shows of the user's own words.
    pub laid_down: Vec<RecordId>,
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

/// One line of at most so many tokens, made safe as [`safe`] does. A cut ends in `…`, which is counted.
pub fn safe_tokens(text: &str, most: u64) -> String {
    let longest = usize::try_from(most.saturating_mul(4)).unwrap_or(usize::MAX);
    let line = safe(text, longest);
    if tokens(&line) <= most {
        return line;
    }
    let mut short = String::new();
    let (mut spaced, mut unspaced) = (1_u64, 0_u64);
    for character in line.chars() {
        if crate::text::is_unspaced(character) {
            unspaced += 1;
        } else {
            spaced += 1;
        }
        if spaced.div_ceil(4) + unspaced > most {
            break;
        }
        short.push(character);
    }
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// How an agent asks for more than it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More<'a> {
    /// By commands; this is how it calls Remora: a name on its PATH, or a path.
    Commands(&'a str),
    /// By the tools of Remora's MCP server.
    Tools,
}

impl More<'_> {
    /// How to read the whole of a record, in a few words.
    fn whole_record(self) -> &'static str {
        match self {
            Self::Commands(_) => "`remora show ID` has more",
            Self::Tools => "get_observations has more",
        }
    }
}

/// As much of the material as fits into `budget` tokens, frame included; `None` when there is nothing. `more` is how the
/// agent asks for the rest.
///
/// First comes what the user laid down, in a block of its own that does not say "reference data". Then where things
/// stand, what is most valuable with its substance, the titles of the rest, and how to ask for more.
pub fn render(material: &Material, more: More<'_>, budget: u64, now: Time) -> Option<Context> {
    let is_empty = material.facts.is_empty()
        && material.summaries.is_empty()
        && material.observations.is_empty()
        && material.laid_down.is_empty();
    if is_empty && material.notes.is_empty() && material.notices.is_empty() {
        return None;
    }
    let mut header = format!("# Memory of {}\n", safe(&material.project, LONGEST_NAME));
    header.extend(material.notices.iter().map(|notice| format!("\n{}\n", safe(notice, LONGEST_NOTICE))));
    let more = how_to_ask(more);
    let mut left = budget.checked_sub(tokens(&framed(&format!("{header}{more}"))))?;
    let (own_words, laid_down) = laid_down(&material.laid_down, left * 20 / 100);
    left = left.saturating_sub(tokens(&own_words));
    let mut body = header;
    let mut add = |part: String, left: &mut u64| {
        *left = left.saturating_sub(tokens(&part));
        body.push_str(&part);
    };
    add(facts(&material.facts, left * 15 / 100), &mut left);
    let (noted, notes) = noted::render(&material.notes, left * 30 / 100);
    add(noted, &mut left);
    // A sentence that one part has is left out of the parts after it.
    let mut said = HashSet::new();
    add(standing::render(material, left * 40 / 100, &mut said), &mut left);
    // What stands above in the user's words is not repeated here.
    let own: Vec<i64> =
        laid_down.iter().filter(|id| id.kind == RecordKind::Observation).map(|id| id.number).collect();
    let (valuable, mut observations) = valuable::render(material, &own, left, &mut said, now);
    add(valuable, &mut left);
    let rest: Vec<&Known> = timeline::by_start_worth(&material.observations, &material.hot_files, now)
        .into_iter()
        .filter(|known| !observations.contains(&known.id) && !own.contains(&known.id))
        .collect();
    let (index, titles) = timeline::render(&rest, left);
    body.push_str(&index);
    body.push_str(&more);
    observations.extend(titles);
    let is_more = !is_empty || !notes.is_empty() || !material.notices.is_empty();
    is_more.then(|| Context { text: format!("{own_words}{}", framed(&body)), observations, notes, laid_down })
}

/// The user's own words stand apart: they are what an agent should go by.
fn laid_down(words: &[LaidDown], budget: u64) -> (String, Vec<RecordId>) {
    const OPENING: &str = "What the user laid down for this project, in their own words:";
    let budget = budget.saturating_sub(tokens(OPENING) + 20);
    let (mut list, mut shown) = (String::new(), Vec::new());
    for LaidDown { id, text } in words {
        let line = format!("- {}\n", safe(text, LONGEST_FACT));
        if tokens(&list) + tokens(&line) <= budget {
            list.push_str(&line);
            shown.push(*id);
        }
    }
    if shown.is_empty() { (list, shown) } else { (frame::own_words(OPENING, &list) + "\n", shown) }
}

fn facts(facts: &[String], budget: u64) -> String {
    let lines = facts.iter().map(|fact| format!("- {}\n", safe(fact, LONGEST_FACT)));
    part("\n## Standing facts\n", lines, budget)
}

fn how_to_ask(more: More<'_>) -> String {
    match more {
        More::Commands(command) => {
            let command = safe(command, LONGEST_COMMAND);
            format!(
                "\nMore: `{command} show ID` has the whole of an entry, `{command} search WORDS` finds others, \
                 `{command} timeline ID` shows what came before and after.\n"
            )
        }
        More::Tools => {
            "\nMore: get_observations has the whole of entries by their ids, search finds others, timeline \
                        shows what came before and after.\n"
                .to_owned()
        }
    }
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
