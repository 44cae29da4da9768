//! Status: contents, queue, and the health of each part.

use std::fs;
use std::path::Path;

use remora_core::document::ProjectScope;
use remora_core::ids::ProjectId;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_net::{Health, Outage};
use remora_store::pause::{self, Pause};
use remora_store::search::IndexState;
use remora_store::{
    Backlog, BacklogOf, Counts, DataDir, ReadOnly, SCHEMA_VERSION, SessionQuery, Spent, Store, StoreError,
    UsageQuery, problems, spool,
};
use serde::Serialize;

use crate::present::{self, BacklogJson, CountsJson, SpentJson};

#[derive(Debug, Serialize)]
pub struct Status {
    pub version: &'static str,
    pub data_dir: String,
    #[serde(serialize_with = "present::one::<CountsJson, _, _>")]
    pub counts: Counts,
    pub projects: Vec<Project>,
    pub capture: Capture,
    pub database: Database,
    pub spool: Spool,
    pub daemon: DaemonStatus,
    pub observer: Observer,
    pub embedder: Embedding,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<NotesStatus>,
    pub bytes: Bytes,
    pub last_activity_at: Option<String>,
    pub last_activity_at_epoch: Option<Time>,
}

#[derive(Debug, Serialize)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    pub root: String,
}

#[derive(Debug, Serialize)]
pub struct Capture {
    pub on: bool,
    pub paused: Pause,
}

#[derive(Debug, Serialize)]
pub struct Database {
    pub ok: bool,
    pub schema: i64,
    pub error: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Spool {
    pub records: usize,
    pub damaged: usize,
    /// Events that neither the database nor the spool could store, not yet acknowledged.
    pub lost: usize,
}

/// State of the daemon.
#[derive(Debug, Default, Serialize)]
pub struct DaemonStatus {
    pub running: bool,
    pub pid: Option<u32>,
    pub port: Option<u16>,
    pub version: Option<String>,
    /// Health of the model, if one is used.
    #[serde(skip)]
    pub observer: Option<Health>,
    /// Health of the embedder, if it is called over the network.
    #[serde(skip)]
    pub embedder: Option<Health>,
}

/// The provider that observes events, and its cost.
#[derive(Debug, Serialize)]
pub struct Observer {
    pub provider: &'static str,
    pub model: Option<String>,
    /// Why the provider is not available at the moment.
    pub trouble: Option<Outage>,
    /// Events that the built-in observer has processed and the model has not.
    #[serde(serialize_with = "present::optional::<BacklogJson, _, _>")]
    pub waiting: Option<Backlog>,
    #[serde(serialize_with = "present::one::<SpentJson, _, _>")]
    pub spent_today: Spent,
    pub daily_tokens: u64,
    pub daily_usd: f64,
}

/// The embedder, and how many vectors it has made.
#[derive(Debug, Serialize)]
pub struct Embedding {
    pub provider: &'static str,
    /// Model that made the existing vectors.
    pub model: Option<String>,
    /// Why the embedder is not available at the moment.
    pub trouble: Option<Outage>,
    pub documents: usize,
    pub vectors: usize,
    pub missing: usize,
}

/// The user's own notes, if there is a source.
#[derive(Debug, Serialize)]
pub struct NotesStatus {
    pub source: String,
    pub known: usize,
    pub problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Bytes {
    /// The whole file, including queued and failed events.
    pub database: u64,
    pub queue: u64,
    pub failed: u64,
    pub backups: u64,
    pub spool: u64,
    pub log: u64,
    pub total: u64,
}

/// Collects the status. If the database cannot be opened, the result says so and still counts the events in the spool.
pub fn status(
    dir: &DataDir,
    store: Result<&Store, String>,
    settings: &Settings,
    daemon: DaemonStatus,
    notes: Option<NotesStatus>,
) -> Result<Status, StoreError> {
    let now = dir.now();
    let spooled = spool::peek(dir).unwrap_or_default();
    let paused = pause::read(dir).unwrap_or_default();
    let known = if let Ok(store) = &store {
        known(store, now)?
    } else {
        let pending = i64::try_from(spooled.records.len()).unwrap_or(i64::MAX);
        KnownState { counts: Counts { pending, ..Counts::default() }, ..KnownState::default() }
    };
    let read_only = known.read_only == Some(ReadOnly::Disk);
    let error =
        store.err().or_else(|| read_only.then(|| StoreError::ReadOnly { path: dir.database() }.to_string()));
    Ok(Status {
        version: env!("CARGO_PKG_VERSION"),
        data_dir: dir.path().display().to_string(),
        counts: known.counts,
        projects: known.projects,
        capture: Capture { on: paused.everywhere_since.is_none(), paused },
        database: Database {
            ok: error.is_none() && known.read_only.is_none(),
            schema: match known.read_only {
                Some(ReadOnly::NewerSchema(found)) => found,
                Some(ReadOnly::Disk) | None => SCHEMA_VERSION,
            },
            error,
        },
        spool: Spool { records: spooled.records.len(), damaged: spooled.damaged, lost: problems::lost(dir) },
        observer: Observer { waiting: known.waiting, ..observer(dir, settings, &daemon, known.spent) },
        embedder: embedding(settings, &daemon, known.index),
        daemon,
        notes,
        bytes: measure(dir.path(), known.pending_bytes, known.failed_bytes),
        last_activity_at: known.last_activity.map(Time::iso),
        last_activity_at_epoch: known.last_activity,
    })
}

/// Values read from the database.
#[derive(Default)]
struct KnownState {
    counts: Counts,
    projects: Vec<Project>,
    last_activity: Option<Time>,
    read_only: Option<ReadOnly>,
    spent: Spent,
    waiting: Option<Backlog>,
    /// Bytes of waiting events.
    pending_bytes: u64,
    failed_bytes: u64,
    index: Option<IndexState>,
}

fn known(store: &Store, now: Time) -> Result<KnownState, StoreError> {
    let projects = store.projects().list()?.into_iter();
    Ok(KnownState {
        counts: store.counts()?,
        projects: projects.map(|p| Project { id: p.id, name: p.name, root: p.root }).collect(),
        last_activity: store
            .sessions()
            .list(&SessionQuery::latest(1))?
            .first()
            .map(|session| session.last_activity_at),
        read_only: store.read_only(),
        spent: store.queue().usage(&UsageQuery::since(now.start_of_day()))?.iter().sum(),
        waiting: store.queue().backlog(BacklogOf::AwaitingModel)?,
        pending_bytes: payload_bytes(store, BacklogOf::Unfinished)?,
        failed_bytes: payload_bytes(store, BacklogOf::Failed)?,
        index: Some(store.index().state(ProjectScope::All)?),
    })
}

fn payload_bytes(store: &Store, of: BacklogOf) -> Result<u64, StoreError> {
    Ok(store.queue().backlog(of)?.map_or(0, |backlog| backlog.bytes))
}

/// The provider that observes events, and its health.
pub fn observer_of(
    dir: &DataDir,
    store: &Store,
    settings: &Settings,
    daemon: &DaemonStatus,
) -> Result<Observer, StoreError> {
    let spent_today = store.queue().usage(&UsageQuery::since(dir.now().start_of_day()))?.iter().sum();
    Ok(Observer {
        waiting: store.queue().backlog(BacklogOf::AwaitingModel)?,
        ..observer(dir, settings, daemon, spent_today)
    })
}

fn observer(dir: &DataDir, settings: &Settings, daemon: &DaemonStatus, spent_today: Spent) -> Observer {
    let provider = settings.observer.provider.as_str();
    // The daemon may not run, or may still use older settings. Problems in the settings are found without it.
    let health = daemon.observer.clone().filter(|health| health.provider == provider);
    let health = health.or_else(|| remora_observer::Observer::new(settings, dir, "status").0.health());
    let (model, trouble) = health.map_or((None, None), |health| (Some(health.model), health.trouble));
    let budget = &settings.budget;
    Observer {
        provider,
        model,
        trouble,
        waiting: None,
        spent_today,
        daily_tokens: budget.daily_tokens,
        daily_usd: budget.daily_usd,
    }
}

fn embedding(settings: &Settings, daemon: &DaemonStatus, index: Option<IndexState>) -> Embedding {
    let provider = settings.search.embedder.as_str();
    let health = daemon.embedder.clone().filter(|health| health.provider == provider);
    let (documents, vectors, missing) =
        index.as_ref().map_or((0, 0, 0), |index| (index.documents, index.with_vector, index.to_embed));
    Embedding {
        provider,
        model: index.and_then(|index| index.model),
        trouble: health.and_then(|health| health.trouble),
        documents,
        vectors,
        missing,
    }
}

fn measure(dir: &Path, queue: u64, failed: u64) -> Bytes {
    let size = |name: &str| fs::metadata(dir.join(name)).map_or(0, |file| file.len());
    let database = size("remora.db") + size("remora.db-wal") + size("remora.db-shm");
    let backups = fs::read_dir(dir.join("backups")).map_or(0, |entries| {
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
    });
    let spool = size("spool.jsonl") + size("spool.ingesting");
    let log = ["remora.log", "remora.log.1", "remora.debug.log", "remora.debug.log.1"].map(size).iter().sum();
    Bytes { database, queue, failed, backups, spool, log, total: database + backups + spool + log }
}
