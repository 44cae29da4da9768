//! Verdicts on an observation (useful, wrong, pinned), or on a fact, a turn or a summary (wrong).

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Verdict;
use remora_core::ids::{FactId, ObservationId, ProjectId};
use remora_core::time::Time;
use remora_store::{FactRow, Judged, ObservationRow, SavedBy, Selection, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::present::{self, FactJson, JudgedJson};
use crate::records::{Record, record, record_id};
use crate::{AppError, ProjectSelector, Runtime, project};

#[derive(Debug, Clone, PartialEq)]
pub struct JudgeRequest {
    /// The id as search prints it.
    pub id: String,
    pub verdict: Verdict,
    /// Undoes one such verdict.
    pub undo: bool,
    /// A program's verdict neither ends nor contradicts what a person laid down.
    pub by: SavedBy,
    /// Only records of this project can be judged, so that a mistyped id does not change another project's memory.
    pub only: Option<ProjectSelector>,
}

/// A record after a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JudgedRecord {
    Observation(Box<JudgedObservation>),
    #[serde(serialize_with = "present::one::<FactJson, _, _>")]
    #[schemars(with = "FactJson")]
    Fact(Box<FactRow>),
    TurnOrSummary(JudgedTurnOrSummary),
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedObservation {
    #[serde(skip)]
    pub row: ObservationRow,
    pub id: ObservationId,
    #[serde(flatten, serialize_with = "present::one::<JudgedJson, _, _>")]
    #[schemars(with = "JudgedJson")]
    pub judged: Judged,
}

/// Applies a verdict. An observation takes every verdict. A fact can only be wrong: it then ends, and holds again if the
/// verdict is undone. So can a turn or a summary: it is then not injected.
pub fn judge(rt: &mut dyn Runtime, request: &JudgeRequest) -> Result<JudgedRecord, AppError> {
    let now = rt.now();
    rt.change(|store| match record_id(&request.id) {
        Some(RecordId { kind: RecordKind::Fact, number }) if request.verdict == Verdict::Wrong => {
            judge_fact(store, request, FactId(number), now).map(|row| JudgedRecord::Fact(Box::new(row)))
        }
        Some(id @ RecordId { kind: RecordKind::Turn | RecordKind::Summary, .. })
            if request.verdict == Verdict::Wrong =>
        {
            judge_turn_or_summary(store, request, id, now).map(JudgedRecord::TurnOrSummary)
        }
        _ => judge_observation(store, request, now).map(|judged| JudgedRecord::Observation(Box::new(judged))),
    })
}

fn judge_observation(
    store: &Store,
    request: &JudgeRequest,
    now: Time,
) -> Result<JudgedObservation, AppError> {
    let row = observation(store, &request.id)?;
    check_project(store, request, RecordKind::Observation, row.id.0, Some((row.project_id, &row.project)))?;
    check_author(store, request, RecordId { kind: RecordKind::Observation, number: row.id.0 })?;
    let judged = store.records().judge(row.id, request.verdict, request.undo, request.by, now)?;
    let judged = judged.ok_or_else(|| AppError::UnknownRecord(request.id.clone()))?;
    let row = ObservationRow { pinned_at: judged.pinned_at, feedback: judged.feedback, ..row };
    Ok(JudgedObservation { id: row.id, judged, row })
}

fn judge_fact(store: &Store, request: &JudgeRequest, id: FactId, now: Time) -> Result<FactRow, AppError> {
    let row = store.facts().get(id)?.ok_or_else(|| AppError::UnknownRecord(request.id.clone()))?;
    // A fact that holds everywhere belongs to every project.
    check_project(store, request, RecordKind::Fact, id.0, row.project_id.zip(row.project.as_deref()))?;
    check_author(store, request, RecordId { kind: RecordKind::Fact, number: id.0 })?;
    let judged =
        if request.undo { store.facts().reopen(id, now)? } else { store.facts().end(id, request.by, now)? };
    // A fact that has already ended stays as it is.
    Ok(judged.unwrap_or(row))
}

/// A turn or a summary after a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedTurnOrSummary {
    #[schemars(with = "String")]
    pub id: RecordId,
    pub wrong: bool,
    pub project_id: ProjectId,
    /// Observations of its turn that are not wrong. They have verdicts of their own.
    pub observations: Vec<ObservationId>,
}

/// Marks a turn or a summary wrong, or takes it back with `undo`. The verdict is about what no observation says.
fn judge_turn_or_summary(
    store: &Store,
    request: &JudgeRequest,
    id: RecordId,
    now: Time,
) -> Result<JudgedTurnOrSummary, AppError> {
    let unknown = || AppError::UnknownRecord(request.id.clone());
    let (session, prompt_number, project_id, name) = match record(store, &request.id)? {
        Record::Turn(row) => (row.session_id, row.prompt_number, row.project_id, row.project),
        Record::Summary(row) => (row.session_id, row.prompt_number, row.project_id, row.project),
        _ => return Err(unknown()),
    };
    check_project(store, request, id.kind, id.number, Some((project_id, &name)))?;
    check_author(store, request, id)?;
    store.records().judge(id, Verdict::Wrong, request.undo, request.by, now)?.ok_or_else(unknown)?;
    let of_turn = Selection::of_session(session).turns(prompt_number..=prompt_number);
    let rows = store.records().observations(&of_turn)?.items;
    let observations = rows.iter().filter(|row| !row.feedback.is_wrong()).map(|row| row.id).collect();
    Ok(JudgedTurnOrSummary { id, wrong: !request.undo, project_id, observations })
}

/// Fails if a program would end or contradict what a person laid down.
fn check_author(store: &Store, request: &JudgeRequest, record: RecordId) -> Result<(), AppError> {
    let is_refused = request.by == SavedBy::Program
        && match record.kind {
            RecordKind::Fact if request.undo => !store.facts().may_program_reopen(FactId(record.number))?,
            _ => {
                let provenance = store.records().provenance(record)?;
                provenance.is_some_and(|provenance| provenance.is_user_statement)
            }
        };
    if !is_refused {
        return Ok(());
    }
    let undo = if request.undo { " --undo" } else { "" };
    Err(AppError::NeedsPerson {
        what: format!("judge {record}, because a person laid it down or judged it"),
        command: format!("remora feedback {record} {}{undo}", request.verdict.name()),
    })
}

/// Fails for a record of another project than the request allows.
fn check_project(
    store: &Store,
    request: &JudgeRequest,
    kind: RecordKind,
    number: i64,
    of: Option<(ProjectId, &str)>,
) -> Result<(), AppError> {
    let (Some(selector), Some((project_id, name))) = (&request.only, of) else { return Ok(()) };
    match project(store, selector) {
        Ok(only) if only == project_id => Ok(()),
        Ok(_) | Err(AppError::UnknownDirectory(_)) => Err(AppError::OtherProject {
            record: RecordId { kind, number },
            project: name.to_owned(),
            project_id,
        }),
        Err(error) => Err(error),
    }
}

/// Finds the observation with this id.
pub fn observation(store: &Store, id: &str) -> Result<ObservationRow, AppError> {
    match record_id(id) {
        Some(RecordId { kind: RecordKind::Observation, number }) => {
            let found = store.records().observation(ObservationId(number))?;
            found.ok_or_else(|| AppError::UnknownRecord(id.to_owned()))
        }
        Some(other) => Err(AppError::NotAnObservation(other)),
        None => Err(AppError::UnknownRecord(id.to_owned())),
    }
}
