//! Memory about each file.

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::files::{self, FilesRequest};
use remora_core::ids::ProjectId;
use serde::Deserialize;

use super::look::{When, count, line, title};
use super::search::encoded;
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const EACH: u32 = 30;

pub(super) fn router() -> Routes {
    Routes::default().get("/files", page)
}

#[derive(Debug, Deserialize)]
struct FilesParameters {
    project: Option<i64>,
    #[serde(default)]
    q: String,
    #[serde(default)]
    offset: u32,
}

#[derive(Template)]
#[template(path = "files.html")]
struct FilesPage {
    frame: Frame,
    part: String,
    total: String,
    files: Vec<KnownFile>,
    newer: Option<String>,
    older: Option<String>,
}

struct KnownFile {
    path: String,
    project: String,
    says: String,
    when: When,
    lines: Vec<(i64, &'static str, Safe<String>, bool)>,
    /// The number of further observations, and a link to all of them.
    more: i64,
    all: String,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<FilesParameters>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Files", "files", asked.project).await?;
    let request = FilesRequest {
        project: frame.project.map(ProjectId),
        part: asked.q.clone(),
        limit: EACH,
        offset: asked.offset,
    };
    let found = http.read(move |rt| files::files(rt, &request)).await?;
    let at = |offset: u32| {
        let part = if asked.q.is_empty() { String::new() } else { format!("&q={}", encoded(&asked.q)) };
        frame.link(&format!("/files?offset={offset}{part}"))
    };
    let is_more = found.total > i64::from(asked.offset) + i64::from(EACH);
    show(&FilesPage {
        newer: (asked.offset > 0).then(|| at(asked.offset.saturating_sub(EACH))),
        older: is_more.then(|| at(asked.offset + EACH)),
        total: count(found.total, "file"),
        files: found.items.iter().map(known).collect(),
        part: asked.q,
        frame,
    })
}

fn known(file: &remora_store::KnownFile) -> KnownFile {
    let shown = i64::try_from(file.lines.len()).unwrap_or_default();
    KnownFile {
        path: line(&file.path, 300),
        project: file.project.clone(),
        says: match file.changed {
            0 => format!("{}, read only", count(file.observations, "observation")),
            changed if changed == file.observations => count(changed, "observation"),
            changed => format!("{}, {changed} of them of a change", count(file.observations, "observation")),
        },
        when: When::new(file.last_at),
        lines: file
            .lines
            .iter()
            .map(|about| (about.id.0, about.kind.name(), title(&about.title, 160), about.superseded))
            .collect(),
        more: (file.observations - shown).max(0),
        all: format!("/search?file={}&project={}", encoded(&file.path), file.project_id.0),
    }
}
