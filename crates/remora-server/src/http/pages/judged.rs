//! Actions on an observation wherever it is shown: useful, wrong, pin, edit, forget, why.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Path, State};
use axum::response::Response;
use remora_app::AppError;
use remora_app::edit::history;
use remora_app::judge::observation;
use remora_app::records::record_id;
use remora_app::why::{self, Why, WhyRequest};
use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::{Feedback, Verdict};
use remora_core::memory::ObservationType;
use remora_store::injections::{Item, Moment, Retrieval};
use remora_store::{ObservationRow, Revision, Store};

use super::look::{When, block, excerpt, line, title};
use super::{Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Maximum number of earlier versions in the form.
const VERSIONS: usize = 10;
/// Maximum number of injections listed as reasons.
const REASONS: u32 = 8;

pub(super) fn router() -> Routes {
    Routes::default().get("/observations/{id}/edit", edit).get("/observations/{id}/why", reasons)
}

/// The buttons below an observation or an injected line.
#[derive(Debug, Clone, Template)]
#[template(path = "judge.html")]
pub(super) struct Judge {
    id: String,
    verdict: Option<Verdict>,
    pinned: bool,
    /// Facts can only be judged right or wrong here; they are edited on the page of facts.
    can_only_be_wrong: bool,
}

impl Judge {
    pub(super) fn of(row: &ObservationRow) -> Self {
        Self::new(row.id.0.to_string(), &row.feedback, row.pinned_at.is_some())
    }

    pub(super) fn new(id: String, feedback: &Feedback, pinned: bool) -> Self {
        let verdict = if feedback.is_wrong() {
            Some(Verdict::Wrong)
        } else {
            (feedback.useful > 0).then_some(Verdict::Useful)
        };
        Self { id, verdict, pinned, can_only_be_wrong: false }
    }

    fn is(&self, verdict: &str) -> bool {
        self.verdict.is_some_and(|given| given.name() == verdict)
    }

    /// The buttons for a record; `None` if it cannot be judged.
    pub(super) fn by(record: RecordId, row: Option<&ObservationRow>) -> Option<Self> {
        match (record.kind, row) {
            (RecordKind::Observation, Some(row)) => Some(Self::of(row)),
            (RecordKind::Fact | RecordKind::Turn | RecordKind::Summary, _) => {
                Some(Self { id: record.to_string(), verdict: None, pinned: false, can_only_be_wrong: true })
            }
            _ => None,
        }
    }
}

/// The buttons for an injected record; `None` if it cannot be judged.
pub(super) fn judge_of(store: &Store, record: Option<RecordId>) -> Result<Option<Judge>, AppError> {
    let Some(record) = record else { return Ok(None) };
    let row = match record.kind {
        RecordKind::Observation => match observation(store, &record.to_string()) {
            Ok(row) => Some(row),
            Err(AppError::UnknownRecord(_)) => None,
            Err(error) => return Err(error),
        },
        _ => None,
    };
    Ok(Judge::by(record, row.as_ref()))
}

#[derive(Template)]
#[template(path = "edit.html")]
struct Form {
    id: i64,
    title: String,
    types: Vec<(&'static str, bool)>,
    narrative: String,
    facts: String,
    revisions: Vec<Version>,
}

struct Version {
    action: String,
    by: &'static str,
    when: When,
    title: String,
    text: String,
}

async fn edit((State(http), _): Seen, Path(id): Path<String>) -> Result<Response, ApiError> {
    let read = http.read(move |rt| Ok((observation(rt.store(), &id)?, history(rt, &id)?)));
    let (row, revisions) = read.await?;
    let o = &row.observation;
    show(&Form {
        id: row.id.0,
        title: line(&o.title, usize::MAX),
        types: ObservationType::ALL.map(|kind| (kind.name(), kind == o.kind)).to_vec(),
        narrative: block(&o.narrative, usize::MAX),
        facts: o.facts.iter().map(|fact| line(fact, usize::MAX)).collect::<Vec<_>>().join("\n"),
        revisions: revisions.iter().take(VERSIONS).map(version).collect(),
    })
}

fn version(revision: &Revision) -> Version {
    let before = &revision.before.observation;
    Version {
        action: match revision.action.as_str() {
            "edit" => "before an edit".to_owned(),
            "merge" => "before a merge".to_owned(),
            "supersede" => "before it was replaced".to_owned(),
            other => other.to_owned(),
        },
        by: if revision.source == "user" { "by you" } else { "by a program" },
        when: When::new(revision.created_at),
        title: line(&before.title, 200),
        text: line(&excerpt(&before.narrative, 300), 300),
    }
}

#[derive(Template)]
#[template(path = "why.html")]
struct Reasons {
    given: Vec<Given>,
}

pub(super) struct Given {
    pub(super) moment: &'static str,
    pub(super) prompt: Safe<String>,
    pub(super) reason: String,
    pub(super) score: String,
    pub(super) when: When,
}

async fn reasons((State(http), _): Seen, Path(id): Path<String>) -> Result<Response, ApiError> {
    let Some(record) = record_id(&id) else {
        return Err(ApiError::NotFound(format!("nothing is known as `{id}`")));
    };
    let found = http.read(move |rt| why::why(rt, &WhyRequest::Record(record), REASONS)).await?;
    show(&Reasons { given: given(&found, record) })
}

/// One injection with its lines, as shown on the home page and with sessions.
pub(super) struct Injection {
    pub(super) moment: &'static str,
    pub(super) prompt: Safe<String>,
    pub(super) tokens: u64,
    pub(super) when: When,
    pub(super) lines: Vec<InjectedLine>,
    /// The number of lines that are not shown.
    pub(super) more: usize,
}

pub(super) struct InjectedLine {
    pub(super) id: String,
    pub(super) link: Option<String>,
    pub(super) says: Safe<String>,
    pub(super) reason: String,
    pub(super) judge: Option<Judge>,
}

/// An injection with at most `most` lines. Records deleted since then are left out.
pub(super) fn injection(store: &Store, given: &Why, most: usize) -> Result<Injection, AppError> {
    let retrieval = &given.row.retrieval;
    let known: Vec<_> = given.lines.iter().filter(|said| said.says.is_some()).collect();
    let mut lines = Vec::new();
    for said in known.iter().take(most) {
        let reason = reason(retrieval.moment, &said.item);
        lines.push(InjectedLine {
            link: link(said),
            id: said.item.id.clone(),
            says: title(said.says.as_deref().unwrap_or_default(), 200),
            reason: match said.item.score {
                Some(score) => format!("{reason} · score {score:.2}"),
                None => reason,
            },
            judge: judge_of(store, said.judged_by)?,
        });
    }
    Ok(Injection {
        moment: moment(retrieval.moment),
        prompt: prompt(retrieval, 120),
        tokens: retrieval.tokens,
        when: When::new(retrieval.at),
        more: known.len().saturating_sub(most),
        lines,
    })
}

/// The page that shows the record of a line.
fn link(said: &why::Line) -> Option<String> {
    let id = &said.item.id;
    match (record_id(id)?.kind, said.turn) {
        (RecordKind::Observation, _) => Some(format!("/observations/{id}")),
        (RecordKind::Fact, _) => Some(format!("/memory#fact-{id}")),
        (RecordKind::Note, _) => Some("/memory#notes".to_owned()),
        (_, Some((session, turn))) => Some(format!("/sessions/{session}?turn={turn}")),
        _ => None,
    }
}

/// Explains why a record was part of each injection.
pub(super) fn given(found: &[Why], record: RecordId) -> Vec<Given> {
    let own = record.to_string();
    let one = |why: &Why| {
        let retrieval = &why.row.retrieval;
        let item = retrieval.items.iter().find(|item| item.id == own)?;
        Some(Given {
            moment: moment(retrieval.moment),
            prompt: prompt(retrieval, 160),
            reason: reason(retrieval.moment, item),
            score: item.score.map(|score| format!("{score:.2}")).unwrap_or_default(),
            when: When::new(retrieval.at),
        })
    };
    found.iter().filter_map(one).collect()
}

/// The prompt or the file of an injection. Empty for the start of a session, where the log has only the
/// reason it started.
pub(super) fn prompt(retrieval: &Retrieval, most: usize) -> Safe<String> {
    title(if retrieval.moment == Moment::Start { "" } else { &retrieval.prompt }, most)
}

pub(super) fn moment(moment: Moment) -> &'static str {
    match moment {
        Moment::Start => "At the start of a session",
        Moment::Prompt => "With a prompt",
        Moment::File => "Before a file",
    }
}

/// The logged reason in words.
pub(super) fn reason(moment: Moment, item: &Item) -> String {
    let mut words = item.why.split_whitespace();
    match (moment, item.why.as_str()) {
        (_, "timeline") => "Among the latest of its project".to_owned(),
        (_, "laid down") => "Set or pinned by you".to_owned(),
        (_, "fact") => "A fact that holds".to_owned(),
        (_, "summary") => "The summary of an earlier session".to_owned(),
        (_, "note") => "One of your notes for every session".to_owned(),
        (Moment::File, _) => "About this file".to_owned(),
        (_, "") => String::new(),
        (Moment::Prompt, _) => {
            let part = part(words.next().unwrap_or_default());
            let matched: Vec<&str> = words.collect();
            let by = if matched.is_empty() {
                "by meaning".to_owned()
            } else {
                format!("by {}", matched.join(", "))
            };
            format!("{part} matches the prompt {by}")
        }
        (_, other) => other.to_owned(),
    }
}

/// The name of a part of a record, in words.
fn part(name: &str) -> String {
    match name {
        "narrative" | "title" | "text" | "note" => "Its text".to_owned(),
        "turn" => "The turn".to_owned(),
        "request" | "investigated" | "learned" | "completed" | "next_steps" | "notes" => {
            "The summary of its session".to_owned()
        }
        fact if fact.starts_with("fact") => "One of its facts".to_owned(),
        other => format!("Its {}", other.replace('_', " ")),
    }
}
