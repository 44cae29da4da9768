//! The Model Context Protocol, for hosts that connect to a URL instead of starting a process.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use remora_app::{AppError, Runtime};

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
    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.read(ask).await
    }

    async fn find<T: Send + 'static>(
        &self,
        text: Option<String>,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.find(text.into(), ask).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.write(work).await
    }

    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        self.0.apart(work).await
    }
}
