//! The observer that needs nothing: it builds knowledge from the facts of a turn and from the best free summary
//! there is, the agent's own closing message.

mod checks;
mod evidence;
mod shell;
mod title;
mod traps;

use std::path::Path;

use remora_core::event::{Change, How};
use remora_core::memory::{Memory, Observation, ObservationType, Summary};
use remora_core::text::one_line;

use crate::turn::Turn;
use checks::Verdict;
use remora_core::prose::{Role, Sentence, sentences};
use traps::Trap;

pub const NAME: &str = "builtin";

const LONGEST_NARRATIVE: usize = 1200;
const MOST_FACTS: usize = 6;

/// Makes memory of one turn. No observation is a valid outcome.
pub fn observe(turn: &Turn) -> Memory {
    let account = Account::new(turn);
    let observations = if account.is_worth_keeping() { vec![account.observation()] } else { Vec::new() };
    Memory { observations, summary: account.summary(), provider: NAME.to_owned(), ..Memory::default() }
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

    /// Nothing for a turn in which nothing was asked or only a word of thanks was said.
    fn summary(&self) -> Option<Summary> {
        let turn = self.turn;
        let idle = turn.changes.is_empty() && turn.runs.is_empty() && turn.files_read.is_empty();
        let mute = turn.prompt.is_empty() && turn.closing.is_empty();
        let brief = turn.prompt.split_whitespace().count() <= 3;
        if turn.digest.is_none() && (mute || (idle && brief)) {
            return None;
        }
        let said = |roles: &[Role], limit: usize| {
            let chosen: Vec<String> =
                self.closing.iter().filter(|s| roles.contains(&s.role)).map(|s| ended(&s.text)).collect();
            bounded(&chosen, limit)
        };
        let mut completed = said(&[Role::Account, Role::Decision], 600);
        if completed.is_empty() && !turn.changes.is_empty() {
            completed = self.told_by_facts();
        }
        Some(Summary {
            request: one_line(&turn.prompt, 300),
            investigated: self.investigated(),
            learned: said(&[Role::Cause, Role::Caveat], 600),
            completed,
            next_steps: said(&[Role::Next], 400),
            notes: self.notes(),
            files_read: turn.files_only_read(),
            files_edited: turn.files_modified(),
        })
    }

    fn investigated(&self) -> String {
        let mut parts = Vec::new();
        if !self.turn.files_read.is_empty() {
            parts.push(format!("Read {}.", list(&self.turn.files_read, 5)));
        }
        parts.extend(self.turn.reports.iter().map(|report| ended(&one_line(first_sentence(report), 200))));
        parts.join(" ")
    }

    fn notes(&self) -> String {
        let mut notes: Vec<String> = self.proof().into_iter().collect();
        if self.turn.interrupted {
            notes.push("The user stopped the agent.".to_owned());
        }
        notes.extend(self.break_off());
        notes.join(" ")
    }
}

fn trap(Trap { fails, why, works }: &Trap) -> String {
    format!("`{fails}` fails ({}); `{works}` works.", why.trim_end_matches('.'))
}

/// What kind of knowledge a turn is, by what was done and what was asked.
fn kind(turn: &Turn, closing: &[Sentence], verdict: Option<&Verdict>) -> ObservationType {
    let asked = turn.prompt.to_lowercase();
    let told = closing.iter().map(|sentence| sentence.text.to_lowercase()).collect::<Vec<_>>().join(" ");
    let asks = |words: &[&str]| words.iter().any(|word| asked.contains(word));
    let tells = |words: &[&str]| words.iter().any(|word| told.contains(word));
    let settled = closing.iter().any(|sentence| sentence.role == Role::Decision);
    if settled
        && (asks(&["should we", "which ", "whether", "decide", "better", "or can", "versus", " vs"])
            || told.starts_with("decision"))
    {
        return ObservationType::Decision;
    }
    let gave_up = tells(&[
        "not able to fix",
        "could not fix",
        "couldn't fix",
        "still fails",
        "unable to fix",
        "not fixed",
    ]);
    if turn.changes.is_empty() || gave_up || matches!(verdict, Some(Verdict::StillFails { .. })) {
        return ObservationType::Discovery;
    }
    let files = turn.files_modified();
    if files.iter().all(|file| is_document(file)) {
        return ObservationType::Change;
    }
    if asks(&[
        "refactor",
        "rename",
        "extract",
        "clean up",
        "simplif",
        "no behaviour change",
        "no behavior change",
    ]) {
        return ObservationType::Refactor;
    }
    if matches!(verdict, Some(Verdict::Fixed { .. })) || asks(FIX) || tells(&["no longer "]) {
        return ObservationType::Bugfix;
    }
    let created =
        turn.changes.iter().filter(|change| change.how == How::Created && !is_document(&change.path)).count();
    let adds = asks(&["add ", "implement", "support ", "introduce", "create ", "ajoute", "füge", "hinzu"]);
    if adds || 2 * created > files.len() { ObservationType::Feature } else { ObservationType::Change }
}

/// What people say when something is wrong.
const FIX: &[&str] = &[
    "fix",
    "bug",
    "wrong",
    "broken",
    "fails",
    "failing",
    "crash",
    "regression",
    "slow",
    "why is",
    "why does",
    "fehler",
    "kaputt",
    "reparier",
    "falsch",
    "corrig",
    "bogue",
];

fn is_document(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| ["md", "txt", "rst", "adoc"].iter().any(|e| extension == *e))
}

fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    let end = line.char_indices().find(|(at, c)| {
        matches!(c, '.' | '!' | '?') && line[at + 1..].chars().next().is_none_or(char::is_whitespace)
    });
    end.map_or(line, |(at, _)| &line[..=at])
}

fn ended(text: &str) -> String {
    let text = text.trim().trim_end_matches(':');
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// Whole sentences up to a length.
fn bounded(sentences: &[String], limit: usize) -> String {
    let mut text = String::new();
    for sentence in sentences {
        if text.len() + sentence.len() > limit && !text.is_empty() {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    one_line(&text, limit)
}

fn names(files: &[String]) -> Vec<String> {
    files.iter().map(|file| file.rsplit('/').next().unwrap_or(file).to_owned()).collect()
}

/// `a`, `a and b`, `a, b and 3 more`.
fn list(items: &[String], most: usize) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        _ if items.len() <= most => {
            format!("{} and {}", items[..items.len() - 1].join(", "), items[items.len() - 1])
        }
        _ => format!("{} and {} more", items[..most].join(", "), items.len() - most),
    }
}
