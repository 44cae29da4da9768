//! One observation, with its history, context and use.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Path, State};
use axum::response::Response;
use remora_app::judge::observation;
use remora_app::records::{self, Record};
use remora_app::timeline::{Around, TimelineRequest};
use remora_app::why::{self, WhyRequest};
use remora_app::{AppError, edit, related, timeline};
use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Feedback;
use remora_core::memory::ObservationType;

use super::home::Scope;
use super::judged::{self, Given, Judge};
use super::look::{When, count, excerpt, line, markdown, thousands, title};
use super::search::record_link;
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Records shown before and after it, on each side.
const AROUND: u32 = 4;
/// Maximum number of injections in the list.
const REASONS: u32 = 10;
/// Longer texts are cut, in bytes. Typed and observed texts are shorter.
const MAX_LEN: usize = 100_000;

pub(super) fn router() -> Routes {
    Routes::default().get("/observations/{id}", page).get("/observations/{id}/related", others)
}

/// URL, type, title.
type Related = (String, String, Safe<String>);

#[derive(Template)]
#[template(path = "observation.html")]
struct ObservationPage {
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
    judge: Judge,
    tokens: String,
    versions: String,
    given: Vec<Given>,
    used: String,
    useful: u32,
    wrong: u32,
    around: Vec<(String, String, Safe<String>, bool)>,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    Path(id): Path<String>,
    PageQuery(scope): PageQuery<Scope>,
) -> Result<Response, ApiError> {
    let (row, around, given, versions) = http
        .read(move |rt| {
            let Record::Observation(row) = records::record(rt.store(), &id)? else {
                return Err(AppError::UnknownRecord(id));
            };
            let own = RecordId { kind: RecordKind::Observation, number: row.id.0 };
            let request = TimelineRequest {
                selector: None,
                around: Around::Record(own),
                before: AROUND,
                after: AROUND,
            };
            let given = why::why(rt, &WhyRequest::Record(own), REASONS)?;
            let versions = edit::history(rt, &id)?.len();
            Ok((row, timeline::timeline(rt, &request)?.items, judged::given(&given, own), versions))
        })
        .await?;
    let name = line(&row.observation.title, 80);
    let frame = Frame::new(&http, &visitor, &name, "observation", scope.project).await?;
    let lines = |texts: &[String]| texts.iter().map(|text| line(text, 300)).collect::<Vec<_>>();
    let own = row.id.0.to_string();
    let feedback = &row.feedback;
    let o = &row.observation;
    show(&ObservationPage {
        frame,
        id: row.id.0,
        kind: o.kind.name(),
        title: title(&o.title, 300),
        subtitle: line(&o.subtitle, 300),
        body: markdown(&excerpt(&o.narrative, MAX_LEN)),
        facts: o.facts.iter().map(|fact| title(fact, 2_000)).collect(),
        concepts: lines(&o.concepts),
        modified: lines(&o.files_modified),
        read: lines(&o.files_read),
        project: row.project.clone(),
        session: row.session_id.0,
        turn: row.prompt_number,
        when: When::new(row.created_at),
        made_by: if row.model.is_empty() {
            if row.provider == "builtin" { "the built-in observer".to_owned() } else { row.provider.clone() }
        } else {
            format!("{} ({})", row.provider, row.model)
        },
        is_pinned: row.pinned_at.is_some(),
        judge: Judge::of(&row),
        tokens: thousands(o.discovery_tokens),
        versions: match versions {
            0 => String::new(),
            1 => "edited once".to_owned(),
            many => format!("edited {many} times"),
        },
        given,
        used: used(feedback),
        useful: feedback.useful,
        wrong: feedback.wrong,
        around: around
            .iter()
            .map(|moment| {
                let id = moment.id.to_string();
                let link = record_link(&id, Some(moment.session_id.0));
                let kind = moment.observation_type.map_or(moment.kind.name(), ObservationType::name);
                (link, kind.to_owned(), title(&moment.title, 140), id == own)
            })
            .collect(),
    })
}

/// How often it was injected, and how often it was fetched or cited.
fn used(feedback: &Feedback) -> String {
    let injected = match feedback.injected {
        0 => return "not injected with a prompt or a file yet".to_owned(),
        times => format!("injected {} with prompts or files", count(i64::from(times), "time")),
    };
    match feedback.fetched + feedback.cited {
        0 => injected,
        times => format!("{injected}, opened or cited {}", count(i64::from(times), "time")),
    }
}

#[derive(Template)]
#[template(path = "related.html")]
struct Others {
    related: Vec<Related>,
    /// URL and id of the record that replaces this one.
    superseded: Option<(String, String)>,
}

/// Related observations of the same project. Fetched after the page, because semantic search may have to load
/// vectors.
async fn others((State(http), _): Seen, Path(id): Path<String>) -> Result<Response, ApiError> {
    let row = http.read(move |rt| observation(rt.store(), &id)).await?;
    let (superseded_by, text) = (row.superseded_by, related::search(&row).text_to_embed());
    let related = http.shared.find(text.into(), move |rt| related::related(rt, &row)).await?;
    let superseded = superseded_by.map(|by| match by.kind {
        RecordKind::Fact => ("/memory".to_owned(), by.to_string()),
        _ => (record_link(&by.to_string(), None), by.to_string()),
    });
    let related = related.into_iter().map(|hit| {
        let kind = hit.observation_type.map_or("observation", ObservationType::name);
        (format!("/observations/{}", hit.id), kind.to_owned(), title(&hit.title, 140))
    });
    show(&Others { related: related.collect(), superseded })
}
