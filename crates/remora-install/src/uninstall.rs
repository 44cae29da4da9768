//! Planning and applying an uninstallation.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use serde::Serialize;

use crate::diff;
use crate::entry::{self, Format};
use crate::file::FileSnapshot;
use crate::install::{Problem, remove_folders};
use crate::receipt::{self, ChangedFile, Hash, Receipt};
use crate::recipe::{Ask, Content, Recipe};
use crate::toml;
use crate::{InstallEnv, Lock, words};

/// Planned changes, host by host.
#[derive(Debug, Serialize)]
pub struct Removal {
    pub hosts: Vec<HostRemoval>,
}

#[derive(Debug, Serialize)]
pub struct HostRemoval {
    pub host: Host,
    pub name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    pub files: Vec<FileRemoval>,
}

#[derive(Debug, Serialize)]
pub struct FileRemoval {
    pub path: PathBuf,
    #[serde(flatten)]
    pub change: Back,
    #[serde(skip)]
    found: Option<FileSnapshot>,
    #[serde(skip)]
    after: Option<String>,
    #[serde(skip)]
    folders: Vec<PathBuf>,
}

/// Planned change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Back {
    /// It contains nothing of ours.
    None,
    /// It was not changed since: it is restored byte for byte.
    Restore {
        diff: String,
    },
    /// It was created for Remora.
    Delete,
    /// It was changed since: only our entries are removed.
    Clean {
        diff: String,
    },
    Refused {
        reason: String,
    },
}

impl Removal {
    pub fn is_empty(&self) -> bool {
        self.hosts.iter().flat_map(|host| &host.files).all(|file| file.change == Back::None)
    }
}

impl HostRemoval {
    pub fn is_refused(&self) -> bool {
        self.files.iter().any(|file| matches!(file.change, Back::Refused { .. }))
    }
}

/// Plans the removal of everything in the receipt. Without a receipt, removes what can be recognised as ours.
pub fn plan(env: &InstallEnv, recipes: &[&'static Recipe], project: Option<&Path>) -> io::Result<Removal> {
    let receipt = Receipt::read(&env.data_dir)?;
    let mut hosts = Vec::new();
    let mut left = Contents::new();
    for recipe in recipes {
        // A file may have entries for the user and for a project. The latest installation is removed first.
        let mut projects: Vec<Option<PathBuf>> = receipt
            .installed
            .iter()
            .rev()
            .filter(|installed| installed.host == recipe.host)
            .filter(|installed| project.is_none() || installed.project.as_deref() == project)
            .map(|installed| installed.project.clone())
            .collect();
        let here = project.map(Path::to_owned);
        if !projects.contains(&here) {
            projects.push(here);
        }
        for project in projects {
            let files = files(env, recipe, project.as_deref(), &receipt, &mut left);
            if files.iter().any(|file| file.change != Back::None)
                || receipt.of(recipe.host, project.as_deref()).is_some()
            {
                hosts.push(HostRemoval { host: recipe.host, name: recipe.name, project, files });
            }
        }
    }
    Ok(Removal { hosts })
}

/// Content of files after the previous steps; `None` is a deleted file.
type Contents = HashMap<PathBuf, Option<String>>;

fn files(
    env: &InstallEnv,
    recipe: &Recipe,
    project: Option<&Path>,
    receipt: &Receipt,
    left: &mut Contents,
) -> Vec<FileRemoval> {
    let ask = Ask { env, project, allow: true };
    let known = receipt.of(recipe.host, project);
    let mut wanted = recipe.wanted(&ask);
    // Files of an older recipe are only in the receipt.
    for file in known.into_iter().flat_map(|known| &known.files) {
        if !wanted.iter().any(|wanted| wanted.path == file.path) {
            let content = match file.format {
                Format::Whole => Content::Whole(String::new()),
                format => Content::Entries(format, file.entries.clone()),
            };
            wanted.push(crate::recipe::Wanted { path: file.path.clone(), content });
        }
    }
    let leftovers = (recipe.leftovers)(&ask);
    let mut one = |wanted: crate::recipe::Wanted| {
        let known = known.and_then(|known| known.file(&wanted.path));
        let leftovers: Vec<&[String]> =
            leftovers.iter().filter(|table| table.path == wanted.path).map(|table| &table.at[..]).collect();
        let folders = known.map_or_else(Vec::new, |known| known.folders.clone());
        let found = FileSnapshot::read(&wanted.path).map(|found| match left.get(&wanted.path) {
            Some(text) => FileSnapshot { text: text.clone(), ..found },
            None => found,
        });
        let removal = found
            .map_err(Problem::from)
            .and_then(|found| file(env, recipe.host, found, &wanted, known, &leftovers));
        match removal {
            Ok((change, found, after)) => {
                left.insert(wanted.path.clone(), after.clone());
                FileRemoval { path: wanted.path, change, found: Some(found), after, folders }
            }
            Err(reason) => FileRemoval {
                path: wanted.path,
                change: Back::Refused { reason: reason.to_string() },
                found: None,
                after: None,
                folders,
            },
        }
    };
    wanted.into_iter().map(&mut one).collect()
}

fn file(
    env: &InstallEnv,
    host: Host,
    found: FileSnapshot,
    wanted: &crate::recipe::Wanted,
    known: Option<&ChangedFile>,
    leftovers: &[&[String]],
) -> Result<(Back, FileSnapshot, Option<String>), Problem> {
    let Some(text) = found.text.clone() else { return Ok((Back::None, found, None)) };
    if let Some(known) = known {
        let hash = Hash::of(&text);
        if known.before.as_ref() == Some(&hash) {
            return Ok((Back::None, found, Some(text)));
        }
        if known.after == hash {
            match known.before.as_ref().map(|hash| receipt::kept(&env.data_dir, hash)) {
                None => return Ok((Back::Delete, found, None)),
                Some(Some(before)) => {
                    let diff = diff::unified(&text, &before);
                    return Ok((Back::Restore { diff }, found, Some(before)));
                }
                // The copy is gone, but our entries can still be removed.
                Some(None) => {}
            }
        }
    }
    let (format, entries) = match &wanted.content {
        Content::Whole(_) if known.is_some() || words::is_file(&text, host) => {
            return Ok((Back::Delete, found, None));
        }
        Content::Whole(_) => return Ok((Back::None, found, Some(text))),
        Content::Entries(format, entries) => (*format, entries),
    };
    let mut body = found.body().to_owned();
    if let Some(known) = known {
        body = entry::strip(&body, format, host, &known.entries, Some(&known.created))?;
    }
    body = entry::strip(&body, format, host, entries, None)?;
    for at in leftovers {
        body = toml::remove(&body, at).map_err(entry::Unfit::from)?;
    }
    let was_absent = known.is_some_and(|known| known.before.is_none());
    if was_absent && matches!(body.trim(), "" | "{}") {
        return Ok((Back::Delete, found, None));
    }
    let after = found.with_mark(&body);
    if after == text {
        return Ok((Back::None, found, Some(text)));
    }
    let diff = diff::unified(&text, &after);
    Ok((Back::Clean { diff }, found, Some(after)))
}

/// A file that could not be restored.
#[derive(Debug, Serialize)]
pub struct Undone {
    pub host: Host,
    pub path: PathBuf,
    /// The reason.
    pub refused: String,
}

/// Applies a plan. Returns the files that could not be restored; the receipt keeps their hosts.
pub fn apply(env: &InstallEnv, removal: &Removal, _lock: &Lock) -> io::Result<Vec<Undone>> {
    let mut receipt = Receipt::read(&env.data_dir)?;
    let mut undone = Vec::new();
    for host in &removal.hosts {
        let before = undone.len();
        for file in &host.files {
            let refused = match (&file.change, &file.found) {
                (Back::None, _) => None,
                (Back::Refused { reason }, _) => Some(reason.clone()),
                (_, Some(found)) => {
                    found.replace(file.after.as_deref()).err().map(|reason| reason.to_string())
                }
                (_, None) => None,
            };
            match refused {
                Some(refused) => undone.push(Undone { host: host.host, path: file.path.clone(), refused }),
                None => remove_folders(&file.folders),
            }
        }
        if undone.len() == before {
            receipt.remove(host.host, host.project.as_deref());
        }
    }
    receipt.write(&env.data_dir, env.version)?;
    receipt::forget_others(&env.data_dir, &receipt);
    Ok(undone)
}
