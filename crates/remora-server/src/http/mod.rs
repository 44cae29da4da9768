//! The daemon's HTTP interface: on the loopback address alone, and for whoever holds the token.
//!
//! One module a resource, each with the routes it has; [`app`] puts them behind the one guard, and [`Opened`] serves
//! them. What fails inside is logged and never answered. `docs/http.md` is the description for users.

mod context;
mod error;
mod feedback;
mod guard;
mod health;
mod ingest;
mod lists;
mod ports;
mod project;
mod routes;
mod search;
mod serve;
mod settings;
mod stats;
mod stream;
mod timeline;
pub mod token;

use std::path::PathBuf;
use std::sync::Arc;

use axum::{Router, middleware};
use remora_core::time::Time;
use tokio::sync::{Semaphore, watch};

pub use routes::Route;
pub(crate) use serve::Opened;

use crate::shared::Shared;
use error::ApiError;
use guard::Guard;
use routes::Routes;

/// What every request can reach.
pub(crate) struct Http {
    pub(crate) shared: Arc<Shared>,
    guard: Guard,
    started_at: Time,
    stop: watch::Receiver<bool>,
    /// How much may be on its way into the store.
    room: Arc<Semaphore>,
    home: Option<PathBuf>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// Everything that can be asked, behind the guard, what is not there included.
fn app(http: Arc<Http>) -> Router {
    all()
        .into_router()
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .fallback(|| async { ApiError::NotFound("nothing is at this address".to_owned()) })
        .layer(middleware::from_fn_with_state(Arc::clone(&http), guard::admit))
        .with_state(http)
}

fn all() -> Routes {
    Routes::default()
        .merge(context::router())
        .merge(feedback::router())
        .merge(health::router())
        .merge(ingest::router())
        .merge(lists::router())
        .merge(search::router())
        .merge(settings::router())
        .merge(stats::router())
        .merge(stream::router())
        .merge(timeline::router())
}

/// Every route there is, for tests and documents: it comes from the router itself, so that none can be missing.
pub fn routes() -> Vec<Route> {
    all().list()
}
