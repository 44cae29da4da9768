use clap::Args;
use remora_app::Runtime as _;
use remora_app::retrievals::{RetrievalsRequest, retrievals};
use remora_store::injections::{Moment, RetrievalRow};

use crate::app::{self, App};
use crate::error::Result;
use crate::output::{self, BOLD, DIM, brief, count, paint, say, talk};

#[derive(Args)]
pub(crate) struct Retrievals {
    /// Limit for the number of injections, newest first.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,
}

pub(crate) fn run(app: &App, arguments: &Retrievals) -> Result<()> {
    let rt = app.open()?;
    let selector = App::caller(&rt)?.reach.widest(rt.store(), app::scope_of(None, false)?)?;
    let request = RetrievalsRequest { selector, session: None, limit: arguments.limit };
    let rows = retrievals(&rt, &request)?;
    if app.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        talk("Nothing was injected yet. See what a new session here would get: `remora context`");
    }
    for row in rows.iter().map(|retrieved| &retrieved.row) {
        print_heading(row);
        let logged = &row.retrieval;
        for item in logged.items.iter().filter(|item| item.score.is_some()) {
            let score = item.score.unwrap_or_default();
            say(&format!("  #{:<6} {score:.2}  {}", item.id, item.why));
        }
    }
    Ok(())
}

/// Prints the time, the occasion and the cost of an injection.
pub(crate) fn print_heading(row: &RetrievalRow) {
    let logged = &row.retrieval;
    let what = match logged.moment {
        Moment::Start => "at the start of a session".to_owned(),
        Moment::Prompt => format!("with “{}”", logged.prompt),
        Moment::File => format!("before it opened {}", brief(&logged.prompt, 120)),
    };
    say(&format!("{} {what}", paint(BOLD, &output::local(logged.at))));
    let number = i64::try_from(logged.items.len()).unwrap_or(i64::MAX);
    let by_words =
        logged.degraded.as_ref().map(|missing| format!(", by words alone: {missing}")).unwrap_or_default();
    let cost = format!(
        "  {}, {}: {}, {} tokens, {} ms{by_words}",
        row.host,
        row.project,
        count(number, "memory"),
        logged.tokens,
        logged.ms
    );
    say(&paint(DIM, &cost));
}
