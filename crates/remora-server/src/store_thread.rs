//! A thread that owns a database connection. Async code hands it work and waits without blocking the runtime.
//!
//! Events from HTTP are stored in groups: those that arrive during one write form the next group, so a burst
//! costs one sync to disk instead of hundreds.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::thread::{self, JoinHandle};

use remora_core::capture::LeftOut;
use remora_store::{DataDir, DataError, Enqueued, EventRecord, ReadOnly, Store, StoreError, Tuning};
use tokio::sync::{Notify, oneshot};

/// Maximum number of events in a group.
const MAX_GROUP: usize = 512;

enum Job {
    Call(Box<dyn FnOnce(&mut LazyStore) + Send>),
    Store(Box<EventRecord>, Answer),
}

/// A handle to the thread, which ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct StoreThread {
    jobs: Sender<Job>,
}

impl StoreThread {
    /// Starts the thread. The store is opened with the first job. Every job that fails because of damage notifies `alarm`.
    pub fn start(
        dir: DataDir,
        name: &str,
        open: Open,
        alarm: Arc<Notify>,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, work) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut store = LazyStore { dir, open, store: None, alarm };
            serve(&work, &mut store);
        })?;
        Ok((Self { jobs }, thread))
    }

    /// Runs `work` on the thread and returns its result.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, waiting) = oneshot::channel();
        let job = Job::Call(Box::new(move |store| {
            // The caller may be gone; the work is done anyway.
            let _ = answer.send(store.run(work));
        }));
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        waiting.await.map_err(|_| StoreError::Closed)?
    }

    /// Like [`StoreThread::call`], for work that only its caller needs: it is skipped once the caller is
    /// gone.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, waiting) = oneshot::channel();
        let job = Job::Call(Box::new(move |store| {
            if !answer.is_closed() {
                let _ = answer.send(store.run(work));
            }
        }));
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        waiting.await.map_err(|_| StoreError::Closed)?
    }

    /// Queues an event to be stored, grouped with others that arrive at the same time. It is on disk when the answer comes.
    pub fn store(&self, record: EventRecord, answer: Answer) {
        if let Err(SendError(Job::Store(_, answer))) = self.jobs.send(Job::Store(Box::new(record), answer)) {
            // The caller may be gone.
            let _ = answer.send(Err(StoreError::Closed));
        }
    }
}

/// What became of an event: it is on disk, or it was left out before it got here.
pub type Ingested = Result<Enqueued, LeftOut>;
/// Carries the answer to the sender of an event. One channel for all of its way costs one wake-up.
pub type Answer = oneshot::Sender<Result<Ingested, StoreError>>;

/// Opens the store of a thread. The writer's catches up, so the daemon does when it starts, and again after a time in which
/// the disk could not be written; those of readers do not.
pub type Open = fn(&DataDir) -> Result<Store, StoreError>;

struct LazyStore {
    dir: DataDir,
    open: Open,
    store: Option<Store>,
    alarm: Arc<Notify>,
}

impl LazyStore {
    fn run<T>(&mut self, work: impl FnOnce(&Store) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let done = self.get().and_then(work);
        if matches!(done, Err(StoreError::Damaged { .. })) {
            self.alarm.notify_one();
        }
        done
    }

    fn get(&mut self) -> Result<&Store, StoreError> {
        // A disk that was full or read-only may be writable again.
        let has_to_open = |store: &Store| store.read_only() == Some(ReadOnly::Disk);
        if self.store.as_ref().is_none_or(has_to_open) {
            let store = (self.open)(&self.dir)?;
            // The daemon empties the log before it ends, unless the files have been replaced by others.
            store.tune(Tuning::KeepWalOnClose)?;
            self.store = Some(store);
        }
        self.store.as_ref().ok_or(StoreError::Closed)
    }
}

fn serve(work: &Receiver<Job>, store: &mut LazyStore) {
    let mut next = work.recv().ok();
    while let Some(job) = next.take() {
        // A panic ends only this job: its caller gets an error, and closing the connection rolls back its
        // transaction.
        let done = panic::catch_unwind(AssertUnwindSafe(|| match job {
            Job::Call(call) => {
                call(store);
                None
            }
            Job::Store(record, answer) => store_group(work, store, (*record, answer)),
        }));
        next = done.unwrap_or_else(|_| {
            store.store = None;
            None
        });
        next = next.or_else(|| work.recv().ok());
    }
}

type Waiting = (EventRecord, Answer);

/// Stores `first` with all events queued behind it. Returns the first job of another kind, if it met one.
fn store_group(work: &Receiver<Job>, store: &mut LazyStore, first: Waiting) -> Option<Job> {
    let (mut records, mut answers) = (vec![first.0], vec![first.1]);
    let mut other = None;
    while records.len() < MAX_GROUP && other.is_none() {
        match work.try_recv() {
            Ok(Job::Store(record, answer)) => {
                records.push(*record);
                answers.push(answer);
            }
            Ok(job) => other = Some(job),
            Err(_) => break,
        }
    }
    match store.run(|store| store.queue().enqueue_all(&records)) {
        Ok(stored) => {
            for (answer, enqueued) in answers.into_iter().zip(stored) {
                let _ = answer.send(Ok(Ok(enqueued)));
            }
        }
        // A temporary error concerns all of them, so they are not retried one by one.
        Err(error) if error.is_passing() => {
            for answer in answers {
                let full =
                    matches!(error, StoreError::Data(DataError::DiskFull) | StoreError::ReadOnly { .. });
                let _ = answer.send(Err(if full {
                    StoreError::Data(DataError::DiskFull)
                } else {
                    StoreError::Busy
                }));
            }
        }
        // A single bad event must not take the others with it, so each is stored on its own.
        Err(_) => {
            for (answer, record) in answers.into_iter().zip(&records) {
                let stored = store.run(|store| store.queue().enqueue_all(std::slice::from_ref(record)));
                let stored = stored.and_then(|stored| stored.first().copied().ok_or(StoreError::Busy));
                let _ = answer.send(stored.map(Ok));
            }
        }
    }
    other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_one_job_ends_only_that_job() {
        let temp = tempfile::tempdir().unwrap();
        let (thread, _) =
            StoreThread::start(DataDir::new(temp.path().join("data")), "test", Store::open, Arc::default())
                .unwrap();
        let counts = || thread.call(|store| store.counts().map(|counts| counts.sessions));
        assert_eq!(counts().await.unwrap(), 0);
        let failed = thread.call(|_| -> Result<(), StoreError> { panic!("a bug, on purpose") }).await;
        assert!(matches!(failed, Err(StoreError::Closed)));
        assert_eq!(counts().await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_job_whose_caller_is_gone_is_skipped() {
        let temp = tempfile::tempdir().unwrap();
        let (thread, _) =
            StoreThread::start(DataDir::new(temp.path().join("data")), "test", Store::open, Arc::default())
                .unwrap();
        let (go, gate) = mpsc::channel::<()>();
        let (done, answered) = mpsc::channel();
        // The thread is busy while two jobs wait, and the caller of one of them gives up.
        let held = thread.ask(move |_| Ok(gate.recv().is_ok()));
        let gone = thread.ask({
            let done = done.clone();
            move |_| Ok(done.send("gone").is_ok())
        });
        let stays = thread.ask(move |_| Ok(done.send("stays").is_ok()));
        let (mut held, mut gone, mut stays) = (Box::pin(held), Box::pin(gone), Box::pin(stays));
        for question in [&mut held as &mut (dyn Future<Output = _> + Unpin), &mut gone, &mut stays] {
            assert!(waits(question).await);
        }
        drop(gone);
        go.send(()).unwrap();
        assert!(held.await.unwrap() && stays.await.unwrap());
        assert_eq!(answered.try_iter().collect::<Vec<_>>(), ["stays"]);
    }

    /// Polls a future once and returns whether it is pending.
    async fn waits<F: Future + Unpin + ?Sized>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
