//! What an agent is told: at the start of a session, with a prompt, and before it opens a file.

use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use remora_core::context;
use remora_core::event::{Body, Event, FileAhead};
use remora_core::privacy;
use remora_core::settings::{Context, Memory};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_hosts::response::{self, Moment};
use remora_search::{PREVIEW, Prompted, Searcher, Telling, is_trivial};
use remora_store::retrievals::{self, Item, Retrieval};
use remora_store::{DataDir, KnownSession, Recall, Store, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client;

/// How long the daemon may take to answer before words are looked up here, and before they have to do. The whole hook has
/// 100 ms.
const HEDGE: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_millis(60);

/// The settings that say how much is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) context: Context,
    pub(crate) memory: Memory,
}

impl Wanted {
    /// How long a prompt or a file waits.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(self.memory.auto_retrieve_ms.into())
    }
}

/// The answer to a host, or `None` when there is nothing to tell it. What was told is written down.
pub(crate) fn answer(
    store: &mut Store,
    event: &Event,
    wanted: &Wanted,
    now: Time,
) -> Result<Option<String>, StoreError> {
    let host = event.session.host;
    let Some(room) = response::room(host) else { return Ok(None) };
    match &event.body {
        Body::SessionStarted { source } => {
            let told = at_start(store, event, source, wanted, room, now)?;
            Ok(told.and_then(|text| response::with_context(host, Moment::SessionStart, &text)))
        }
        Body::PromptSubmitted { text } => {
            let told = with_prompt(store, event, text, &wanted.memory, room, now)?;
            Ok(told.and_then(|text| response::with_context(host, Moment::Prompt, &text)))
        }
        _ => Ok(None),
    }
}

fn at_start(
    store: &mut Store,
    event: &Event,
    source: &str,
    wanted: &Wanted,
    room: u64,
    now: Time,
) -> Result<Option<String>, StoreError> {
    let started = Instant::now();
    let Some(session) = store.known_session(&event.session)? else { return Ok(None) };
    let Some(recall) = recall(source, session) else { return Ok(None) };
    let mut material = store.material(session.project, recall, wanted.context.summaries)?;
    if wanted.memory.notes_source().is_some() {
        material.notes = match recall {
            Recall::Everything | Recall::OfSession(_) => store.always_told()?,
            Recall::Since { .. } => store.untold_notes(session.id)?,
        };
    }
    let budget = u64::from(wanted.context.tokens).min(room);
    let Some(told) = context::render(&material, budget, now) else { return Ok(None) };
    let notes = told.notes.iter().filter_map(|number| material.notes.get(*number)).map(Item::of_note);
    store.log_retrieval(&Retrieval {
        session: session.id,
        agent: String::new(),
        moment: retrievals::Moment::Start,
        prompt: String::new(),
        tokens: context::tokens(&told.text),
        ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        degraded: None,
        items: notes.chain(told.shown.iter().map(|id| Item::of_timeline(*id))).collect(),
        at: now,
    })?;
    Ok(Some(told.text))
}

/// What is known of a file that is about to be read or changed: once a session, and only what is news to it.
pub(crate) fn before_file(dir: &DataDir, ahead: &FileAhead, now: Time) -> Result<Option<String>, StoreError> {
    let started = Instant::now();
    let host = ahead.session.host;
    let Some(room) = response::room(host) else { return Ok(None) };
    // What was told is written down, and a path that must not be is not told of.
    if privacy::clean_text(&ahead.path) != ahead.path {
        return Ok(None);
    }
    let Some(store) = Store::open_to_ask(dir)? else { return Ok(None) };
    // The kernel closes files faster than SQLite does.
    let mut store = ManuallyDrop::new(store);
    let Some(session) = store.known_session(&ahead.session)? else { return Ok(None) };
    let path = Path::new(&ahead.cwd).join(&ahead.path);
    let Some(file) = store.project_file(session.project, &path)? else { return Ok(None) };
    if store.was_told_of_file(session.id, &file.path)? {
        return Ok(None);
    }
    let observations = store.about_file(&session, &file)?;
    let Some(told) = context::about_file(&file.path, &observations, room, now) else { return Ok(None) };
    let Some(answer) = response::with_context(host, Moment::Tool, &told.text) else { return Ok(None) };
    store.log_retrieval(&Retrieval {
        session: session.id,
        agent: String::new(),
        moment: retrievals::Moment::File,
        prompt: file.path,
        tokens: context::tokens(&told.text),
        ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        degraded: None,
        items: told.shown.iter().map(|id| Item::of_file(*id)).collect(),
        at: now,
    })?;
    Ok(Some(answer))
}

/// A session that goes on remembers itself, unless its host has just shortened it.
fn recall(source: &str, session: KnownSession) -> Option<Recall> {
    match source {
        "compact" => Some(Recall::OfSession(session.id)),
        "resume" => session.last_prompt_at.map(|at| Recall::Since { session: session.id, at }),
        _ => Some(Recall::Everything),
    }
}

/// The daemon has the model and the vectors at hand; without it, words have to do.
fn with_prompt(
    store: &mut Store,
    event: &Event,
    text: &str,
    settings: &Memory,
    room: u64,
    now: Time,
) -> Result<Option<String>, StoreError> {
    let started = Instant::now();
    let wants_memories = settings.auto_retrieve_enabled && !is_trivial(text);
    let wants_notes = settings.notes_source().is_some();
    if !wants_memories && !wants_notes {
        return Ok(None);
    }
    let Some(session) = store.known_session(&event.session)? else { return Ok(None) };
    if !wants_memories && store.untold_notes(session.id)?.is_empty() {
        return Ok(None);
    }
    let question =
        json!({ "host": event.session.host, "session_id": event.session.id, "prompt": text, "log": false });
    let asked = Asked::new(store.dir().clone(), question);
    let mut answer = asked.answer(HEDGE);
    let mut by_words = None;
    if answer.is_none() {
        let prompted = Prompted {
            text: text.to_owned(),
            project: session.project,
            session: session.id,
            most: if wants_memories { usize::from(settings.auto_retrieve_max_results) } else { 0 },
            least_score: settings.auto_retrieve_min_score,
            room,
            notes: wants_notes,
            now,
        };
        by_words = Searcher::new().recall(store, None, &prompted)?;
        answer = asked.answer(PATIENCE);
    }
    let telling = match answer {
        Some(answer) => answer["context"].as_str().map(|told| Telling {
            text: told.to_owned(),
            // Written down here, because an answer that came too late was not told.
            retrieval: Retrieval {
                session: session.id,
                agent: String::new(),
                moment: retrievals::Moment::Prompt,
                prompt: one_line(text, PREVIEW),
                tokens: context::tokens(told),
                ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                degraded: answer["degraded"].as_str().map(str::to_owned),
                items: Vec::deserialize(&answer["memories"]).unwrap_or_default(),
                at: now,
            },
        }),
        None => by_words,
    };
    let Some(Telling { text, retrieval }) = telling else { return Ok(None) };
    store.log_retrieval(&retrieval)?;
    Ok(Some(text))
}

/// A question to the daemon, on its way.
struct Asked {
    started: Instant,
    answer: mpsc::Receiver<Option<Value>>,
}

impl Asked {
    fn new(dir: DataDir, question: Value) -> Self {
        let (sender, answer) = mpsc::channel();
        let ask = move || {
            // Whoever asked may have ended.
            let _ = sender.send(client::post(&dir, "/api/context/semantic", &question, PATIENCE));
        };
        // Without a thread there is no answer, and words have to do.
        let _ = thread::Builder::new().spawn(ask);
        Self { started: Instant::now(), answer }
    }

    /// The answer, if it is there `within` this of asking.
    fn answer(&self, within: Duration) -> Option<Value> {
        let left = within.saturating_sub(self.started.elapsed());
        self.answer.recv_timeout(left).ok().flatten()
    }
}
