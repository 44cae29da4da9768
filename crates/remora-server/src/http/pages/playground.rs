//! The playground: what would be injected with a prompt, and why, with settings that can be tried before they
//! are saved.

use std::sync::Arc;

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::present::{IdStyle, superseded};
use remora_app::recall::prompt::{Explained, Explanation, PromptRequest};
use remora_app::recall::trial::{Trial, project_of};
use remora_app::recall::{Candidate, Outcome};
use remora_core::settings::Memory;
use remora_search::Mode;
use serde::Deserialize;

use super::look::{When, block, line, title};
use super::search::record_link;
use super::{Frame, PageQuery, Seen, show};
use crate::http::Http;
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Maximum number of candidates shown; the rest is counted.
const MAX_SHOWN: usize = 24;
/// Longer prompts are cut before they are tried.
const MAX_PROMPT_LEN: usize = 4_000;
/// Range of the slider. The field beside it takes every value that the setting takes.
const SLIDER: (f64, f64) = (0.3, 0.8);

pub(super) fn router() -> Routes {
    Routes::default().get("/playground", page)
}

#[derive(Debug, Default, Deserialize)]
struct PlaygroundParameters {
    project: Option<i64>,
    #[serde(default)]
    prompt: String,
    /// As text: a field that is being typed may hold anything.
    #[serde(default)]
    most: String,
    #[serde(default)]
    score: String,
    /// Requests the outcome without the page around it.
    #[serde(default)]
    part: String,
}

#[derive(Template)]
#[template(path = "playground.html")]
struct PlaygroundPage {
    frame: Frame,
    playground: Playground,
}

#[derive(Template)]
#[template(path = "outcome.html")]
struct PlaygroundPart {
    playground: Playground,
}

/// The form with its outcome.
#[derive(Template)]
#[template(path = "try.html")]
pub(super) struct Playground {
    prompt: String,
    most: u8,
    score: String,
    saved_most: u8,
    saved_score: String,
    /// Whether injection with prompts is on.
    pub(super) is_on: bool,
    project: Option<i64>,
    projects: Vec<(i64, String, bool)>,
    outcome: Option<PlaygroundOutcome>,
}

struct PlaygroundOutcome {
    /// One line that says what would be injected.
    says: String,
    is_injected: bool,
    how: String,
    steps: Vec<PlaygroundStep>,
    /// The text as the agent gets it.
    text: String,
    tokens: u64,
    shown: Vec<Shown>,
    more: usize,
    /// In percent.
    threshold: f64,
}

/// A step of the gate.
struct PlaygroundStep {
    is_passed: bool,
    what: &'static str,
    figures: String,
}

struct Shown {
    id: String,
    link: String,
    kind: String,
    title: Safe<String>,
    when: When,
    score: String,
    /// In percent.
    bar: f64,
    outcome: String,
    is_injected: bool,
    passages: Vec<Safe<String>>,
    words: String,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<PlaygroundParameters>,
) -> Result<Response, ApiError> {
    let frame = Frame::new(&http, &visitor, "Playground", "playground", asked.project).await?;
    let is_part = asked.part == "outcome";
    let playground = Playground::of(&http, &frame, asked).await?;
    if is_part { show(&PlaygroundPart { playground }) } else { show(&PlaygroundPage { frame, playground }) }
}

impl Playground {
    /// The empty form.
    pub(super) async fn empty(http: &Arc<Http>, frame: &Frame) -> Result<Self, ApiError> {
        Self::of(http, frame, PlaygroundParameters::default()).await
    }

    async fn of(http: &Arc<Http>, frame: &Frame, asked: PlaygroundParameters) -> Result<Self, ApiError> {
        http.shared.refresh_settings().await;
        let in_force = http.shared.settings();
        let trial =
            Trial { most: asked.most.trim().parse().ok(), least_score: asked.score.trim().parse().ok() };
        let tried = Arc::new(trial.settings(&in_force));
        let selector = frame.scope_of();
        let project = http.read(move |rt| project_of(rt, &selector)).await?;
        let prompt = asked.prompt[..asked.prompt.floor_char_boundary(MAX_PROMPT_LEN)].to_owned();
        let outcome = match project {
            Some(project) if !prompt.trim().is_empty() => {
                let request = PromptRequest::of_new_session(&prompt, project);
                let explained = http.recall_by(request, Arc::clone(&tried)).await?;
                Some(outcome(&explained, &tried.memory))
            }
            _ => None,
        };
        let project = project.map(|project| project.0);
        Ok(Self {
            prompt,
            most: tried.memory.auto_retrieve_max_results,
            score: format!("{:.2}", tried.memory.auto_retrieve_min_score),
            saved_most: in_force.memory.auto_retrieve_max_results,
            saved_score: format!("{:.2}", in_force.memory.auto_retrieve_min_score),
            is_on: in_force.memory.auto_retrieve_enabled,
            project,
            projects: frame
                .projects
                .iter()
                .map(|row| (row.id.0, row.name.clone(), project == Some(row.id.0)))
                .collect(),
            outcome,
        })
    }

    fn slider_most(&self) -> u8 {
        self.most.clamp(1, 10)
    }

    fn slider_score(&self) -> String {
        let score = self.score.parse().unwrap_or(SLIDER.0);
        format!("{:.2}", f64::clamp(score, SLIDER.0, SLIDER.1))
    }
}

fn outcome(explained: &Explained, memory: &Memory) -> PlaygroundOutcome {
    let Explained { injection, explanation } = explained;
    let tokens = injection.as_ref().map_or(0, |injection| injection.tokens);
    let injected = explanation.candidates.iter().filter(|one| one.outcome == Outcome::Injected).count();
    let shown = explanation.candidates.iter().take(MAX_SHOWN).map(|one| shown(one, explanation)).collect();
    PlaygroundOutcome {
        says: match (&explanation.skipped, injected, tokens) {
            (Some(reason), _, 0) => format!("Nothing is injected: {reason}"),
            (None, 0, 0) if explanation.candidates.is_empty() => {
                "Nothing is injected: nothing in this memory has to do with it".to_owned()
            }
            (_, 0, 0) => "Nothing is injected: no record reaches the threshold".to_owned(),
            (_, 0, tokens) => format!("Your notes are injected: {tokens} tokens"),
            (_, 1, tokens) => format!("1 memory is injected: {tokens} tokens"),
            (_, several, tokens) => format!("{several} memories are injected: {tokens} tokens"),
        },
        is_injected: tokens > 0,
        how: how(explanation),
        steps: if explanation.mode.is_some() { steps(explanation, memory) } else { Vec::new() },
        text: injection.as_ref().map(|injection| block(&injection.text, usize::MAX)).unwrap_or_default(),
        tokens,
        shown,
        more: explanation.candidates.len().saturating_sub(MAX_SHOWN),
        threshold: percent(memory.auto_retrieve_min_score),
    }
}

fn how(explanation: &Explanation) -> String {
    let way = match (&explanation.no_vectors, explanation.mode) {
        (Some(reason), _) => format!("Searched by words alone, because {reason}"),
        (None, Some(Mode::Text)) => "Searched by words alone".to_owned(),
        (None, Some(_)) => "Searched by words and meaning".to_owned(),
        (None, None) => return String::new(),
    };
    format!("{way}, in {} ms", explanation.ms)
}

/// The steps that decide whether to inject.
fn steps(explanation: &Explanation, memory: &Memory) -> Vec<PlaygroundStep> {
    let evidence = &explanation.evidence;
    let gate = evidence.gate(memory.auto_retrieve_min_score);
    let sentences = evidence.passages.len();
    vec![
        PlaygroundStep {
            is_passed: gate.has_own,
            what: "The prompt asks about something in memory",
            figures: format!(
                "rare words {:.1}, needs {:.1}; or closeness {:.2}, needs {:.2}",
                evidence.rare, gate.least_rare, evidence.meaning, gate.least_meaning
            ),
        },
        PlaygroundStep {
            is_passed: gate.fits,
            what: "The best record matches",
            figures: if gate.least_score < memory.auto_retrieve_min_score {
                format!(
                    "score {:.2}, needs {:.2}: less than the min score, because a record has all words",
                    evidence.score, gate.least_score
                )
            } else {
                format!("score {:.2}, needs {:.2}", evidence.score, gate.least_score)
            },
        },
        PlaygroundStep {
            is_passed: gate.has_passage,
            what: "At least one sentence answers it",
            figures: format!("{sentences} found, at most {} injected", memory.auto_retrieve_max_results),
        },
    ]
}

fn shown(candidate: &Candidate, explanation: &Explanation) -> Shown {
    let Candidate { outcome, hit } = candidate;
    let id = hit.id.to_string();
    let own = explanation.evidence.passages.iter().filter(|passage| passage.record == hit.id);
    Shown {
        link: record_link(&id, hit.session_id.map(|session| session.0)),
        id,
        kind: hit.observation_type.map_or_else(|| hit.kind.name().to_owned(), |kind| kind.name().to_owned()),
        title: title(&hit.title, 160),
        when: When::new(hit.created_at),
        score: format!("{:.2}", hit.score),
        bar: percent(hit.score),
        outcome: match (outcome, hit.superseded_by) {
            (Outcome::Superseded, Some(by)) => superseded(by.into(), IdStyle::Hash),
            (outcome, _) => outcome.reason().to_owned(),
        },
        is_injected: *outcome == Outcome::Injected,
        passages: own.map(|passage| title(&passage.text, 400)).collect(),
        words: hit.why.matched.iter().map(|word| line(word, 40)).collect::<Vec<_>>().join(", "),
    }
}

fn percent(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 1000.0).round() / 10.0
}
