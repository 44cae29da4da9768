use clap::Args;
use remora_app::Runtime as _;
use remora_app::present::{IdStyle, Remarks};
use remora_app::timeline::{self, DEFAULT_LENGTH, MAX_LEN, TimelineEntry, TimelineQuery};
use remora_core::document::RecordId;
use serde_json::json;

use crate::app::{self, App};
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
    #[arg(long, default_value_t = DEFAULT_LENGTH, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_LEN)))]
    before: u32,
    /// Number of records after it.
    #[arg(long, default_value_t = DEFAULT_LENGTH, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_LEN)))]
    after: u32,
    /// Another project than the one you are in: its name, id, or a directory.
    #[arg(long, short)]
    project: Option<String>,
}

pub(crate) fn run(app: &App, arguments: &Timeline) -> Result<()> {
    let rt = app.open()?;
    let reach = App::caller(&rt)?.reach;
    let selector = reach.scope_of(rt.store(), app::scope_of(arguments.project.as_deref(), false)?)?;
    let is_only = arguments.project.is_some() || reach.is_limited();
    let (only, here) = if is_only { (Some(selector), None) } else { (None, Some(selector)) };
    let text = Some(arguments.around.join(" ")).filter(|text| !text.is_empty());
    let (before, after) = (arguments.before, arguments.after);
    let query = TimelineQuery { only, here, anchor: None, text, before, after };
    let Some(timeline) = app::if_known(rt.store(), timeline::around(&rt, &query))? else {
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
        let remarks = Remarks::from(moment).text(IdStyle::Plain);
        let remarks = if remarks.is_empty() { remarks } else { format!("  ({remarks})") };
        say(format!("{line}{}{remarks}", brief(&moment.title, room)).trim_end());
    }
}

fn kind(moment: &TimelineEntry) -> &'static str {
    moment.observation_type.map_or(moment.kind.name(), |kind| kind.name())
}
