use clap::Args;
use remora_app::Runtime as _;
use remora_app::judge::{self, JudgeRequest, JudgedRecord, JudgedTurnOrSummary};
use remora_app::present::FactJson;
use remora_app::{AppError, Caller};
use remora_core::feedback::Verdict;
use remora_core::time::Time;
use remora_store::{FactRow, ObservationRow};
use serde_json::json;

use super::show;
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, brief, prose_below, say, talk};

/// Mark an observation as useful or wrong, pin it, or show how it was used; or mark a fact, turn or summary wrong.
///
/// A `useful` observation ranks a little higher. A `wrong` one ranks lower and is never injected, but search still finds
/// it. The last verdict counts. `pin` injects an observation first at the start of every session, until `unpin`. Without
/// a verdict, the command shows how often it was injected with a prompt or before a file, fetched by its id, and cited in
/// an answer.
///
/// A fact (`f5`), such as a rule of yours that was misread, can also be `wrong`. It is then neither injected nor found. A
/// turn (`t3`) or a summary (`s4`) can be `wrong` in what no observation says.
///
/// `wrong` applies to what a record says: other records that repeat it are not injected either, until you undo the
/// verdict.
#[derive(Args)]
pub(crate) struct Given {
    /// The observation, fact, turn or summary, as `remora search` and `remora why` print it.
    #[arg(value_name = "ID")]
    id: String,
    /// The verdict: useful, wrong, pin or unpin.
    #[arg(value_name = "VERDICT")]
    verdict: Option<Verdict>,
    /// Undo this verdict, once.
    #[arg(long, requires = "verdict")]
    undo: bool,
    /// The project of the observation, by name, id or directory; default: the current one.
    #[arg(long, short)]
    project: Option<String>,
}

pub(crate) fn run(app: &App, given: &Given) -> Result<()> {
    let mut rt = app.open()?;
    let Caller { by, reach, .. } = App::caller(&rt)?;
    reach.record(rt.store(), &given.id)?;
    let Some(verdict) = given.verdict else {
        return show_observation(app, &judge::observation(rt.store(), &given.id)?);
    };
    let only = Some(reach.scope_of(rt.store(), app::scope_of(given.project.as_deref(), false)?)?);
    let request = JudgeRequest { id: given.id.clone(), verdict, undo: given.undo, by, only };
    let judged = judge::judge(&mut rt, &request);
    match judged.map_err(|error| refused(error, &request))? {
        JudgedRecord::Observation(judged) => show_observation(app, &judged.row),
        JudgedRecord::Fact(row) => show_fact(app, &row, given.undo),
        JudgedRecord::TurnOrSummary(judged) => show_turn_or_summary(app, &judged),
    }
}

fn refused(error: AppError, request: &JudgeRequest) -> CliError {
    let message = error.to_string();
    match error {
        AppError::OtherProject { record, project_id, .. } => {
            let (verdict, undo) = (request.verdict.name(), if request.undo { " --undo" } else { "" });
            CliError::usage(message).hint(format!(
                "if that is the one you mean: `remora feedback {record} {verdict}{undo} --project {project_id}`"
            ))
        }
        other => other.into(),
    }
}

fn show_observation(app: &App, row: &ObservationRow) -> Result<()> {
    let title = &row.observation.title;
    if app.json {
        return output::json(&json!({
            "id": row.id,
            "project": row.project,
            "title": title,
            "pinned_at": row.pinned_at.map(Time::iso),
            "feedback": row.feedback,
        }));
    }
    prose_below(&format!("{}  ", row.id), &brief(title, 100));
    let of_use = show::of_use(row.pinned_at, &row.feedback);
    say(&format!("    {}", if of_use.is_empty() { "not used yet" } else { &of_use }));
    if row.feedback.is_wrong() {
        talk(&format!(
            "It is never injected from now on. To undo: `remora feedback {} wrong --undo`",
            row.id
        ));
    }
    Ok(())
}

fn show_fact(app: &App, row: &FactRow, undo: bool) -> Result<()> {
    if app.json {
        return output::json(&FactJson::from(row.clone()));
    }
    prose_below(&format!("f{}  ", row.id), &brief(&row.fact.value, 100));
    match (row.valid_to, undo) {
        (Some(_), false) => {
            talk(&format!("It no longer holds. To undo: `remora feedback f{} wrong --undo`", row.id));
        }
        (Some(_), true) => talk("It stays ended, because its key has a newer value."),
        (None, _) => talk("It holds."),
    }
    Ok(())
}

fn show_turn_or_summary(app: &App, judged: &JudgedTurnOrSummary) -> Result<()> {
    if app.json {
        return output::json(judged);
    }
    let id = judged.id;
    if !judged.wrong {
        talk(&format!("{id} may be injected again."));
        return Ok(());
    }
    talk(&format!("{id} is never injected from now on. To undo: `remora feedback {id} wrong --undo`"));
    for observation in &judged.observations {
        talk(&format!("What an observation says has its own verdict: `remora feedback {observation} wrong`"));
    }
    Ok(())
}
