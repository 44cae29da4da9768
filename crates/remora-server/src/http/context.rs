//! The text injected into an agent's context: for programs that cannot run a hook, and for hooks, because the
//! daemon holds the model and the vectors.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use remora_app::Runtime;
use remora_app::present::ItemJson;
use remora_app::recall::Injection;
use remora_app::recall::NEW_SESSION;
use remora_app::recall::prompt::{self, Explained, Explanation, PromptRequest};
use remora_app::recall::start::{self, Reader};
use remora_core::context::More;
use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::settings::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asked::{Body, JsonBody, Query, Within};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::{Http, project};
use crate::finder::ToEmbed;

const MAX_TOKENS: u32 = 100_000;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .get("/api/context/inject", inject)
        .post("/api/context/semantic", semantic)
        .post(remora_client::RECALL, recall)
        .post(remora_client::EXPLAIN, explain)
}

/// An injection, possibly empty.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Injected {
    /// The text to inject, with its frame.
    context: Option<String>,
    tokens: u64,
    memories: Vec<ItemJson>,
    /// What could not be searched.
    degraded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

impl From<Option<Injection>> for Injected {
    fn from(injection: Option<Injection>) -> Self {
        injection.map_or_else(Self::default, |Injection { text, tokens, items, degraded }| Self {
            context: Some(text),
            tokens,
            memories: items.into_iter().map(ItemJson::from).collect(),
            degraded,
            explanation: None,
        })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Question {
    #[serde(alias = "contentSessionId")]
    session_id: Option<String>,
    #[serde(default)]
    host: Option<String>,
    #[serde(alias = "q", alias = "query")]
    prompt: String,
    /// Whether the answer counts as injected.
    #[serde(default = "yes")]
    log: bool,
    /// Whether to explain the decision for every candidate. Then nothing counts as injected, and a project is
    /// enough instead of a session.
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

impl Body for Question {
    const HINT: &'static str = HINT;
}

impl Body for PromptRequest {
    const HINT: &'static str = r#"send {"text": …, "project": …, "session": …, "host": …, "room": …}"#;
}

/// Selects what to inject with a prompt of a captured session.
async fn semantic(
    State(http): State<Arc<Http>>,
    JsonBody(question): JsonBody<Question>,
) -> Result<Json<Injected>, ApiError> {
    let Some((project, session, host)) = asker(&http, &question).await? else {
        return Ok(Json(Injected::default()));
    };
    let request = PromptRequest::new(&question.prompt, project, session, host);
    let text = request.text.clone();
    let started = Instant::now();
    let Explained { mut injection, explanation } = http.recall(request).await?;
    if let Some(logged) = injection.clone().filter(|_| question.log && !question.explain) {
        let log = move |rt: &mut dyn Runtime| Ok(prompt::log(rt, session, &text, &logged, started)?);
        let is_first = http.shared.write(log).await?;
        injection = injection.filter(|_| is_first);
    }
    let explanation = question.explain.then_some(explanation);
    Ok(Json(Injected { explanation, ..injection.into() }))
}

/// The session of the prompt with its host or, for an explanation, a new one in the named project. `None` for a
/// session that was never captured.
async fn asker(
    http: &Arc<Http>,
    question: &Question,
) -> Result<Option<(ProjectId, SessionId, Option<Host>)>, ApiError> {
    let unknown = || ApiError::invalid("there is no such host", HINT);
    let host = question.host.as_deref().map(|name| Host::named(name).ok_or_else(unknown)).transpose()?;
    if let Some(id) = &question.session_id {
        let host = host.unwrap_or(Host::Generic);
        let session = SessionRef { host, id: id.clone() };
        let known = http.read(move |rt| Ok(rt.store().sessions().known(&session)?)).await?;
        return Ok(known.map(|known| (known.project, known.id, Some(host))));
    }
    if !question.explain {
        return Err(ApiError::invalid("`session_id` is missing", HINT));
    }
    let selector = project::scope_of(question.project.clone(), question.cwd.clone())?;
    let project = http.read(move |rt| remora_app::project(rt.store(), &selector)).await?;
    Ok(Some((project, NEW_SESSION, host)))
}

/// Like [`semantic`], for our own hooks. They have already looked up the session and redacted the prompt, and
/// they log the injection themselves.
async fn recall(
    State(http): State<Arc<Http>>,
    JsonBody(request): JsonBody<PromptRequest>,
) -> Result<Json<Option<Injection>>, ApiError> {
    Ok(Json(http.recall(request).await?.injection))
}

/// Like [`recall`], with all candidates, for our own commands.
async fn explain(
    State(http): State<Arc<Http>>,
    JsonBody(request): JsonBody<PromptRequest>,
) -> Result<Json<Explained>, ApiError> {
    Ok(Json(http.recall(request).await?))
}

impl Http {
    async fn recall(&self, request: PromptRequest) -> Result<Explained, ApiError> {
        let settings = self.shared.current_settings().await;
        self.recall_by(request, settings).await
    }

    /// Like `recall`, with these settings.
    pub(super) async fn recall_by(
        &self,
        request: PromptRequest,
        settings: Arc<Settings>,
    ) -> Result<Explained, ApiError> {
        let is_fresh = settings.memory.notes_source().is_none() || self.shared.notes.wait().await;
        let to_embed = ToEmbed::Prompt(request.text.clone());
        let mut explained = self.shared.find_with(settings, to_embed, move |rt| rt.explain(&request)).await?;
        if let Some(injection) = explained.injection.as_mut().filter(|_| !is_fresh) {
            let others = injection.degraded.take();
            injection.degraded = Some(others.map_or("notes".to_owned(), |others| format!("{others}; notes")));
        }
        Ok(explained)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InjectQuery {
    /// The project: an id, an absolute path or a unique name
    project: Option<String>,
    /// Instead of `project`: a directory, absolute
    cwd: Option<String>,
    /// The limit for the text; default: the setting `context.tokens`
    tokens: Option<Within<0, MAX_TOKENS>>,
}

/// Returns the injection for the start of a session.
async fn inject(
    State(http): State<Arc<Http>>,
    Query(asked): Query<InjectQuery>,
) -> Result<Json<Injected>, ApiError> {
    let InjectQuery { project, cwd, tokens } = asked;
    let selector = project::scope_of(project, cwd)?;
    let preview = http.read(move |rt| {
        let limit = u64::from(tokens.map_or(rt.settings().context.tokens, |Within(tokens)| tokens));
        let reader = Reader { limit, more: More::Commands(&remora_sys::process::command("remora")) };
        start::preview(rt, &selector, reader)
    });
    Ok(Json(preview.await?.injection.into()))
}
