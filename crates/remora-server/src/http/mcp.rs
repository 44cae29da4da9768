//! The Model Context Protocol, for hosts that connect to a URL instead of starting a process.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use remora_app::AppError;
use remora_app::forget::{Forgotten, Plan};
use remora_app::search::SearchRequest;
use remora_core::settings::Settings;
use remora_search::Results;
use remora_store::{SavedBy, Store};

use super::error::ApiError;
use super::routes::Routes;
use super::{BODY_TIMEOUT, Http};
use crate::shared::Shared;

pub(super) fn router() -> Routes {
    Routes::default().post("/mcp", answer)
}

async fn answer(State(http): State<Arc<Http>>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let read = tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, remora_mcp::MAX_BODY_LEN)).await;
    let refused = |status: StatusCode, error: Vec<u8>| {
        Ok((status, [(CONTENT_TYPE, "application/json")], error).into_response())
    };
    let Ok(bytes) = read.map_err(|_| ApiError::Slow)? else {
        return refused(StatusCode::PAYLOAD_TOO_LARGE, remora_mcp::too_long());
    };
    if let Some(error) = remora_mcp::refusal(&bytes) {
        return refused(StatusCode::BAD_REQUEST, error);
    }
    http.shared.refresh_settings().await;
    Ok(http.mcp.handle(Request::from_parts(parts, Body::from(bytes))).await.map(Body::new))
}

/// The daemon's memory, as the MCP server uses it.
pub(super) struct Memory(pub(super) Arc<Shared>);

impl remora_mcp::Memory for Memory {
    async fn search(&self, request: SearchRequest) -> Result<Results, AppError> {
        self.0.finder.search(request, self.0.settings()).await
    }

    async fn forget(&self, plan: Plan, undo: Duration) -> Result<Forgotten, AppError> {
        self.0.forget(plan, undo, SavedBy::Program).await
    }

    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Store) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.reader.call(move |store| Ok(ask(store))).await?
    }

    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.change(work).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.writer.call(move |store| Ok(work(store))).await?
    }

    fn settings(&self) -> Arc<Settings> {
        self.0.settings()
    }
}
