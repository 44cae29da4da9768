//! Shared steps of all imports: the backup, the temporary copy for a dry run, the elapsed time.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use remora_core::settings::Settings;
use remora_store::backup;
use remora_store::{DataDir, DataError, SavedBy, Scratch, Store, Tuning};
use remora_sys::lock;
use serde::Serialize;

use super::pipeline::{Decides, Rules};
use super::{ImportError, ImportReport};
use crate::backup::Made;
use crate::{AppError, Local, Outside, Runtime};

/// Options of an import.
#[expect(missing_debug_implementations, reason = "what lies outside is a trait object")]
pub struct Request<'a> {
    pub dir: &'a DataDir,
    pub settings: &'a Settings,
    /// Replaces `~`.
    pub home: Option<&'a Path>,
    /// Directories of projects for which the source has only a name.
    pub directories: HashMap<String, PathBuf>,
    /// Only report what would be imported.
    pub dry_run: bool,
    /// Who imports it. A program's verdicts do not count as a person's.
    pub by: SavedBy,
    /// Where the context files and the daemon of this memory are.
    pub outside: &'static dyn Outside,
}

/// Progress of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Serialize)]
pub struct Imported {
    /// If true, nothing was stored.
    pub dry_run: bool,
    #[serde(flatten)]
    pub report: ImportReport,
    #[serde(skip)]
    pub backup: Option<Made>,
    pub ms: u64,
}

impl<'a> Request<'a> {
    pub(super) fn rules(&'a self, decides: Decides) -> Rules<'a> {
        Rules {
            dir: self.dir,
            capture: &self.settings.capture,
            home: self.home,
            directories: &self.directories,
            decides,
            by: self.by,
            now: self.dir.now(),
        }
    }

    /// Runs an import on the store or, for a dry run, on a copy of it.
    pub(super) fn run(
        &self,
        import: impl FnOnce(&Store) -> Result<ImportReport, ImportError>,
    ) -> Result<Imported, ImportError> {
        let started = Instant::now();
        let (report, backup) = if self.dry_run {
            let copy = DryRun::new(self.dir)?;
            (import(&Store::open(&copy.dir)?)?, None)
        } else {
            self.dir.create()?;
            let path = self.dir.import_lock();
            let lock = lock::open(&path).map_err(|source| ImportError::Unreadable { path, source })?;
            if lock.try_lock().is_err() {
                return Err(ImportError::Running);
            }
            // A new memory has nothing to back up.
            let backup = if self.dir.database().exists() {
                Some(crate::backup::make(self.dir, &self.settings.backup)?)
            } else {
                None
            };
            let store = Store::open_caught_up(self.dir)?;
            // An import writes a lot: copying the log back less often halves the work.
            store.tune(Tuning::LongWal)?;
            let rt: &mut dyn Runtime = &mut Local::new(store, self.settings.clone(), self.outside);
            (rt.change(import)?, backup)
        };
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Imported { dry_run: self.dry_run, report, backup, ms })
    }
}

/// A temporary copy of the memory. Only a real import shows exactly what would be imported.
struct DryRun {
    dir: DataDir,
    _folder: Scratch,
}

impl DryRun {
    fn new(dir: &DataDir) -> Result<Self, AppError> {
        let folder = Scratch::new(dir, "dry-run")?;
        let copy = Self {
            dir: DataDir::new(folder.path().join("data")).with_clock(dir.clock().clone()),
            _folder: folder,
        };
        copy.dir.create()?;
        if dir.database().exists() {
            backup::copy_to(dir, &copy.dir.database())?;
        }
        // The pause applies to the copy, too. If the file cannot be read, everything counts as paused.
        if dir.pause().exists() {
            let copied = fs::copy(dir.pause(), copy.dir.pause());
            copied.map_err(|source| {
                remora_store::StoreError::Data(DataError::File { path: dir.pause(), source })
            })?;
        }
        Ok(copy)
    }
}
