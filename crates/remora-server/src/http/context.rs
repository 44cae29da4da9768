//! What an agent is told: for programs that cannot run a hook, and for hooks, because the model is here.

use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Query, Request, State};
use remora_core::context;
use remora_core::document::ProjectScope;
use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::privacy;
use remora_core::time::Time;
use remora_hosts::response;
use remora_search::{Explanation, NEW_SESSION, Prompted};
use remora_store::retrievals::Item;
use remora_store::{Recall, Store};
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::routes::Routes;
use super::search::{Pairs, one, within};
use super::{Http, project};

const LARGEST_QUESTION: usize = 1 << 20;
/// What a program is told whose limit nobody knows.
const USUAL_ROOM: u64 = 2_000;
const MOST_TOKENS: usize = 100_000;

pub(super) fn router() -> Routes {
    Routes::default().get("/api/context/inject", inject).post("/api/context/semantic", semantic)
}

#[derive(Debug, Default, Serialize)]
struct Told {
    /// Framed as it is to be handed on; nothing where there is nothing to tell.
    context: Option<String>,
    tokens: u64,
    memories: Vec<Item>,
    /// What could not be asked.
    degraded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

#[derive(Debug, Deserialize)]
struct Question {
    #[serde(alias = "contentSessionId")]
    session_id: Option<String>,
    #[serde(default)]
    host: Option<String>,
    #[serde(alias = "q", alias = "query")]
    prompt: String,
    /// Whether what is answered counts as told. A hook that may not wait says so itself, once it has handed it on.
    #[serde(default = "yes")]
    log: bool,
    /// Whether to say why, of all that was found. Then nothing counts as told, and a project does for a session.
    #[serde(default)]
    explain: bool,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
}

fn yes() -> bool {
    true
}

const HINT: &str = r#"send {"session_id": …, "host": …, "prompt": …}"#;

/// What matters for a prompt of a session that is known.
async fn semantic(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Told>, ApiError> {
    let body = to_bytes(request.into_body(), LARGEST_QUESTION).await.map_err(|_| ApiError::TooLarge)?;
    let question: Question =
        serde_json::from_slice(&body).map_err(|error| ApiError::invalid(error.to_string(), HINT))?;
    let host = match question.host.as_deref() {
        None => Host::Generic,
        Some(name) => name.parse().map_err(|_| ApiError::invalid("there is no such host", HINT))?,
    };
    http.shared.refresh_settings();
    let settings = http.shared.settings();
    let memory = &settings.memory;
    let wants_notes = memory.notes_source().is_some();
    let wants_any = memory.auto_retrieve_enabled || wants_notes || question.explain;
    let asker = asker(&http, host, &question).await?;
    let Some((project, session)) = asker.filter(|_| wants_any) else {
        return Ok(Json(Told::default()));
    };
    let is_fresh = !wants_notes || http.shared.notes.wait().await;
    let prompted = Prompted {
        text: privacy::clean_text(&question.prompt),
        project,
        session,
        most: if memory.auto_retrieve_enabled { usize::from(memory.auto_retrieve_max_results) } else { 0 },
        least_score: memory.auto_retrieve_min_score,
        room: response::room(host).unwrap_or(USUAL_ROOM),
        notes: wants_notes,
        now: Time::now(),
    };
    let explained = http.shared.finder.recall(prompted, &settings.search).await?;
    let explanation = question.explain.then_some(explained.explanation);
    let Some(mut telling) = explained.telling else {
        return Ok(Json(Told { explanation, ..Told::default() }));
    };
    if !is_fresh {
        let others = telling.retrieval.degraded.take();
        telling.retrieval.degraded =
            Some(others.map_or("notes".to_owned(), |others| format!("{others}; notes")));
    }
    if question.log && !question.explain {
        let retrieval = telling.retrieval.clone();
        http.shared.writer.call(move |store| store.log_retrieval(&retrieval)).await?;
    }
    Ok(Json(Told {
        context: Some(telling.text),
        tokens: telling.retrieval.tokens,
        memories: telling.retrieval.items,
        degraded: telling.retrieval.degraded,
        explanation,
    }))
}

/// Whose prompt it is: of a session, or, to explain, of one that might begin in a project. `None` for a session that
/// nobody has heard of.
async fn asker(
    http: &Arc<Http>,
    host: Host,
    question: &Question,
) -> Result<Option<(ProjectId, SessionId)>, ApiError> {
    if let Some(id) = &question.session_id {
        let session = SessionRef { host, id: id.clone() };
        let known = http.shared.reader.call(move |store| store.known_session(&session)).await?;
        return Ok(known.map(|known| (known.project, known.id)));
    }
    if !question.explain {
        return Err(ApiError::invalid("`session_id` is missing", HINT));
    }
    match project::scope(http, question.project.clone(), question.cwd.clone()).await? {
        ProjectScope::One(project) => Ok(Some((project, NEW_SESSION))),
        ProjectScope::All => {
            Err(ApiError::invalid("one project's memory is told at a time", "name one with `project`"))
        }
    }
}

/// What a session is told at its start.
async fn inject(State(http): State<Arc<Http>>, pairs: Pairs) -> Result<Json<Told>, ApiError> {
    let Query(pairs) = pairs?;
    http.shared.refresh_settings();
    let settings = http.shared.settings();
    let mut budget = u64::from(settings.context.tokens);
    let (mut project, mut cwd) = (None, None);
    for (name, value) in pairs {
        match name.as_str() {
            "project" => project = Some(value),
            "cwd" => cwd = Some(value),
            "tokens" => budget = one(&name, &value, within(0, MOST_TOKENS))? as u64,
            _ => {
                return Err(ApiError::invalid(
                    format!("there is no parameter `{name}`"),
                    "docs/http.md lists the parameters",
                ));
            }
        }
    }
    let ProjectScope::One(project) = project::scope(&http, project, cwd).await? else {
        return Err(ApiError::invalid("one project's memory is told at a time", "name one with `project`"));
    };
    let summaries = settings.context.summaries;
    let wants_notes = settings.memory.notes_source().is_some();
    let read = move |store: &mut Store| {
        let mut material = store.material(project, Recall::Everything, summaries)?;
        if wants_notes {
            material.notes = store.always_told()?;
        }
        Ok(material)
    };
    let material = http.shared.reader.call(read).await?;
    let told = context::render(&material, budget, Time::now());
    Ok(Json(told.map_or_else(Told::default, |told| {
        Told {
            tokens: context::tokens(&told.text),
            memories: told
                .notes
                .iter()
                .filter_map(|number| material.notes.get(*number))
                .map(Item::of_note)
                .chain(told.shown.iter().map(|id| Item::of_timeline(*id)))
                .collect(),
            context: Some(told.text),
            degraded: None,
            explanation: None,
        }
    })))
}
