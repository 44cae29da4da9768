//! Control over one's own data: forget, exclude, pause, test the redaction, read the audit log, export and
//! erase everything.

use std::io::{self, BufWriter, Write};

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use remora_app::export::{self, Format};
use remora_app::forget;
use remora_app::pause;
use remora_app::privacy::{self, ERASE_WORD};
use remora_app::{ProjectSelector, Runtime};
use remora_store::AuditRow;
use serde::Deserialize;
use tokio::sync::mpsc::{Sender, channel};

use super::home::Scope;
use super::look::{When, count, line};
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Audit log entries shown.
const AUDIT: u32 = 40;
/// Size of a chunk of an export in bytes, and the number of chunks buffered for the browser.
const PORTION: usize = 64 << 10;
const PORTIONS: usize = 4;

pub(super) fn router() -> Routes {
    Routes::default().get("/privacy", page).get("/privacy/export", export)
}

#[derive(Template)]
#[template(path = "privacy.html")]
struct PrivacyPage {
    frame: Frame,
    undo: String,
    waiting: Vec<WaitingPurge>,
    paused_everywhere: Option<When>,
    projects: Vec<Captured>,
    exclusions: String,
    skipped: String,
    audit: Vec<AuditEntry>,
    data_dir: String,
    word: &'static str,
}

/// Forgotten records that can still be restored.
struct WaitingPurge {
    id: i64,
    records: String,
    until: When,
}

struct Captured {
    id: i64,
    name: String,
    root: String,
    is_paused: bool,
}

struct AuditEntry {
    action: String,
    detail: String,
    when: When,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(scope): PageQuery<Scope>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Privacy", "privacy", scope.project).await?;
    http.shared.refresh_settings().await;
    let settings = http.shared.settings();
    let dir = http.shared.dir.clone();
    let (audit, waiting, paused) = http
        .read(move |rt| {
            let waiting = forget::waiting(rt)?;
            Ok((privacy::audit_log(rt, AUDIT)?, waiting, pause::paused(&dir)?))
        })
        .await?;
    let is_paused = |paths: &[String]| {
        paused.projects.iter().any(|one| one.paths.iter().any(|path| paths.contains(path)))
    };
    let projects = frame.projects.iter().map(|project| Captured {
        id: project.id.0,
        name: project.name.clone(),
        root: project.root.clone(),
        is_paused: is_paused(&project.paths),
    });
    let minutes = settings.forget.undo_minutes;
    show(&PrivacyPage {
        undo: match minutes {
            0 => "It cannot be undone: `forget.undo_minutes` is 0.".to_owned(),
            _ => format!("It can be undone for {}.", count(i64::from(minutes), "minute")),
        },
        waiting: waiting
            .iter()
            .map(|one| WaitingPurge {
                id: one.id,
                records: count(i64::try_from(one.records.len()).unwrap_or(i64::MAX), "record"),
                until: When::new(one.purge_at),
            })
            .collect(),
        paused_everywhere: paused.everywhere_since.map(When::new),
        projects: projects.collect(),
        exclusions: settings.capture.exclude_projects.join("\n"),
        skipped: settings.capture.skip_tools.join("\n"),
        audit: audit.iter().map(entry).collect(),
        data_dir: http.shared.dir.path().display().to_string(),
        word: ERASE_WORD,
        frame,
    })
}

#[derive(Debug, Deserialize)]
struct Wanted {
    project: Option<i64>,
    /// `markdown`; anything else means JSON lines.
    #[serde(default)]
    format: String,
}

/// Downloads the memory of all projects or of one.
async fn export(
    (State(http), _): Seen,
    PageQuery(Wanted { project, format }): PageQuery<Wanted>,
) -> Result<Response, ApiError> {
    let selector =
        project.map_or(ProjectSelector::All, |project| ProjectSelector::Project(project.to_string()));
    if selector != ProjectSelector::All {
        // Checked first: once the download has started, an unknown project can no longer be reported.
        let selector = selector.clone();
        http.read(move |rt| remora_app::project(rt.store(), &selector)).await?;
    }
    let (format, kind, name) = match format.as_str() {
        "markdown" => (Format::Markdown, "text/markdown; charset=utf-8", "remora-memory.md"),
        _ => (Format::Lines, "application/x-ndjson", "remora-memory.jsonl"),
    };
    let (portions, written) = channel(PORTIONS);
    let failed = portions.clone();
    tokio::spawn(async move {
        let write = move |rt: &mut dyn Runtime| {
            let mut out = BufWriter::with_capacity(PORTION, Portions(portions));
            Ok(export::write(rt, &selector, format, &mut out).map_err(|error| error.to_string()))
        };
        let written = http.shared.apart(write).await;
        if let Err(error) = written.unwrap_or_else(|error| Err(error.to_string())) {
            // Makes the download fail, so that a partial file is not taken for the whole.
            let _ = failed.send(Err(io::Error::other(error))).await;
        }
    });
    let body = Body::from_stream(unfold(written, async |mut written| {
        let portion = written.recv().await?;
        Some((portion, written))
    }));
    let head =
        [(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""))];
    Ok((head, body).into_response())
}

/// Sends chunks to the browser and waits if it reads slowly.
struct Portions(Sender<Result<Bytes, io::Error>>);

impl Write for Portions {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn entry(row: &AuditRow) -> AuditEntry {
    AuditEntry {
        action: line(&row.action, 60),
        detail: line(&row.detail, 160),
        when: When::new(row.created_at),
    }
}
