//! The built-in observer, which needs no model: it builds memory from the facts of a turn and from the agent's
//! messages, both the closing message and those before it.

mod checks;
mod commit;
mod done;
mod evidence;
mod kind;
mod shell;
mod substance;
mod summary;
mod text;
mod title;
mod traps;
mod user;

use remora_core::memory::{Memory, Observation, ObservationType};
use remora_core::prose::{Normal, Role, Sentence, heading, plan_heading, sentences};
use remora_core::text::one_line;

use crate::turn::Turn;
use checks::CheckResult;
use commit::{Commit, commits};
use kind::{is_document, kind};
use substance::Substance;
use text::{ended, list, names};
use title::Source;
use traps::{Rule, Trap, TrapProof};
pub(crate) use user::{MAX_TURNS_BACK, objects};

pub const NAME: &str = "builtin";

/// An explanation of at least this many characters is knowledge, even if nothing was changed.
const EXPLAINS: usize = 120;
/// An answer without a cause or a decision must be longer than that, and contain this many names from the code.
const DESCRIBES: usize = 300;
const MIN_NAMES: usize = 3;

/// Turns one turn into memory. No observation is a valid result.
pub fn observe(turn: &Turn) -> Memory {
    let analysis = TurnAnalysis::new(turn);
    let observation = analysis.observation();
    let summary = analysis.summary(observation.as_ref());
    let observations = observation.into_iter().collect();
    let user::Words { facts, refutes } = user::words(turn);
    Memory { observations, summary, facts, refutes, provider: NAME.to_owned(), ..Memory::default() }
}

/// A turn, after analysis.
struct TurnAnalysis<'a> {
    turn: &'a Turn,
    closing: Vec<Sentence>,
    /// Sentences said before the closing message or in a commit, reported by subagents, or from the host's digest.
    earlier: Vec<Sentence>,
    commits: Vec<Commit>,
    verdict: Option<CheckResult>,
    traps: Vec<Trap>,
    rules: Vec<Rule>,
    kind: ObservationType,
}

impl<'a> TurnAnalysis<'a> {
    fn new(turn: &'a Turn) -> Self {
        let closing: Vec<Sentence> = turn.closing.iter().flat_map(|message| sentences(message)).collect();
        let commits = commits(turn);
        let bodies = commits.iter().map(|commit| &commit.body);
        // A plan explains why. In most cases the agent wrote it in an earlier turn.
        let plan = plan_heading(&turn.prompt).map(|_| &turn.prompt);
        let earlier = turn.said.iter().chain(plan).chain(bodies).chain(&turn.reports).chain(&turn.digest);
        let earlier = earlier.flat_map(|message| sentences(message)).collect();
        let last_code = turn.changes.iter().rposition(|change| !is_document(&change.path));
        let verdict = checks::verdict(turn, last_code.map_or(0, |last| last + 1));
        Self {
            kind: kind(turn, &closing, verdict.as_ref(), &commits),
            earlier,
            traps: traps::traps(turn),
            rules: traps::rules(turn),
            turn,
            closing,
            commits,
            verdict,
        }
    }

    /// The observation of the turn, if it is worth one.
    fn observation(&self) -> Option<Observation> {
        let substance = Substance::of(&self.closing, &self.earlier);
        if !self.is_worth_keeping(&substance) {
            return None;
        }
        let (title, _) = self.title()?;
        let substance = substance.without(&title);
        let narrative = self.narrative(&substance);
        let facts = self.facts(&substance);
        Some(Observation {
            kind: self.kind,
            title,
            // Empty, because the prompt is stored with the turn, and search would also match its words here.
            subtitle: String::new(),
            narrative,
            facts,
            concepts: self.concepts().into_iter().map(str::to_owned).collect(),
            files_read: self.turn.files_only_read(),
            files_modified: self.turn.files_modified(),
            discovery_tokens: self.turn.tokens,
            tool_name: None,
        })
    }

    /// Whether the turn is worth an observation. Chat and reads without a result are not, nor is a turn that was
    /// aborted before anything was said: it leaves an open end in the summary.
    fn is_worth_keeping(&self, substance: &Substance) -> bool {
        let knows = substance.all().any(|sentence| sentence.role.is_knowledge());
        if !self.turn.changes.is_empty() && !self.is_unfinished() {
            return true;
        }
        let named = substance.all().flat_map(|sentence| sentence.text.split_whitespace());
        let describes =
            substance.length() >= DESCRIBES && named.filter(|word| title::is_name(word)).count() >= MIN_NAMES;
        (knows && substance.length() >= EXPLAINS) || describes || !self.traps.is_empty()
    }

    /// The title, and the sentence, commit or plan that it is made of, if any.
    fn title(&self) -> Option<(String, Option<Source<'_>>)> {
        let commit = self.commits.first().map(|commit| Source::Commit(&commit.subject));
        let plan = plan_heading(&self.turn.prompt).or_else(|| self.document_heading()).map(Source::Plan);
        let said = self.closing.iter().chain(&self.earlier).map(Source::Sentence);
        let chosen = title::choose(commit.into_iter().chain(plan).chain(said), self.kind);
        if let Some((title, source)) = chosen {
            return Some((title, Some(source)));
        }
        let made = self.title_of_traps().or_else(|| self.title_of_request());
        made.or_else(|| self.title_of_files()).map(|title| (title, None))
    }

    fn title_of_files(&self) -> Option<String> {
        let files = names(&self.turn.files_modified());
        (!files.is_empty()).then(|| title::limit(&format!("Changed {}", list(&files, 3))))
    }

    /// The heading of a document, if only documents were written.
    fn document_heading(&self) -> Option<&str> {
        let changes = &self.turn.changes;
        let are_documents = changes.iter().all(|change| is_document(&change.path));
        are_documents.then(|| changes.iter().find_map(|change| heading(&change.patch))).flatten()
    }

    fn title_of_traps(&self) -> Option<String> {
        self.traps
            .first()
            .map(|trap| title::limit(&format!("`{}` fails, `{}` works", trap.fails, trap.works)))
    }

    /// A title from the request, if no message says what was done: "Can you add a test?" becomes "Add a test".
    fn title_of_request(&self) -> Option<String> {
        (!self.turn.changes.is_empty()).then_some(())?;
        let asked = self.asked();
        let request = text::without_politeness(asked.trim_end_matches(['?', '.', '!', ' ']));
        let normal = Normal::new(request);
        let is_question = asked.ends_with('?') && request.len() == asked.trim_end_matches(['?', ' ']).len();
        let is_request = !is_question && normal.count() >= 4;
        is_request.then(|| title::of_sentence(request)).flatten()
    }

    /// The first sentence of the prompt with at least four words.
    fn asked(&self) -> String {
        let mut prompt = sentences(&self.turn.prompt).into_iter().map(|sentence| sentence.text);
        prompt.find(|sentence| sentence.split_whitespace().count() >= 4).unwrap_or_default()
    }

    fn narrative(&self, substance: &Substance) -> String {
        let mut parts: Vec<String> =
            substance.narrative.iter().map(|sentence| ended(&sentence.text)).collect();
        if parts.is_empty() && self.facts(substance).is_empty() {
            parts.push(self.account_of_facts());
        }
        parts.join(" ")
    }

    /// The account of a turn without any useful message.
    fn account_of_facts(&self) -> String {
        let asked = one_line(&self.turn.prompt, 300);
        let files = self.turn.files_modified();
        let mut parts = Vec::new();
        if !asked.is_empty() {
            parts.push(format!("Asked for: {}", ended(&asked)));
        }
        if !files.is_empty() {
            parts.push(format!("Changed: {}.", list(&files, 4)));
        }
        parts.join(" ")
    }

    /// What the commands prove, in one sentence.
    fn proof(&self) -> Option<String> {
        let count =
            |result: &Option<String>| result.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
        Some(match self.verdict.as_ref()? {
            CheckResult::Fixed { command, result } => {
                format!("`{command}` failed before the change and passes after it{}.", count(result))
            }
            CheckResult::Passes { command, result, failed_before: true } => {
                format!("`{command}` failed on the way and passes now{}.", count(result))
            }
            CheckResult::Passes { .. } if self.turn.changes.is_empty() => return None,
            CheckResult::Passes { command, result, .. } => format!("`{command}` passes{}.", count(result)),
            CheckResult::NotRunAgain { command } => {
                format!("`{command}` failed before the last change and was not run again.")
            }
            CheckResult::StillFails { command, result, reason } => match reason {
                Some(reason) => format!("`{command}` still fails{}: {}", count(result), ended(reason)),
                None => format!("`{command}` still fails{}.", count(result)),
            },
        })
    }

    /// Independent statements: sentences that do not fit into the narrative, traps, rules, and what is proven.
    fn facts(&self, substance: &Substance) -> Vec<String> {
        let said = substance.facts.iter().chain(&substance.open).map(|sentence| ended(&sentence.text));
        let found = self.traps.iter().map(trap).chain(self.rules.iter().map(rule));
        said.chain(found).chain(self.proof()).collect()
    }

    fn concepts(&self) -> Vec<&'static str> {
        let has = |role: Role| self.closing.iter().chain(&self.earlier).any(|sentence| sentence.role == role);
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
        if has(Role::Caveat) || !self.traps.is_empty() || !self.rules.is_empty() {
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
        self.turn.interrupted || self.turn.broke_off.is_some()
    }
}

fn trap(Trap { fails, why, works, proof }: &Trap) -> String {
    let why = why.trim_end_matches('.');
    match proof {
        TrapProof::Works => format!("`{fails}` fails ({why}); `{works}` works."),
        TrapProof::Runs => format!("`{fails}` does not run ({why}); `{works}` does."),
    }
}

fn rule(Rule { command, rule }: &Rule) -> String {
    ended(&format!("`{command}` demands: {rule}"))
}
