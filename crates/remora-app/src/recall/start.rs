//! The start of a session.

use std::time::Instant;

use remora_core::context::{self, LONGEST_SUBSTANCE, LaidDown, Material};
use remora_core::event::SessionRef;
use remora_core::ids::{ObservationId, ProjectId};
use remora_core::prose::substance;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::retrievals::{Item, Moment};
use remora_store::{KnownSession, Recall, Store, StoreError};

use super::Injection;

/// What a session gets at its start, logged. `source` says how it starts, in the host's word; `room` is the host's
/// limit in tokens.
pub fn begin(
    store: &mut Store,
    session: &SessionRef,
    source: &str,
    settings: &Settings,
    room: u64,
    now: Time,
) -> Result<Option<Injection>, StoreError> {
    let started = Instant::now();
    let Some(session) = store.known_session(session)? else { return Ok(None) };
    // Compaction empties the context, and so does the user who clears it: what was injected before is gone.
    if matches!(source, "compact" | "clear") {
        store.begin_epoch(session.id, now)?;
    }
    let Some(part) = part(source, session) else { return Ok(None) };
    let budget = u64::from(settings.context.tokens).min(room);
    let Some(injection) = context(store, session.project, part, settings, budget, now)? else {
        return Ok(None);
    };
    store.log_retrieval(&injection.retrieval((session.id, ""), Moment::Start, "", started, now))?;
    Ok(Some(injection))
}

/// What a session that began now would get. Not logged.
pub fn preview(
    store: &Store,
    project: ProjectId,
    settings: &Settings,
    budget: u64,
    now: Time,
) -> Result<Option<Injection>, StoreError> {
    context(store, project, Recall::Everything, settings, budget, now)
}

/// A session that goes on remembers itself, unless its host has just shortened it.
fn part(source: &str, session: KnownSession) -> Option<Recall> {
    match source {
        "compact" => Some(Recall::OfSession(session.id)),
        "resume" => session.last_prompt_at.map(|at| Recall::Since { session: session.id, at }),
        _ => Some(Recall::Everything),
    }
}

fn context(
    store: &Store,
    project: ProjectId,
    part: Recall,
    settings: &Settings,
    budget: u64,
    now: Time,
) -> Result<Option<Injection>, StoreError> {
    let mut material = store.material(project, part, settings.context.summaries)?;
    if settings.memory.notes_source().is_some() {
        material.notes = match part {
            Recall::Everything | Recall::OfSession(_) => store.always_told()?,
            Recall::Since { session, .. } => store.untold_notes(session)?,
        };
    }
    let valuable: Vec<ObservationId> =
        context::most_valuable(&material, now).into_iter().map(ObservationId).collect();
    material.files_since = store.files_since(project, valuable.iter().map(|id| id.0))?;
    for row in store.observations(&valuable)? {
        let observation = &row.observation;
        let mut sentences = substance(&observation.narrative, LONGEST_SUBSTANCE);
        if sentences.is_empty() {
            sentences =
                observation.facts.iter().flat_map(|fact| substance(fact, LONGEST_SUBSTANCE)).collect();
        }
        material.substance.insert(row.id.0, sentences.join(" "));
    }
    Ok(context::render(&material, budget, now).map(|rendered| injection(rendered, &material)))
}

fn injection(rendered: context::Context, material: &Material) -> Injection {
    let notes = rendered.notes.iter().filter_map(|number| material.notes.get(*number)).map(Item::of_note);
    let is_shown = |laid_down: &&LaidDown| rendered.laid_down.contains(&laid_down.id);
    let laid_down = material.laid_down.iter().filter(is_shown).map(Item::of_laid_down);
    let timeline = rendered.shown.iter().map(|id| Item::of_timeline(*id));
    let items = laid_down.chain(notes).chain(timeline).collect();
    Injection::new(rendered.text, items)
}
