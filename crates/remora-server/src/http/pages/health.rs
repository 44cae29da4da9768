//! How the daemon, the database and the index are doing. Programs get the same as from `/api/health`.

use askama::Template;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse as _, Response};
use remora_app::status::{self, Status};
use remora_core::time::Time;

use super::home::Scope;
use super::look::count;
use super::{Frame, show, wants_page};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

pub(super) fn router() -> Routes {
    Routes::default().get("/health", page)
}

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    frame: Frame,
    parts: Vec<Part>,
    data_dir: String,
}

struct Part {
    name: &'static str,
    is_bad: bool,
    says: String,
    hint: String,
}

async fn page(
    State(http): State<std::sync::Arc<crate::http::Http>>,
    Query(scope): Query<Scope>,
    request: Request,
) -> Result<Response, ApiError> {
    let visitor = request.extensions().get::<crate::http::visitor::Visitor>().cloned();
    let Some(visitor) = visitor.filter(|_| wants_page(request.headers())) else {
        return Ok(crate::http::health::answer(&http).into_response());
    };
    let frame = Frame::new(&http, &visitor, "Health", "health", scope.project).await?;
    let (dir, settings) = (http.shared.dir.clone(), http.shared.settings());
    let status = http
        .read(move |store| {
            Ok(status::status(&dir, Ok(store), &settings, status::Daemon::default(), None, Time::now())?)
        })
        .await?;
    let running = format!(
        "version {}, running since {}",
        env!("CARGO_PKG_VERSION"),
        http.started_at.format("%-d %b, %H:%M")
    );
    show(&Page { frame, parts: parts(&status, running), data_dir: status.data_dir })
}

fn parts(status: &Status, running: String) -> Vec<Part> {
    let good = |name, says: String| Part { name, is_bad: false, says, hint: String::new() };
    let bad = |name, says: String, hint: &str| Part { name, is_bad: true, says, hint: hint.to_owned() };
    let counts = &status.counts;
    let lost = i64::try_from(status.spool.lost).unwrap_or(i64::MAX);
    let mib = |bytes: u64| format!("{}.{} MiB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20);
    vec![
        good("Daemon", running),
        match &status.database.error {
            Some(error) => bad("Database", error.clone(), "remora doctor"),
            None => {
                good("Database", format!("schema {}, {}", status.database.schema, mib(status.bytes.database)))
            }
        },
        good("Backups", mib(status.bytes.backups)),
        if status.capture.on {
            good("Capture", "on".to_owned())
        } else {
            bad("Capture", "paused".to_owned(), "remora resume")
        },
        if counts.failed > 0 {
            bad("Queue", format!("{} failed", count(counts.failed, "event")), "remora queue retry")
        } else {
            good("Queue", format!("{} pending", count(counts.pending, "event")))
        },
        if lost > 0 {
            bad("Lost events", count(lost, "event"), "remora doctor --acknowledge")
        } else {
            good("Lost events", "none".to_owned())
        },
        match &status.observer.trouble {
            Some(trouble) => bad("Observer", trouble.reason.clone(), "remora doctor"),
            None => good(
                "Observer",
                status.observer.model.as_ref().map_or_else(
                    || "built in".to_owned(),
                    |model| format!("{} ({model})", status.observer.provider),
                ),
            ),
        },
        good(
            "Search index",
            format!(
                "{} of {} documents have a vector",
                status.embedder.vectors,
                status.embedder.vectors + status.embedder.missing
            ),
        ),
    ]
}
