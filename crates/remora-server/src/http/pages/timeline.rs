//! The timeline: records by day, below a chart of the year.

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::records::record_id;
use remora_app::timeline::{self, Around, TimelineEntry, TimelineRequest, Year};
use remora_app::{AppError, ProjectSelector};
use remora_core::ids::ProjectId;
use remora_search::{Edge, parse_date};
use serde::Deserialize;

use super::look::{When, title};
use super::search::record_link;
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

const EACH: u32 = 60;

pub(super) fn router() -> Routes {
    Routes::default().get("/timeline", page)
}

#[derive(Debug, Deserialize)]
struct TimelineParameters {
    project: Option<i64>,
    /// The record to show in the middle.
    #[serde(default)]
    around: String,
    /// The last record of the previous page.
    #[serde(default)]
    before: String,
    /// The last day to show, such as `2026-03-10`.
    #[serde(default)]
    day: String,
}

#[derive(Template)]
#[template(path = "timeline.html")]
struct TimelinePage {
    frame: Frame,
    year: TimelineChart,
    days: Vec<Day>,
    /// The requested day.
    day: String,
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
    project: String,
    is_anchor: bool,
}

/// A year as squares, one column per week.
struct TimelineChart {
    squares: Vec<Square>,
    /// Position and name of each month.
    months: Vec<(usize, String)>,
    /// The same as a table: month, observations, days with any, and the link to its last day.
    table: Vec<(String, i64, usize, String)>,
    total: i64,
    width: usize,
}

struct Square {
    x: usize,
    y: usize,
    level: u8,
    says: String,
    /// The timeline up to that day; `None` if the day has no observation.
    link: Option<String>,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<TimelineParameters>,
) -> Result<Response, ApiError> {
    let mut frame = Frame::new(&http, &visitor, "Timeline", "timeline", asked.project).await?;
    let (anchor, end) = (record_id(&asked.around), record_id(&asked.before));
    let now = http.shared.dir.now();
    let day = parse_date(&asked.day, Edge::End, now).filter(|_| !asked.day.is_empty());
    let is_everywhere = frame.project.is_none() && anchor.is_none();
    let selector = frame.project.map(|project| ProjectSelector::Project(project.to_string()));
    let around = match (anchor.or(end), day) {
        (Some(record), _) => Around::Record(record),
        (None, Some(day)) => Around::Time(day),
        (None, None) => Around::Now,
    };
    let after = if anchor.is_some() { EACH / 2 } else { 0 };
    let request = TimelineRequest { selector, around, before: EACH, after };
    let project = frame.project.map(ProjectId);
    let (year, items, of) = http
        .read(move |rt| {
            let year = timeline::year(rt, project)?;
            if is_everywhere {
                return Ok((year, timeline::everywhere(rt, around, EACH)?, None));
            }
            let found = timeline::timeline(rt, &request)?;
            Ok::<_, AppError>((year, found.items, Some(found.project_id.0)))
        })
        .await?;
    frame.project = of;
    let older = items.first().filter(|_| items.len() >= EACH as usize);
    let older = older.map(|first| frame.link(&format!("/timeline?before={}", first.id)));
    let mut days: Vec<Day> = Vec::new();
    for moment in items.iter().rev().filter(|moment| end != Some(moment.id)) {
        let name = moment.created_at.format("%A, %-d %B %Y");
        let row = Row { is_anchor: anchor == Some(moment.id), ..row(moment, is_everywhere) };
        match days.last_mut().filter(|day| day.name == name) {
            Some(day) => day.rows.push(row),
            None => days.push(Day { name, rows: vec![row] }),
        }
    }
    let year = chart(&year, &frame);
    show(&TimelinePage { frame, year, days, day: asked.day, older })
}

/// A row. Its project is named only among others.
fn row(moment: &TimelineEntry, is_everywhere: bool) -> Row {
    let id = moment.id.to_string();
    Row {
        kind: moment
            .observation_type
            .map_or_else(|| moment.kind.name().to_owned(), |kind| kind.name().to_owned()),
        title: title(&moment.title, 180),
        clock: moment.created_at.format("%H:%M"),
        when: When::new(moment.created_at),
        link: record_link(&id, Some(moment.session_id.0)),
        project: if is_everywhere { moment.project.clone() } else { String::new() },
        is_anchor: false,
    }
}

/// Width of a square and its gap.
const STEP: usize = 13;

fn chart(year: &Year, frame: &Frame) -> TimelineChart {
    let most = year.days.iter().map(|(.., count)| *count).max().unwrap_or_default();
    let mut chart = TimelineChart {
        squares: Vec::with_capacity(year.days.len()),
        months: Vec::new(),
        table: Vec::new(),
        total: year.total,
        width: 0,
    };
    // The first column starts at the weekday of the first day.
    let first: usize = year
        .days
        .first()
        .and_then(|(_, at, _)| at.format("%u").parse::<usize>().ok())
        .map_or(0, |day| day.saturating_sub(1));
    for (place, (date, at, count)) in year.days.iter().enumerate() {
        let (week, weekday) = ((first + place) / 7, (first + place) % 7);
        let x = week * STEP;
        chart.width = x + STEP;
        let says = format!("{}: {count}", at.format("%-d %B %Y"));
        let link = frame.link(&format!("/timeline?day={date}"));
        let shown = (*count > 0).then(|| link.clone());
        chart.squares.push(Square { x, y: weekday * STEP, level: level(*count, most), says, link: shown });
        let month = at.format("%B %Y");
        if let Some((_, observations, days, last)) =
            chart.table.last_mut().filter(|(name, ..)| *name == month)
        {
            *observations += count;
            *days += usize::from(*count > 0);
            *last = link;
            continue;
        }
        chart.table.push((month, *count, usize::from(*count > 0), link));
        // A month's name takes three columns.
        if chart.months.last().is_none_or(|(last, _)| x >= last + 3 * STEP) {
            chart.months.push((x, at.format("%b")));
        }
    }
    chart.table.retain(|(_, observations, ..)| *observations > 0);
    chart.table.reverse();
    chart
}

/// Shade of a day, 0 to 4. A single observation is always visible.
fn level(count: i64, most: i64) -> u8 {
    match count {
        ..=0 => 0,
        _ if count * 4 > most * 3 => 4,
        _ if count * 2 > most => 3,
        _ if count * 4 > most => 2,
        _ => 1,
    }
}
