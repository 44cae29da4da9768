//! Imports past sessions from transcripts of hosts: as events, through the same gate and queue, observed by the
//! built-in observer. A session is stored completely or not at all, so an import that was killed can be continued.

use std::path::{Path, PathBuf};

use remora_core::event::{Body, SessionRef};
use remora_observer::Observer;
use remora_observer::past::{self, PastSession, PastTranscript};
use remora_store::{DataDir, EventRecord, Requeue, Store, StoreError};

use super::report::{Observed, Recipient, Skipped};
use super::{ImportError, ImportReport, Imported, Progress, Request};
use crate::capture::{self, Decision, LeftOut, Reading};

/// Owner name for claimed turns. Only one import runs at a time.
const OWNER: &str = "import";

/// Imports the transcripts at these paths or, if `paths` is empty, those that hosts keep below the home directory.
pub fn import(
    request: &Request<'_>,
    paths: &[PathBuf],
    mut progress: impl FnMut(Progress),
) -> Result<Imported, ImportError> {
    let mut transcripts = found(request, paths)?;
    // Oldest first: ids increase with time, and later statements replace earlier ones.
    transcripts
        .sort_by_cached_key(|transcript| transcript.path.metadata().and_then(|file| file.modified()).ok());
    request.run(|store| {
        let (observer, _) = Observer::new(request.settings, request.dir, OWNER);
        // Releases a turn that a killed import left claimed.
        store.queue().requeue(Requeue::ClaimsOf(OWNER), request.dir.now())?;
        let mut report = ImportReport::default();
        let facts = store.counts()?.facts;
        let mut observed = Observed::default();
        let total = transcripts.iter().map(|transcript| transcript.bytes).sum();
        let mut done = 0;
        for transcript in &transcripts {
            take(request, store, transcript, &mut report)?;
            observe(store, &observer, &mut observed)?;
            done += transcript.bytes;
            progress(Progress { done, total });
        }
        // Events that a killed import left in the queue.
        observe(store, &observer, &mut observed)?;
        observed.facts = store.counts()?.facts - facts;
        report.observed = Some(observed);
        Ok(report)
    })
}

fn found(request: &Request<'_>, paths: &[PathBuf]) -> Result<Vec<PastTranscript>, ImportError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| ImportError::Unreadable { path, source }
    };
    if paths.is_empty() {
        let home = request.home.unwrap_or(Path::new("/"));
        return past::find(home).map_err(unreadable(home));
    }
    let mut found = Vec::new();
    for path in paths {
        found.extend(past::find_at(path).map_err(unreadable(path))?);
    }
    Ok(found)
}

fn observe(store: &Store, observer: &Observer, observed: &mut Observed) -> Result<(), ImportError> {
    loop {
        match observer.observe(store, store.dir().now()) {
            Ok(None) => return Ok(()),
            Ok(Some(settled)) => {
                observed.turns += 1;
                observed.observations += settled.observations;
                observed.summaries += usize::from(settled.has_summary);
            }
            // A daemon that has just started treats all other claims as dead and observes the turn itself.
            Err(StoreError::ClaimLost) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

const SESSIONS: &str = "sessions";

fn take(
    request: &Request<'_>,
    store: &Store,
    transcript: &PastTranscript,
    report: &mut ImportReport,
) -> Result<(), ImportError> {
    // If the file name contains the session id, a known session is skipped without reading the file.
    if let Some(session) = transcript.session()
        && store.sessions().known(&session)?.is_some()
    {
        report.of(SESSIONS).read += 1;
        report.of(SESSIONS).already_there += 1;
        return Ok(());
    }
    let past = match transcript.read() {
        Ok(past) => past,
        Err(error) => {
            report.damaged(SESSIONS, format!("{}: {error}", transcript.path.display()));
            return Ok(());
        }
    };
    if let Some(reason) = unwanted(request, &past) {
        report.skip(SESSIONS, reason, 1);
        return Ok(());
    }
    let damaged = past.damaged;
    let session = past.session.clone();
    let records = match admitted(request, store.dir(), past)? {
        Ok(records) => records,
        Err(reason) => {
            report.skip(SESSIONS, reason, 1);
            return Ok(());
        }
    };
    report.of(SESSIONS).read += 1;
    match store.queue().enqueue_past(&session, &records)? {
        None => report.of(SESSIONS).already_there += 1,
        Some(stored) => {
            report.of(SESSIONS).imported += 1;
            let turns = report.of("turns");
            turns.read += stored.turns;
            turns.imported += stored.turns;
            let events = report.of("events");
            events.read += stored.events;
            events.imported += stored.events;
            if damaged > 0 {
                report.skip("events", Skipped::Damaged, damaged as u64);
            }
            note_project(store, &session, report)?;
        }
    }
    Ok(())
}

fn note_project(store: &Store, session: &SessionRef, report: &mut ImportReport) -> Result<(), ImportError> {
    let Some(known) = store.sessions().known(session)? else { return Ok(()) };
    let Some(project) = store.projects().get(known.project)? else { return Ok(()) };
    let root = Some(PathBuf::from(project.root));
    let is_it = |listed: &Recipient| listed.name == project.name && listed.root == root;
    let place = report.projects.iter().position(is_it).unwrap_or_else(|| {
        let new = Recipient { name: project.name.clone(), root: root.clone(), is_new: false, records: 0 };
        report.projects.push(new);
        report.projects.len() - 1
    });
    report.projects[place].records += 1;
    Ok(())
}

/// Why a session is skipped regardless of its content.
fn unwanted(request: &Request<'_>, past: &PastSession) -> Option<Skipped> {
    if past.of_subagent {
        return Some(Skipped::Subagent);
    }
    let is_prompt = |body: &Body| matches!(body, Body::PromptSubmitted { .. } | Body::PromptWithheld);
    if !past.events.iter().any(|past| is_prompt(&past.event.body)) {
        return Some(Skipped::Empty);
    }
    // Memory programs that call a model through a host leave its sessions behind.
    let directory = past.directory.as_deref()?;
    let is_own = directory.starts_with(request.dir.path());
    let is_claude_mem = request.home.is_some_and(|home| directory.starts_with(home.join(".claude-mem")));
    (is_own || is_claude_mem).then_some(Skipped::Observer)
}

/// The records that the gate admits, or the reason if there are none.
fn admitted(
    request: &Request<'_>,
    dir: &DataDir,
    past: PastSession,
) -> Result<Result<Vec<EventRecord>, Skipped>, ImportError> {
    let mut records = Vec::new();
    let mut reason = Skipped::Empty;
    for past in past.events {
        let at = past.at.min(request.dir.now());
        let reading = Reading::Event(Box::new(past.event));
        match capture::decide(dir, request.settings, request.home, reading, at)? {
            Decision::Store(record) => records.push(*record),
            Decision::LeftOut(LeftOut::ExcludedProject | LeftOut::UnknownExclusions) => {
                reason = Skipped::ExcludedProject;
            }
            Decision::LeftOut(LeftOut::Paused) => reason = Skipped::Paused,
            Decision::LeftOut(LeftOut::PrivateTurn) => reason = Skipped::Private,
            Decision::LeftOut(_) | Decision::Inject(_) | Decision::Malformed(_) => {}
        }
    }
    let is_prompt =
        |record: &EventRecord| matches!(record.captured.event().body, Body::PromptSubmitted { .. });
    if records.iter().any(is_prompt) {
        return Ok(Ok(records));
    }
    let withheld = |record: &EventRecord| record.captured.event().body == Body::PromptWithheld;
    Ok(Err(if records.iter().any(withheld) { Skipped::Private } else { reason }))
}
