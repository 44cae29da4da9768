//! State shared by the parts of a running daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use remora_client::presence::DaemonLock;
use remora_core::settings::Settings;
use remora_net::Health;
use remora_store::DataDir;
use tokio::sync::{Notify, watch};

use crate::activity::Activity;
use crate::embedders::Embedders;
use crate::finder::Finder;
use crate::notes::Freshness;
use crate::store_thread::StoreThread;

const WAKE_DEBOUNCE: Duration = Duration::from_millis(250);

/// Reads the current settings.
pub type Load = Arc<dyn Fn() -> Settings + Send + Sync>;

pub struct Shared {
    /// Proof that this process is the only daemon.
    pub(crate) hold: Arc<DaemonLock>,
    pub dir: DataDir,
    /// For writes, in order. Slow work does not belong here.
    pub writer: StoreThread,
    /// For reads, in parallel with the writer.
    pub reader: StoreThread,
    /// For searches, in parallel with both.
    pub finder: Finder,
    pub activity: Activity,
    /// Incremented whenever the store may have changed.
    pub news: watch::Sender<u64>,
    /// Health of the observer's model; `None` if no model is used.
    pub health: watch::Sender<Option<Health>>,
    /// Health of the embedder; `None` if none over the network is used.
    pub embedder_health: watch::Sender<Option<Health>>,
    /// The embedder in use.
    pub(crate) embedders: Arc<Embedders>,
    /// The state of the last scan of the user's notes.
    pub(crate) notes: Freshness,
    /// Wakes the observer.
    pub(crate) work: Notify,
    /// Notified if work in the store fails because of damage.
    pub(crate) alarm: Arc<Notify>,
    /// Notified if the database is damaged and a restart can restore it.
    pub(crate) damage: Notify,
    will_look: AtomicBool,
    settings: Arc<SettingsFile>,
}

/// The settings, and the state of the file they were read from.
pub(crate) struct SettingsFile {
    path: PathBuf,
    load: Load,
    changed_at: Mutex<Option<SystemTime>>,
    current: watch::Sender<Arc<Settings>>,
}

impl SettingsFile {
    fn new(path: PathBuf, load: Load) -> Self {
        // Looked at first: a change during the read is noticed later.
        let changed_at = Mutex::new(changed_at(&path));
        let current = watch::Sender::new(Arc::new(load()));
        Self { path, load, changed_at, current }
    }

    /// The settings, read again if their file has changed. Not for the runtime's thread, because files may be slow.
    pub(crate) fn refresh(&self) -> Arc<Settings> {
        let now = changed_at(&self.path);
        let mut known = self.changed_at.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != now {
            *known = now;
            self.current.send_replace(Arc::new((self.load)()));
            tracing::debug!("the settings were read again");
        }
        self.current.borrow().clone()
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// The store's threads.
#[derive(Debug)]
pub(crate) struct Threads {
    pub(crate) writer: StoreThread,
    pub(crate) reader: StoreThread,
    pub(crate) searcher: StoreThread,
    pub(crate) alarm: Arc<Notify>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(hold: Arc<DaemonLock>, dir: &DataDir, threads: Threads, load: Load) -> Self {
        let embedders = Arc::<Embedders>::default();
        Self {
            hold,
            dir: dir.clone(),
            writer: threads.writer,
            reader: threads.reader,
            finder: Finder::new(threads.searcher, Arc::clone(&embedders)),
            embedders,
            activity: Activity::new(),
            news: watch::Sender::new(0),
            health: watch::Sender::new(None),
            embedder_health: watch::Sender::new(None),
            notes: Freshness::default(),
            work: Notify::new(),
            alarm: threads.alarm,
            damage: Notify::new(),
            will_look: AtomicBool::new(false),
            settings: Arc::new(SettingsFile::new(dir.config(), load)),
        }
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.current.borrow().clone()
    }

    pub fn watch_settings(&self) -> watch::Receiver<Arc<Settings>> {
        self.settings.current.subscribe()
    }

    /// Announces a change that may need the observer and concerns readers.
    pub fn announce(&self) {
        self.work.notify_one();
        self.announce_news();
    }

    /// Announces a change that the observer handles later: it is woken after a moment, once for all changes
    /// until then.
    pub fn announce_for_later(self: &Arc<Self>) {
        self.announce_news();
        if !self.will_look.swap(true, Ordering::Relaxed) {
            // Weak, because an ending daemon waits until every handle to the store is dropped.
            let shared = Arc::downgrade(self);
            tokio::spawn(async move {
                tokio::time::sleep(WAKE_DEBOUNCE).await;
                if let Some(shared) = shared.upgrade() {
                    shared.will_look.store(false, Ordering::Relaxed);
                    shared.work.notify_one();
                }
            });
        }
    }

    /// Announces a change that concerns readers only.
    pub(crate) fn announce_news(&self) {
        self.news.send_modify(|count| *count += 1);
    }

    /// Publishes the health of the embedder, if it has changed.
    pub(crate) fn publish_embedder_health(&self) {
        let now = self.embedders.health(&self.settings().search);
        self.embedder_health.send_if_modified(|health| {
            let changed = *health != now;
            *health = now;
            changed
        });
    }

    /// Reads the settings again if their file has changed.
    pub async fn refresh_settings(&self) {
        let settings = Arc::clone(&self.settings);
        // The known settings stay if this panics, which the panic hook has logged.
        let _ = tokio::task::spawn_blocking(move || settings.refresh()).await;
    }

    /// The settings, for threads that may read files.
    pub(crate) fn settings_file(&self) -> Arc<SettingsFile> {
        Arc::clone(&self.settings)
    }
}
