use clap::Args;
use remora_app::records::record_id;
use remora_app::timeline::{self, Around, TimelineRequest};
use remora_app::{AppError, Whose};
use remora_core::document::RecordId;
use remora_store::{Store, TimelineEntry};
use serde_json::json;

use crate::app::{self, App};
use crate::ask;
use crate::error::Result;
use crate::output::{self, BOLD, DIM, brief, paint, say, talk};

/// Show what was learned before and after something, day by day.
///
/// The timeline is around a record (`123`, `s12`, `t34`) or around the best hit for a query. Without either, it ends now.
#[derive(Args)]
pub(crate) struct Timeline {
    /// A record's id, or what to look for.
    #[arg(value_name = "ID|QUERY")]
    around: Vec<String>,
    /// Number of records before it.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    before: u32,
    /// Number of records after it.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    after: u32,
    /// Another project than the one you are in: its name, id, or a directory.
    #[arg(long, short)]
    project: Option<String>,
}

pub(crate) fn run(app: &App, arguments: &Timeline) -> Result<()> {
    let store = app.open()?;
    let whose = app::whose(arguments.project.as_deref(), false)?;
    let found =
        request(app, &store, arguments, whose).and_then(|request| timeline::timeline(&store, &request));
    let Some(timeline) = app::if_known(&store, found)? else {
        if app.json {
            output::json(&json!({ "anchor": null, "items": [] }))?;
        }
        return Ok(());
    };
    if app.json {
        return output::json(&timeline);
    }
    if timeline.items.is_empty() {
        talk("Nothing was learned in this project yet. See what is queued: `remora queue`");
    }
    print(&timeline.items, timeline.anchor);
    Ok(())
}

fn request(
    app: &App,
    store: &Store,
    arguments: &Timeline,
    whose: Whose,
) -> std::result::Result<TimelineRequest, AppError> {
    let mut request = TimelineRequest {
        whose: Some(whose),
        around: Around::Now,
        before: arguments.before,
        after: arguments.after,
    };
    let record = match arguments.around.as_slice() {
        [] => return Ok(request),
        // A number that is not an id is searched as text.
        [word] => match record_id(word) {
            Some(record) => store.timeline_entry(record)?.map(|_| record),
            None => None,
        },
        _ => None,
    };
    request.around = if let Some(record) = record {
        // An id implies its project.
        if arguments.project.is_none() {
            request.whose = None;
        }
        Around::Record(record)
    } else {
        let text = arguments.around.join(" ");
        Around::best(&ask::search(app, store, timeline::best_of(&request, &text)?)?, &text)?
    };
    Ok(request)
}

fn print(moments: &[TimelineEntry], anchor: Option<RecordId>) {
    let width = |text: &dyn Fn(&TimelineEntry) -> String| {
        moments.iter().map(|moment| text(moment).chars().count()).max().unwrap_or(0)
    };
    let ids = width(&|moment| moment.id.to_string());
    let kinds = width(&|moment| kind(moment).to_owned());
    let mut day = String::new();
    for moment in moments {
        let today = output::format_local(moment.created_at, "%Y-%m-%d");
        if today != day {
            if !day.is_empty() {
                say("");
            }
            say(&paint(BOLD, &today));
            day = today;
        }
        let is_anchor = Some(moment.id) == anchor;
        let time = output::format_local(moment.created_at, "%H:%M");
        let line = format!(
            "{} {}  {:>ids$}  {:<kinds$}  ",
            if is_anchor { ">" } else { " " },
            paint(DIM, &time),
            moment.id.to_string(),
            kind(moment)
        );
        let room =
            output::columns().map_or(100, |columns| columns.saturating_sub(17 + ids + kinds).clamp(20, 100));
        let superseded = moment.superseded_by.map(|by| format!("  (superseded by {by})")).unwrap_or_default();
        say(format!("{line}{}{superseded}", brief(&moment.title, room)).trim_end());
    }
}

fn kind(moment: &TimelineEntry) -> &'static str {
    moment.observation_type.map_or(moment.kind.name(), |kind| kind.name())
}
