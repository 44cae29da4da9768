//! `remora context --explain`: what would be injected with a prompt, and why.

use std::process::ExitCode;

use anstyle::Style;
use remora_app::present::{IdStyle, superseded};
use remora_app::recall::prompt::{Explained, Explanation, PromptRequest};
use remora_app::recall::{Candidate, Outcome};
use remora_app::{Local, Runtime as _};
use remora_core::host::Host;
use remora_core::ids::ProjectId;
use remora_search::Mode;
use remora_store::SessionRow;

use super::context::painted;
use super::search;
use crate::app::App;
use crate::env;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, GREEN, Table, YELLOW, brief, count, paint, say, talk};

/// The session that the prompt counts as part of.
pub(crate) enum Asker {
    Session(Box<SessionRow>),
    /// A new session in this project.
    NewIn(ProjectId),
}

impl Asker {
    fn request(&self, prompt: &str) -> PromptRequest {
        let request = match self {
            Self::Session(row) => PromptRequest::new(prompt, row.project_id, row.id, Host::named(&row.host)),
            Self::NewIn(project) => PromptRequest::of_new_session(prompt, *project),
        };
        PromptRequest { command: env::command(), ..request }
    }

    /// Describes the session whose context was used.
    fn described(&self) -> String {
        match self {
            Self::Session(row) => {
                format!("Asked in the {} session {}.", row.host, brief(&row.content_session_id, 40))
            }
            Self::NewIn(_) => "Asked in a new session; `--session latest` asks in the latest one.".to_owned(),
        }
    }
}

/// Returns exit code 1 if nothing would be injected.
pub(crate) fn run(app: &App, rt: &Local, asker: &Asker, prompt: &str) -> Result<ExitCode> {
    let explained = rt.explain(&asker.request(prompt))?;
    if app.json {
        output::json(&explained)?;
    } else {
        print(&explained);
        talk(&asker.described());
    }
    Ok(ExitCode::from(u8::from(explained.injection.is_none())))
}

fn print(explained: &Explained) {
    let why = &explained.explanation;
    candidates(why);
    if let Some(reason) = &why.skipped {
        talk(&format!("Nothing was searched: {reason}."));
    } else {
        talk(&how(why));
    }
    if !why.is_by_daemon && why.mode == Some(Mode::Hybrid) {
        talk("No daemon is running: until one does, hooks search by words only (`remora daemon start`).");
    }
    let Some(injection) = &explained.injection else {
        talk("Nothing would be injected.");
        return;
    };
    if !why.candidates.is_empty() {
        say("");
    }
    for line in injection.text.lines() {
        say(&painted(line));
    }
    talk(&format!("{} tokens", injection.tokens));
}

/// Prints one row per candidate, with the parts of its score below.
fn candidates(why: &Explanation) {
    if why.candidates.is_empty() {
        return;
    }
    let mut table = Table::new(&["ID", "SCORE", "OUTCOME", "TITLE"]);
    for candidate in &why.candidates {
        table.row(vec![
            candidate.hit.id.to_string(),
            format!("{:.2}", candidate.hit.score),
            paint(style(candidate.outcome), &outcome(candidate)),
            brief(&candidate.hit.title, 100),
        ]);
        table.below(&paint(DIM, &search::why(&candidate.hit)));
    }
    table.print();
}

fn outcome(candidate: &Candidate) -> String {
    match (candidate.outcome, candidate.hit.superseded_by) {
        (Outcome::Superseded, Some(by)) => superseded(by.into(), IdStyle::Plain),
        (outcome, _) => outcome.reason().to_owned(),
    }
}

fn style(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Injected => GREEN,
        Outcome::Gated | Outcome::NoPassage => DIM,
        Outcome::OverBudget => BOLD,
        _ => YELLOW,
    }
}

fn how(why: &Explanation) -> String {
    let injected = why.candidates.iter().filter(|candidate| candidate.outcome == Outcome::Injected).count();
    let number = count(i64::try_from(why.candidates.len()).unwrap_or(i64::MAX), "candidate");
    let way = match (&why.no_vectors, why.mode) {
        (Some(reason), _) => format!("by words alone, because {reason}"),
        (None, Some(Mode::Text)) => "by words alone".to_owned(),
        (None, _) => "by words and meaning".to_owned(),
    };
    format!(
        "Searched {way}, in {} ms: {number}, {injected} injected; limit {} passages, threshold {:.2}.",
        why.ms, why.most, why.least_score
    )
}
