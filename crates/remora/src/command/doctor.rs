use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use remora_app::backup::{self, Standing};
use remora_app::{install, recall, status};
use remora_client::presence;
use remora_core::settings::Provider;
use remora_core::time::Time;
use remora_install::state::{self, Hooks};
use remora_store::backup::{Backup, LastCheck, Restored, last_check};
use remora_store::{Backlog, ReadOnly, Store, StoreError, pause, problems, spool};
use remora_sys::file::doubtful_file_system;
use serde::Serialize;

use super::config::CLAUDE_LOGIN;
use super::install::surroundings;
use super::notes;
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, DIM, GREEN, RED, YELLOW, paint, say};
use crate::{bugs, env};

#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: State,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Serialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Note,
    Wrong,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
    recent_problems: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Doctor {
    /// Say that you know of the events that were lost until now: later ones are counted anew.
    #[arg(long)]
    acknowledge: bool,
    /// Put right what can be put right safely: refresh what `remora install` wrote.
    #[arg(long)]
    fix: bool,
}

/// Exit code 1 when something is wrong.
pub(crate) fn run(app: &App, doctor: &Doctor) -> Result<ExitCode> {
    if doctor.acknowledge {
        app.dir.create()?;
        problems::acknowledge(&app.dir, Time::now())?;
    }
    if doctor.fix {
        fix(app)?;
    }
    let mut checks = vec![
        directory(app),
        hooks(app),
        database(app),
        backups(app),
        settings(app),
        spooled(app),
        capture(app),
        queue(app),
        observer(app),
        embedder(app),
        context_files(app),
    ];
    checks.extend(notes_source(app));
    checks.extend(lost_events(app));
    checks.extend(logged_bugs(app));
    // The check of a moment ago counts more than the daemon's.
    let is_sound = checks.iter().any(|check| check.name == DATABASE && check.state == State::Ok);
    checks.extend(recovery(app, is_sound));
    let ok = checks.iter().all(|check| check.state != State::Wrong);
    let report = Report { ok, checks, recent_problems: problems::recent(&app.dir, 10) };
    if app.json {
        output::json(&report)?;
    } else {
        print(&report);
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn good(name: &'static str, message: impl Into<String>) -> Check {
    Check { name, state: State::Ok, message: message.into(), hint: None }
}

fn wrong(name: &'static str, error: &CliError) -> Check {
    let hint = error.hint_text().map(str::to_owned);
    Check { name, state: State::Wrong, message: error.message().to_owned(), hint }
}

fn directory(app: &App) -> Check {
    let name = "data directory";
    if let Err(error) = app.dir.create() {
        return wrong(name, &error.into());
    }
    let probe = app.dir.path().join(".probe");
    let path = app.dir.path().display();
    if let Err(error) = fs::write(&probe, b"").and_then(|()| fs::remove_file(&probe)) {
        let error = CliError::internal(format!("{path} cannot be written: {error}"));
        return wrong(name, &error.hint(format!("see its owner and mode: `ls -ld {path}`")));
    }
    if let Some(kind) = doubtful_file_system(app.dir.path()) {
        let hint = "on a local disk nothing is in doubt: set REMORA_DATA_DIR to a directory there";
        let message = format!("{path} is on a file system ({kind}) whose locks may not hold");
        return Check { name, state: State::Note, message, hint: Some(hint.into()) };
    }
    let mode = fs::metadata(app.dir.path()).map_or(0, |dir| dir.mode() & 0o777);
    good(name, format!("{path} (mode {mode:o})"))
}

/// Brings what is installed in hosts up to date.
fn fix(app: &App) -> Result<()> {
    for done in install::refresh(&surroundings(app)?, &app.dir)? {
        let outcome =
            done.refused.map_or_else(|| "refreshed".to_owned(), |reason| format!("refused: {reason}"));
        output::talk(&format!("hooks in {}: {outcome}", done.host));
    }
    Ok(())
}

/// Whether the hosts on this machine run our hooks.
fn hooks(app: &App) -> Check {
    let name = "hooks";
    let states = match surroundings(app) {
        Ok(around) => state::hosts(&around),
        Err(error) => return wrong(name, &error),
    };
    let named = |wanted: &dyn Fn(&Hooks) -> bool| {
        let names: Vec<&str> =
            states.iter().filter(|host| wanted(&host.hooks)).map(|host| host.name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let note =
        |message: String, hint: &str| Check { name, state: State::Note, message, hint: Some(hint.into()) };
    for host in &states {
        match &host.hooks {
            Hooks::Unreadable { reason } => {
                let error = CliError::internal(format!("{}: {reason}", host.name));
                return wrong(name, &error.hint("put that file right, then: `remora install`"));
            }
            Hooks::Outdated { reason } => {
                let error = CliError::internal(format!("{}: {reason}", host.name));
                return wrong(name, &error.hint("bring it up to date: `remora doctor --fix`"));
            }
            _ => {}
        }
    }
    let installed = named(&|hooks| matches!(hooks, Hooks::Installed | Hooks::Untrusted));
    if let Some(names) = named(&|hooks| *hooks == Hooks::Untrusted) {
        let hint = "start it and trust the hooks when it asks, or type `/hooks`";
        return note(format!("{names} runs the hooks only after you have reviewed them there"), hint);
    }
    match (installed, named(&|hooks| *hooks == Hooks::Missing)) {
        (Some(names), None) => good(name, format!("installed in {names}")),
        (Some(names), Some(missing)) => note(
            format!("installed in {names}; hooks not installed in {missing}"),
            "install them there, too: `remora install`",
        ),
        (None, Some(missing)) => wrong(
            name,
            &CliError::internal(format!("hooks not installed in {missing}"))
                .hint("install them: `remora install`"),
        ),
        (None, None) => note(
            "hooks not installed: no agent program was found".to_owned(),
            "name the one you use: `remora install --host claude-code`",
        ),
    }
}

const DATABASE: &str = "database";

fn database(app: &App) -> Check {
    let name = DATABASE;
    let store = match Store::open(&app.dir) {
        Ok(store) => store,
        Err(error) => return wrong(name, &error.into()),
    };
    match store.read_only() {
        None => {}
        Some(ReadOnly::NewerSchema(found)) => {
            let message = format!("schema {found} was made by a newer Remora; reading only");
            let hint = "update `remora`; events wait in the spool";
            return wrong(name, &CliError::internal(message).hint(hint));
        }
        Some(ReadOnly::Disk) => {
            return wrong(name, &StoreError::ReadOnly { path: app.dir.database() }.into());
        }
    }
    match store.integrity_problems() {
        Ok(problems) if problems.is_empty() => good(name, "sound"),
        Ok(problems) => {
            let error = CliError::internal(format!("damaged: {}", problems[0]));
            // It says which way back costs least: a new index, a backup, a new database.
            wrong(name, &error.hint("see all of it, and the way back: `remora verify`"))
        }
        Err(error) => wrong(name, &error.into()),
    }
}

fn backups(app: &App) -> Check {
    let name = "backups";
    let store = Store::open(&app.dir).ok();
    let settings = app::settings(&app.dir).0.backup;
    let standing = match backup::standing(&app.dir, store.as_ref(), &settings, Time::now()) {
        Ok(standing) => standing,
        Err(error) => return wrong(name, &error.into()),
    };
    let newest = |backup: &Backup| format!("the newest sound one is from {}", output::local(backup.made_at));
    let note = |message: &str, hint: &str| Check {
        name,
        state: State::Note,
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    match standing {
        Standing::Fresh(backup) => good(name, newest(&backup)),
        Standing::NotYet => good(name, "none yet; the daemon makes one every day"),
        Standing::Off => note("off, and none is recent", "make one: `remora backup`"),
        Standing::Stale(backup) => {
            let known = backup.map_or_else(|| "there is none".to_owned(), |backup| newest(&backup));
            let message = format!("none is younger than three days: {known}");
            let hint = "make one: `remora backup`; see why the daemon made none: `remora logs`";
            wrong(name, &CliError::internal(message).hint(hint))
        }
    }
}

/// How long a restored database is mentioned if nothing was set aside.
const NEWS: Duration = Duration::from_hours(7 * 24);

/// Only after something happened: damage that the daemon found, or a database that was restored.
fn recovery(app: &App, is_sound: bool) -> Option<Check> {
    let name = "recovery";
    let LastCheck { checked_at, problems, restored } = last_check(&app.dir)?;
    if !is_sound && let Some(problem) = problems.first() {
        let message = format!("the check of {} found damage: {problem}", output::local(checked_at));
        let hint =
            "see whether it is still there: `remora verify`; bring back the newest backup: `remora restore`";
        return Some(wrong(name, &CliError::internal(message).hint(hint)));
    }
    let Restored { from, made_at, restored_at, set_aside } = restored?;
    let lost = made_at.map(|made_at| {
        let (from, to) = (output::local(made_at), output::local(restored_at));
        format!("; what was stored between {from} and {to} may be missing")
    });
    let hint = match &set_aside {
        Some(aside) if aside.exists() => Some(format!(
            "the database that was there is {0}; delete it when you no longer need it: `rm {0}*`",
            aside.display()
        )),
        // The user has deleted it, and so has seen this.
        Some(_) => return None,
        None if Time::now().since(restored_at) > NEWS => return None,
        None => None,
    };
    if set_aside.as_ref() == Some(&from) {
        let message = "the search index was damaged and is made anew; nothing is lost".to_owned();
        return Some(Check { name, state: State::Note, message, hint });
    }
    let message = format!("the database was restored from {}{}", from.display(), lost.unwrap_or_default());
    Some(Check { name, state: State::Note, message, hint })
}

fn settings(app: &App) -> Check {
    let name = "settings";
    match app.settings_problems.as_slice() {
        [] => good(name, "fine"),
        problems => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let hint = format!(
                "see the values in use: `remora config list`; the file is {}",
                app.dir.config().display()
            );
            wrong(name, &CliError::usage(problems.join("; ")).hint(hint))
        }
    }
}

fn spooled(app: &App) -> Check {
    let name = "spool";
    match spool::peek(&app.dir) {
        Ok(contents) if contents.records.is_empty() && contents.damaged == 0 => {
            good(name, format!("empty; {}", reserve(app)))
        }
        Ok(contents) => Check {
            name,
            state: State::Note,
            message: format!(
                "{} waiting for the database, {} damaged; {}",
                output::count(i64::try_from(contents.records.len()).unwrap_or(i64::MAX), "event"),
                contents.damaged,
                reserve(app)
            ),
            hint: None,
        },
        Err(error) => wrong(name, &error.into()),
    }
}

/// What happens to events when the disk is full.
fn reserve(app: &App) -> String {
    match spool::reserved(&app.dir) >> 10 {
        0 => "nothing in reserve: events are lost while the disk is full".to_owned(),
        kilobytes => format!("{kilobytes} KB in reserve for a full disk"),
    }
}

/// Events that neither the database nor the spool took.
fn lost_events(app: &App) -> Option<Check> {
    let lost = i64::try_from(problems::lost(&app.dir)).unwrap_or(i64::MAX);
    let message = format!("{} lost", output::count(lost, "event"));
    let hint = "`remora logs` says why; `remora doctor --acknowledge` once you have seen it";
    (lost > 0).then(|| wrong("lost events", &CliError::internal(message).hint(hint)))
}

/// Bugs of this version that the log tells of.
fn logged_bugs(app: &App) -> Option<Check> {
    let lines = problems::recent(&app.dir, usize::MAX);
    let found: Vec<&String> = lines.iter().filter(|line| bugs::is_of_this_version(line)).collect();
    let last = found.last()?;
    let message = format!(
        "{} in the log, the last one: {last}",
        output::count(i64::try_from(found.len()).unwrap_or(i64::MAX), "panic")
    );
    let hint = "please report the lines of `remora logs` that say `bug`; an update may have mended it";
    Some(wrong("bugs", &CliError::internal(message).hint(hint)))
}

fn capture(app: &App) -> Check {
    let name = "capture";
    let note =
        |message: String, hint: &str| Check { name, state: State::Note, message, hint: Some(hint.into()) };
    if env::disabled() {
        return note(format!("off in this shell: {} is set", env::DISABLED), "unset it to capture");
    }
    match pause::read(&app.dir) {
        Err(error) => wrong(name, &error.into()),
        Ok(paused) if paused.damaged => Check {
            name,
            state: State::Wrong,
            message: format!("nothing is captured: {} cannot be read", app.dir.pause().display()),
            hint: Some("go on with `remora resume`; pause again what shall be paused".into()),
        },
        Ok(paused) if paused.everywhere_since.is_some() => {
            note("paused everywhere".into(), "`remora resume`")
        }
        Ok(paused) if !paused.projects.is_empty() => {
            let names: Vec<&str> = paused.projects.iter().map(|project| project.name.as_str()).collect();
            note(format!("paused in {}", names.join(", ")), "`remora resume --project NAME`")
        }
        Ok(_) => good(name, "on"),
    }
}

/// Why is said of the database.
fn unknown(name: &'static str) -> Check {
    Check { name, state: State::Note, message: "not known".into(), hint: None }
}

fn queue(app: &App) -> Check {
    let name = "queue";
    let Ok(store) = Store::open(&app.dir) else { return unknown(name) };
    match store.failed().and_then(|failed| Ok((failed, store.counts()?))) {
        Err(error) => wrong(name, &error.into()),
        Ok((None, counts)) => {
            good(name, format!("{} pending, none failed", output::count(counts.pending, "event")))
        }
        Ok((Some(Backlog { events, since, reason }), _)) => {
            let events = output::count(events, "event");
            let message = format!("{events} failed, the oldest from {}: {reason}", output::local(since));
            let hint =
                "try them again: `remora queue retry --all`; or give them up: `remora queue drop --all`";
            wrong(name, &CliError::internal(message).hint(hint))
        }
    }
}

fn observer(app: &App) -> Check {
    let name = "observer";
    let Ok(store) = Store::open(&app.dir) else { return unknown(name) };
    let settings = app::settings(&app.dir).0;
    let daemon = super::status::daemon(presence::find(&app.dir).unwrap_or_default().as_ref());
    let observer = match status::observer_of(&app.dir, &store, &settings, &daemon, Time::now()) {
        Ok(observer) => observer,
        Err(error) => return wrong(name, &error.into()),
    };
    let provider = settings.observer.provider;
    if provider == Provider::Builtin {
        return good(name, "built in");
    }
    let alone = "the built-in observer works alone meanwhile";
    if let Some(trouble) = &observer.trouble {
        let since = output::local(trouble.since);
        let message =
            format!("{} cannot be asked since {since}: {}; {alone}", observer.provider, trouble.reason);
        return wrong(name, &CliError::internal(message).hint(remedy(provider)));
    }
    if let Some(Backlog { events, since, reason }) = &observer.waiting {
        let (events, since) = (output::count(*events, "event"), output::local(*since));
        let message = format!("{events} wait for {} since {since}: {reason}; {alone}", observer.provider);
        // The user has chosen to wait for the budget.
        if reason.starts_with("budget.") {
            let hint = "raise the limit: `remora config set budget.daily_tokens N`; or do not wait: \
                        `remora config set observer.over_budget builtin`";
            return Check { name, state: State::Note, message, hint: Some(hint.into()) };
        }
        return wrong(name, &CliError::internal(message).hint(remedy(provider)));
    }
    if provider == Provider::ClaudeCli {
        return claude_cli(name);
    }
    good(name, format!("{}, {}", observer.provider, observer.model.unwrap_or_default()))
}

/// The next command if a provider cannot be asked.
fn remedy(provider: Provider) -> String {
    let builtin = "back to no model: `remora config set observer.provider builtin`";
    match provider {
        Provider::ClaudeCli => format!("{CLAUDE_LOGIN}; {builtin}"),
        _ => format!("see its settings: `remora config list`; {builtin}"),
    }
}

fn claude_cli(name: &'static str) -> Check {
    let message = "claude-cli, with your Claude Code login";
    let variables = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"];
    match variables.into_iter().find(|variable| env::variable(variable).is_some()) {
        None => good(name, message),
        Some(variable) => Check {
            name,
            state: State::Note,
            message: format!("{message}; {variable} is set in this shell, and claude-cli does not use it"),
            hint: Some(CLAUDE_LOGIN.to_owned()),
        },
    }
}

fn context_files(app: &App) -> Check {
    let name = "context files";
    let Ok(all) = Store::open(&app.dir).and_then(|store| store.all_context_files()) else {
        return unknown(name);
    };
    let roots = || all.iter().flat_map(|(_, roots)| roots);
    let count = |number: usize, noun: &str| output::count(i64::try_from(number).unwrap_or(i64::MAX), noun);
    if let Some(at) = roots().find(|at| !at.problems.is_empty()) {
        let problem = &at.problems[0];
        return Check {
            name,
            state: State::Note,
            message: format!("{} of {}: {}", problem.path, at.root, problem.reason),
            hint: Some(format!("`remora context-files status --project {}`", at.root)),
        };
    }
    match roots().map(|at| at.files.len()).sum() {
        _ if all.is_empty() => good(name, "off"),
        files => good(name, format!("{} in {}", count(files, "file"), count(all.len(), "project"))),
    }
}

fn embedder(app: &App) -> Check {
    let name = "embedder";
    let settings = app::settings(&app.dir).0.search;
    let health = super::index::embedder_health(app, &settings);
    let message = super::index::embedder_text(&settings, health.as_ref());
    let is_troubled = health.is_some_and(|health| health.trouble.is_some());
    if !is_troubled && !settings.misses_key() {
        return late(app).unwrap_or_else(|| good(name, message));
    }
    let hint = "see its settings: `remora config list`; back to the model in the program: \
                `remora config set search.embedder --unset`";
    Check { name, state: State::Note, message, hint: Some(hint.into()) }
}

/// Whether the embedder answers, but never in time for a prompt.
fn late(app: &App) -> Option<Check> {
    let store = Store::open(&app.dir).ok()?;
    let count = recall::always_late(&store).ok()??;
    let message = format!("too late for each of the last {count} injections; those went by words alone");
    let hint = "give it more time: `remora config set memory.auto_retrieve_ms 200`, which is the most; or use the model \
                in the program: `remora config set search.embedder --unset`";
    Some(Check { name: "embedder", state: State::Note, message, hint: Some(hint.into()) })
}

/// Only where there is a source of notes.
fn notes_source(app: &App) -> Option<Check> {
    let memory = app::settings(&app.dir).0.memory;
    memory.notes_source()?;
    let name = "notes";
    let store = Store::open(&app.dir).ok()?;
    Some(match notes::trouble(&store, &memory) {
        Some(problem) => Check {
            name,
            state: State::Note,
            message: problem,
            hint: Some("notes that are indexed stay; `remora notes sync` tries again".to_owned()),
        },
        None => good(name, "fine"),
    })
}

fn print(report: &Report) {
    for check in &report.checks {
        let mark = match check.state {
            State::Ok => paint(GREEN, "ok   "),
            State::Note => paint(YELLOW, "note "),
            State::Wrong => paint(RED, "wrong"),
        };
        say(&format!("{mark}  {:<15} {}", check.name, check.message));
        if let Some(hint) = &check.hint {
            say(&format!("       {:<15} {} {hint}", "", paint(DIM, "hint:")));
        }
    }
    if !report.recent_problems.is_empty() {
        say("\nLately, this went wrong (all of it: `remora logs`):");
        for line in &report.recent_problems {
            say(&format!("  {}", paint(DIM, line)));
        }
    }
}
