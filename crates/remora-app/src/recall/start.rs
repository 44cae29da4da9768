//! Injection at the start of a session.

use std::time::{Duration, Instant};

use remora_core::context::{self, More, SessionContext, TimelineItem, UserStatement, substance};
use remora_core::event::{SessionRef, Start};
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::backup::last_check;
use remora_store::injections::{Item, Logged, Moment};
use remora_store::{JoinedBy, KnownSession, MainFile, Recall, Store, StoreError, Tuning};

use super::Injection;
use crate::{AppError, ProjectSelector, Runtime, project_or_global};

/// Characters read of each text. Only a few sentences of it are ever shown.
const MAX_READ: usize = 2_000;

/// How long a data loss is mentioned.
const NOTICE_PERIOD: Duration = Duration::from_hours(24);
const MINUTE: &str = "%-d %B %H:%M";

/// The agent that reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    /// Its limit in tokens.
    pub limit: u64,
    /// How it can read more.
    pub more: More<'a>,
}

/// A session that is starting.
#[derive(Debug, Clone, Copy)]
pub struct Starting<'a> {
    pub session: &'a SessionRef,
    pub directory: &'a str,
    pub how: Start,
}

/// The text for a session start, logged.
pub fn begin(
    rt: &mut dyn Runtime,
    starting: Starting<'_>,
    reader: Reader<'_>,
) -> Result<Option<Injection>, StoreError> {
    let settings = rt.settings();
    let now = rt.now();
    let store = rt.store();
    let started = Instant::now();
    let Starting { session, directory, how } = starting;
    let Some(session) = super::session_in(store, session, directory)? else { return Ok(None) };
    if store.injections().has_logged(session.id, Logged::Start { source: how.name(), now })? {
        return Ok(None);
    }
    if how.empties_context() && store.read_only().is_none() {
        store.injections().begin_epoch(session.id, now)?;
    }
    let Some(part) = part(how, session) else { return Ok(None) };
    store.tune(Tuning::MappedFile)?;
    let reader = Reader { limit: u64::from(settings.context.tokens).min(reader.limit), ..reader };
    let notices = notices(store, session.id, now)?;
    let Some(injection) = context(store, session.project, part, notices, settings, reader, now)? else {
        return Ok(None);
    };
    let is_first =
        super::log(store, &injection.retrieval(session.id, Moment::Start, how.name(), started, now))?;
    Ok(is_first.then_some(injection))
}

/// The start of a new session, as it would be now.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// [`ProjectId::NONE`] for a directory without memory.
    pub project: ProjectId,
    pub injection: Option<Injection>,
}

/// The text that a new session would get now. Not logged. In a directory without memory, that is what holds everywhere.
pub fn preview(
    rt: &dyn Runtime,
    selector: &ProjectSelector,
    reader: Reader<'_>,
) -> Result<Preview, AppError> {
    let settings = rt.settings();
    let now = rt.now();
    let store = rt.store();
    let project = project_or_global(store, selector)?;
    let injection = context(store, project, Recall::Everything, Vec::new(), settings, reader, now)?;
    Ok(Preview { project, injection })
}

/// Recent events about the memory itself that an agent should know.
fn notices(store: &Store, session: SessionId, now: Time) -> Result<Vec<String>, StoreError> {
    let mut notices = Vec::new();
    if let Some(restored) = last_check(store.dir()).and_then(|check| check.restored)
        && let Some(made_at) = restored.made_at
        && now.since(restored.restored_at) < NOTICE_PERIOD
    {
        notices.push(format!(
            "This memory was restored from a backup: what was recorded between {} and {} may be missing.",
            made_at.format(MINUTE),
            restored.restored_at.format(MINUTE)
        ));
    }
    if let Some(joined) = store.projects().joined(JoinedBy::Session(session))? {
        notices.push(format!(
            "This directory is new and shares the memory of {}, because it has the same origin. If it is something \
             else, `remora project split` separates them.",
            joined.root
        ));
    }
    Ok(notices)
}

/// What to inject for this kind of start. A resumed session gets only what is new; a compacted one, its own memory.
fn part(how: Start, session: KnownSession) -> Option<Recall> {
    match how {
        Start::Compacted => Some(Recall::OfSession(session.id)),
        Start::Resumed => session.last_prompt_at.map(|at| Recall::Since { session: session.id, at }),
        Start::New | Start::Cleared => Some(Recall::Everything),
    }
}

fn context(
    store: &Store,
    project: ProjectId,
    part: Recall,
    notices: Vec<String>,
    settings: &Settings,
    reader: Reader<'_>,
    now: Time,
) -> Result<Option<Injection>, StoreError> {
    let _snapshot = store.snapshot()?;
    let mut material = store.injections().session_context(project, part, settings.context.summaries)?;
    material.notices = notices;
    if settings.memory.notes_source().is_some() {
        material.notes = match part {
            Recall::Everything | Recall::OfSession(_) => store.notes().always_injected(None)?,
            Recall::Since { session, .. } => store.notes().always_injected(Some(session))?,
        };
    }
    let valuable: Vec<ObservationId> =
        context::most_valuable(&material, now).into_iter().map(ObservationId).collect();
    let is_valuable = |known: &&TimelineItem| valuable.contains(&ObservationId(known.id));
    let main_files = material.observations.iter().filter(is_valuable).filter(|known| known.file.is_some());
    let main_files = main_files.map(|known| MainFile { observation: known.id, path: known.file.as_deref() });
    material.files_since = store.files().since(project, main_files)?;
    for id in valuable {
        let Some(text) = store.records().observation_text(id)? else { continue };
        let mut sentences = substance(&text.narrative, MAX_READ);
        // Reading prose is most of the cost of a start, so facts are read only if they can be shown.
        if sentences.len() < context::MAX_SENTENCES {
            sentences.extend(text.facts.iter().flat_map(|fact| substance(fact, MAX_READ)));
        }
        sentences.retain(|sentence| text.is_upheld || !material.wrong.is_said_by(sentence));
        material.substance.insert(id.0, sentences);
    }
    let rendered = context::render(&material, reader.more, reader.limit, now);
    Ok(rendered.map(|rendered| injection(rendered, &material)))
}

fn injection(rendered: context::Context, material: &SessionContext) -> Injection {
    let notes = rendered.notes.iter().filter_map(|number| material.notes.get(*number)).map(Item::of_note);
    let is_shown = |laid_down: &&UserStatement| rendered.user_statements.contains(&laid_down.id);
    let laid_down = material.user_statements.iter().filter(is_shown).map(Item::of_laid_down);
    let facts = material.facts.iter().filter(|fact| rendered.facts.contains(&fact.id)).map(Item::of_fact);
    let timeline = rendered.observations.iter().map(|id| Item::of_timeline(*id));
    let summaries = rendered.summaries.iter().map(|id| Item::of_summary(*id));
    let items = laid_down.chain(facts).chain(notes).chain(summaries).chain(timeline).collect();
    Injection::new(rendered.text, items)
}
