//! What did it learn, what did my agent get, is anything wrong? Below, everything as it comes.

use askama::Template;
use askama::filters::Safe;
use axum::extract::Query;
use axum::response::Response;
use remora_app::status;
use remora_app::why::{self, Why, WhyRequest};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use remora_store::retrievals::Moment;
use remora_store::{ObservationRow, PromptRow, Selection, Store, SummaryRow};
use serde::Deserialize;

use super::look::{When, count, line, markdown, title};
use super::{Frame, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Injections at a glance.
const GIVEN: u32 = 3;
const LEARNED: u32 = 4;
/// Rows of each kind in the feed.
const FEED: u32 = 25;
const PREVIEW: usize = 400;

pub(super) fn router() -> Routes {
    Routes::default().get("/", home).get("/feed/{id}", entry)
}

#[derive(Debug, Deserialize)]
pub(super) struct Scope {
    pub(super) project: Option<i64>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    learned: Vec<Learned>,
    given: Vec<Given>,
    state: State,
    groups: Vec<Group>,
}

struct Learned {
    id: String,
    kind: &'static str,
    title: Safe<String>,
    when: When,
}

/// One injection.
struct Given {
    moment: &'static str,
    prompt: String,
    tokens: u64,
    when: When,
    lines: Vec<Line>,
}

struct Line {
    id: String,
    says: Safe<String>,
    judged_by: Option<String>,
}

/// Whether anything is waiting or broken.
struct State {
    lines: Vec<(bool, String)>,
    is_well: bool,
}

/// What follows each other in one session.
struct Group {
    session: String,
    project: String,
    entries: Vec<Entry>,
}

struct Entry {
    id: String,
    kind: String,
    title: Safe<String>,
    body: Safe<String>,
    files: Vec<String>,
    when: When,
    judged: bool,
    link: String,
    at: Time,
    session: SessionId,
    project: String,
}

#[derive(Template)]
#[template(path = "entry.html")]
struct OneEntry {
    entry: Entry,
}

async fn home(
    (axum::extract::State(http), axum::Extension(visitor)): Seen,
    Query(scope): Query<Scope>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Home", "home", scope.project).await?;
    let project = frame.project.map(ProjectId);
    let whose = frame.whose();
    let (dir, settings) = (http.shared.dir.clone(), http.shared.settings());
    let (learned, given, status, rows) = http
        .read(move |store| {
            let selection = Selection { project, session: None, limit: LEARNED, offset: 0 };
            let learned = store.list_observations(&selection)?.items;
            let given = why::why(store, &WhyRequest::Project(whose), GIVEN)?;
            let status =
                status::status(&dir, Ok(store), &settings, status::Daemon::default(), None, Time::now())?;
            Ok((learned, given, status, feed(store, project)?))
        })
        .await?;
    show(&Home {
        frame,
        learned: learned.iter().map(learned_of).collect(),
        given: given.into_iter().map(given_of).collect(),
        state: state(&status),
        groups: grouped(rows),
    })
}

fn learned_of(row: &ObservationRow) -> Learned {
    Learned {
        id: row.id.0.to_string(),
        kind: row.observation.kind.name(),
        title: title(&row.observation.title, 160),
        when: When::new(row.created_at),
    }
}

fn given_of(given: Why) -> Given {
    let retrieval = given.row.retrieval;
    let lines = given.lines.into_iter().filter_map(|said| {
        Some(Line {
            id: said.item.id,
            says: title(&said.says?, 200),
            judged_by: said.judged_by.map(|id| id.to_string()),
        })
    });
    Given {
        moment: match retrieval.moment {
            Moment::Start => "At the start of a session",
            Moment::Prompt => "With a prompt",
            Moment::File => "Before a file",
        },
        prompt: line(&retrieval.prompt, 120),
        tokens: retrieval.tokens,
        when: When::new(retrieval.at),
        lines: lines.take(6).collect(),
    }
}

fn state(status: &status::Status) -> State {
    let counts = &status.counts;
    let mut lines = Vec::new();
    let mut say = |is_bad: bool, text: String| lines.push((is_bad, text));
    if !status.capture.on {
        say(true, "Capture is paused; `remora resume` starts it again".to_owned());
    }
    if let Some(error) = &status.database.error {
        say(true, error.clone());
    }
    if counts.failed > 0 {
        say(true, format!("{} could not be observed", count(counts.failed, "event")));
    }
    if status.spool.lost > 0 {
        say(true, format!("{} lost", count(i64::try_from(status.spool.lost).unwrap_or(i64::MAX), "event")));
    }
    if let Some(trouble) = &status.observer.trouble {
        say(true, format!("The model does not answer: {}", trouble.reason));
    }
    let is_well = lines.is_empty();
    let waiting = counts.pending + counts.processing;
    lines.push((
        false,
        if waiting > 0 {
            format!("{} on the way", count(waiting, "event"))
        } else {
            "Nothing is waiting".to_owned()
        },
    ));
    lines.push((
        false,
        format!(
            "{}, {}, {}",
            count(counts.observations, "observation"),
            count(counts.facts, "fact"),
            count(counts.sessions, "session")
        ),
    ));
    State { lines, is_well }
}

fn feed(store: &Store, project: Option<ProjectId>) -> Result<Vec<Entry>, remora_app::AppError> {
    let selection = Selection { project, session: None, limit: FEED, offset: 0 };
    let projects = store.projects()?;
    let sessions = store.list_sessions(&Selection { limit: 100, ..selection.clone() })?.items;
    let name_of = |id: SessionId| {
        let session = sessions.iter().find(|session| session.id == id);
        let project =
            session.and_then(|session| projects.iter().find(|project| project.id == session.project_id));
        project.map(|project| project.name.clone()).unwrap_or_default()
    };
    let mut entries: Vec<Entry> = Vec::new();
    entries.extend(store.list_observations(&selection)?.items.iter().map(of_observation));
    entries.extend(store.list_summaries(&selection)?.items.iter().map(of_summary));
    entries.extend(
        store.list_prompts(&selection)?.items.iter().map(|row| of_prompt(row, name_of(row.session_id))),
    );
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.at, entry.kind == "summary")));
    Ok(entries)
}

fn of_observation(row: &ObservationRow) -> Entry {
    let id = row.id.0.to_string();
    Entry {
        link: format!("/observations/{id}"),
        id,
        kind: row.observation.kind.name().to_owned(),
        title: title(&row.observation.title, 200),
        body: markdown(&excerpt(&row.observation.narrative)),
        files: row.observation.files_modified.iter().take(4).map(|file| line(file, 80)).collect(),
        when: When::new(row.created_at),
        judged: true,
        at: row.created_at,
        session: row.session_id,
        project: row.project.clone(),
    }
}

fn of_summary(row: &SummaryRow) -> Entry {
    let summary = &row.summary;
    let parts = [&summary.completed, &summary.learned].into_iter().find(|part| !part.trim().is_empty());
    Entry {
        id: format!("s{}", row.id.0),
        kind: "summary".to_owned(),
        title: title(&summary.request, 200),
        body: markdown(&excerpt(parts.map_or("", String::as_str))),
        files: Vec::new(),
        when: When::new(row.created_at),
        judged: false,
        link: format!("/sessions/{}", row.session_id.0),
        at: row.created_at,
        session: row.session_id,
        project: row.project.clone(),
    }
}

fn of_prompt(row: &PromptRow, project: String) -> Entry {
    Entry {
        id: format!("t{}", row.id.0),
        kind: "prompt".to_owned(),
        title: title(&row.text, 240),
        body: Safe(String::new()),
        files: Vec::new(),
        when: When::new(row.created_at),
        judged: false,
        link: format!("/sessions/{}#turn-{}", row.session_id.0, row.prompt_number),
        at: row.created_at,
        session: row.session_id,
        project,
    }
}

fn excerpt(text: &str) -> String {
    let end = text.floor_char_boundary(PREVIEW);
    if end < text.len() { format!("{}…", text[..end].trim_end()) } else { text.to_owned() }
}

fn grouped(entries: Vec<Entry>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for entry in entries {
        let session = entry.session.0.to_string();
        match groups.last_mut().filter(|group| group.session == session) {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group { session, project: entry.project.clone(), entries: vec![entry] }),
        }
    }
    groups
}

/// One entry of the feed, for a page that is open while it comes.
async fn entry(
    (axum::extract::State(http), _): Seen,
    axum::extract::Path(id): axum::extract::Path<String>,
) -> Result<Response, ApiError> {
    let wanted = id.clone();
    let found = http.read(move |store| of_id(store, &wanted)).await?;
    let entry = found.ok_or_else(|| ApiError::NotFound(format!("nothing is known as `{id}`")))?;
    show(&OneEntry { entry })
}

fn of_id(store: &Store, id: &str) -> Result<Option<Entry>, remora_app::AppError> {
    use remora_app::records::{Record, record};
    Ok(match record(store, id)? {
        Record::Observation(row) => Some(of_observation(&row)),
        Record::Summary(row) => Some(of_summary(&row)),
        Record::Turn(row) => Some(of_prompt(&row, String::new())),
        _ => None,
    })
}
