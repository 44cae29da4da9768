//! Exports memory to a file that people and other programs can read, and that `remora import` can import.

use std::io::{self, Write};

use remora_core::portable::{Line, markdown};
use remora_core::settings;
use remora_store::{DataDir, StoreError};

use crate::{AppError, ProjectSelector, Runtime, backup, project};

/// Output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line, complete.
    #[default]
    Lines,
    /// For people: current facts and observations.
    Markdown,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    App(#[from] AppError),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::App(error.into())
    }
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> Self {
        Self::Write(error.into())
    }
}

/// Writes the memory of all projects or of one, and returns the number of records. Facts that hold everywhere belong to
/// no project.
pub fn write(
    rt: &dyn Runtime,
    selector: &ProjectSelector,
    format: Format,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let store = rt.store();
    let project = match selector {
        ProjectSelector::All => None,
        one => Some(project(store, one)?),
    };
    let (mut count, mut lines) = (0, Vec::new());
    store.records().export(project, |line: Line| {
        count += 1;
        match format {
            Format::Lines => {
                serde_json::to_writer(&mut *out, &line)?;
                out.write_all(b"\n")?;
            }
            Format::Markdown => lines.push(line),
        }
        Ok::<_, ExportError>(())
    })?;
    if format == Format::Markdown {
        out.write_all(markdown::render(&lines).as_bytes())?;
    }
    out.flush()?;
    Ok(count)
}

/// Makes the daily backup if it is due. An export changes nothing, but it is often the last step before a memory is
/// moved or removed.
pub fn back_up(dir: &DataDir, settings: &settings::Backup) -> Result<Option<backup::Made>, AppError> {
    let _now = dir.now();
    let is_due = dir.database().exists() && backup::is_due(dir)?;
    Ok(if is_due { Some(backup::make(dir, settings)?) } else { None })
}
