//! Records as resources: two templates, and a short list of the latest records.

use remora_app::caller::REACH_HINT;
use remora_app::session_summary::{WhichSummary, session_summary};
use remora_app::{AppError, Runtime, records};
use remora_core::context::{framed_short, safe};
use remora_core::time::Time;
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use crate::Memory;
use crate::asker::Asker;
use crate::failure::Failure;
use crate::shown::{self, Shown};

const OBSERVATIONS: &str = "remora://observations/";
const SESSIONS: &str = "remora://sessions/";
const MARKDOWN: &str = "text/markdown";
/// Limit for listed records of each kind. Search finds the others.
const MAX_OBSERVATIONS: u32 = 10;
const MAX_NAME_LEN: usize = 100;

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, description: &str| {
        ResourceTemplate::new(format!("{uri}{{id}}"), name)
            .with_description(description)
            .with_mime_type(MARKDOWN)
    };
    vec![
        template(OBSERVATIONS, "observation", "A whole record by its id: 123, s12, t34, f5"),
        template(
            SESSIONS,
            "session",
            "The summary of a session by its id, with an index of its observations",
        ),
    ]
}

/// The latest records of the host's project; empty if the project is unknown.
pub(crate) async fn latest<M: Memory>(asker: &Asker<M>) -> Result<Vec<Resource>, ErrorData> {
    let Ok(home) = asker.scope_of(None).await else { return Ok(Vec::new()) };
    let read = move |rt: &dyn Runtime| {
        let project = remora_app::project(rt.store(), &home)?;
        records::latest(rt, project, MAX_OBSERVATIONS)
    };
    let latest = match asker.memory.read(read).await {
        Ok(latest) => latest,
        Err(AppError::UnknownDirectory(_)) => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let resource = |uri: String, name: &str, at: Time| {
        Resource::new(uri, safe(name, MAX_NAME_LEN)).with_description(at.date()).with_mime_type(MARKDOWN)
    };
    let observations = latest
        .observations
        .iter()
        .map(|row| resource(format!("{OBSERVATIONS}{}", row.id), &row.observation.title, row.created_at));
    let sessions = latest.sessions.iter().map(|row| {
        let name = row.title.as_deref().unwrap_or("Session");
        resource(format!("{SESSIONS}{}", row.content_session_id), name, row.last_activity_at)
    });
    Ok(observations.chain(sessions).collect())
}

pub(crate) async fn read<M: Memory>(asker: &Asker<M>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let reach = asker.reach().await.map_err(failed)?;
    let missing = if reach.is_limited() {
        format!("there is no such resource; {REACH_HINT}")
    } else {
        "there is no such resource".to_owned()
    };
    let shown = if let Some(id) = uri.strip_prefix(OBSERVATIONS) {
        let ids = vec![id.to_owned()];
        let batch = asker.memory.write(move |rt| records::batch(rt, &ids, &reach)).await;
        batch.map_err(failed)?.found.first().map(Shown::new)
    } else if let Some(id) = uri.strip_prefix(SESSIONS) {
        let which = WhichSummary::Of(id.to_owned());
        let id = id.to_owned();
        let read = move |rt: &dyn Runtime| {
            reach.record(rt.store(), &id)?;
            session_summary(rt, &which)
        };
        match asker.memory.read(read).await {
            Ok(found) => found.as_ref().map(shown::session_summary),
            Err(AppError::UnknownSession(_) | AppError::OutOfReach(_)) => None,
            Err(error) => return Err(failed(error)),
        }
    } else {
        None
    };
    let shown = shown
        .ok_or_else(|| ErrorData::resource_not_found(missing, Some(serde_json::json!({ "uri": uri }))))?;
    let text = framed_short("", &shown.text());
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MARKDOWN)]))
}

fn failed(error: AppError) -> ErrorData {
    ErrorData::internal_error(Failure::from(error).text(), None)
}
