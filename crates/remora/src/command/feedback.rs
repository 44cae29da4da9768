use clap::Args;
use remora_app::judge::{self, JudgeError, JudgeRequest};
use remora_app::records::record_id;
use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Verdict;
use remora_core::time::Time;
use remora_store::{Judged, ObservationRow, Store};
use serde_json::json;

use super::{context_files, show};
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, brief, prose_below, say, talk};

/// Mark an observation as useful or wrong, or show how it was used; or mark a fact, turn or summary wrong.
///
/// A `useful` observation ranks a little higher. A `wrong` one ranks lower and is never injected, but search still finds
/// it. The last verdict counts. `pin` injects an observation first at the start of every session, until `unpin`. Without
/// a verdict, the command shows how often it was injected with a prompt, fetched by its id, and cited in an answer.
///
/// A fact (`f5`), such as a rule of yours that was misread, can be `wrong`: from then on it is neither injected nor found.
/// So can a turn (`t3`) or a summary (`s4`), for what no observation says.
///
/// `wrong` is about what a record says: no other record that says it again is injected either, until the verdict is undone.
#[derive(Args)]
pub(crate) struct Given {
    /// The observation, fact, turn or summary, as `remora search` and `remora why` print it.
    #[arg(value_name = "ID")]
    id: String,
    /// The verdict: useful, wrong, pin or unpin.
    #[arg(value_name = "VERDICT")]
    verdict: Option<Verdict>,
    /// Take back one such verdict.
    #[arg(long, requires = "verdict")]
    undo: bool,
    /// The project of the observation, by name, id or directory; default: the current one.
    #[arg(long, short)]
    project: Option<String>,
}

pub(crate) fn run(app: &App, given: &Given) -> Result<()> {
    let mut store = app.open()?;
    let is = |kind: fn(RecordId) -> bool| record_id(&given.id).is_some_and(kind);
    if let Some(verdict) = given.verdict.filter(|_| is(|id| id.kind == RecordKind::Fact)) {
        return judge_fact(app, &mut store, given, verdict);
    }
    if let Some(verdict) = given.verdict.filter(|_| is(judge::is_retelling)) {
        return judge_retelling(app, &mut store, given, verdict);
    }
    let (row, judged) = match given.verdict {
        None => {
            let row = judge::observation(&store, &given.id)?;
            let judged = Judged { pinned_at: row.pinned_at, feedback: row.feedback };
            (row, judged)
        }
        Some(verdict) => {
            let only = Some(app::whose(given.project.as_deref(), false)?);
            let request = JudgeRequest { id: given.id.clone(), verdict, undo: given.undo, only };
            let judged = judge::judge(&mut store, &request, Time::now())
                .map_err(|error| refused(error, verdict, given.undo))?;
            context_files::follow(&mut store, Some(judged.observation.project_id));
            (*judged.observation, judged.judged)
        }
    };
    if app.json {
        let title = &row.observation.title;
        return output::json(&json!({
            "id": row.id,
            "project": row.project,
            "title": title,
            "pinned_at": judged.pinned_at.map(Time::iso),
            "feedback": judged.feedback,
        }));
    }
    print(&row, &judged);
    Ok(())
}

fn judge_fact(app: &App, store: &mut Store, given: &Given, verdict: Verdict) -> Result<()> {
    let only = Some(app::whose(given.project.as_deref(), false)?);
    let request = JudgeRequest { id: given.id.clone(), verdict, undo: given.undo, only };
    let row = judge::judge_fact(store, &request, Time::now())
        .map_err(|error| refused(error, verdict, given.undo))?;
    context_files::follow(store, row.project_id);
    if app.json {
        return output::json(&row);
    }
    prose_below(&format!("f{}  ", row.id), &brief(&row.fact.value, 100));
    match (row.valid_to, given.undo) {
        (Some(_), false) => {
            talk(&format!("It no longer holds. To undo: `remora feedback f{} wrong --undo`", row.id));
        }
        (Some(_), true) => talk("It stays ended: there is a newer statement about the same."),
        (None, _) => talk("It holds."),
    }
    Ok(())
}

fn judge_retelling(app: &App, store: &mut Store, given: &Given, verdict: Verdict) -> Result<()> {
    let only = Some(app::whose(given.project.as_deref(), false)?);
    let request = JudgeRequest { id: given.id.clone(), verdict, undo: given.undo, only };
    let judged = judge::judge_retelling(store, &request, Time::now())
        .map_err(|error| refused(error, verdict, given.undo))?;
    context_files::follow(store, Some(judged.project_id));
    if app.json {
        return output::json(&judged);
    }
    let id = judged.id;
    if !judged.wrong {
        talk(&format!("{id} may be injected again."));
        return Ok(());
    }
    talk(&format!("{id} is never injected from now on. To undo: `remora feedback {id} wrong --undo`"));
    for observation in judged.observations {
        talk(&format!("What an observation says has its own verdict: `remora feedback {observation} wrong`"));
    }
    Ok(())
}

fn refused(error: JudgeError, verdict: Verdict, undo: bool) -> CliError {
    let message = error.to_string();
    match error {
        JudgeError::App(error) => error.into(),
        JudgeError::FactOfOtherProject(row) => {
            let project = row.project_id.map(|project| project.to_string()).unwrap_or_default();
            let undo = if undo { " --undo" } else { "" };
            CliError::usage(message).hint(format!(
                "if that is the one you mean: `remora feedback f{} {}{undo} --project {project}`",
                row.id,
                verdict.name(),
            ))
        }
        JudgeError::RetellingOfOtherProject { id, project_id, .. } => {
            let undo = if undo { " --undo" } else { "" };
            CliError::usage(message).hint(format!(
                "if that is the one you mean: `remora feedback {id} {}{undo} --project {project_id}`",
                verdict.name(),
            ))
        }
        JudgeError::OtherProject(row) => {
            let undo = if undo { " --undo" } else { "" };
            CliError::usage(message).hint(format!(
                "if that is the one you mean: `remora feedback {} {}{undo} --project {}`",
                row.id,
                verdict.name(),
                row.project_id
            ))
        }
    }
}

fn print(row: &ObservationRow, judged: &Judged) {
    prose_below(&format!("{}  ", row.id), &brief(&row.observation.title, 100));
    let of_use = show::of_use(judged.pinned_at, &judged.feedback);
    say(&format!("    {}", if of_use.is_empty() { "not used yet" } else { &of_use }));
    if judged.feedback.is_wrong() {
        talk(&format!(
            "It is never injected from now on. To undo: `remora feedback {} wrong --undo`",
            row.id
        ));
    }
}
