//! What an agent is told: at the start of a session, and with a prompt.

use std::time::Instant;

use remora_core::context::{self, Recalled};
use remora_core::document::{RecordId, RecordKind};
use remora_core::event::{Body, Event};
use remora_core::ids::{ObservationId, PromptId, SummaryId};
use remora_core::settings::{Context, Memory};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_hosts::response;
use remora_search::{Hit, Prompted, Searcher, is_trivial};
use remora_store::retrievals::{Item, Moment, Retrieval};
use remora_store::{KnownSession, Recall, Store, StoreError};

/// What memories may take with a prompt, in tokens.
const WITH_A_PROMPT: u64 = 800;
const PREVIEW: usize = 120;

/// The settings that say how much is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) context: Context,
    pub(crate) memory: Memory,
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
    let started = Instant::now();
    let told = match &event.body {
        Body::SessionStarted { source } => at_start(store, event, source, &wanted.context, room, now)?,
        Body::PromptSubmitted { text } if wanted.memory.auto_retrieve_enabled && !is_trivial(text) => {
            with_prompt(store, event, text, &wanted.memory, room, now)?
        }
        _ => None,
    };
    let Some((text, mut retrieval)) = told else { return Ok(None) };
    retrieval.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    store.log_retrieval(&retrieval)?;
    let moment = match retrieval.moment {
        Moment::Start => response::Moment::SessionStart,
        Moment::Prompt => response::Moment::Prompt,
    };
    Ok(response::with_context(host, moment, &text))
}

type Told = Option<(String, Retrieval)>;

fn at_start(
    store: &Store,
    event: &Event,
    source: &str,
    settings: &Context,
    room: u64,
    now: Time,
) -> Result<Told, StoreError> {
    let Some(session) = store.known_session(&event.session)? else { return Ok(None) };
    let Some(recall) = recall(source, session) else { return Ok(None) };
    let material = store.material(session.project, recall, settings.summaries)?;
    let budget = u64::from(settings.tokens).min(room);
    let Some(told) = context::render(&material, budget, now) else { return Ok(None) };
    let item = |id: &i64| Item { id: id.to_string(), score: None, why: "timeline".to_owned() };
    let retrieval = Retrieval {
        session: session.id,
        moment: Moment::Start,
        prompt: String::new(),
        tokens: context::tokens(&told.text),
        ms: 0,
        degraded: None,
        items: told.shown.iter().map(item).collect(),
        at: now,
    };
    Ok(Some((told.text, retrieval)))
}

/// A session that goes on remembers itself, unless its host has just shortened it.
fn recall(source: &str, session: KnownSession) -> Option<Recall> {
    match source {
        "compact" => Some(Recall::OfSession(session.id)),
        "resume" => session.last_prompt_at.map(|at| Recall::Since { session: session.id, at }),
        _ => Some(Recall::Everything),
    }
}

fn with_prompt(
    store: &Store,
    event: &Event,
    text: &str,
    settings: &Memory,
    room: u64,
    now: Time,
) -> Result<Told, StoreError> {
    let Some(session) = store.known_session(&event.session)? else { return Ok(None) };
    let prompted = Prompted {
        text,
        project: session.project,
        session: session.id,
        most: usize::from(settings.auto_retrieve_max_results),
        least_score: settings.auto_retrieve_min_score,
        now,
    };
    let remembered = Searcher::new().recall(store, None, &prompted)?;
    let mut memories = Vec::new();
    let mut items = Vec::new();
    for hit in &remembered.hits {
        if let Some(memory) = tell(store, hit)? {
            memories.push(memory);
            let why = format!("{} {}", hit.part, hit.why.matched.join(" "));
            items.push(Item { id: hit.id.to_string(), score: Some(hit.score), why: why.trim().to_owned() });
        }
    }
    let Some(told) = context::recalled(&memories, WITH_A_PROMPT.min(room), now) else { return Ok(None) };
    let shown = |number: &i64| usize::try_from(*number).ok().and_then(|number| items.get(number).cloned());
    let retrieval = Retrieval {
        session: session.id,
        moment: Moment::Prompt,
        prompt: one_line(text, PREVIEW),
        tokens: context::tokens(&told.text),
        ms: 0,
        degraded: remembered.degraded,
        items: told.shown.iter().filter_map(shown).collect(),
        at: now,
    };
    Ok(Some((told.text, retrieval)))
}

/// A hit with enough of its text to be of use.
fn tell(store: &Store, hit: &Hit) -> Result<Option<Recalled>, StoreError> {
    let RecordId { kind, number } = hit.id;
    let text = match kind {
        RecordKind::Observation => {
            store.observation(ObservationId(number))?.map(|row| row.observation.narrative)
        }
        RecordKind::Summary => store
            .summary(SummaryId(number))?
            .map(|row| [row.summary.completed, row.summary.learned].join(" ").trim().to_owned()),
        RecordKind::Turn => store.prompt(PromptId(number))?.and_then(|row| row.closing_message),
        RecordKind::Fact | RecordKind::Event => Some(hit.snippet.text.clone()),
    };
    let host = match hit.session_id {
        Some(session) => store.session_host(session)?,
        None => String::new(),
    };
    Ok(text.map(|text| Recalled {
        id: hit.id.to_string(),
        title: hit.title.clone(),
        text,
        at: hit.created_at,
        host,
    }))
}
