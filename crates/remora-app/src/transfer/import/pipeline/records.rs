//! Turns lines into records that may be stored.

use std::path::Path;

use remora_core::fact::Fact;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::memory::{Observation, Summary};
use remora_core::portable::{FactLine, ObservationLine, SummaryLine};
use remora_core::privacy::{Clean, Turn, Unfit};
use remora_core::time::Time;
use remora_store::SavedBy;
use remora_store::import::{ImportedFact, ImportedObservation, ImportedRecord, ImportedSummary};
use uuid::Uuid;

use super::Known;

pub(super) fn turn(text: String, answer: Option<String>) -> Result<Clean<Turn>, Unfit> {
    Clean::turn(Turn { text, answer })
}

pub(super) fn fact(
    line: FactLine,
    uuid: Uuid,
    project: Option<ProjectId>,
    session: Option<SessionId>,
    at: Time,
) -> Result<ImportedRecord, Unfit> {
    let FactLine { kind, key, value, source, trust, number, until, confirmed, .. } = line;
    Ok(ImportedRecord::Fact(ImportedFact {
        uuid,
        project,
        session,
        number,
        fact: Clean::fact(Fact { kind, key, value, source, trust })?,
        valid_from: at,
        valid_to: until.map(|date| date.0),
        confirmed_at: confirmed.map(|date| date.0),
    }))
}

pub(super) fn observation(
    line: ObservationLine,
    uuid: Uuid,
    session: SessionId,
    project: &Known,
    by: SavedBy,
    at: Time,
) -> Result<ImportedRecord, Unfit> {
    let mut observation = Observation {
        kind: line.kind,
        title: line.title,
        subtitle: line.subtitle,
        narrative: line.text,
        facts: line.facts,
        concepts: line.concepts,
        files_read: line.files_read,
        files_modified: line.files_modified,
        discovery_tokens: line.tokens.unsigned_abs(),
        tool_name: line.tool,
    };
    for file in observation.files_read.iter_mut().chain(&mut observation.files_modified) {
        below(file, &project.root);
    }
    Ok(ImportedRecord::Observation(Box::new(ImportedObservation {
        uuid,
        session,
        project: project.id,
        number: line.number,
        observation: Clean::observation(observation)?,
        provider: Clean::label(&line.provider),
        model: Clean::label(&line.model),
        superseded_by: line.superseded_by,
        pinned_at: line.pinned.map(|date| date.0),
        useful: line.useful,
        wrong: line.wrong,
        verdicts_by: by,
        at,
    })))
}

pub(super) fn summary(
    line: SummaryLine,
    uuid: Uuid,
    session: SessionId,
    project: &Known,
    at: Time,
) -> Result<ImportedRecord, Unfit> {
    let mut summary = Summary {
        request: line.request,
        investigated: line.investigated,
        learned: line.learned,
        completed: line.completed,
        next_steps: line.next_steps,
        notes: line.notes,
        files_read: line.files_read,
        files_edited: line.files_edited,
    };
    for file in summary.files_read.iter_mut().chain(&mut summary.files_edited) {
        below(file, &project.root);
    }
    Ok(ImportedRecord::Summary(Box::new(ImportedSummary {
        uuid,
        session,
        project: project.id,
        number: line.number,
        is_earlier: line.earlier,
        summary: Clean::summary(summary)?,
        provider: Clean::label(&line.provider),
        model: Clean::label(&line.model),
        at,
    })))
}

/// Normalises a path for storage: relative to the project's root, or absolute if the file lies elsewhere.
fn below(path: &mut String, root: &Path) {
    if let Ok(relative) = Path::new(path.as_str()).strip_prefix(root)
        && !relative.as_os_str().is_empty()
    {
        *path = relative.to_string_lossy().into_owned();
    }
}
