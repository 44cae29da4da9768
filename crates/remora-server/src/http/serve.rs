//! Accepts connections, serves requests, and shuts both down.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use remora_client::token::{self, Token};
use remora_core::time::Time;
use remora_store::DataDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::error::ApiError;
use super::guard::Guard;
use super::strangers::{self, Authenticated, UnauthenticatedConnections};
use super::visitor::Root;
use super::{CaptureThread, Http, app, ports};
use crate::shared::Shared;

/// Limit for open connections; further ones wait. Strangers may hold only a few of them, and streams not all
/// of the rest.
const MAX_CONNECTIONS: usize = 512;
/// Idle timeout of a known connection between two requests.
const SILENCE: Duration = Duration::from_mins(1);
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Time for running requests to finish after a stop.
const GRACE: Duration = Duration::from_secs(1);
/// Pause after the system had no file descriptor for a connection.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// A bound port that is not served yet.
#[derive(Debug)]
pub(crate) struct Opened {
    listener: TcpListener,
    port: u16,
    token: Token,
}

impl Opened {
    pub(crate) async fn open(dir: &DataDir, preferred: u16) -> io::Result<Self> {
        let token = token::read_or_make(dir)?;
        let listener = ports::bind(preferred).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port, token })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Serves until `stop`. All connections are closed when this returns.
    pub(crate) async fn serve(
        self,
        shared: Arc<Shared>,
        capture: CaptureThread,
        started_at: Time,
        mut stop: watch::Receiver<bool>,
    ) {
        let dir = shared.dir.clone();
        let guard = Guard::new(self.token, dir.clone(), self.port);
        let http = Http::new(shared, capture, guard, started_at, stop.clone());
        let app = app(Arc::new(http));
        let mut connections = JoinSet::new();
        let mut strangers = UnauthenticatedConnections::default();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, peer)) => {
                        let standing = Authenticated::default();
                        let talk = converse(stream, peer, standing.clone(), app.clone(), stop.clone());
                        strangers.add(standing, connections.spawn(talk));
                    }
                    Err(_) => tokio::time::sleep(AFTER_ERROR).await,
                },
                Some(ended) = connections.join_next() => {
                    if ended.is_err_and(|error| error.is_panic()) {
                        tracing::error!("http: answering a request hit a bug");
                    }
                }
                _ = stop.changed() => break,
            }
        }
        drop((self.listener, app));
        let all_ended = async { while connections.join_next().await.is_some() {} };
        // Requests that take longer are aborted without an acknowledgement, so their senders keep the data.
        let _ = tokio::time::timeout(GRACE, all_ended).await;
        connections.shutdown().await;
    }
}

/// Turns a panic into an error response.
async fn caught(answer: impl Future<Output = Result<Response, Infallible>>) -> Response {
    let mut answer = pin!(answer);
    std::future::poll_fn(|context| {
        let polled = panic::catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        let bug = || ApiError::Internal("answering this hit a bug; `remora logs` names the place".to_owned());
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(answer.unwrap_or_else(|never| match never {})),
            Err(_) => Poll::Ready(bug().into_response()),
        }
    })
    .await
}

/// Serves one connection to its end. Connection errors are ignored.
async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    standing: Authenticated,
    app: Router,
    mut stop: watch::Receiver<bool>,
) {
    // Responses are small and awaited, so they are sent without delay.
    let _ = stream.set_nodelay(true);
    let app = TowerToHyperService::new(app);
    let known = standing.clone();
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(standing.clone());
        // Before the router, which has the routes without a root.
        if let Some((root, uri)) = Root::take(request.uri()) {
            request.extensions_mut().insert(root);
            *request.uri_mut() = uri;
        }
        let answer = caught(app.call(request));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(SILENCE).max_buf_size(MAX_HEAD_BYTES);
    let mut connection = pin!(protocol.serve_connection(TokioIo::new(stream), service));
    let mut timeout = pin!(tokio::time::sleep(strangers::HEAD_TIMEOUT));
    loop {
        tokio::select! {
            // Input comes first: a busy daemon must not mistake its own delay for silence.
            biased;
            _ = connection.as_mut() => return,
            _ = stop.changed() => break,
            () = timeout.as_mut(), if !known.is_known() => {
                if !known.is_known() {
                    return;
                }
            }
        }
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_panics_is_answered() {
        let answer = caught(async { panic!("a bug, on purpose") }).await;
        assert_eq!(answer.status(), hyper::StatusCode::INTERNAL_SERVER_ERROR);
    }
}
