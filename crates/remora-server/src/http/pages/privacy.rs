//! One's own data: forget, exclude, pause, test the redaction, see what was changed, erase everything.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use remora_app::forget;
use remora_app::pause;
use remora_app::privacy::{self, ERASE_WORD};
use remora_core::time::Time;
use remora_store::AuditRow;

use super::home::Scope;
use super::look::{When, count, line};
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Entries of the audit log that are shown.
const AUDIT: u32 = 40;

pub(super) fn router() -> Routes {
    Routes::default().get("/privacy", page)
}

#[derive(Template)]
#[template(path = "privacy.html")]
struct Page {
    frame: Frame,
    undo: String,
    waiting: Vec<Waiting>,
    paused_everywhere: Option<When>,
    projects: Vec<Captured>,
    exclusions: String,
    skipped: String,
    audit: Vec<Entry>,
    data_dir: String,
    word: &'static str,
}

/// Something that is forgotten and can still be brought back.
struct Waiting {
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

struct Entry {
    action: String,
    detail: String,
    when: When,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    Query(scope): Query<Scope>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Privacy", "privacy", scope.project).await?;
    http.shared.refresh_settings();
    let settings = http.shared.settings();
    let dir = http.shared.dir.clone();
    let (audit, waiting, paused) = http
        .read(move |store| {
            let waiting = forget::waiting(store, Time::now())?;
            Ok((privacy::audit_log(store, AUDIT)?, waiting, pause::paused(&dir)?))
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
    show(&Page {
        undo: match minutes {
            0 => "It cannot be undone: `forget.undo_minutes` is 0.".to_owned(),
            _ => format!("It can be undone for {}.", count(i64::from(minutes), "minute")),
        },
        waiting: waiting
            .iter()
            .map(|one| Waiting {
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

fn entry(row: &AuditRow) -> Entry {
    Entry { action: line(&row.action, 60), detail: line(&row.detail, 160), when: When::new(row.created_at) }
}
