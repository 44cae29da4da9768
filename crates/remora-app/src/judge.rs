//! What somebody says of an observation: useful, wrong, pinned.

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Verdict;
use remora_core::ids::ObservationId;
use remora_core::time::Time;
use remora_store::{ObservationRow, Store};
use serde::Serialize;

use crate::records::record_id;
use crate::{AppError, Whose, project};

#[derive(Debug, Clone, PartialEq)]
pub struct JudgeRequest {
    /// As search prints it.
    pub id: String,
    pub verdict: Verdict,
    /// Takes one such verdict back.
    pub undo: bool,
    /// Only an observation of this project is judged: one wrong digit must not change another project's memory.
    pub only: Option<Whose>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    #[serde(skip)]
    pub observation: Box<ObservationRow>,
    pub id: ObservationId,
    #[serde(flatten)]
    pub judged: remora_store::Judged,
}

/// Context files of the project follow; see [`crate::context_files`].
pub fn judge(store: &mut Store, request: &JudgeRequest, now: Time) -> Result<Judged, JudgeError> {
    let row = observation(store, &request.id)?;
    if let Some(whose) = &request.only {
        let own = match project(store, whose) {
            Ok(project) => Some(project),
            Err(AppError::UnknownDirectory(_)) => None,
            Err(error) => return Err(error.into()),
        };
        if own != Some(row.project_id) {
            return Err(JudgeError::OtherProject(Box::new(row)));
        }
    }
    let judged = store.judge(row.id, request.verdict, request.undo, now).map_err(AppError::from)?;
    let judged = judged.ok_or_else(|| AppError::UnknownRecord(request.id.clone()))?;
    Ok(Judged { id: row.id, judged, observation: Box::new(row) })
}

#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("observation {} belongs to another project: {}", .0.id, .0.project)]
    OtherProject(Box<ObservationRow>),
    #[error(transparent)]
    App(#[from] AppError),
}

/// The observation somebody names.
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
