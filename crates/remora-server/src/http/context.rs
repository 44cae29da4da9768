//! What an agent is told: for programs that cannot run a hook, and for hooks, because the model is here.

use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Query, Request, State};
use remora_core::context;
use remora_core::document::ProjectScope;
use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::privacy;
use remora_core::time::Time;
use remora_hosts::response;
use remora_search::Prompted;
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
}

#[derive(Debug, Deserialize)]
struct Question {
    #[serde(alias = "contentSessionId")]
    session_id: String,
    #[serde(default)]
    host: Option<String>,
    #[serde(alias = "q", alias = "query")]
    prompt: String,
    /// Whether what is answered counts as told. A hook that may not wait says so itself, once it has handed it on.
    #[serde(default = "yes")]
    log: bool,
}

fn yes() -> bool {
    true
}

/// What matters for a prompt of a session that is known.
async fn semantic(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Told>, ApiError> {
    let body = to_bytes(request.into_body(), LARGEST_QUESTION).await.map_err(|_| ApiError::TooLarge)?;
    let hint = r#"send {"session_id": …, "host": …, "prompt": …}"#;
    let question: Question =
        serde_json::from_slice(&body).map_err(|error| ApiError::invalid(error.to_string(), hint))?;
    let host = match question.host.as_deref() {
        None => Host::Generic,
        Some(name) => name.parse().map_err(|_| ApiError::invalid("there is no such host", hint))?,
    };
    http.shared.refresh_settings();
    let settings = http.shared.settings();
    let session = SessionRef { host, id: question.session_id };
    let known = http.shared.reader.call(move |store| store.known_session(&session)).await?;
    let memory = &settings.memory;
    let wants_notes = memory.notes_source().is_some();
    let Some(known) = known.filter(|_| memory.auto_retrieve_enabled || wants_notes) else {
        return Ok(Json(Told::default()));
    };
    let is_fresh = !wants_notes || http.shared.notes.wait().await;
    let prompted = Prompted {
        text: privacy::clean_text(&question.prompt),
        project: known.project,
        session: known.id,
        most: if memory.auto_retrieve_enabled { usize::from(memory.auto_retrieve_max_results) } else { 0 },
        least_score: memory.auto_retrieve_min_score,
        room: response::room(host).unwrap_or(USUAL_ROOM),
        notes: wants_notes,
        now: Time::now(),
    };
    let Some(mut telling) = http.shared.finder.recall(prompted, &settings.search).await? else {
        return Ok(Json(Told::default()));
    };
    if !is_fresh {
        let others = telling.retrieval.degraded.take();
        telling.retrieval.degraded =
            Some(others.map_or("notes".to_owned(), |others| format!("{others}; notes")));
    }
    if question.log {
        let retrieval = telling.retrieval.clone();
        http.shared.writer.call(move |store| store.log_retrieval(&retrieval)).await?;
    }
    Ok(Json(Told {
        context: Some(telling.text),
        tokens: telling.retrieval.tokens,
        memories: telling.retrieval.items,
        degraded: telling.retrieval.degraded,
    }))
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
        }
    })))
}
