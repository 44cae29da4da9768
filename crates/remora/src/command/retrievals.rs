use clap::Args;
use remora_store::retrievals::Moment;

use crate::app::App;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, brief, count, paint, say, talk};

#[derive(Args)]
pub(crate) struct Retrievals {
    /// How many to show, the latest first.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,
}

pub(crate) fn run(app: &App, arguments: &Retrievals) -> Result<()> {
    let rows = app.open()?.retrievals(arguments.limit)?;
    if app.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        talk("No agent was told anything yet. See what one would be told here: `remora context`");
    }
    for row in &rows {
        let told = &row.retrieval;
        let what = match told.moment {
            Moment::Start => "at the start of a session".to_owned(),
            Moment::Prompt => format!("with “{}”", told.prompt),
            Moment::File => format!("before it opened {}", brief(&told.prompt, 120)),
        };
        say(&format!("{} {what}", paint(BOLD, &output::local(told.at))));
        let number = i64::try_from(told.items.len()).unwrap_or(i64::MAX);
        let by_words =
            told.degraded.as_ref().map(|missing| format!(", by words alone: {missing}")).unwrap_or_default();
        let cost = format!(
            "  {}, {}: {}, {} tokens, {} ms{by_words}",
            row.host,
            row.project,
            count(number, "memory"),
            told.tokens,
            told.ms
        );
        say(&paint(DIM, &cost));
        for item in told.items.iter().filter(|item| item.score.is_some()) {
            let score = item.score.unwrap_or_default();
            say(&format!("  #{:<6} {score:.2}  {}", item.id, item.why));
        }
    }
    Ok(())
}
