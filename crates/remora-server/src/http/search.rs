//! Finding what was learned.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use remora_app::Whose;
use remora_app::search::{LARGEST_LIMIT, LARGEST_OFFSET, SearchRequest};
use remora_core::document::RecordKind;
use remora_core::host::Host;
use remora_core::memory::ObservationType;
use remora_search::{Mode, Results, Sort};

use super::error::ApiError;
use super::routes::Routes;
use super::{Http, body, project};

pub(super) fn router() -> Routes {
    Routes::default().get("/api/search", by_parameters).post(remora_client::SEARCH, by_body)
}

pub(super) type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

async fn by_parameters(State(http): State<Arc<Http>>, pairs: Pairs) -> Result<Json<Results>, ApiError> {
    let Query(pairs) = pairs?;
    let mut parameters = Parameters::default();
    for (name, value) in pairs {
        parameters.take(&name, value)?;
    }
    let Parameters { project, cwd, mut request } = parameters;
    request.whose = project::whose(project, cwd)?;
    Ok(Json(http.search(request).await?))
}

/// The same with the request as it is, for programs of ours and others.
async fn by_body(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Results>, ApiError> {
    let hint = r#"send {"whose": {"project": "NAME"}, "text": "WORDS"}; docs/http.md has the rest"#;
    Ok(Json(http.search(body(request, hint).await?).await?))
}

impl Http {
    /// Searches by the settings in force.
    pub(super) async fn search(&self, request: SearchRequest) -> Result<Results, ApiError> {
        self.shared.refresh_settings();
        Ok(self.shared.finder.search(request, self.shared.settings()).await?)
    }
}

/// What was asked, word by word.
struct Parameters {
    project: Option<String>,
    cwd: Option<String>,
    request: SearchRequest,
}

impl Default for Parameters {
    fn default() -> Self {
        // Whose memory it is about is settled once all words are read.
        Self { project: None, cwd: None, request: SearchRequest::new(Whose::All) }
    }
}

impl Parameters {
    /// Refuses unknown parameters. A mistyped one would find too much.
    fn take(&mut self, name: &str, value: String) -> Result<(), ApiError> {
        let request = &mut self.request;
        match name {
            "query" | "q" => request.text = value,
            "project" => self.project = Some(value),
            "cwd" => self.cwd = Some(value),
            "type" => request.types.extend(each(name, &value, ObservationType::named)?),
            "kind" => request.kinds.extend(each(name, &value, RecordKind::from_name)?),
            // The plural is a list; the singular may have commas in it.
            "concepts" => request.concepts.extend(list(&value).map(str::to_owned)),
            "concept" => request.concepts.push(value),
            "files" => request.files.extend(list(&value).map(str::to_owned)),
            "file" => request.files.push(value),
            "dateFrom" => request.from = Some(value),
            "dateTo" => request.until = Some(value),
            "host" => request.host = Some(one(name, &value, Host::named)?),
            "session" => request.session = Some(value),
            "limit" => request.limit = one(name, &value, within(1, LARGEST_LIMIT))?,
            "offset" => request.offset = one(name, &value, within(0, LARGEST_OFFSET))?,
            "mode" => request.mode = one(name, &value, mode)?,
            "sort" => request.sort = one(name, &value, sort)?,
            _ => {
                return Err(ApiError::invalid(
                    format!("there is no parameter `{name}`"),
                    "docs/http.md lists the parameters",
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn within(least: usize, most: usize) -> impl Fn(&str) -> Option<usize> {
    move |value| value.parse().ok().filter(|number| (least..=most).contains(number))
}

pub(super) fn one<T>(name: &str, value: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ApiError> {
    let wrong = || {
        let expected = match name {
            "limit" => format!("1 to {LARGEST_LIMIT}"),
            "offset" => format!("0 to {LARGEST_OFFSET}"),
            "before" | "after" => format!("0 to {LARGEST_LIMIT}"),
            "mode" => "auto, hybrid, semantic or text".to_owned(),
            "sort" => "relevance or date".to_owned(),
            "type" => ObservationType::ALL.map(ObservationType::name).join(", "),
            "kind" => RecordKind::ALL.map(RecordKind::name).join(", "),
            "host" => Host::ALL.iter().map(Host::name).collect::<Vec<_>>().join(", "),
            _ => "an id that search gave, such as 12, s3 or t4".to_owned(),
        };
        ApiError::invalid(format!("{name} is `{value}`"), format!("expected {expected}"))
    };
    read(value.trim()).ok_or_else(wrong)
}

fn each<T>(name: &str, value: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, ApiError> {
    list(value).map(|value| one(name, value, &read)).collect()
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|value| !value.is_empty())
}

fn mode(word: &str) -> Option<Mode> {
    Mode::ALL.into_iter().find(|mode| mode.name() == word)
}

fn sort(word: &str) -> Option<Sort> {
    match word {
        "relevance" => Some(Sort::Relevance),
        "date" => Some(Sort::Date),
        _ => None,
    }
}
