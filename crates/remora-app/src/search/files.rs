//! Knowledge about each file.

use remora_core::ids::ProjectId;
use remora_store::{EventRow, FileQuery, KnownFile, Page};

use crate::{AppError, Runtime};

/// Observations listed below each file.
const LINES: u32 = 5;

/// Selects files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilesRequest {
    pub project: Option<ProjectId>,
    /// Part of the path; empty matches every file.
    pub part: String,
    pub limit: u32,
    pub offset: u32,
}

/// Makes the paths in these events relative to `root`, the project root of their session.
pub(crate) fn shorten(root: &str, events: &mut [EventRow]) {
    for file in events.iter_mut().flat_map(|event| &mut event.files) {
        if let Some(below) = file.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) {
            *file = below.to_owned();
        }
    }
}

/// Files with observations; the one with the latest observation comes first.
pub fn files(rt: &dyn Runtime, request: &FilesRequest) -> Result<Page<KnownFile>, AppError> {
    let &FilesRequest { project, limit, offset, .. } = request;
    let part = request.part.trim().to_owned();
    Ok(rt.store().files().list(&FileQuery { project, part, lines: LINES, limit, offset })?)
}
