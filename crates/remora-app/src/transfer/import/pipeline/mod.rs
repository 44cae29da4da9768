//! The path of all imported lines into the store: find their project, check whether they may be stored, then store them
//! in batches, so that hooks can write in between.

mod places;
mod records;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use remora_core::ids::{ProjectId, SessionId};
use remora_core::portable::Line;
use remora_core::privacy::Unfit;
use remora_core::settings::Capture;
use remora_core::time::Time;
use remora_store::import::{ImportOutcome, ImportedRecord, ImportedTurn, derived_uuid};
use remora_store::{DataDir, SavedBy, Store, StoreError};
use uuid::Uuid;

use super::report::{ImportReport, Skipped};
use crate::AppError;

/// Records stored in one transaction.
const BATCH: usize = 200;

/// What decides which project a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decides {
    /// The line, because the same session name may be used in many projects.
    Line,
    /// The session, if known: its host gave it a unique name.
    Session,
}

/// Rules of an import.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    /// The real data directory, for projects that have only a name. A dry run writes elsewhere.
    pub(super) dir: &'a DataDir,
    pub(super) capture: &'a Capture,
    pub(super) home: Option<&'a Path>,
    /// Directories that the user gave for project names.
    pub(super) directories: &'a HashMap<String, PathBuf>,
    pub(super) decides: Decides,
    pub(super) by: SavedBy,
    pub(super) now: Time,
}

#[derive(Debug)]
pub(super) struct Pipeline<'a> {
    store: &'a Store,
    rules: Rules<'a>,
    report: ImportReport,
    projects: HashMap<String, Result<Known, Skipped>>,
    /// By the uuid of the session's line, and by host and name.
    sessions: HashMap<String, Result<(SessionId, ProjectId), Skipped>>,
    /// Sessions without a line of their own, with the times of their first and last record.
    implied: HashMap<SessionId, (Time, Time)>,
    waiting: Vec<(&'static str, ProjectPlace, ImportedRecord)>,
}

/// A project that was looked up, with its index in the report.
#[derive(Debug, Clone)]
struct Known {
    id: ProjectId,
    root: PathBuf,
    place: ProjectPlace,
}

/// Index in the report; `None` for facts that hold everywhere.
type ProjectPlace = Option<usize>;

/// Why a line is not stored.
enum Stop {
    Skip(Skipped),
    Damaged(String),
    Failed(AppError),
}

impl From<AppError> for Stop {
    fn from(error: AppError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Unfit> for Stop {
    fn from(unfit: Unfit) -> Self {
        Self::Skip(unfit.into())
    }
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(store: &'a Store, rules: Rules<'a>) -> Self {
        Self {
            store,
            rules,
            report: ImportReport::default(),
            projects: HashMap::new(),
            sessions: HashMap::new(),
            implied: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    pub(super) fn report(&mut self) -> &mut ImportReport {
        &mut self.report
    }

    /// Processes one line. `kind` is its name in the report, `place` where it was read.
    pub(super) fn take(&mut self, kind: &'static str, place: &str, line: Line) -> Result<(), AppError> {
        match self.try_take(kind, line) {
            Ok(()) => Ok(()),
            Err(Stop::Skip(reason)) => {
                self.report.skip(kind, reason, 1);
                // Only the author of a file can add what is missing.
                if reason == Skipped::Empty && self.rules.decides == Decides::Line {
                    self.report.problem(format!("{place}: it has no text"));
                }
                Ok(())
            }
            Err(Stop::Damaged(problem)) => {
                self.report.damaged(kind, format!("{place}: {problem}"));
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Stores the remaining records and returns the report.
    pub(super) fn finish(mut self) -> Result<ImportReport, AppError> {
        self.flush()?;
        for (session, (first, last)) in std::mem::take(&mut self.implied) {
            self.store.sessions().widen(session, first, last)?;
        }
        Ok(self.report)
    }

    fn try_take(&mut self, kind: &'static str, mut line: Line) -> Result<(), Stop> {
        let at = line.date().unwrap_or(self.rules.now).min(self.rules.now);
        let uuid = line.uuid().unwrap_or_else(|| uuid_of(&line));
        let belongs = line.take_belongs();
        let (place, record) = match line {
            Line::Project(project) => return self.take_project(kind, project, uuid, at),
            Line::Session(session) => return self.take_session(kind, &belongs, &session, uuid, at),
            Line::Fact(fact) => {
                let project = match &belongs.project {
                    Some(name) => Some(self.project(Some(name), at)?),
                    None => None,
                };
                let session = belongs.session.as_deref().and_then(|session| self.session_called(session));
                let place = project.as_ref().and_then(|project| project.place);
                (place, records::fact(fact, uuid, project.map(|project| project.id), session, at)?)
            }
            Line::Message(message) => {
                let turn = records::turn(message.text, message.answer)?;
                let (session, known) = self.session(&belongs, at)?;
                let record = ImportedTurn { uuid, session, number: message.number, turn, at };
                (known.place, ImportedRecord::Turn(record))
            }
            Line::Observation(observation) => {
                let (session, known) = self.session(&belongs, at)?;
                (known.place, records::observation(observation, uuid, session, &known, self.rules.by, at)?)
            }
            Line::Summary(summary) => {
                let (session, known) = self.session(&belongs, at)?;
                (known.place, records::summary(summary, uuid, session, &known, at)?)
            }
        };
        self.waiting.push((kind, place, record));
        if self.waiting.len() >= BATCH {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), AppError> {
        let waiting = std::mem::take(&mut self.waiting);
        let (labels, records): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|(kind, place, record)| ((kind, place), record)).unzip();
        if records.is_empty() {
            return Ok(());
        }
        for ((kind, place), outcome) in labels.into_iter().zip(self.store.records().import(&records)?) {
            self.report.settle(kind, outcome);
            if let (ImportOutcome::Imported, Some(place)) = (outcome, place) {
                self.report.projects[place].records += 1;
            }
        }
        Ok(())
    }
}

/// Uuid for a line without one, derived from its text: the same line is always the same record.
fn uuid_of(line: &Line) -> Uuid {
    let text = serde_json::to_string(line).unwrap_or_default();
    derived_uuid(&["line", &text])
}
