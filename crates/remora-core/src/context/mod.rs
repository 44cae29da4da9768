//! Rendering of injected text: pure functions from records and a budget to text.
//!
//! The budget is in tokens, estimated as characters / 4; a character of a script without spaces counts as one. Each
//! part has its own limit, and what it does not use goes to the index of titles. Only whole items are injected, because
//! half a sentence may mislead.

mod about_file;
mod files;
mod frame;
mod lines;
mod noted;
mod recalled;
mod since;
mod standing;
mod timeline;
mod valuable;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::AddAssign;

use crate::document::{RecordId, RecordKind};
use crate::feedback::Feedback;
use crate::memory::ObservationType;
use crate::time::Time;
use crate::wrong::CalledWrong;
use lines::Lines;

pub use about_file::{AboutFile, MAX_NOTE_LEN, about_file};
pub use files::{folder_section, project_section};
pub use frame::{framed, framed_short, safe, safe_text};
pub use noted::PinnedNote;
pub use recalled::{MAX_TEXT_LEN, PromptContext, RecalledPassage, recalled};
pub use since::FileSince;
pub use valuable::{MAX_SENTENCES, most_valuable, substance};

/// Length limits in characters: a fact, a project's name, a notice, and the command that runs Remora.
const MAX_FACT_LEN: usize = 200;
const MAX_NAME_LEN: usize = 80;
const MAX_NOTICE_LEN: usize = 400;
const MAX_COMMAND_LEN: usize = 400;

/// The records of a project that context is rendered from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionContext {
    pub project: String,
    /// Notices about this memory itself.
    pub notices: Vec<String>,
    /// Preferences, conventions and corrections in the user's own words, the most important first.
    pub user_statements: Vec<UserStatement>,
    /// Sentences of the most valuable observations by id, as [`substance`] returns them.
    pub substance: BTreeMap<i64, Vec<String>>,
    /// Observations in `substance` whose file has changed or is gone.
    pub files_since: BTreeMap<i64, FileSince>,
    /// Facts, most important first.
    pub facts: Vec<UserStatement>,
    /// The user's own notes, the most important first.
    pub notes: Vec<PinnedNote>,
    /// Newest first.
    pub summaries: Vec<PastSummary>,
    pub observations: Vec<TimelineItem>,
    /// Files that were worked on recently, or that git reports as changed.
    pub hot_files: Vec<String>,
    /// Files that git reported as changed at the last check.
    pub uncommitted: Vec<String>,
    /// Statements that must not be in the text. The records above are free of them; sentences that are read later are
    /// checked against it.
    pub wrong: CalledWrong,
}

/// A preference, convention or correction in the user's own words, or another fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStatement {
    /// A fact, or an observation that the user saved.
    pub id: RecordId,
    /// The key of a fact; empty if the text has its words.
    pub key: String,
    pub text: String,
}

impl UserStatement {
    fn line(&self) -> String {
        let colon = if self.key.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", self.key, self.text)
    }
}

/// The summary of an earlier session.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSummary {
    /// The id of its summary.
    pub id: i64,
    pub at: Time,
    pub request: String,
    pub learned: String,
    pub completed: String,
    pub next_steps: String,
    /// Results of the session's commands: which checks pass or fail.
    pub notes: String,
}

impl PastSummary {
    /// Whether the summary holds more than the request.
    pub fn is_substantial(&self) -> bool {
        [&self.completed, &self.learned, &self.next_steps].iter().any(|part| !part.trim().is_empty())
    }

    /// The summary without what the session found out or did.
    #[must_use]
    pub fn only_request(self) -> Self {
        let nothing = String::new;
        Self { learned: nothing(), completed: nothing(), next_steps: nothing(), notes: nothing(), ..self }
    }
}

/// An observation as the timeline shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineItem {
    pub id: i64,
    pub at: Time,
    pub kind: ObservationType,
    pub title: String,
    /// Estimated tokens of its narrative and facts: the cost of reading it in full.
    pub tokens: u64,
    /// Estimated tokens of the work behind it.
    pub discovery_tokens: u64,
    /// The file it is mostly about.
    pub file: Option<String>,
    /// Pinned observations come before all others.
    pub pinned: bool,
    pub feedback: Feedback,
}

impl TimelineItem {
    /// Whether a person pinned it or called it useful. This is then the last verdict on what it says, because a later
    /// `wrong` on the same statement removes both.
    pub fn is_upheld(&self) -> bool {
        self.pinned || self.feedback.useful > 0
    }

    /// Whether neither it nor what its title says was called wrong.
    pub fn may_be_injected(&self, wrong: &CalledWrong) -> bool {
        !self.feedback.is_wrong() && (self.is_upheld() || !wrong.is_said_by(&self.title))
    }
}

/// Text to inject, and the records it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub text: String,
    /// Ids of the observations in it.
    pub observations: Vec<i64>,
    /// Indexes of its notes in [`SessionContext::notes`].
    pub notes: Vec<usize>,
    /// Ids of the user's own words in it.
    pub user_statements: Vec<RecordId>,
    pub facts: Vec<RecordId>,
    /// Ids of the summaries in it.
    pub summaries: Vec<i64>,
}

/// Estimated tokens of a text.
pub fn tokens(text: &str) -> u64 {
    Length::of(text).tokens()
}

/// The characters of a text, from which its tokens are estimated.
#[derive(Debug, Clone, Copy, Default)]
struct Length {
    spaced: usize,
    unspaced: usize,
}

impl Length {
    fn of(text: &str) -> Self {
        // Every line of a start is counted, and most have no character that may be unspaced. Counting bytes is fast.
        const FIRST_LEAD: u8 = 0xE0;
        let may_be_unspaced = text.bytes().filter(|byte| *byte >= FIRST_LEAD).count() > 0;
        let is_unspaced = |c: &char| crate::text::is_unspaced(*c);
        let unspaced = if may_be_unspaced { text.chars().filter(is_unspaced).count() } else { 0 };
        Self { spaced: text.chars().count() - unspaced, unspaced }
    }

    fn tokens(self) -> u64 {
        (self.spaced.div_ceil(4) + self.unspaced) as u64
    }
}

impl AddAssign for Length {
    fn add_assign(&mut self, other: Self) {
        self.spaced += other.spaced;
        self.unspaced += other.unspaced;
    }
}

/// One line of at most `most` tokens, made safe by [`safe`]. A cut line ends in `…`, which is counted.
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

/// How an agent requests more than was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More<'a> {
    /// Through commands. The value is how the agent runs Remora: a name on its PATH, or a path.
    Commands(&'a str),
    /// Through the tools of Remora's MCP server.
    Tools,
}

impl More<'_> {
    /// A short hint on how to read a whole record.
    fn whole_record(self) -> Cow<'static, str> {
        match self {
            Self::Commands(command) => format!("`{command} show ID` has more").into(),
            Self::Tools => "get_observations has more".into(),
        }
    }
}

/// Renders as much of the material as fits into `budget` tokens, including the frame; `None` if there is nothing.
/// `more` is how the agent requests the rest.
///
/// The user's own words come first, in a block that does not say "reference data". Then follow the state of the work,
/// the most valuable observations with their substance, the titles of the rest, and how to request more.
pub fn render(material: &SessionContext, more: More<'_>, budget: u64, now: Time) -> Option<Context> {
    let is_empty = material.facts.is_empty()
        && material.summaries.is_empty()
        && material.observations.is_empty()
        && material.user_statements.is_empty();
    if is_empty && material.notes.is_empty() && material.notices.is_empty() {
        return None;
    }
    let mut header = format!("# Memory of {}\n", safe(&material.project, MAX_NAME_LEN));
    header.extend(material.notices.iter().map(|notice| format!("\n{}\n", safe(notice, MAX_NOTICE_LEN))));
    let more = how_to_ask(more);
    let mut left = budget.checked_sub(tokens(&framed(&format!("{header}{more}"))))?;
    let (own_words, user_statements) = user_statements(&material.user_statements, left * 20 / 100);
    left = left.saturating_sub(tokens(&own_words));
    let mut body = header;
    let mut add = |part: String, left: &mut u64| {
        *left = left.saturating_sub(tokens(&part));
        body.push_str(&part);
    };
    let (standing, facts) = facts(&material.facts, left * 15 / 100);
    add(standing, &mut left);
    let (noted, notes) = noted::render(&material.notes, left * 30 / 100);
    add(noted, &mut left);
    // A sentence shown in one part is left out of the later parts.
    let mut said = HashSet::new();
    let (standing, summaries) = standing::render(material, left * 40 / 100, &mut said);
    add(standing, &mut left);
    // Observations shown in the block of the user's own words are not repeated here.
    let own: Vec<i64> =
        user_statements.iter().filter(|id| id.kind == RecordKind::Observation).map(|id| id.number).collect();
    let by_worth = timeline::by_start_worth(&material.observations, &material.hot_files, now);
    let (valuable, mut observations) = valuable::render(material, &by_worth, &own, left, &mut said);
    add(valuable, &mut left);
    let rest: Vec<&TimelineItem> = by_worth
        .into_iter()
        .filter(|known| !observations.contains(&known.id) && !own.contains(&known.id))
        .collect();
    let (index, titles) = timeline::render(&rest, left);
    body.push_str(&index);
    body.push_str(&more);
    observations.extend(titles);
    let is_more = !is_empty || !notes.is_empty() || !material.notices.is_empty();
    let text = format!("{own_words}{}", framed(&body));
    is_more.then_some(Context { text, observations, notes, user_statements, facts, summaries })
}

/// Renders the user's own words apart from the rest, because an agent should follow them.
fn user_statements(words: &[UserStatement], budget: u64) -> (String, Vec<RecordId>) {
    const OPENING: &str = "What the user laid down for this project, in their own words:";
    let (list, shown) = list("", words, budget.saturating_sub(tokens(OPENING) + 20));
    if shown.is_empty() { (list, shown) } else { (frame::own_words(OPENING, &list) + "\n", shown) }
}

fn facts(facts: &[UserStatement], budget: u64) -> (String, Vec<RecordId>) {
    list("\n## Standing facts\n", facts, budget)
}

/// A line for each text that fits.
fn list(heading: &'static str, words: &[UserStatement], budget: u64) -> (String, Vec<RecordId>) {
    let mut lines = Lines::new(heading, budget);
    let fits = |said: &&UserStatement| lines.add(&format!("- {}\n", safe(&said.line(), MAX_FACT_LEN)));
    let shown = words.iter().filter(fits).map(|said| said.id).collect();
    (lines.into_text(), shown)
}

fn how_to_ask(more: More<'_>) -> String {
    match more {
        More::Commands(command) => {
            let command = safe(command, MAX_COMMAND_LEN);
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

/// `Dec 14, 2025`, in local time.
fn day(at: Time) -> String {
    at.format("%b %-d, %Y")
}
