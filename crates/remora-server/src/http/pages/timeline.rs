//! Days, and what happened in them.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Query, State};
use axum::response::Response;
use remora_app::records::record_id;
use remora_app::timeline::{Around, TimelineRequest};
use remora_app::{Whose, timeline};
use remora_store::Moment;
use serde::Deserialize;

use super::look::{When, title};
use super::search::record_link;
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const EACH: u32 = 60;

pub(super) fn router() -> Routes {
    Routes::default().get("/timeline", page)
}

#[derive(Debug, Deserialize)]
struct Asked {
    project: Option<i64>,
    /// A record to stand in the middle.
    #[serde(default)]
    around: String,
}

#[derive(Template)]
#[template(path = "timeline.html")]
struct Page {
    frame: Frame,
    days: Vec<Day>,
    needs_project: bool,
    older: Option<String>,
}

struct Day {
    name: String,
    rows: Vec<Row>,
}

struct Row {
    kind: String,
    title: Safe<String>,
    clock: String,
    when: When,
    link: String,
    is_anchor: bool,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    Query(asked): Query<Asked>,
) -> Result<Response, ApiError> {
    let mut frame = Frame::new(&http, &visitor, "Timeline", "timeline", asked.project).await?;
    let anchor = record_id(&asked.around);
    // A memory of one project needs no choice.
    if frame.project.is_none() && anchor.is_none() && frame.projects.len() == 1 {
        frame.project = frame.projects.first().map(|project| project.id.0);
    }
    if frame.project.is_none() && anchor.is_none() {
        return show(&Page { frame, days: Vec::new(), needs_project: true, older: None });
    }
    let whose = frame.project.map(|project| Whose::Project(project.to_string()));
    let around = anchor.map_or(Around::Now, Around::Record);
    let after = if anchor.is_some() { EACH / 2 } else { 0 };
    let request = TimelineRequest { whose, around, before: EACH, after };
    let found = http.read(move |store| timeline::timeline(store, &request)).await?;
    frame.project = Some(found.project_id.0);
    let older = found.items.first().filter(|_| found.items.len() >= EACH as usize);
    let older = older.map(|first| frame.link(&format!("/timeline?around={}", first.id)));
    let mut days: Vec<Day> = Vec::new();
    for moment in found.items.iter().rev() {
        let name = moment.created_at.format("%A, %-d %B %Y");
        let row = row(moment, anchor == Some(moment.id));
        match days.last_mut().filter(|day| day.name == name) {
            Some(day) => day.rows.push(row),
            None => days.push(Day { name, rows: vec![row] }),
        }
    }
    show(&Page { frame, days, needs_project: false, older })
}

fn row(moment: &Moment, is_anchor: bool) -> Row {
    let id = moment.id.to_string();
    Row {
        kind: moment
            .observation_type
            .map_or_else(|| moment.kind.name().to_owned(), |kind| kind.name().to_owned()),
        title: title(&moment.title, 180),
        clock: moment.created_at.format("%H:%M"),
        when: When::new(moment.created_at),
        link: record_link(&id, Some(moment.session_id.0)),
        is_anchor,
    }
}
