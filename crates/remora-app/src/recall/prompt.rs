//! Injection with a prompt: only a few records that match well, and nothing that the session already has.
//!
//! The daemon has the model and the vectors in memory, so a hook asks it first. Word search in the hook's own process
//! is the fallback, and starts before the daemon's deadline.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use remora_core::context::{self, More, PinnedNote};
use remora_core::document::ProjectScope;
use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::privacy;
use remora_core::settings::{Memory, Settings};
use remora_core::text::is_unspaced;
use remora_core::time::Time;
use remora_search::{Mode, SearchQuery, Searcher, Snippets};
use remora_store::injections::{Item, Moment};
use remora_store::{Store, StoreError, Tuning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{self, Candidate, Judge};
use super::passages::{self, Passage};
use super::{Evidence, Injection, NEW_SESSION, Outcome};
use crate::{Runtime, SearchBackend};

/// If the daemon has not answered after this time, word search starts in this process, too.
const HEDGE: Duration = Duration::from_millis(40);
/// Time reserved for a scan for candidates, and again for logging and printing. Longer or shorter limits scale it.
const STEP: Duration = Duration::from_millis(20);

/// Candidates examined for each memory that may be injected.
const CANDIDATES_EACH: usize = 8;
/// Prompts with fewer words or characters are not searched: `yes` or `go on` asks nothing.
const MIN_WORDS: usize = 3;
const MIN_CHARACTERS: usize = 12;
/// In a script without spaces, one character counts as this many letters.
const LETTERS_A_CHARACTER: usize = 3;
/// Limit for the injected records, in tokens, without the frame around them.
pub(super) const MAX_TOKENS: u64 = 390;
/// Tokens of the frame and its heading.
const FRAME_TOKENS: u64 = 60;

/// Division of the time in `memory.auto_retrieve_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For an embedder over the network: everything except the scan and the rest of the hook.
    pub embedder: Duration,
    /// When word search starts in the hook.
    hedge: Duration,
    /// When the hook stops waiting for the daemon.
    daemon: Duration,
}

impl Limits {
    pub fn of(memory: &Memory) -> Self {
        let all = Duration::from_millis(memory.auto_retrieve_ms.into());
        let step = STEP.max(all / 10).min(all / 4);
        let without = |steps: u32| all.saturating_sub(steps * step);
        Self { embedder: without(2), hedge: HEDGE.min(all / 2), daemon: without(1) }
    }
}

/// A prompt of a session, as a hook sends it to the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptRequest {
    /// The captured, redacted text.
    pub text: String,
    pub project: ProjectId,
    pub session: SessionId,
    /// The program that gets the text. `None` if the session does not exist yet.
    #[serde(default)]
    pub host: Option<Host>,
    /// The host's limit, in tokens.
    pub room: u64,
    /// How the agent runs Remora, if it has no tools for that.
    #[serde(default = "usual_command")]
    pub command: String,
}

fn usual_command() -> String {
    "remora".to_owned()
}

/// Token limit for a prompt whose host is not known yet, or takes no context from hooks. No host accepts less.
const USUAL_ROOM: u64 = 2_000;

impl PromptRequest {
    /// A prompt of a captured session, redacted.
    pub fn new(text: &str, project: ProjectId, session: SessionId, host: Option<Host>) -> Self {
        Self::of_redacted(privacy::clean_text(text), project, session, host)
    }

    /// The first prompt of a session that begins now, redacted.
    pub fn of_new_session(text: &str, project: ProjectId) -> Self {
        Self::new(text, project, NEW_SESSION, None)
    }

    fn of_redacted(text: String, project: ProjectId, session: SessionId, host: Option<Host>) -> Self {
        let room = host.and_then(Host::room).unwrap_or(USUAL_ROOM);
        Self { text, project, session, host, room, command: usual_command() }
    }
}

/// A running daemon.
pub trait Daemon: Send + 'static {
    /// `None` if it failed or was too late.
    fn recall(&self, request: &PromptRequest, patience: Duration) -> Option<Option<Injection>>;
}

/// The injection for a prompt, and why other records are not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    #[serde(flatten)]
    pub injection: Option<Injection>,
    pub explanation: Explanation,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Why nothing was searched, if so.
    pub skipped: Option<String>,
    pub mode: Option<Mode>,
    /// Why vectors were not used.
    pub no_vectors: Option<String>,
    pub least_score: f64,
    pub most: usize,
    pub ms: u64,
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// Whether the daemon answered, and not this process.
    #[serde(skip)]
    pub is_by_daemon: bool,
    /// Input of the gate, for evaluation.
    #[serde(skip)]
    pub evidence: Evidence,
}

/// A captured prompt, in a hook with a deadline.
#[derive(Debug)]
pub struct Submitted<'a> {
    pub session: &'a SessionRef,
    pub directory: &'a str,
    /// Redacted.
    pub text: &'a str,
    /// How the agent runs Remora.
    pub command: &'a str,
    pub at: Time,
    /// Start of the hook's time limit.
    pub began: Instant,
}

/// The injection for a prompt of a captured session, logged.
pub fn submit(
    rt: &mut dyn Runtime,
    daemon: Option<impl Daemon>,
    submitted: &Submitted<'_>,
) -> Result<Option<Injection>, StoreError> {
    let settings = rt.settings();
    let store = rt.store();
    let started = Instant::now();
    let &Submitted { session, directory, text, command, at, began } = submitted;
    let wants_memories = settings.memory.auto_retrieve_enabled && !is_trivial(text);
    let wants_notes = settings.memory.notes_source().is_some();
    if !wants_memories && !wants_notes {
        return Ok(None);
    }
    let Some(known) = super::session_in(store, session, directory)? else { return Ok(None) };
    if !wants_memories && store.notes().always_injected(Some(known.id))?.is_empty() {
        return Ok(None);
    }
    let request = PromptRequest {
        command: command.to_owned(),
        ..PromptRequest::of_redacted(text.to_owned(), known.project, known.id, Some(session.host))
    };
    let Some(injection) = ask(store, daemon, &request, settings, at, began)? else { return Ok(None) };
    // Logged here and not by the daemon, because an answer that comes too late is not injected.
    let is_first = super::log(store, &injection.retrieval(known.id, Moment::Prompt, text, started, at))?;
    Ok(is_first.then_some(injection))
}

/// Logs an injection by a program other than our hooks, which asked for it at `started`. Returns whether to inject it.
pub fn log(
    rt: &mut dyn Runtime,
    session: SessionId,
    text: &str,
    injection: &Injection,
    started: Instant,
) -> Result<bool, StoreError> {
    let retrieval = injection.retrieval(session, Moment::Prompt, text, started, rt.now());
    super::log(rt.store(), &retrieval)
}

/// The daemon's answer. If no daemon runs, or if it is late, the result of a word search.
fn ask(
    store: &Store,
    daemon: Option<impl Daemon>,
    request: &PromptRequest,
    settings: &Settings,
    now: Time,
    began: Instant,
) -> Result<Option<Injection>, StoreError> {
    let by_words = || -> Result<Option<Injection>, StoreError> {
        store.tune(Tuning::MappedFile)?;
        let engine = SearchBackend { searcher: &Searcher::new(), embedder: None };
        let query = SearchQuery { snippets: Snippets::Injected, ..query(request, settings, now) };
        Ok(choose(store, engine, request, settings, &query)?.injection)
    };
    let Some(daemon) = daemon else { return by_words() };
    let limits = Limits::of(&settings.memory);
    let (sender, answers) = mpsc::channel();
    let question = request.clone();
    // If no thread can be started, word search is used.
    let _ = thread::Builder::new().spawn(move || {
        // The hook may have ended.
        let _ = sender.send(daemon.recall(&question, limits.daemon.saturating_sub(began.elapsed())));
    });
    let answer = |within: Duration| {
        let left = within.saturating_sub(began.elapsed());
        answers.recv_timeout(left).ok().flatten()
    };
    if let Some(answer) = answer(limits.hedge) {
        return Ok(answer);
    }
    let by_words = by_words()?;
    Ok(answer(limits.daemon).unwrap_or(by_words))
}

/// Chooses what to inject with a prompt, and explains all candidates. Not logged. Without an embedder, only words are
/// searched.
pub fn recall(
    store: &Store,
    engine: SearchBackend<'_>,
    request: &PromptRequest,
    settings: &Settings,
    now: Time,
) -> Result<Explained, StoreError> {
    choose(store, engine, request, settings, &query(request, settings, now))
}

fn choose(
    store: &Store,
    engine: SearchBackend<'_>,
    request: &PromptRequest,
    settings: &Settings,
    query: &SearchQuery,
) -> Result<Explained, StoreError> {
    let started = Instant::now();
    let _snapshot = store.snapshot()?;
    let memory = &settings.memory;
    let notes = match memory.notes_source() {
        Some(_) => store.notes().always_injected(Some(request.session))?,
        None => Vec::new(),
    };
    let mut chosen = Vec::new();
    let mut explanation = Explanation {
        skipped: skipped(&request.text, memory),
        mode: None,
        no_vectors: None,
        least_score: memory.auto_retrieve_min_score,
        most: usize::from(memory.auto_retrieve_max_results),
        ms: 0,
        candidates: Vec::new(),
        is_by_daemon: false,
        evidence: Evidence::default(),
    };
    if explanation.skipped.is_none() {
        let found = engine.searcher.search(store, engine.embedder, query)?;
        (explanation.mode, explanation.no_vectors) = (Some(found.plan.mode), found.plan.no_vectors);
        let judge = Judge::new(store, request, memory, &notes)?;
        let wrong = store.records().called_wrong(request.project)?;
        explanation.candidates = judge.judge(found.hits, |id| store.records().repeats_wrong(id, &wrong))?;
        (chosen, explanation.evidence) =
            judge.choose(store, &mut explanation.candidates, &found.terms, &wrong)?;
    }
    let more = more(request, settings);
    let injection = inject(store, request, &mut explanation.candidates, &chosen, &notes, more, query.now)?;
    let injection =
        injection.map(|injection| Injection { degraded: explanation.no_vectors.clone(), ..injection });
    explanation.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Explained { injection, explanation })
}

fn skipped(text: &str, memory: &Memory) -> Option<String> {
    if !memory.auto_retrieve_enabled {
        return Some("memory.auto_retrieve_enabled is false".to_owned());
    }
    is_trivial(text).then(|| "the prompt is a command, or too short to search for".to_owned())
}

fn query(request: &PromptRequest, settings: &Settings, now: Time) -> SearchQuery {
    let mut query = SearchQuery::new(ProjectScope::One(request.project), &request.text, now);
    query.limit = usize::from(settings.memory.auto_retrieve_max_results) * CANDIDATES_EACH;
    query.is_prompt = true;
    query.apply_settings(&settings.search);
    query
}

/// How the agent can read more. If its host is not known, by commands.
fn more<'a>(request: &'a PromptRequest, settings: &Settings) -> More<'a> {
    let command = &request.command;
    request.host.map_or(More::Commands(command), |host| settings.context.more(host, command))
}

/// Renders the injection. Candidates that do not fit are marked.
fn inject(
    store: &Store,
    request: &PromptRequest,
    candidates: &mut [Candidate],
    chosen: &[Passage],
    notes: &[PinnedNote],
    more: More<'_>,
    now: Time,
) -> Result<Option<Injection>, StoreError> {
    let mut memories = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    for (place, candidate) in candidates.iter_mut().enumerate() {
        if candidate.outcome != Outcome::Injected {
            continue;
        }
        match candidates::text_of(store, &candidate.hit, &passages::of_place(chosen, place))? {
            Some(memory) => {
                memories.push(memory);
                places.push(place);
            }
            None => candidate.outcome = Outcome::Gone,
        }
    }
    let most = MAX_TOKENS + FRAME_TOKENS;
    let rendered = context::recalled(&memories, notes, most, request.room, more, now);
    for (number, place) in (0..).zip(places) {
        if !rendered.as_ref().is_some_and(|rendered| rendered.shown.contains(&number)) {
            candidates[place].outcome = Outcome::OverBudget;
        }
    }
    Ok(rendered.map(|rendered| {
        let of_notes = rendered.notes.iter().filter_map(|number| notes.get(*number)).map(Item::of_note);
        let injected =
            candidates.iter().enumerate().filter(|(_, candidate)| candidate.outcome == Outcome::Injected);
        let of_hits = injected.map(|(place, candidate)| {
            let own = passages::of_place(chosen, place);
            candidates::item(&candidate.hit, own.into_iter().map(Passage::hash).collect())
        });
        Injection::new(rendered.text, of_notes.chain(of_hits).collect())
    }))
}

/// Whether a prompt is not worth a search: `yes`, `go on`, `/compact`.
pub fn is_trivial(prompt: &str) -> bool {
    let text = prompt.trim();
    let letters = |character| if is_unspaced(character) { LETTERS_A_CHARACTER } else { 1 };
    text.starts_with('/')
        || text.chars().map(letters).sum::<usize>() < MIN_CHARACTERS
        || (!text.contains(is_unspaced) && text.split_whitespace().count() < MIN_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_replies_and_commands_are_trivial() {
        for nod in [
            "",
            "yes",
            "ok do it",
            "continue please",
            "/compact now and then go on",
            "  \n ",
            "très bien",
            "好的",
            "继续吧",
        ] {
            assert!(is_trivial(nod), "{nod}");
        }
        for question in [
            "why does the parser loop",
            "翻訳キャッシュが古い値を返すのはなぜですか",
            "fix the flaky test",
            "汇率从哪里取",
        ] {
            assert!(!is_trivial(question), "{question}");
        }
    }

    #[test]
    fn the_embedder_gets_the_configured_time_minus_two_steps() {
        let limits = |ms| {
            let limits = Limits::of(&Memory { auto_retrieve_ms: ms, ..Memory::default() });
            [limits.embedder, limits.hedge, limits.daemon].map(|limit| limit.as_millis())
        };
        assert_eq!(limits(80), [40, 40, 60]);
        assert_eq!(limits(150), [110, 40, 130]);
        assert_eq!(limits(20), [10, 10, 15], "a short limit is divided, too");
    }

    #[test]
    fn frame_tokens_match_the_rendered_frame() {
        let empty = context::tokens(&context::framed("Known about this (`remora show ID` has more):\n"));
        assert!((FRAME_TOKENS - 10..=FRAME_TOKENS).contains(&empty), "{empty}");
    }
}
