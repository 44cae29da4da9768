//! The state of the daemon, the database and the index. Programs get the data of `/api/health` instead.

use std::sync::Arc;

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use remora_app::backup::{self, Standing};
use remora_app::doctor::{self, Examination, Report};
use remora_app::status::{self, Status};
use remora_core::time::Time;
use remora_net::Trouble;
use remora_store::backup::{Backup, LastCheck};

use super::home::Scope;
use super::look::{When, count, line, size, title};
use super::{Frame, Query, show, wants_page};
use crate::http::Http;
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Maximum number of backups in the list.
const MOST_BACKUPS: usize = 12;

pub(super) fn router() -> Routes {
    Routes::default().get("/health", page).get("/health/checks", checks)
}

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    frame: Frame,
    parts: Vec<Part>,
    providers: Vec<Provider>,
    coverage: Coverage,
    /// Name, time, size, and whether it was made before a migration.
    backups: Vec<(String, When, String, bool)>,
    check: Option<Checked>,
    /// Name, size, and whether it is part of the one above.
    sizes: Vec<(&'static str, String, bool)>,
    data_dir: String,
}

struct Provider {
    role: &'static str,
    name: String,
    model: String,
    state: &'static str,
    /// Why it is not called, since when, and the time of the next try.
    trouble: Option<(String, When, String)>,
}

struct Coverage {
    percent: usize,
    says: String,
}

/// The daemon's last check of the database.
struct Checked {
    when: When,
    problems: Vec<String>,
    restored: bool,
}

struct Part {
    name: &'static str,
    is_bad: bool,
    says: String,
    hint: String,
}

async fn page(
    State(http): State<Arc<Http>>,
    Query(scope): Query<Scope>,
    request: Request,
) -> Result<Response, ApiError> {
    let visitor = request.extensions().get::<crate::http::visitor::Visitor>().cloned();
    let Some(visitor) = visitor.filter(|_| wants_page(request.headers())) else {
        return Ok(crate::http::health::answer(&http).into_response());
    };
    let frame = Frame::new(&http, &visitor, "Health", "health", scope.project).await?;
    let (dir, settings, daemon) = (http.shared.dir.clone(), http.shared.settings(), http.standing());
    let (status, standing, backups, check) = http
        .read(move |store| {
            let now = Time::now();
            let status = status::status(&dir, Ok(store), &settings, daemon, None, now)?;
            let standing = backup::standing(&dir, Some(store), &settings.backup, now)?;
            let backups = backup::list(&dir)?;
            Ok((status, standing, backups, backup::last_check(&dir)))
        })
        .await?;
    let running = format!(
        "version {}, process {}, running since {}",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        http.started_at.format("%-d %b, %H:%M")
    );
    let mut parts = parts(&status, running);
    parts.insert(2, standing_of(&standing));
    show(&Page {
        parts,
        providers: providers(&status),
        coverage: Coverage::of(&status),
        backups: backups.iter().take(MOST_BACKUPS).map(backup_of).collect(),
        check: check.as_ref().map(check_of),
        data_dir: status.data_dir.clone(),
        sizes: sizes(&status),
        frame,
    })
}

#[derive(Template)]
#[template(path = "checks.html")]
struct Checks {
    groups: Vec<(&'static str, Vec<Check>)>,
    verdict: String,
    problems: Vec<String>,
}

struct Check {
    name: &'static str,
    state: &'static str,
    says: Safe<String>,
    hint: Safe<String>,
    can_fix: bool,
}

/// The doctor's report. It reads the whole database, so the page loads first and fetches this afterwards.
async fn checks(State(http): State<Arc<Http>>) -> Result<Response, ApiError> {
    let (dir, settings, daemon) = (http.shared.dir.clone(), http.shared.settings(), http.standing());
    let examine = move || {
        let variable = |name: &str| std::env::var(name).ok();
        let (_, problems) = remora_app::settings::load(&dir, variable);
        let machine = remora_app::install::surroundings(&dir, &variable).ok();
        doctor::examine(&Examination {
            dir: &dir,
            settings: &settings,
            settings_problems: &problems,
            machine: machine.as_ref(),
            daemon: &daemon,
            // The variable belongs to a shell, and the daemon has a different environment.
            is_disabled: false,
            tries_provider: false,
            variable: &variable,
            now: Time::now(),
        })
    };
    // Not on a store thread: those have to answer hooks and pages in the meantime.
    let report = tokio::task::spawn_blocking(examine).await;
    let report = report.map_err(|error| ApiError::Internal(error.to_string()))?;
    show(&checks_of(&report))
}

fn checks_of(report: &Report) -> Checks {
    let mut groups: Vec<(&'static str, Vec<Check>)> = Vec::new();
    for finding in &report.checks {
        let check = Check {
            name: finding.name,
            state: match finding.state {
                doctor::State::Ok => "good",
                doctor::State::Note => "aside",
                doctor::State::Wrong => "bad",
            },
            says: title(&finding.message, 300),
            hint: title(finding.hint.as_deref().unwrap_or_default(), 300),
            can_fix: finding.fix.is_some(),
        };
        match groups.last_mut().filter(|(title, _)| *title == finding.group.title()) {
            Some((_, checks)) => checks.push(check),
            None => groups.push((finding.group.title(), vec![check])),
        }
    }
    let wrong = report.number(doctor::State::Wrong);
    let all = report.checks.len();
    Checks {
        verdict: match wrong {
            0 => format!("All {all} checks passed."),
            _ => format!("{wrong} of {all} checks found a problem."),
        },
        problems: report.recent_problems.iter().map(|problem| line(problem, 300)).collect(),
        groups,
    }
}

/// The age of the newest backup, and whether it is too old.
fn standing_of(standing: &Standing) -> Part {
    let part = |is_bad: bool, says: String, hint: &str| Part {
        name: "Backups",
        is_bad,
        says,
        hint: hint.to_owned(),
    };
    let made = |backup: &Backup| format!("newest from {}", backup.made_at.format("%-d %b %Y, %H:%M"));
    match standing {
        Standing::NotYet => part(false, "none yet; the first comes within a day".to_owned(), "remora backup"),
        Standing::Off => part(false, "switched off".to_owned(), "remora config set backup.enabled true"),
        Standing::Fresh(backup) => part(false, made(backup), ""),
        Standing::Damaged { newest, .. } => {
            let sound = newest.as_ref().map_or_else(|| "none is sound".to_owned(), made);
            part(true, format!("the newest is damaged; {sound}"), "remora backup")
        }
        Standing::Stale(Some(backup)) => {
            part(true, format!("none lately; {}", made(backup)), "remora backup")
        }
        Standing::Stale(None) => part(true, "none".to_owned(), "remora backup"),
    }
}

fn backup_of(backup: &Backup) -> (String, When, String, bool) {
    let name = backup.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (name, When::new(backup.made_at), size(backup.bytes), backup.before_migration)
}

fn check_of(check: &LastCheck) -> Checked {
    Checked {
        when: When::new(check.checked_at),
        problems: check.problems.iter().take(5).map(|problem| line(problem, 200)).collect(),
        restored: check.restored.is_some(),
    }
}

/// Services in use, with the state of the circuit breaker of each.
fn providers(status: &Status) -> Vec<Provider> {
    let provider = |role, name: &str, model: Option<&String>, trouble: Option<&Trouble>| Provider {
        role,
        name: name.to_owned(),
        model: model.map(|model| line(model, 80)).unwrap_or_default(),
        state: match (name, trouble) {
            (_, Some(_)) => "Circuit breaker open: no requests until the next try",
            ("builtin", None) => "Built in: no network, no cost",
            ("off", None) => "Switched off",
            (_, None) => "Circuit breaker closed: requests are sent",
        },
        trouble: trouble.map(|trouble| {
            let reason = line(&trouble.reason, 200);
            (reason, When::new(trouble.since), trouble.next_try.format("%H:%M:%S"))
        }),
    };
    let (observer, embedder) = (&status.observer, &status.embedder);
    vec![
        provider("Observer", observer.provider, observer.model.as_ref(), observer.trouble.as_ref()),
        provider("Embedder", embedder.provider, embedder.model.as_ref(), embedder.trouble.as_ref()),
    ]
}

fn sizes(status: &Status) -> Vec<(&'static str, String, bool)> {
    let bytes = &status.bytes;
    vec![
        ("Database", size(bytes.database), false),
        ("queued events", size(bytes.queue), true),
        ("failed events", size(bytes.failed), true),
        ("Backups", size(bytes.backups), false),
        ("Log", size(bytes.log), false),
        ("Spool", size(bytes.spool), false),
        ("Total", size(bytes.total), false),
    ]
}

impl Coverage {
    fn of(status: &Status) -> Self {
        let (with, missing) = (status.embedder.vectors, status.embedder.missing);
        let all = with + missing;
        Self {
            percent: (with * 100).checked_div(all).unwrap_or(100),
            says: match (all, missing) {
                (0, _) => "Nothing is indexed yet.".to_owned(),
                (_, 0) => format!("All {all} documents are embedded."),
                _ => format!(
                    "{with} of {all} documents are embedded; the rest follows while the daemon is idle."
                ),
            },
        }
    }
}

fn parts(status: &Status, running: String) -> Vec<Part> {
    let good = |name, says: String| Part { name, is_bad: false, says, hint: String::new() };
    let bad = |name, says: String, hint: &str| Part { name, is_bad: true, says, hint: hint.to_owned() };
    let counts = &status.counts;
    let lost = i64::try_from(status.spool.lost).unwrap_or(i64::MAX);
    vec![
        good("Daemon", running),
        match &status.database.error {
            Some(error) => bad("Database", error.clone(), "remora doctor"),
            None => good(
                "Database",
                format!("schema {}, {}", status.database.schema, size(status.bytes.database)),
            ),
        },
        if !status.capture.on {
            bad("Capture", "paused".to_owned(), "remora resume")
        } else if status.capture.paused.projects.is_empty() {
            good("Capture", "on".to_owned())
        } else {
            let names: Vec<&str> =
                status.capture.paused.projects.iter().map(|project| project.name.as_str()).collect();
            let resume = format!("remora resume --project {}", names.first().unwrap_or(&"NAME"));
            bad("Capture", format!("paused in {}", line(&names.join(", "), 200)), &line(&resume, 120))
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
    ]
}
