//! A thread that decides which part of an event is stored, and redacts it.
//!
//! Deciding reads files (settings, pauses, private turns), and redacting two megabytes takes a while. On the runtime's
//! only thread, every other request would wait for it. One thread keeps events in the order of their arrival. It hands
//! each to the writer before it takes the next, so those that arrive during a write still form one group, and an event
//! is stored even if its sender does not wait for the answer.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use remora_app::capture::{self, Decision, LeftOut, Reading};
use remora_core::event::Event;
use remora_store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::error::ApiError;
use crate::shared::Shared;
use crate::store_thread::{Answer, Ingested, StoreThread};

/// A handle to the thread, which ends when the last handle is dropped.
#[derive(Debug)]
pub(crate) struct CaptureThread {
    jobs: Sender<CaptureJob>,
}

struct CaptureJob {
    event: Event,
    /// Bounds the memory of all jobs. Held here as well as by the sender, who may leave.
    _room: Arc<OwnedSemaphorePermit>,
    answer: Answer,
}

impl CaptureThread {
    /// Starts the thread. It applies the settings of `shared`, and reads them again if their file has changed.
    pub(crate) fn start(shared: &Shared) -> io::Result<Self> {
        let (dir, settings) = (shared.dir.clone(), shared.settings_file());
        // Replaces `~` in settings.
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let decide = move |event| {
            let reading = Reading::Event(Box::new(event));
            capture::decide(&dir, &settings.refresh(), home.as_deref(), reading, dir.now())
        };
        Self::with(shared.writer.clone(), decide)
    }

    fn with(
        writer: StoreThread,
        decide: impl Fn(Event) -> Result<Decision, StoreError> + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, work) = mpsc::channel();
        thread::Builder::new().name("capture".to_owned()).spawn(move || serve(&work, &writer, decide))?;
        Ok(Self { jobs })
    }

    /// Captures and stores an event. It is on disk when this returns, unless it is left out. `room` is released when
    /// neither the caller nor the thread needs it.
    pub(super) async fn ingest(
        &self,
        event: Event,
        room: Arc<OwnedSemaphorePermit>,
    ) -> Result<Ingested, ApiError> {
        let (answer, answered) = oneshot::channel();
        let job = CaptureJob { event, _room: room, answer };
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        let bug =
            |_| ApiError::Internal("capturing an event hit a bug; `remora logs` names the place".to_owned());
        Ok(answered.await.map_err(bug)??)
    }
}

fn serve(
    work: &Receiver<CaptureJob>,
    writer: &StoreThread,
    decide: impl Fn(Event) -> Result<Decision, StoreError>,
) {
    for CaptureJob { event, answer, _room } in work {
        // A panic ends only this job: its caller gets an error, because the answer is dropped.
        let Ok(decided) = panic::catch_unwind(AssertUnwindSafe(|| decide(event))) else { continue };
        let left_out = match decided {
            // The writer answers.
            Ok(Decision::Store(record)) => {
                writer.store(*record, answer);
                continue;
            }
            Ok(Decision::LeftOut(reason)) => Ok(Err(reason)),
            Ok(Decision::Inject(_) | Decision::Malformed(_)) => Ok(Err(LeftOut::NotAnEvent)),
            Err(error) => Err(error),
        };
        // The caller may be gone.
        let _ = answer.send(left_out);
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::extract::ConnectInfo;
    use axum::http::{Request, StatusCode};
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;
    use remora_client::presence::DaemonLock;
    use remora_client::token;
    use remora_core::settings::Settings;
    use remora_core::time::Time;
    use remora_store::{DataDir, Store};
    use serde_json::{Value, json};
    use tokio::sync::watch;

    use super::*;
    use crate::http::guard::Guard;
    use crate::http::{Http, app};
    use crate::shared::Threads;

    /// Ends a test that would otherwise hang.
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// The routes of a daemon whose capture waits for a word at every event.
    struct World {
        app: Router,
        token: String,
        /// Receives a word when the capture of an event has begun.
        begun: tokio::sync::mpsc::UnboundedReceiver<()>,
        /// Lets one capture go on.
        go: Sender<()>,
        _stop: watch::Sender<bool>,
        _temp: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let dir = DataDir::new(temp.path().join("data"));
            dir.create().unwrap();
            let hold = Arc::new(DaemonLock::take(&dir).unwrap().unwrap());
            let start = |name| StoreThread::start(dir.clone(), name, Store::open, Arc::default()).unwrap().0;
            let (writer, reader, searcher) = (start("writer"), start("reader"), start("searcher"));
            let threads = Threads { writer, reader, searcher, alarm: Arc::default() };
            let shared = Arc::new(Shared::new(hold, &dir, threads, Arc::new(Settings::default)));
            let (begin, begun) = tokio::sync::mpsc::unbounded_channel();
            let (go, gate) = mpsc::channel();
            let settings = Settings::default();
            let planted = {
                let dir = dir.clone();
                move |event| {
                    begin.send(()).unwrap();
                    gate.recv_timeout(TIMEOUT).unwrap();
                    let reading = Reading::Event(Box::new(event));
                    capture::decide(&dir, &settings, None, reading, dir.now())
                }
            };
            let capture = CaptureThread::with(shared.writer.clone(), planted).unwrap();
            let token = token::read_or_make(&dir).unwrap();
            let secret = token.as_str().to_owned();
            let (stop, stopping) = watch::channel(false);
            let guard = Guard::new(token, dir, 1);
            let http = Http::new(shared, capture, guard, Time::now(), stopping);
            Self { app: app(Arc::new(http)), token: secret, begun, go, _stop: stop, _temp: temp }
        }

        /// Sends a request in its own task, as every connection has one.
        fn send(
            &self,
            method: &str,
            path: &str,
            body: Option<&Value>,
        ) -> tokio::task::JoinHandle<(StatusCode, Value)> {
            let mut request = Request::builder()
                .method(method)
                .uri(path)
                .header("host", "127.0.0.1:1")
                .header("authorization", format!("Bearer {}", self.token))
                .extension(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 2))));
            let body = body.map(Value::to_string);
            if let Some(body) = &body {
                request =
                    request.header("content-type", "application/json").header("content-length", body.len());
            }
            let request = request.body(Body::from(body.unwrap_or_default())).unwrap();
            let app = TowerToHyperService::new(self.app.clone());
            tokio::spawn(async move {
                let response = app.call(request).await.unwrap();
                let status = response.status();
                let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
                (status, serde_json::from_slice(&bytes).unwrap())
            })
        }

        fn send_event(&self, id: &str) -> tokio::task::JoinHandle<(StatusCode, Value)> {
            let event = json!({
                "contentSessionId": "one", "cwd": "/nowhere/p", "prompt_id": "p", "tool_use_id": id,
                "tool_name": "Bash", "tool_input": {"command": id}, "tool_response": {"stdout": "done"},
            });
            self.send("POST", "/api/sessions/observations", Some(&event))
        }
    }

    #[tokio::test]
    async fn a_capture_that_takes_long_delays_no_other_request() {
        let mut world = World::new();
        let event = world.send_event("t1");
        world.begun.recv().await.unwrap();
        let (status, health) = world.send("GET", "/api/health", None).await.unwrap();
        assert_eq!((status, &health["status"]), (StatusCode::OK, &json!("ok")));
        let (status, sessions) = world.send("GET", "/api/sessions", None).await.unwrap();
        assert_eq!(status, StatusCode::OK, "{sessions}");
        assert!(!event.is_finished(), "the capture has not ended yet");
        world.go.send(()).unwrap();
        let (status, answer) = event.await.unwrap();
        assert_eq!((status, &answer["stored"]), (StatusCode::OK, &json!(true)), "{answer}");
    }

    #[tokio::test]
    async fn events_are_stored_in_the_order_of_their_arrival() {
        let mut world = World::new();
        let sent: Vec<_> = (0..20).map(|number| world.send_event(&format!("t{number}"))).collect();
        let mut ids = Vec::new();
        for event in sent {
            world.begun.recv().await.unwrap();
            world.go.send(()).unwrap();
            ids.push(event.await.unwrap().1["id"].as_i64().unwrap());
        }
        assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    }

    #[tokio::test]
    async fn an_event_is_stored_even_if_its_sender_leaves() {
        let mut world = World::new();
        let gone = world.send_event("t1");
        world.begun.recv().await.unwrap();
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        let again = world.send_event("t1");
        for _ in 0..2 {
            world.go.send(()).unwrap();
        }
        let (_, answer) = again.await.unwrap();
        assert_eq!((&answer["stored"], &answer["duplicate"]), (&json!(false), &json!(true)), "{answer}");
    }

    #[tokio::test]
    async fn a_panic_while_capturing_ends_only_that_event() {
        let temp = tempfile::tempdir().unwrap();
        let (writer, _) =
            StoreThread::start(DataDir::new(temp.path().join("data")), "writer", Store::open, Arc::default())
                .unwrap();
        let capture = CaptureThread::with(writer, |_| panic!("a bug, on purpose")).unwrap();
        let room = Arc::new(tokio::sync::Semaphore::new(1));
        for _ in 0..2 {
            let event = Event {
                session: remora_core::event::SessionRef {
                    host: remora_core::host::Host::Generic,
                    id: "s".to_owned(),
                },
                cwd: "/p".to_owned(),
                origin: remora_core::event::Origin::default(),
                agent: None,
                body: remora_core::event::Body::PromptWithheld,
            };
            let permit = Arc::clone(&room).acquire_owned().await.unwrap();
            let failed = capture.ingest(event, Arc::new(permit)).await;
            assert!(matches!(failed, Err(ApiError::Internal(_))), "{failed:?}");
        }
    }
}
