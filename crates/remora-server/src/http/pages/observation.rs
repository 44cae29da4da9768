//! Everything that is known of one observation, and what was made of it.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use remora_app::records::{self, Record};
use remora_app::timeline::{Around, TimelineRequest};
use remora_app::{AppError, timeline};
use remora_core::document::{RecordId, RecordKind};

use super::home::Scope;
use super::look::{When, line, markdown, title};
use super::search::record_link;
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// What came before and after it, on each side.
const AROUND: u32 = 4;

pub(super) fn router() -> Routes {
    Routes::default().get("/observations/{id}", page)
}

#[derive(Template)]
#[template(path = "observation.html")]
struct Page {
    frame: Frame,
    id: i64,
    kind: &'static str,
    title: Safe<String>,
    subtitle: String,
    body: Safe<String>,
    facts: Vec<Safe<String>>,
    concepts: Vec<String>,
    modified: Vec<String>,
    read: Vec<String>,
    project: String,
    session: i64,
    turn: i64,
    when: When,
    made_by: String,
    is_pinned: bool,
    injected: u32,
    used: u32,
    useful: u32,
    wrong: u32,
    around: Vec<(String, String, Safe<String>, bool)>,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    Path(id): Path<String>,
    Query(scope): Query<Scope>,
) -> Result<Response, ApiError> {
    let (row, around) = http
        .read(move |store| {
            let Record::Observation(row) = records::record(store, &id)? else {
                return Err(AppError::UnknownRecord(id));
            };
            let own = RecordId { kind: RecordKind::Observation, number: row.id.0 };
            let request =
                TimelineRequest { whose: None, around: Around::Record(own), before: AROUND, after: AROUND };
            Ok((row, timeline::timeline(store, &request)?.items))
        })
        .await?;
    let name = line(&row.observation.title, 80);
    let frame = Frame::new(&http, &visitor, &name, "search", scope.project).await?;
    let lines = |texts: &[String]| texts.iter().map(|text| line(text, 300)).collect::<Vec<_>>();
    let own = row.id.0.to_string();
    let feedback = &row.feedback;
    let o = &row.observation;
    show(&Page {
        frame,
        id: row.id.0,
        kind: o.kind.name(),
        title: title(&o.title, 300),
        subtitle: line(&o.subtitle, 300),
        body: markdown(&o.narrative),
        facts: o.facts.iter().map(|fact| title(fact, 300)).collect(),
        concepts: lines(&o.concepts),
        modified: lines(&o.files_modified),
        read: lines(&o.files_read),
        project: row.project.clone(),
        session: row.session_id.0,
        turn: row.prompt_number,
        when: When::new(row.created_at),
        made_by: if row.model.is_empty() {
            row.provider.clone()
        } else {
            format!("{} ({})", row.provider, row.model)
        },
        is_pinned: row.pinned_at.is_some(),
        injected: feedback.injected,
        used: feedback.fetched + feedback.cited,
        useful: feedback.useful,
        wrong: feedback.wrong,
        around: around
            .iter()
            .map(|moment| {
                let id = moment.id.to_string();
                let link = record_link(&id, Some(moment.session_id.0));
                (link, moment.kind.name().to_owned(), title(&moment.title, 140), id == own)
            })
            .collect(),
    })
}
