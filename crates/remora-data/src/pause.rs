//! Pauses of capture, global or for some projects.
//!
//! This is a file and not a table, because a hook that cannot open the database needs it, too.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use remora_core::time::Time;
use remora_sys::file::{is_absent, read_small, replace};
use serde::{Deserialize, Serialize};

use crate::DataError;
use crate::data_dir::DataDir;
use crate::locate::Place;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    #[serde(default)]
    pub everywhere_since: Option<Time>,
    #[serde(default)]
    pub projects: Vec<PausedProject>,
    /// The file exists but cannot be parsed. It is unknown what was paused, so everything is.
    #[serde(skip)]
    pub damaged: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PausedProject {
    pub since: Time,
    pub name: String,
    /// Every directory the project is known by.
    pub paths: Vec<String>,
    #[serde(default)]
    pub origin: Option<String>,
}

impl Pause {
    fn damaged(now: Time) -> Self {
        Self { everywhere_since: Some(now), projects: Vec::new(), damaged: true }
    }

    pub fn is_empty(&self) -> bool {
        self.everywhere_since.is_none() && self.projects.is_empty()
    }

    /// Whether capture is paused at `directory`. Resolves the directory only if needed.
    pub fn covers(&self, directory: &Path) -> bool {
        if self.everywhere_since.is_some() {
            return true;
        }
        if self.projects.is_empty() {
            return false;
        }
        let place = crate::locate(directory);
        self.projects.iter().any(|project| project.is_at(&place))
    }
}

impl PausedProject {
    pub fn is_at(&self, place: &Place) -> bool {
        let same_origin = place.origin.is_some() && self.origin == place.origin;
        same_origin || self.paths.contains(&place.path)
    }
}

/// Reads the current pauses.
pub fn read(dir: &DataDir) -> Result<Pause, DataError> {
    let unreadable = [ErrorKind::InvalidData, ErrorKind::InvalidInput, ErrorKind::FileTooLarge];
    match read_small(&dir.pause()) {
        Ok(text) => Ok(serde_json::from_str(&text).unwrap_or_else(|_| Pause::damaged(dir.now()))),
        Err(error) if is_absent(&error) => Ok(Pause::default()),
        Err(error) if unreadable.contains(&error.kind()) => Ok(Pause::damaged(dir.now())),
        Err(error) => Err(DataError::file(dir.pause())(error)),
    }
}

/// Replaces the pauses atomically.
pub fn write(dir: &DataDir, pause: &Pause) -> Result<(), DataError> {
    let path = dir.pause();
    if pause.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if !is_absent(&error) => Err(DataError::file(path)(error)),
            _ => Ok(()),
        };
    }
    replace(&path, &serde_json::to_vec_pretty(pause)?).map_err(DataError::file(path))
}
