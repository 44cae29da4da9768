//! What the doctor finds, and the state of the providers, the index and the disk. Programs get the data of `/api/health` instead.

use std::sync::Arc;

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use remora_app::backup;
use remora_app::doctor::{self, Examination, Finding, Report};
use remora_app::status::{self, Status};
use remora_net::Outage;
use remora_store::backup::{Backup, LastCheck};

use super::home::Scope;
use super::look::{When, count, line, size, title};
use super::{Frame, PageQuery, show, wants_page};
use crate::http::Http;
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Maximum number of backups in the list.
const MAX_BACKUPS: usize = 12;

pub(super) fn router() -> Routes {
    Routes::default().get("/health", page)
}

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    frame: Frame,
    verdict: String,
    groups: Vec<(&'static str, Vec<Check>)>,
    /// The last errors in the log.
    problems: Vec<String>,
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

async fn page(
    State(http): State<Arc<Http>>,
    PageQuery(scope): PageQuery<Scope>,
    request: Request,
) -> Result<Response, ApiError> {
    let visitor = request.extensions().get::<crate::http::visitor::Visitor>().cloned();
    let Some(visitor) = visitor.filter(|_| wants_page(request.headers())) else {
        return Ok(crate::http::health::answer(&http).into_response());
    };
    let frame = Frame::new(&http, &visitor, "Health", "health", scope.project).await?;
    let (dir, settings, daemon) = (http.shared.dir.clone(), http.shared.settings(), http.standing());
    let report = report(&http).await?;
    let (status, backups, check) = http
        .read(move |rt| {
            let status = status::status(&dir, Ok(rt.store()), &settings, daemon, None)?;
            Ok((status, backup::list(&dir)?, backup::last_check(&dir)))
        })
        .await?;
    show(&HealthPage {
        verdict: verdict(&report),
        groups: groups(&report),
        problems: report.recent_problems.iter().map(|problem| line(problem, 300)).collect(),
        providers: providers(&status),
        coverage: Coverage::of(&status),
        backups: backups.iter().take(MAX_BACKUPS).map(backup_of).collect(),
        check: check.as_ref().map(check_of),
        data_dir: status.data_dir.clone(),
        sizes: sizes(&status),
        frame,
    })
}

/// A finding of the doctor.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) state: &'static str,
    pub(super) says: Safe<String>,
    pub(super) hint: Safe<String>,
    pub(super) can_fix: bool,
}

impl Check {
    pub(super) fn of(finding: &Finding) -> Self {
        Self {
            name: finding.name,
            state: match finding.state {
                doctor::State::Ok => "good",
                doctor::State::Note => "aside",
                doctor::State::Wrong => "bad",
            },
            says: title(&finding.message, 300),
            hint: title(finding.hint.as_deref().unwrap_or_default(), 300),
            can_fix: finding.fix.is_some(),
        }
    }
}

/// What `remora doctor` finds, without its slow checks.
pub(super) async fn report(http: &Http) -> Result<Report, ApiError> {
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
            is_thorough: false,
            variable: &variable,
        })
    };
    // Not on a store thread: those have to answer hooks and pages in the meantime.
    let report = tokio::task::spawn_blocking(examine).await;
    report.map_err(|error| ApiError::Internal(error.to_string()))
}

fn groups(report: &Report) -> Vec<(&'static str, Vec<Check>)> {
    let groups = report.checks.chunk_by(|one, next| one.group == next.group);
    groups.map(|group| (group[0].group.title(), group.iter().map(Check::of).collect())).collect()
}

fn verdict(report: &Report) -> String {
    let number = |state, noun| count(i64::try_from(report.number(state)).unwrap_or(i64::MAX), noun);
    let all = count(i64::try_from(report.checks.len()).unwrap_or(i64::MAX), "check");
    match (report.number(doctor::State::Wrong), report.number(doctor::State::Note)) {
        (0, 0) => format!("{all}, nothing wrong"),
        (0, _) => format!("{all}: {}", number(doctor::State::Note, "note")),
        (_, 0) => format!("{all}: {}", number(doctor::State::Wrong, "problem")),
        (..) => format!(
            "{all}: {}, {}",
            number(doctor::State::Wrong, "problem"),
            number(doctor::State::Note, "note")
        ),
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
    let provider = |role, name: &str, model: Option<&String>, trouble: Option<&Outage>| Provider {
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
