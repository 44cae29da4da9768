//! The observer that needs nothing: it builds knowledge from the facts of a turn and from the best free summary
//! there is, the agent's own closing message.

mod checks;
mod evidence;
mod kind;
mod shell;
mod summary;
mod text;
mod title;
mod traps;
mod user;

use remora_core::event::Change;
use remora_core::memory::{Memory, Observation, ObservationType};
use remora_core::text::one_line;

use crate::turn::Turn;
use checks::Verdict;
use kind::{is_document, kind};
use remora_core::prose::{Role, Sentence, sentences};
use text::{ended, list, names};
use traps::Trap;
pub(crate) use user::{REACH, objects};

pub const NAME: &str = "builtin";

const LONGEST_NARRATIVE: usize = 1200;
const MOST_FACTS: usize = 6;

/// Makes memory of one turn. No observation is a valid outcome.
pub fn observe(turn: &Turn) -> Memory {
    let account = Account::new(turn);
    let observations = if account.is_worth_keeping() { vec![account.observation()] } else { Vec::new() };
    let user::Words { facts, refutes } = user::words(turn);
    let summary = account.summary();
    Memory { observations, summary, facts, refutes, provider: NAME.to_owned(), ..Memory::default() }
}

/// A turn, read.
struct Account<'a> {
    turn: &'a Turn,
    closing: Vec<Sentence>,
    verdict: Option<Verdict>,
    traps: Vec<Trap>,
    kind: ObservationType,
}

impl<'a> Account<'a> {
    fn new(turn: &'a Turn) -> Self {
        let closing: Vec<Sentence> = turn.closing.iter().flat_map(|message| sentences(message)).collect();
        let is_code = |change: &Change| !is_document(&change.path);
        let verdict =
            checks::verdict(turn, turn.changes.iter().rposition(is_code).map_or(0, |last| last + 1));
        let kind = kind(turn, &closing, verdict.as_ref());
        Self { turn, closing, verdict, traps: traps::traps(turn), kind }
    }

    /// Reads that led to no change, and chat, are not.
    fn is_worth_keeping(&self) -> bool {
        if !self.turn.changes.is_empty() {
            return true;
        }
        // Something was tried and what came of it explained, or proven.
        let tried = self.turn.runs.iter().any(|run| !checks::proves_nothing(&run.command));
        let explained =
            self.closing.iter().any(|sentence| matches!(sentence.role, Role::Cause | Role::Caveat));
        (tried && explained) || !self.traps.is_empty()
    }

    fn observation(&self) -> Observation {
        Observation {
            kind: self.kind,
            title: self.title(),
            subtitle: self.subtitle(),
            narrative: self.narrative(),
            facts: self.facts(),
            concepts: self.concepts().into_iter().map(str::to_owned).collect(),
            files_read: self.turn.files_only_read(),
            files_modified: self.turn.files_modified(),
            discovery_tokens: self.turn.tokens,
            tool_name: None,
        }
    }

    fn title(&self) -> String {
        let telling =
            |sentence: &&Sentence| !matches!(sentence.role, Role::Courtesy | Role::Offer | Role::Next);
        let from_closing =
            self.closing.iter().filter(telling).find_map(|sentence| title::of_sentence(&sentence.text));
        if let Some(title) = from_closing {
            return title;
        }
        let asked = title::of_sentence(&self.asked()).unwrap_or_default();
        match (self.is_unfinished(), asked.is_empty()) {
            (true, false) => title::limit(&format!("Unfinished: {asked}")),
            (false, false) => asked,
            (_, true) => title::limit(&format!("Changed {}", list(&names(&self.turn.files_modified()), 2))),
        }
    }

    /// The cause, if one was named; otherwise what was asked, or what else was said.
    fn subtitle(&self) -> String {
        let cause = self.closing.iter().find(|sentence| sentence.role == Role::Cause);
        let told = self.closing.iter().filter(|sentence| sentence.role == Role::Account).nth(1);
        let text = match (cause, self.asked()) {
            (Some(cause), _) => cause.text.clone(),
            (None, asked) if asked.is_empty() => {
                told.map(|sentence| sentence.text.clone()).unwrap_or_default()
            }
            (None, asked) => asked,
        };
        if text.is_empty() { text } else { one_line(&ended(&text), 160) }
    }

    /// The first sentence of the prompt that says something.
    fn asked(&self) -> String {
        let mut prompt = sentences(&self.turn.prompt).into_iter().map(|sentence| sentence.text);
        prompt.find(|sentence| sentence.split_whitespace().count() >= 4).unwrap_or_default()
    }

    fn narrative(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut length = 0;
        for sentence in &self.closing {
            if matches!(sentence.role, Role::Courtesy | Role::Offer | Role::Next) {
                continue;
            }
            length += sentence.text.len() + 1;
            if length > LONGEST_NARRATIVE {
                break;
            }
            parts.push(ended(&sentence.text));
        }
        if parts.is_empty() {
            parts.push(self.told_by_facts());
        }
        parts.extend(self.proof().filter(|proof| !parts.contains(proof)));
        parts.join(" ")
    }

    /// What can be said of a turn of which nobody said anything.
    fn told_by_facts(&self) -> String {
        let asked = one_line(&self.turn.prompt, 400);
        let files = self.turn.files_modified();
        let mut parts = Vec::new();
        if !asked.is_empty() {
            parts.push(format!("Asked for: {}", ended(&asked)));
        }
        if !files.is_empty() {
            parts.push(format!("{} changed before the turn ended.", list(&files, 4)));
        }
        if self.turn.interrupted {
            parts.push("The user stopped the agent.".to_owned());
        }
        parts.extend(self.break_off());
        parts.join(" ")
    }

    /// What the commands prove, in a sentence.
    fn proof(&self) -> Option<String> {
        let count =
            |result: &Option<String>| result.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
        Some(match self.verdict.as_ref()? {
            Verdict::Fixed { command, result } => {
                format!("`{command}` failed before the change and passes after it{}.", count(result))
            }
            Verdict::Passes { command, result, failed_before: true } => {
                format!("`{command}` failed on the way and passes now{}.", count(result))
            }
            Verdict::Passes { .. } if self.turn.changes.is_empty() => return None,
            Verdict::Passes { command, result, .. } => format!("`{command}` passes{}.", count(result)),
            Verdict::NotRunAgain { command } => {
                format!("`{command}` failed before the last change and was not run again.")
            }
            Verdict::StillFails { command, result, reason } => match reason {
                Some(reason) => format!("`{command}` still fails{}: {}", count(result), ended(reason)),
                None => format!("`{command}` still fails{}.", count(result)),
            },
        })
    }

    fn facts(&self) -> Vec<String> {
        let worth =
            |sentence: &&Sentence| matches!(sentence.role, Role::Cause | Role::Caveat | Role::Decision);
        let mut proven: Vec<String> = self.traps.iter().map(trap).collect();
        proven.extend(self.proof());
        let said = self.closing.iter().filter(worth).map(|s| one_line(&ended(&s.text), 240));
        let room = MOST_FACTS - proven.len();
        said.take(room).chain(proven).collect()
    }

    fn concepts(&self) -> Vec<&'static str> {
        let has = |role: Role| self.closing.iter().any(|sentence| sentence.role == role);
        let mut concepts = Vec::new();
        if self.kind == ObservationType::Bugfix {
            concepts.push("problem-solution");
        }
        if self.kind == ObservationType::Decision {
            concepts.push("trade-off");
        }
        if has(Role::Cause) && self.kind != ObservationType::Bugfix {
            concepts.push("why-it-exists");
        }
        if has(Role::Caveat) || !self.traps.is_empty() {
            concepts.push("gotcha");
        }
        if !self.turn.changes.is_empty() {
            concepts.push("what-changed");
        }
        if concepts.is_empty() {
            concepts.push("how-it-works");
        }
        concepts
    }

    /// Why the host ended the turn, without the data in its message.
    fn break_off(&self) -> Option<String> {
        let reason = self.turn.broke_off.as_ref()?;
        let reason = reason.split(['{', '[']).next().unwrap_or_default();
        Some(format!("The turn broke off: {}", ended(&one_line(reason, 120))))
    }

    fn is_unfinished(&self) -> bool {
        self.turn.interrupted || self.turn.broke_off.is_some() || self.turn.closing.is_empty()
    }
}

fn trap(Trap { fails, why, works }: &Trap) -> String {
    format!("`{fails}` fails ({}); `{works}` works.", why.trim_end_matches('.'))
}
