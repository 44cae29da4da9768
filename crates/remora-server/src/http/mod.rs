//! The daemon's HTTP interface: on the loopback address only, for callers that hold the token.
//!
//! One module per resource, each with its routes. [`app`] puts them behind the guard, and [`Opened`] serves
//! them. Internal errors are logged and never returned. `docs/http.md` is the description for users.

mod asked;
mod capture_thread;
mod context;
mod edit;
mod error;
mod facts;
mod feedback;
mod forget;
mod guard;
mod health;
mod ingest;
mod lists;
mod mcp;
mod memories;
mod memory;
mod openapi;
mod operation;
mod pages;
mod ports;
mod privacy;
mod project;
mod queue;
mod routes;
mod search;
mod serve;
mod settings;
mod stats;
mod strangers;
mod stream;
mod timeline;
mod visitor;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::{Json, Router, middleware};
use remora_app::{AppError, Runtime};
use remora_core::time::Time;
use remora_mcp::Endpoint;
use tokio::sync::{Semaphore, watch};

pub(crate) use capture_thread::CaptureThread;
pub use openapi::document;
pub use routes::Route;
pub(crate) use serve::Opened;

use crate::shared::Shared;
use error::ApiError;
use guard::Guard;
use mcp::Memory;
use routes::Routes;

/// State that every handler can use.
pub(crate) struct Http {
    pub(crate) shared: Arc<Shared>,
    guard: Guard,
    started_at: Time,
    stop: watch::Receiver<bool>,
    /// Limits the events that are being stored.
    room: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    links: visitor::Links,
    capture: CaptureThread,
    mcp: Endpoint<Memory>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Http {
    fn new(
        shared: Arc<Shared>,
        capture: CaptureThread,
        guard: Guard,
        started_at: Time,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            mcp: Endpoint::new(Arc::new(Memory(Arc::clone(&shared)))),
            shared,
            guard,
            started_at,
            stop,
            room: Arc::new(Semaphore::new(ingest::ROOM)),
            streams: Arc::new(Semaphore::new(stream::MAX_STREAMS)),
            links: visitor::Links::default(),
            capture,
        }
    }

    /// The daemon's own status and that of the services it calls.
    fn standing(&self) -> remora_app::status::DaemonStatus {
        remora_app::status::DaemonStatus {
            running: true,
            pid: Some(std::process::id()),
            port: Some(self.guard.port()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            observer: self.shared.health.borrow().clone(),
            embedder: self.shared.embedder_health.borrow().clone(),
        }
    }

    /// Runs a use case that only reads.
    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Ok(self.shared.read(ask).await?)
    }

    /// Runs a use case that writes.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<Json<T>, ApiError> {
        Ok(Json(self.shared.write(work).await?))
    }
}

/// Upper limit for a body that is not an event, in bytes.
const MAX_QUESTION: usize = 1 << 20;
/// Timeout for receiving a whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

async fn read_body(request: Request) -> Result<Bytes, ApiError> {
    let bytes = tokio::time::timeout(BODY_TIMEOUT, to_bytes(request.into_body(), MAX_QUESTION)).await;
    bytes.map_err(|_| ApiError::Slow)?.map_err(|_| ApiError::TooLarge)
}

/// All routes, behind the guard. Unknown paths are guarded, too.
fn app(http: Arc<Http>) -> Router {
    all()
        .into_router()
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .fallback(|| async { ApiError::NotFound("there is nothing at this address".to_owned()) })
        .layer(middleware::from_fn_with_state(Arc::clone(&http), guard::admit))
        .with_state(http)
}

fn all() -> Routes {
    Routes::default()
        .merge(context::router())
        .merge(edit::router())
        .merge(facts::router())
        .merge(feedback::router())
        .merge(forget::router())
        .merge(health::router())
        .merge(ingest::router())
        .merge(lists::router())
        .merge(mcp::router())
        .merge(memories::router())
        .merge(memory::router())
        .merge(openapi::router())
        .merge(pages::router())
        .merge(privacy::router())
        .merge(queue::router())
        .merge(search::router())
        .merge(settings::router())
        .merge(stats::router())
        .merge(stream::router())
        .merge(timeline::router())
}

/// Every route, for tests and documents. The list comes from the router itself, so none can be missing.
pub fn routes() -> Vec<Route> {
    all().list().collect()
}
