//! Whether the files that observations are about have changed or disappeared since, as far as memory and one look at
//! the disk show.
//!
//! A file is gone if its path from the project's root does not exist. This is only reported if the directory looks
//! like the checkout: it has `.git`, or the folder of the file. A file has changed if three later observations of the
//! project modified it under the same name. Changes that no agent made, and a checkout of another branch, are not
//! detected: a hook has no time for git, and a checkout changes the times of files that stay the same.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use remora_core::context::FileSince;
use remora_core::ids::ProjectId;
use rusqlite::{OptionalExtension, params};

use crate::handles::KnownFiles;
use crate::{Store, StoreError};

/// After this many later changes, an observation about a file may be outdated.
const MUCH: usize = 3;

/// The file that an observation is mostly about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MainFile<'a> {
    pub observation: i64,
    /// `None` if the caller has not read it.
    pub path: Option<&'a str>,
}

impl KnownFiles<'_> {
    /// The observations whose main file has changed or is gone.
    pub fn since<'a>(
        self,
        project: ProjectId,
        main_files: impl IntoIterator<Item = MainFile<'a>>,
    ) -> Result<BTreeMap<i64, FileSince>, StoreError> {
        let sql = "SELECT root FROM projects WHERE id = ?1";
        let root: Option<String> =
            self.0.db.prepare_cached(sql)?.query_row([project.0], |row| row.get(0)).optional()?;
        let Some(root) = root.map(PathBuf::from) else { return Ok(BTreeMap::new()) };
        let mut since = BTreeMap::new();
        let is_checkout = LazyCell::new(|| root.join(".git").exists());
        for MainFile { observation, path } in main_files {
            let path = match path {
                Some(path) => Cow::Borrowed(path),
                None => match self.0.main_file(observation)? {
                    Some(path) => Cow::Owned(path),
                    None => continue,
                },
            };
            let found = if is_gone(&root, &path, || *is_checkout) {
                Some(FileSince::Gone)
            } else {
                self.0.changed_since(project, observation, &path)?
            };
            since.extend(found.map(|found| (observation, found)));
        }
        Ok(since)
    }
}

impl Store {
    fn main_file(&self, observation: i64) -> Result<Option<String>, StoreError> {
        // Modified files sort before read ones.
        let sql =
            "SELECT path FROM observation_files WHERE observation_id = ?1 ORDER BY how, position LIMIT 1";
        Ok(self.db.prepare_cached(sql)?.query_row([observation], |row| row.get(0)).optional()?)
    }

    fn changed_since(
        &self,
        project: ProjectId,
        observation: i64,
        path: &str,
    ) -> Result<Option<FileSince>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT f.observation_id FROM observation_files AS f JOIN observations AS o ON o.id = f.observation_id
             WHERE f.path = ?1 AND f.how = 'modified' AND f.observation_id > ?2 AND o.project_id = ?3
             AND o.superseded_by IS NULL AND o.deleted_at IS NULL
             ORDER BY f.observation_id DESC LIMIT ?4",
        )?;
        let most = i64::try_from(MUCH).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![path, observation, project.0, most], |row| row.get(0))?;
        let later: Vec<i64> = rows.collect::<Result<_, _>>()?;
        let newest = later.first().filter(|_| later.len() == MUCH);
        Ok(newest.map(|by| FileSince::Changed { by: *by }))
    }
}

/// Whether a file is gone. Absolute paths are outside of the project, for example in a removed worktree, and never
/// count as gone.
fn is_gone(root: &Path, path: &str, is_checkout: impl FnOnce() -> bool) -> bool {
    let path = Path::new(path);
    if path.is_absolute() {
        return false;
    }
    let whole = root.join(path);
    let is_missing =
        matches!(fs::symlink_metadata(&whole), Err(error) if error.kind() == ErrorKind::NotFound);
    is_missing && (is_checkout() || whole.parent().is_some_and(Path::is_dir))
}
