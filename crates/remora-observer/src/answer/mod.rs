//! Tolerant parser for the answers of a model.
//!
//! By contract an answer is XML: `<observation>`, `<statement>` and `<summary>` elements, or `<skip/>`. Real models
//! send answers that are fenced, wrapped in prose, cut off, half closed, or JSON. [`parse`] takes whatever it
//! understands, reports what was odd, and never fails: an unreadable answer is also an outcome, with its beginning
//! kept for inspection. Time is linear in the length of the answer, and everything kept is capped.

mod draft;
mod json;
mod tag;
mod text;
mod xml;

use std::fmt;

use remora_core::fact::LearnedFact;
use remora_core::memory::{Observation, Summary};

const MAX_OBSERVATIONS: usize = 50;
const MAX_STATEMENTS: usize = 10;
const MAX_PROBLEMS: usize = 30;
/// Characters kept of an unreadable answer.
const BEGINNING: usize = 500;

/// An answer, parsed as far as possible.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedAnswer {
    pub outcome: Outcome,
    /// Oddities of the answer, for the log.
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Outcome {
    /// At least one observation, a statement, or a summary.
    Memory { observations: Vec<Observation>, facts: Vec<LearnedFact>, summary: Option<Summary> },
    /// Nothing was worth keeping: an explicit `<skip/>`, or an empty answer.
    Nothing,
    /// It contains neither memory nor a skip.
    Unparseable { beginning: String },
}

/// An oddity of an answer. A `&'static str` is the name of the tag it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The model refused.
    Refusal,
    /// There was text, but no tag of the contract.
    NoTags,
    /// A thought that is never closed.
    UnfinishedThought,
    /// JSON instead of XML.
    Json,
    TooManyTags,
    TooManyObservations,
    TooManyStatements,
    /// The unknown type, at most its first 40 characters.
    UnknownType(String),
    MissingType,
    /// The title was taken from the first words of the narrative.
    MissingTitle,
    LongTitle,
    LongField(&'static str),
    LongList(&'static str),
    /// A list that looks like JSON but is not valid.
    MalformedList(&'static str),
    Unclosed(&'static str),
    /// The answer ends inside this element.
    CutOff(&'static str),
    /// Given more than once: for texts the last value that is not empty wins, lists are joined.
    Repeated(&'static str),
    /// The fields are present, but not the element around them.
    Unwrapped(&'static str),
    /// An element without content to keep.
    Empty(&'static str),
    SeveralSummaries,
    SkipWithMemory,
    /// An empty list of observations instead of `<skip/>`.
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

/// Memory and problems found so far.
#[derive(Debug, Default)]
struct Gathered {
    observations: Vec<Observation>,
    facts: Vec<LearnedFact>,
    summary: Option<Summary>,
    skip: bool,
    /// An empty list of observations counts as a skip.
    empty_list: bool,
    problems: Vec<Problem>,
}

impl Gathered {
    /// Notes each problem once, up to a limit: ten thousand of them would say no more.
    fn note(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn keep_observation(&mut self, observation: Observation) {
        if self.observations.len() < MAX_OBSERVATIONS {
            self.observations.push(observation);
        } else {
            self.note(Problem::TooManyObservations);
        }
    }

    /// If two statements have the same key, the first wins.
    fn keep_fact(&mut self, learned: LearnedFact) {
        if self.facts.iter().any(|known| known.fact.key == learned.fact.key) {
            self.note(Problem::Repeated("statement"));
        } else if self.facts.len() < MAX_STATEMENTS {
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

/// Parses a model's answer. Never fails and never panics.
pub fn parse(answer: &str) -> ParsedAnswer {
    let unparseable = || Outcome::Unparseable { beginning: text::plain(answer, BEGINNING) };
    let Some(body) = tag::after_thoughts(answer) else {
        return ParsedAnswer { outcome: unparseable(), problems: vec![Problem::UnfinishedThought] };
    };
    if text::is_blank(body) {
        return ParsedAnswer { outcome: Outcome::Nothing, problems: Vec::new() };
    }
    // JSON first if the answer starts with it, because its strings may mention tags.
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
