//! A thread that owns a connection. Async code hands it work and waits without blocking the runtime.
//!
//! Events that came in over HTTP are stored in groups: whatever has gathered while the last group was brought to
//! the disk is the next one, so a busy moment costs one wait for the disk and not hundreds.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use remora_store::{DataDir, Enqueued, ReadOnly, Record, Store, StoreError};
use tokio::sync::oneshot;

/// The most events of one group.
const LARGEST_GROUP: usize = 512;

enum Job {
    Call(Box<dyn FnOnce(&mut Opening) + Send>),
    Store(Box<Record>, oneshot::Sender<Result<Enqueued, StoreError>>),
}

/// A way to the thread; it ends when the last one is dropped.
#[derive(Debug, Clone)]
pub struct StoreThread {
    jobs: Sender<Job>,
}

impl StoreThread {
    /// The store is opened with the first piece of work.
    pub fn start(dir: DataDir, name: &str) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, work) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut store = Opening { dir, store: None };
            serve(&work, &mut store);
        })?;
        Ok((Self { jobs }, thread))
    }

    /// Does `work` on the thread and gives back what it comes to.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, waiting) = oneshot::channel();
        let job = Job::Call(Box::new(move |store| {
            // The caller may have gone; the work is done anyway.
            let _ = answer.send(store.get().and_then(work));
        }));
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        waiting.await.map_err(|_| StoreError::Closed)?
    }

    /// Like [`StoreThread::call`], for work that nobody but its caller needs: once the caller has gone, it is skipped.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, waiting) = oneshot::channel();
        let job = Job::Call(Box::new(move |store| {
            if !answer.is_closed() {
                let _ = answer.send(store.get().and_then(work));
            }
        }));
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        waiting.await.map_err(|_| StoreError::Closed)?
    }

    /// Stores an event together with others that come at the same time; it is on the disk when this returns.
    pub async fn store(&self, record: Record) -> Result<Enqueued, StoreError> {
        let (answer, waiting) = oneshot::channel();
        self.jobs.send(Job::Store(Box::new(record), answer)).map_err(|_| StoreError::Closed)?;
        waiting.await.map_err(|_| StoreError::Closed)?
    }
}

struct Opening {
    dir: DataDir,
    store: Option<Store>,
}

impl Opening {
    fn get(&mut self) -> Result<&mut Store, StoreError> {
        // A disk that took nothing may take something now.
        let has_to_open = |store: &Store| store.read_only() == Some(ReadOnly::Disk);
        if self.store.as_ref().is_none_or(has_to_open) {
            let store = Store::open(&self.dir)?;
            // The daemon empties the log before it ends, unless the files are not its own any more.
            store.leave_log()?;
            self.store = Some(store);
        }
        self.store.as_mut().ok_or(StoreError::Closed)
    }
}

fn serve(work: &Receiver<Job>, store: &mut Opening) {
    let mut next = work.recv().ok();
    while let Some(job) = next.take() {
        // A bug in one piece of work ends that one alone: its caller gets an error, and what was begun is rolled back with the
        // connection.
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

type Waiting = (Record, oneshot::Sender<Result<Enqueued, StoreError>>);

/// Stores `first` with all that wait behind it; gives back the first job of another kind.
fn store_group(work: &Receiver<Job>, store: &mut Opening, first: Waiting) -> Option<Job> {
    let (mut records, mut answers) = (vec![first.0], vec![first.1]);
    let mut other = None;
    while records.len() < LARGEST_GROUP && other.is_none() {
        match work.try_recv() {
            Ok(Job::Store(record, answer)) => {
                records.push(*record);
                answers.push(answer);
            }
            Ok(job) => other = Some(job),
            Err(_) => break,
        }
    }
    match store.get().and_then(|store| store.enqueue_group(&records)) {
        Ok(stored) => {
            for (answer, enqueued) in answers.into_iter().zip(stored) {
                let _ = answer.send(Ok(enqueued));
            }
        }
        // What stands in the way of all is not waited for again and again.
        Err(error) if error.is_passing() => {
            for answer in answers {
                let full = matches!(error, StoreError::DiskFull | StoreError::ReadOnly { .. });
                let _ = answer.send(Err(if full { StoreError::DiskFull } else { StoreError::Busy }));
            }
        }
        // One event that cannot be stored must not take the others with it.
        Err(_) => {
            for (answer, record) in answers.into_iter().zip(&records) {
                let stored = store.get().and_then(|store| store.enqueue_group(std::slice::from_ref(record)));
                let _ =
                    answer.send(stored.and_then(|stored| stored.first().copied().ok_or(StoreError::Busy)));
            }
        }
    }
    other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_bug_in_one_piece_of_work_ends_that_one_alone() {
        let temp = tempfile::tempdir().unwrap();
        let (thread, _) = StoreThread::start(DataDir::new(temp.path().join("data")), "test").unwrap();
        let counts = || thread.call(|store| store.counts().map(|counts| counts.sessions));
        assert_eq!(counts().await.unwrap(), 0);
        let failed = thread.call(|_| -> Result<(), StoreError> { panic!("a bug, on purpose") }).await;
        assert!(matches!(failed, Err(StoreError::Closed)));
        assert_eq!(counts().await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_question_whose_caller_has_gone_is_skipped() {
        let temp = tempfile::tempdir().unwrap();
        let (thread, _) = StoreThread::start(DataDir::new(temp.path().join("data")), "test").unwrap();
        let (go, gate) = mpsc::channel::<()>();
        let (done, answered) = mpsc::channel();
        // The thread is held while two questions wait, and one of the callers goes.
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

    /// Polls a future once, and says whether it waits.
    async fn waits<F: Future + Unpin + ?Sized>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
