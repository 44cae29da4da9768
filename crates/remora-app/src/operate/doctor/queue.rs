//! Checks of capture: whether it is on, and which events wait, failed or were lost.

use std::time::Duration;

use remora_store::{Backlog, BacklogOf, pause, problems, spool};

use super::finding::grouped;
use super::{Examination, Finding, Fix, Group, Opened, count, local};

/// The daemon observes an ended turn at once. Events that wait longer mean that something prevents it.
const OLD: Duration = Duration::from_hours(1);

pub(super) fn checks(opened: &Opened<'_>) -> Vec<Finding> {
    let about = opened.about;
    let findings =
        [capture(about), settings(about), spooled(about), queue(opened), failed(opened), lost_events(about)];
    grouped(Group::Capture, findings)
}

fn capture(about: &Examination<'_>) -> Finding {
    let name = "capture";
    if about.is_disabled {
        return Finding::note(name, "off in this shell: REMORA_DISABLED is set").hint("unset it to capture");
    }
    if about.settings.capture.exclusions_unknown {
        return Finding::wrong(name, "off until the list of excluded projects can be read")
            .hint("correct `capture.exclude_projects`: `remora config edit`");
    }
    match pause::read(about.dir) {
        Err(error) => Finding::failed(name, &error.into()),
        Ok(paused) if paused.damaged => Finding::wrong(
            name,
            format!("nothing is captured: {} cannot be read", about.dir.pause().display()),
        )
        .hint("continue with `remora resume`, then pause again what should stay paused"),
        Ok(paused) if paused.everywhere_since.is_some() => {
            Finding::note(name, "paused everywhere").hint("`remora resume`")
        }
        Ok(paused) if !paused.projects.is_empty() => {
            let names: Vec<&str> = paused.projects.iter().map(|project| project.name.as_str()).collect();
            Finding::note(name, format!("paused in {}", names.join(", ")))
                .hint("`remora resume --project NAME`")
        }
        Ok(_) => Finding::good(name, "on"),
    }
}

fn settings(about: &Examination<'_>) -> Finding {
    let name = "settings";
    if about.settings_problems.is_empty() {
        return Finding::good(name, "fine");
    }
    let problems: Vec<String> = about.settings_problems.iter().map(ToString::to_string).collect();
    Finding::wrong(name, problems.join("; ")).hint(format!(
        "fix it: `remora config edit`; see the values in use: `remora config list`; the file is {}",
        about.dir.config().display()
    ))
}

fn spooled(about: &Examination<'_>) -> Finding {
    let name = "spool";
    match spool::peek(about.dir) {
        Ok(contents) if contents.records.is_empty() && contents.damaged == 0 => Finding::good(name, "empty"),
        Ok(contents) => {
            let waiting = count(contents.records.len(), "event");
            Finding::note(name, format!("{waiting} waiting for the database, {} damaged", contents.damaged))
                .hint("every command stores them once the database can be written: `remora status`")
        }
        Err(error) => Finding::wrong(name, format!("it cannot be read: {error}"))
            .hint(format!("see the files: `ls -l {}`", about.dir.path().display())),
    }
}

fn queue(opened: &Opened<'_>) -> Finding {
    let name = "queue";
    opened.with_store(name, |store| {
        let pending = store.queue().counts()?.pending;
        let old = BacklogOf::OverdueSince(opened.about.dir.now().before(OLD));
        let Some(Backlog { events, since, .. }) = store.queue().backlog(old)? else {
            return Ok(Finding::good(name, format!("{} pending", count(pending, "event"))));
        };
        let events = count(events, "event");
        let message = format!("{events} pending since {}: nothing turns them into memory", local(since));
        Ok(Finding::wrong(name, message)
            .hint("do it now: `remora doctor --fix`, or `remora queue drain --all`; let the daemon do it: `remora daemon start`")
            .fixed_by(Fix::DrainQueue))
    })
}

fn failed(opened: &Opened<'_>) -> Finding {
    let name = "failed events";
    opened.with_store(name, |store| {
        Ok(match store.queue().backlog(BacklogOf::Failed)? {
            None => Finding::good(name, "none"),
            Some(Backlog { events, since, reason, .. }) => {
                let message =
                    format!("{} failed, the oldest from {}: {reason}", count(events, "event"), local(since));
                Finding::wrong(name, message).hint(
                    "try them again: `remora queue retry --all`; or give them up: `remora queue drop --all`",
                )
            }
        })
    })
}

/// Events that neither the database nor the spool could store.
fn lost_events(about: &Examination<'_>) -> Finding {
    let name = "lost events";
    match problems::lost(about.dir) {
        0 => Finding::good(name, "none"),
        lost => Finding::wrong(name, format!("{} lost", count(lost, "event")))
            .hint("`remora logs` says why; `remora doctor --acknowledge` once you have seen it"),
    }
}
