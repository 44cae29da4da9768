//! What an LLM observer answered, read with patience.
//!
//! By contract an answer is XML: `<observation>`, `<statement>` and `<summary>` elements, or `<skip/>`. What models really send
//! is fenced, wrapped in prose, cut off, half closed, or JSON. [`parse`] takes whatever it understands, says what
//! was odd, and never fails: an answer it can make nothing of is an outcome too, with its beginning kept for
//! inspection. Time is linear in the answer and everything kept is capped.

mod draft;
mod json;
mod tag;
mod text;
mod xml;

use std::fmt;

use remora_core::fact::LearnedFact;
use remora_core::memory::{Observation, Summary};

const MOST_OBSERVATIONS: usize = 50;
const MOST_STATEMENTS: usize = 10;
const MOST_PROBLEMS: usize = 30;
/// How much of an unreadable answer is kept, in characters.
const BEGINNING: usize = 500;

/// An answer, understood as far as possible.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedAnswer {
    pub outcome: Outcome,
    /// What was odd about it, for the log.
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Outcome {
    /// At least one observation, a statement, or a summary.
    Memory { observations: Vec<Observation>, facts: Vec<LearnedFact>, summary: Option<Summary> },
    /// Nothing was worth keeping: an explicit `<skip/>`, or an empty answer.
    Nothing,
    /// Neither memory nor a skip could be found in it.
    Unparseable { beginning: String },
}

/// One oddity of an answer. A `&'static str` names the tag it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The observer declined.
    Refusal,
    /// There was text, but no tag of the contract.
    NoTags,
    /// A thought was begun and never finished.
    UnfinishedThought,
    /// JSON instead of XML.
    Json,
    TooManyTags,
    TooManyObservations,
    TooManyStatements,
    /// At most the first 40 characters of the word that was no type.
    UnknownType(String),
    MissingType,
    /// The title was made of the narrative's first words.
    MissingTitle,
    LongTitle,
    LongField(&'static str),
    LongList(&'static str),
    /// A list that looked like JSON and was none.
    MalformedList(&'static str),
    Unclosed(&'static str),
    /// The answer ended in the middle of it.
    CutOff(&'static str),
    /// Given more than once: texts take the last that is not empty, lists are joined.
    Repeated(&'static str),
    /// The fields were there, the element around them was not.
    Unwrapped(&'static str),
    /// An element without anything to keep.
    Empty(&'static str),
    SeveralSummaries,
    SkipWithMemory,
    /// An empty list of observations where `<skip/>` was due.
    EmptyList,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refusal => f.write_str("the observer declined to answer"),
            Self::NoTags => f.write_str("no tag of the contract was found"),
            Self::UnfinishedThought => f.write_str("the answer ended within a thought"),
            Self::Json => f.write_str("the answer was JSON instead of XML"),
            Self::TooManyTags => f.write_str("too many tags; the rest was not read"),
            Self::TooManyObservations => f.write_str("too many observations; the rest was dropped"),
            Self::TooManyStatements => f.write_str("too many statements; the rest was dropped"),
            Self::UnknownType(word) => write!(f, "unknown type `{word}`, taken as discovery"),
            Self::MissingType => f.write_str("no type, taken as discovery"),
            Self::MissingTitle => f.write_str("no title, made of the narrative"),
            Self::LongTitle => f.write_str("the title was longer than nine words and was cut"),
            Self::LongField(tag) => write!(f, "`{tag}` was too long and was cut"),
            Self::LongList(tag) => write!(f, "`{tag}` had too many items; the rest was dropped"),
            Self::MalformedList(tag) => write!(f, "`{tag}` was malformed JSON"),
            Self::Unclosed(tag) => write!(f, "`{tag}` was not closed"),
            Self::CutOff(tag) => write!(f, "the answer ended within `{tag}`"),
            Self::Repeated(tag) => write!(f, "`{tag}` was given more than once"),
            Self::Unwrapped(tag) => write!(f, "fields without `{tag}` around them"),
            Self::Empty(tag) => write!(f, "`{tag}` without content was dropped"),
            Self::SeveralSummaries => f.write_str("several summaries; the last one counts"),
            Self::SkipWithMemory => f.write_str("`skip` next to memory was ignored"),
            Self::EmptyList => f.write_str("an empty list instead of `skip`"),
        }
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Gathered {
    observations: Vec<Observation>,
    facts: Vec<LearnedFact>,
    summary: Option<Summary>,
    skip: bool,
    /// A list of observations with none in it says as much as a skip.
    empty_list: bool,
    problems: Vec<Problem>,
}

impl Gathered {
    /// Each oddity is noted once, and only so many: ten thousand of them say no more.
    fn note(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn keep_observation(&mut self, observation: Observation) {
        if self.observations.len() < MOST_OBSERVATIONS {
            self.observations.push(observation);
        } else {
            self.note(Problem::TooManyObservations);
        }
    }

    /// Of two statements about one key, the first counts.
    fn keep_fact(&mut self, learned: LearnedFact) {
        if self.facts.iter().any(|known| known.fact.key == learned.fact.key) {
            self.note(Problem::Repeated("statement"));
        } else if self.facts.len() < MOST_STATEMENTS {
            self.facts.push(learned);
        } else {
            self.note(Problem::TooManyStatements);
        }
    }

    fn keep_summary(&mut self, summary: Summary) {
        if self.summary.replace(summary).is_some() {
            self.note(Problem::SeveralSummaries);
        }
    }

    fn has_memory(&self) -> bool {
        !self.observations.is_empty() || !self.facts.is_empty() || self.summary.is_some()
    }

    fn is_answer(&self) -> bool {
        self.has_memory() || self.skip || self.empty_list
    }

    fn outcome(mut self, otherwise: Outcome) -> ParsedAnswer {
        let outcome = if self.has_memory() {
            if self.skip {
                self.note(Problem::SkipWithMemory);
            }
            Outcome::Memory { observations: self.observations, facts: self.facts, summary: self.summary }
        } else if self.skip {
            Outcome::Nothing
        } else if self.empty_list {
            self.note(Problem::EmptyList);
            Outcome::Nothing
        } else {
            otherwise
        };
        ParsedAnswer { outcome, problems: self.problems }
    }
}

/// Reads an observer's answer. Never fails and never panics, whatever the answer is.
pub fn parse(answer: &str) -> ParsedAnswer {
    let unparseable = || Outcome::Unparseable { beginning: text::plain(answer, BEGINNING) };
    let Some(body) = tag::after_thoughts(answer) else {
        return ParsedAnswer { outcome: unparseable(), problems: vec![Problem::UnfinishedThought] };
    };
    if text::is_blank(body) {
        return ParsedAnswer { outcome: Outcome::Nothing, problems: Vec::new() };
    }
    // JSON first where the answer starts with it: its strings may well speak of tags.
    let body = text::unfenced(body);
    if body.starts_with(['{', '['])
        && let Some(found) = json::find(body)
    {
        return found.outcome(Outcome::Nothing);
    }
    let (mut found, rest) = xml::read(body);
    if found.is_answer() {
        return found.outcome(Outcome::Nothing);
    }
    if let Some(found) = json::find(rest) {
        return found.outcome(Outcome::Nothing);
    }
    if text::is_refusal(rest) {
        found.note(Problem::Refusal);
    } else if found.problems.is_empty() {
        found.note(Problem::NoTags);
    }
    found.outcome(unparseable())
}
