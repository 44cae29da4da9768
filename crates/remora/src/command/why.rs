use clap::Args;
use remora_app::Runtime as _;
use remora_app::why::{self, Line, WhyRequest};

use super::retrievals;
use serde_json::json;

use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, DIM, paint, say, talk};

/// Show what was last injected here, why, and how to mark each line as wrong.
///
/// A wrong observation is never injected again, and a wrong fact no longer holds. `remora retrievals` lists injections of all
/// projects.
#[derive(Args)]
pub(crate) struct Why {
    /// A session by the beginning of its id, instead of the latest one here.
    #[arg(long, value_name = "SESSION", conflicts_with = "project")]
    session: Option<String>,
    /// A project by its name, id or directory; without it, the one you are in.
    #[arg(long, short, value_name = "PROJECT")]
    project: Option<String>,
    /// Number of injections to show, newest first.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    limit: u32,
}

pub(crate) fn run(app: &App, arguments: &Why) -> Result<()> {
    let rt = app.open()?;
    let reach = App::caller(&rt)?.reach;
    let request = match &arguments.session {
        Some(session) => WhyRequest::Session(reach.session(rt.store(), session)?),
        None => WhyRequest::Project(
            reach.scope_of(rt.store(), app::scope_of(arguments.project.as_deref(), false)?)?,
        ),
    };
    let Some(injections) = app::if_known(rt.store(), why::why(&rt, &request, arguments.limit))? else {
        return if app.json { output::json(&json!([])) } else { Ok(()) };
    };
    if app.json {
        return output::json(&injections);
    }
    if injections.is_empty() {
        talk("Nothing was injected here yet. See what a new session would get: `remora context`");
    }
    for why in &injections {
        retrievals::print_heading(&why.row);
        why.lines.iter().for_each(print);
    }
    Ok(())
}

fn print(line: &Line) {
    let score = line.item.score.map(|score| format!("{score:.2}  ")).unwrap_or_default();
    say(&format!("  #{:<6} {score}{}", line.item.id, line.says.as_deref().unwrap_or("removed since")));
    let reason = match line.item.why.as_str() {
        "timeline" => "shown at the start".to_owned(),
        "laid down" => "your own words".to_owned(),
        "fact" => "a standing fact".to_owned(),
        "summary" => "where things stood".to_owned(),
        "file" => "about this file".to_owned(),
        "note" => "a note for every session".to_owned(),
        // The part that matches the prompt, and the words they share.
        found => match found.split_once(' ') {
            Some((part, words)) => format!("its {part} has {words}"),
            None => format!("its {found} is near in meaning"),
        },
    };
    let wrong = match line.judged_by {
        Some(id) => format!("; wrong? `remora feedback {id} wrong`"),
        None => String::new(),
    };
    say(&paint(DIM, &format!("          {reason}{wrong}")));
}
