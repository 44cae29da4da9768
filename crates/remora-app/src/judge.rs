//! Verdicts on an observation (useful, wrong, pinned), or on a fact, a turn or a summary (wrong).

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Verdict;
use remora_core::ids::{FactId, ObservationId, ProjectId};
use remora_core::time::Time;
use remora_store::{FactRow, ObservationRow, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::records::{Record, record, record_id};
use crate::{AppError, Whose, project};

#[derive(Debug, Clone, PartialEq)]
pub struct JudgeRequest {
    /// The id as search prints it.
    pub id: String,
    pub verdict: Verdict,
    /// Undoes one such verdict.
    pub undo: bool,
    /// Only records of this project can be judged, so that a mistyped id does not change another project's memory.
    pub only: Option<Whose>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    #[serde(skip)]
    pub observation: Box<ObservationRow>,
    pub id: ObservationId,
    #[serde(flatten)]
    pub judged: remora_store::Judged,
}

/// The caller then updates context files; see [`crate::context_files`].
pub fn judge(store: &mut Store, request: &JudgeRequest, now: Time) -> Result<Judged, JudgeError> {
    let row = observation(store, &request.id)?;
    if !is_meant(store, request, Some(row.project_id))? {
        return Err(JudgeError::OtherProject(Box::new(row)));
    }
    let judged = store.judge(row.id, request.verdict, request.undo, now).map_err(AppError::from)?;
    let judged = judged.ok_or_else(|| AppError::UnknownRecord(request.id.clone()))?;
    Ok(Judged { id: row.id, judged, observation: Box::new(row) })
}

/// Ends a wrong fact, or with `undo` makes it current again. Facts have no other verdicts. A fact that holds everywhere
/// belongs to every project.
pub fn judge_fact(store: &mut Store, request: &JudgeRequest, now: Time) -> Result<FactRow, JudgeError> {
    let unknown = || AppError::UnknownRecord(request.id.clone());
    let id = match record_id(&request.id) {
        Some(RecordId { kind: RecordKind::Fact, number }) if request.verdict == Verdict::Wrong => {
            FactId(number)
        }
        Some(other) => return Err(AppError::NotAnObservation(other).into()),
        None => return Err(unknown().into()),
    };
    let row = store.fact(id).map_err(AppError::from)?.ok_or_else(unknown)?;
    if !is_meant(store, request, row.project_id)? {
        return Err(JudgeError::FactOfOtherProject(Box::new(row)));
    }
    let judged = if request.undo { store.reopen_fact(id, now) } else { store.end_fact(id, now) };
    // A fact that has already ended stays as it is.
    Ok(judged.map_err(AppError::from)?.unwrap_or(row))
}

/// A turn or a summary after a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedRetelling {
    #[schemars(with = "String")]
    pub id: RecordId,
    pub wrong: bool,
    pub project_id: ProjectId,
    /// Observations of its turn that are not wrong. They have verdicts of their own.
    pub observations: Vec<ObservationId>,
}

/// Marks a turn or a summary wrong, or takes it back with `undo`. Neither has other verdicts. The verdict is about what
/// no observation says.
pub fn judge_retelling(
    store: &mut Store,
    request: &JudgeRequest,
    now: Time,
) -> Result<JudgedRetelling, JudgeError> {
    let unknown = || AppError::UnknownRecord(request.id.clone());
    let id = match record_id(&request.id) {
        Some(id) if is_retelling(id) && request.verdict == Verdict::Wrong => id,
        Some(other) => return Err(AppError::NotAnObservation(other).into()),
        None => return Err(unknown().into()),
    };
    let (session, prompt_number) = match record(store, &request.id)? {
        Record::Turn(row) => (row.session_id, row.prompt_number),
        Record::Summary(row) => (row.session_id, row.prompt_number),
        _ => return Err(unknown().into()),
    };
    let project_id = store.project_of(id).map_err(AppError::from)?.ok_or_else(unknown)?;
    if !is_meant(store, request, Some(project_id))? {
        let project = store.session_project(session).map_err(AppError::from)?;
        return Err(JudgeError::RetellingOfOtherProject { id, project_id, project });
    }
    store.judge_retelling(id, request.undo, now).map_err(AppError::from)?.ok_or_else(unknown)?;
    let rows = store.session_observations(session).map_err(AppError::from)?;
    let of_turn = rows.iter().filter(|row| row.prompt_number == prompt_number && !row.feedback.is_wrong());
    let observations = of_turn.map(|row| row.id).collect();
    Ok(JudgedRetelling { id, wrong: !request.undo, project_id, observations })
}

/// Whether a record tells what observations say, too.
pub fn is_retelling(record: RecordId) -> bool {
    matches!(record.kind, RecordKind::Turn | RecordKind::Summary)
}

/// Whether a record of this project may be judged. `None` means that it belongs to every project.
fn is_meant(store: &Store, request: &JudgeRequest, of: Option<ProjectId>) -> Result<bool, AppError> {
    let (Some(whose), Some(of)) = (&request.only, of) else { return Ok(true) };
    match project(store, whose) {
        Ok(project) => Ok(project == of),
        Err(AppError::UnknownDirectory(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("observation {} belongs to another project: {}", .0.id, .0.project)]
    OtherProject(Box<ObservationRow>),
    #[error("fact f{} belongs to another project: {}", .0.id, .0.project.as_deref().unwrap_or_default())]
    FactOfOtherProject(Box<FactRow>),
    #[error("`{id}` belongs to another project: {project}")]
    RetellingOfOtherProject { id: RecordId, project_id: ProjectId, project: String },
    #[error(transparent)]
    App(#[from] AppError),
}

/// Finds the observation with this id.
pub fn observation(store: &Store, id: &str) -> Result<ObservationRow, AppError> {
    match record_id(id) {
        Some(RecordId { kind: RecordKind::Observation, number }) => {
            let found = store.observation(ObservationId(number))?;
            found.ok_or_else(|| AppError::UnknownRecord(id.to_owned()))
        }
        Some(other) => Err(AppError::NotAnObservation(other)),
        None => Err(AppError::UnknownRecord(id.to_owned())),
    }
}
