//! What is known of each file.

use remora_core::ids::ProjectId;
use remora_store::{AboutLine, EventRow, KnownFile, Page, Store};

use crate::AppError;

/// Observations listed below each file.
const LINES: u32 = 5;

/// A file with the latest of what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FileKnowledge {
    pub file: KnownFile,
    pub lines: Vec<AboutLine>,
}

/// Which files somebody asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilesRequest {
    pub project: Option<ProjectId>,
    /// A part of the path; empty is every file.
    pub part: String,
    pub limit: u32,
    pub offset: u32,
}

/// Names the files of these events from the root of their session's project.
pub(crate) fn shorten(root: &str, events: &mut [EventRow]) {
    for file in events.iter_mut().flat_map(|event| &mut event.files) {
        if let Some(below) = file.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) {
            *file = below.to_owned();
        }
    }
}

/// The file with the latest observation first.
pub fn files(store: &Store, request: &FilesRequest) -> Result<Page<FileKnowledge>, AppError> {
    let part = request.part.trim();
    let page = store.known_files(request.project, part, request.limit, request.offset)?;
    let mut items = Vec::with_capacity(page.items.len());
    for file in page.items {
        let lines = store.lines_about(file.project_id, &file.path, LINES)?;
        items.push(FileKnowledge { file, lines });
    }
    Ok(Page { items, total: page.total })
}
