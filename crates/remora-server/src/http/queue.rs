//! Events that wait or failed.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use remora_app::AppError;
use remora_app::queue::{self, Failed, Queue};
use remora_store::Store;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::routes::Routes;
use super::{Http, body};

const MOST: u32 = 200;
const HINT: &str = r#"send {"ids": ["e12"]}, or {"all": true} for every failed event"#;

pub(super) fn router() -> Routes {
    Routes::default()
        .get("/api/v1/queue", list)
        .post("/api/v1/queue/retry", retry)
        .post("/api/v1/queue/drop", give_up)
}

async fn list(State(http): State<Arc<Http>>) -> Result<Json<Queue>, ApiError> {
    Ok(Json(http.read(|store| queue::overview(store, MOST)).await?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    all: bool,
}

impl Which {
    fn failed(self) -> Result<Failed, ApiError> {
        match (self.all, self.ids.is_empty()) {
            (true, true) => Ok(Failed::All),
            (false, false) => Ok(Failed::Named(self.ids)),
            _ => Err(ApiError::invalid("nothing says which events are meant", HINT)),
        }
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    events: usize,
}

async fn retry(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Answer>, ApiError> {
    let failed = body::<Which>(request, HINT).await?.failed()?;
    change(&http, move |store| queue::retry(store, &failed)).await
}

async fn give_up(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Answer>, ApiError> {
    let failed = body::<Which>(request, HINT).await?.failed()?;
    change(&http, move |store| queue::give_up(store, &failed)).await
}

async fn change(
    http: &Http,
    work: impl FnOnce(&mut Store) -> Result<usize, AppError> + Send + 'static,
) -> Result<Json<Answer>, ApiError> {
    let events = http.shared.writer.call(move |store| Ok(work(store))).await??;
    http.shared.announce();
    Ok(Json(Answer { events }))
}
