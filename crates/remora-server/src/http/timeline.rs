//! What was learned before and after something.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::ProjectId;
use remora_search::SearchQuery;
use remora_store::{Anchor, Moment};
use serde::Serialize;

use super::error::ApiError;
use super::routes::Routes;
use super::search::{self, Pairs, one, within};
use super::{Http, project};

const MOST: usize = 100;
const DEFAULT: u32 = 10;

pub(super) fn router() -> Routes {
    Routes::default().get("/api/timeline", timeline)
}

#[derive(Debug, Serialize)]
struct Timeline {
    /// What it is told around; nothing where that is now.
    anchor: Option<RecordId>,
    project_id: ProjectId,
    /// Oldest first.
    items: Vec<Moment>,
}

#[derive(Debug, Default)]
struct Asked {
    anchor: Option<RecordId>,
    text: Option<String>,
    project: Option<String>,
    cwd: Option<String>,
    before: Option<u32>,
    after: Option<u32>,
}

async fn timeline(State(http): State<Arc<Http>>, pairs: Pairs) -> Result<Json<Timeline>, ApiError> {
    let Query(pairs) = pairs?;
    let mut asked = Asked::default();
    for (name, value) in pairs {
        asked.take(&name, value)?;
    }
    let (project, anchor) = asked.place(&http).await?;
    let (before, after) = (asked.before.unwrap_or(DEFAULT), asked.after.unwrap_or(DEFAULT));
    let told = http.shared.reader.call(move |store| {
        let around = anchor.as_ref().map_or(Anchor::Now, Anchor::Moment);
        let items = store.timeline(project, around, before, after)?;
        Ok(Timeline { anchor: anchor.map(|anchor| anchor.id), project_id: project, items })
    });
    Ok(Json(told.await?))
}

impl Asked {
    fn take(&mut self, name: &str, value: String) -> Result<(), ApiError> {
        let count = |value: &str| {
            one(name, value, within(0, MOST)).map(|number| u32::try_from(number).unwrap_or(DEFAULT))
        };
        match name {
            "anchor" => self.anchor = Some(one(name, &value, |value| value.parse().ok())?),
            "query" | "q" => self.text = Some(value),
            "project" => self.project = Some(value),
            "cwd" => self.cwd = Some(value),
            "before" => self.before = Some(count(&value)?),
            "after" => self.after = Some(count(&value)?),
            _ => {
                return Err(ApiError::invalid(
                    format!("there is no parameter `{name}`"),
                    "docs/http.md lists the parameters",
                ));
            }
        }
        Ok(())
    }

    /// Which project, and around what in it.
    async fn place(&mut self, http: &Http) -> Result<(ProjectId, Option<Moment>), ApiError> {
        let names_project = self.project.is_some() || self.cwd.is_some();
        // An id says by itself which project is meant.
        let scope = if names_project || self.anchor.is_none() {
            project::scope(http, self.project.take(), self.cwd.take()).await?
        } else {
            ProjectScope::All
        };
        let anchor = match (self.anchor, self.text.take()) {
            (Some(record), _) => Some(record),
            (None, Some(text)) => Some(best(http, scope, text).await?),
            (None, None) => None,
        };
        let Some(record) = anchor else {
            let ProjectScope::One(project) = scope else {
                return Err(ApiError::invalid("a timeline of all projects", "name one as `project=`"));
            };
            return Ok((project, None));
        };
        let moment = http.shared.reader.call(move |store| store.moment(record)).await?;
        let belongs =
            |moment: &Moment| scope == ProjectScope::All || scope == ProjectScope::One(moment.project_id);
        let moment =
            moment.filter(belongs).ok_or_else(|| ApiError::NotFound(format!("`{record}` is not there")))?;
        Ok((moment.project_id, Some(moment)))
    }
}

/// The record that fits best, of those that have a place in time.
async fn best(http: &Http, scope: ProjectScope, text: String) -> Result<RecordId, ApiError> {
    let mut query = SearchQuery::new(scope, text);
    query.filters.kinds = vec![RecordKind::Observation, RecordKind::Summary, RecordKind::Turn];
    query.limit = 1;
    let found = search::find(http, query).await?;
    let hit = found.hits.first().ok_or_else(|| ApiError::NotFound("nothing was found".to_owned()))?;
    Ok(hit.id)
}
