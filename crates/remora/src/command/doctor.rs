use std::process::ExitCode;

use clap::Args;
use remora_app::doctor::{self, Examination, Finding, Fixed, Report, State};
use remora_client::presence;
use remora_store::problems;
use serde_json::json;

use super::install::surroundings;
use crate::app::App;
use crate::env;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, prose, prose_below, say};

/// Check the installation, and suggest a fix for each problem.
///
/// Every check says what it found. The exit code is 1 if something is wrong; a `note` is not a problem.
#[derive(Args)]
pub(crate) struct Doctor {
    /// Acknowledge the events lost so far; only later ones are counted from now on.
    #[arg(long)]
    acknowledge: bool,
    /// Fix what can be fixed safely: file modes, outdated hooks, queued events, the search index, a missing backup.
    #[arg(long)]
    fix: bool,
}

pub(crate) fn run(app: &App, arguments: &Doctor) -> Result<ExitCode> {
    if arguments.acknowledge {
        app.dir.create()?;
        problems::acknowledge(&app.dir, app.dir.now())?;
    }
    let machine = surroundings(app).ok();
    let daemon = super::status::daemon(presence::find(&app.dir).unwrap_or_default().as_ref());
    let about = Examination {
        dir: &app.dir,
        settings: &app.settings,
        settings_problems: &app.settings_problems,
        machine: machine.as_ref(),
        daemon: &daemon,
        is_disabled: env::disabled(),
        is_thorough: true,
        variable: &env::variable,
    };
    let mut report = doctor::examine(&about);
    let mut fixed = Vec::new();
    if arguments.fix {
        fixed = doctor::fix(&about, &report);
        report = doctor::examine(&about);
    }
    if app.json {
        let mut answer = serde_json::to_value(&report)?;
        answer["fixed"] = json!(fixed);
        output::json(&answer)?;
    } else {
        fixed.iter().for_each(print_fixed);
        print(&report);
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print_fixed(fixed: &Fixed) {
    let mark = if fixed.is_done { paint(GREEN, "fixed") } else { paint(RED, "not fixed") };
    output::talk(&format!("{mark}  {}", fixed.outcome));
}

fn print(report: &Report) {
    let mut group = None;
    for finding in &report.checks {
        if group.replace(finding.group) != Some(finding.group) {
            say(&paint(BOLD, finding.group.title()));
        }
        print_finding(finding);
    }
    if !report.recent_problems.is_empty() {
        say("");
        prose("Lately, this went wrong (all of it: `remora logs`):");
        for line in &report.recent_problems {
            prose_below("  ", line);
        }
    }
    say("");
    prose(&verdict(report));
}

fn print_finding(finding: &Finding) {
    let mark = match finding.state {
        State::Ok => paint(GREEN, "ok   "),
        State::Note => paint(YELLOW, "note "),
        State::Wrong => paint(RED, "wrong"),
    };
    prose_below(&format!("  {mark}  {:<15} ", finding.name), &finding.message);
    if let Some(hint) = &finding.hint {
        // On a narrow terminal, commands need most of the line.
        let indent = if output::columns().is_some_and(|columns| columns < 100) { 9 } else { 25 };
        prose_below(&format!("{}{} ", " ".repeat(indent), paint(DIM, "hint:")), hint);
    }
}

fn verdict(report: &Report) -> String {
    let number = |state, noun| output::count(i64::try_from(report.number(state)).unwrap_or(i64::MAX), noun);
    let checks = output::count(i64::try_from(report.checks.len()).unwrap_or(i64::MAX), "check");
    let mut found = Vec::new();
    if report.number(State::Wrong) > 0 {
        found.push(paint(RED, &number(State::Wrong, "problem")));
    }
    if report.number(State::Note) > 0 {
        found.push(paint(YELLOW, &number(State::Note, "note")));
    }
    if found.is_empty() {
        return format!("{checks}, nothing wrong.");
    }
    let fix = if report.fixes().is_empty() { "" } else { "; `remora doctor --fix` fixes some of it" };
    format!("{checks}: {}{fix}.", found.join(", "))
}
