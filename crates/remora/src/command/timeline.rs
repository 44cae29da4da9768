use clap::Args;
use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_search::SearchQuery;
use remora_store::{Anchor, Moment, Store};
use serde_json::json;

use super::show::record_id;
use crate::app::{self, App};
use crate::error::{CliError, Result};
use crate::finding;
use crate::output::{self, BOLD, DIM, brief, paint, say};

/// What was learned before and after something, day by day.
///
/// Around a record (`123`, `s12`, `t34`), around what fits a query best, or without either up to now.
#[derive(Args)]
pub(crate) struct Timeline {
    /// A record's id, or what to look for.
    #[arg(value_name = "ID|QUERY")]
    around: Vec<String>,
    /// How many to show before it.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    before: u32,
    /// How many to show after it.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    after: u32,
    /// Another project than the one you are in: its name, id, or a directory.
    #[arg(long, short)]
    project: Option<String>,
}

pub(crate) fn run(app: &App, arguments: &Timeline) -> Result<()> {
    let store = app.open()?;
    let (project, anchor) = place(app, &store, arguments)?;
    let around = anchor.as_ref().map_or(Anchor::Now, Anchor::Moment);
    let moments = store.timeline(project, around, arguments.before, arguments.after)?;
    if moments.is_empty() {
        return Err(CliError::not_found("nothing was learned in this project yet")
            .hint("see what waits to become knowledge: `remora queue`"));
    }
    let anchor = anchor.map(|moment| moment.id);
    if app.json {
        return output::json(&json!({ "anchor": anchor, "project_id": project, "items": moments }));
    }
    print(&moments, anchor);
    Ok(())
}

/// Which project, and around what in it.
fn place(app: &App, store: &Store, arguments: &Timeline) -> Result<(ProjectId, Option<Moment>)> {
    let wanted = arguments.project.as_deref();
    let record = match arguments.around.as_slice() {
        [] => {
            let ProjectScope::One(project) = app::scope(store, wanted, false)? else {
                return Err(CliError::internal("a timeline is about one project"));
            };
            return Ok((project, None));
        }
        [word] => record_id(word),
        _ => None,
    };
    let named = wanted.map(|wanted| app::project(store, wanted)).transpose()?.map(|project| project.id);
    let record = match record {
        Some(record) => record,
        None => best(app, store, wanted, &arguments.around.join(" "))?,
    };
    let moment = store.moment(record)?.filter(|moment| named.is_none_or(|named| named == moment.project_id));
    let moment = moment.ok_or_else(|| {
        CliError::not_found(format!("`{record}` has no place in time here"))
            .hint(format!("look for the text instead: `remora search {record}`"))
    })?;
    Ok((moment.project_id, Some(moment)))
}

/// The record that fits best, of those that have a place in time.
fn best(app: &App, store: &Store, wanted: Option<&str>, text: &str) -> Result<RecordId> {
    let mut query = SearchQuery::new(app::scope(store, wanted, false)?, text);
    query.filters.kinds = vec![RecordKind::Observation, RecordKind::Summary, RecordKind::Turn];
    query.limit = 1;
    let found = finding::find(app, store, &query)?;
    let id = found.page.hits.first().and_then(|hit| hit.id.parse().ok());
    id.ok_or_else(|| {
        CliError::not_found(format!("nothing found for `{}`", brief(text, 60)))
            .hint("look in every project: `remora search --all TEXT`")
    })
}

fn print(moments: &[Moment], anchor: Option<RecordId>) {
    let width = |text: &dyn Fn(&Moment) -> String| {
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
            "{} {}  {:>ids$}  {:<kinds$}  {}",
            if is_anchor { ">" } else { " " },
            paint(DIM, &time),
            moment.id.to_string(),
            kind(moment),
            brief(&moment.title, 100)
        );
        say(line.trim_end());
    }
}

fn kind(moment: &Moment) -> &'static str {
    moment.observation_type.map_or(moment.kind.name(), |kind| kind.name())
}
