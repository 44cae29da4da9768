use clap::Args;
use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Verdict;
use remora_core::ids::ObservationId;
use remora_core::time::Time;
use remora_store::{Judged, ObservationRow, Store, locate};
use serde_json::json;

use super::{context_files, show};
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::output::{self, brief, say, talk};

/// Say of what use an observation is, or see what became of it.
///
/// What is `useful` rises a little when something is searched or told. What is `wrong` sinks and is not told to agents
/// any more, but can still be found. The last word holds. `pin` puts an observation first at the start of every session,
/// until `unpin`. Without a verdict: how often it was told to agents with a prompt, fetched by its id, and cited in an
/// answer.
#[derive(Args)]
pub(crate) struct Given {
    /// The observation, as `remora search` prints it.
    #[arg(value_name = "ID")]
    id: String,
    /// What to say of it: useful, wrong, pin or unpin.
    #[arg(value_name = "VERDICT")]
    verdict: Option<Verdict>,
    /// Take one such verdict back.
    #[arg(long, requires = "verdict")]
    undo: bool,
    /// The project it belongs to, where that is not the one you are in: its name, id, or a directory.
    #[arg(long, short)]
    project: Option<String>,
}

pub(crate) fn run(app: &App, given: &Given) -> Result<()> {
    let mut store = app.open()?;
    let row = find(&store, &given.id)?;
    let judged = match given.verdict {
        None => Judged { pinned_at: row.pinned_at, feedback: row.feedback },
        Some(verdict) => {
            check_project(&store, &row, verdict, given)?;
            let judged = store.judge(row.id, verdict, given.undo, Time::now())?;
            context_files::follow(&mut store, Some(row.project_id));
            judged.ok_or_else(|| unknown(&given.id))?
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

fn print(row: &ObservationRow, judged: &Judged) {
    say(&format!("{}  {}", row.id, brief(&row.observation.title, 100)));
    let of_use = show::of_use(judged.pinned_at, &judged.feedback);
    say(&format!("    {}", if of_use.is_empty() { "nothing became of it yet" } else { &of_use }));
    if judged.feedback.is_wrong() {
        talk(&format!(
            "Agents are not told of it any more; to change that: `remora feedback {} wrong --undo`",
            row.id
        ));
    }
}

fn find(store: &Store, id: &str) -> Result<ObservationRow> {
    match show::record_id(id.trim_start_matches('#')) {
        Some(RecordId { kind: RecordKind::Observation, number }) => {
            store.observation(ObservationId(number))?.ok_or_else(|| unknown(id))
        }
        Some(_) => Err(CliError::usage(format!("feedback is for observations, and `{id}` is none"))
            .hint("find one: `remora search WORDS --kind observation`")),
        None => Err(unknown(id)),
    }
}

fn unknown(id: &str) -> CliError {
    CliError::not_found(format!("no observation is known as `{id}`"))
        .hint("its id is a number; find it: `remora search WORDS --kind observation`")
}

/// One wrong digit must not change the memory of another project.
fn check_project(store: &Store, row: &ObservationRow, verdict: Verdict, given: &Given) -> Result<()> {
    let own = match &given.project {
        Some(wanted) => Some(app::project(store, wanted)?.id),
        None => store.project_at(&locate(&std::env::current_dir()?))?.map(|project| project.id),
    };
    if own == Some(row.project_id) {
        return Ok(());
    }
    let undo = if given.undo { " --undo" } else { "" };
    Err(CliError::usage(format!("observation {} belongs to another project: {}", row.id, row.project)).hint(
        format!(
            "if that is the one you mean: `remora feedback {} {}{undo} --project {}`",
            row.id,
            verdict.name(),
            row.project_id
        ),
    ))
}
