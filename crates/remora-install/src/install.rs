//! Planning and applying an installation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use serde::Serialize;

use crate::diff;
use crate::entry::{self, Format, Unfit};
use crate::file::{FileSnapshot, Refused, missing_folders};
use crate::receipt::{self, ChangedFile, FORMAT, Hash, Installed, Receipt};
use crate::recipe::{Ask, Content, Recipe, Wanted};
use crate::{InstallEnv, Lock, words};

/// Planned changes, host by host.
#[derive(Debug, Serialize)]
pub struct Plan {
    pub hosts: Vec<HostPlan>,
    #[serde(skip)]
    project: Option<PathBuf>,
    #[serde(skip)]
    allow: bool,
}

#[derive(Debug, Serialize)]
pub struct HostPlan {
    pub host: Host,
    pub name: &'static str,
    pub files: Vec<FilePlan>,
    /// The remaining step for the user.
    pub next_step: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct FilePlan {
    pub path: PathBuf,
    #[serde(flatten)]
    pub change: Change,
    /// Why the host may still ignore the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    #[serde(skip)]
    ready: Option<Ready>,
}

/// Planned change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// It already has everything.
    None,
    Create {
        diff: String,
    },
    Edit {
        diff: String,
    },
    /// It cannot be changed, so the host is left unchanged.
    Refused {
        reason: String,
    },
}

/// A file that is ready to be written.
#[derive(Debug)]
struct Ready {
    found: FileSnapshot,
    after: String,
    before: Option<String>,
    record: ChangedFile,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.hosts.iter().all(HostPlan::is_done)
    }

    pub fn is_refused(&self) -> bool {
        self.hosts.iter().any(HostPlan::is_refused)
    }
}

impl HostPlan {
    /// Whether nothing has to change.
    pub fn is_done(&self) -> bool {
        self.files.iter().all(|file| file.change == Change::None)
    }

    pub fn is_refused(&self) -> bool {
        self.files.iter().any(|file| matches!(file.change, Change::Refused { .. }))
    }
}

/// Compares files with recipes. Writes nothing.
pub fn plan(
    env: &InstallEnv,
    recipes: &[&'static Recipe],
    project: Option<&Path>,
    allow: bool,
) -> io::Result<Plan> {
    let receipt = Receipt::read(&env.data_dir)?;
    let ask = Ask { env, project, allow };
    let hosts = recipes.iter().map(|recipe| {
        let installed = receipt.of(recipe.host, project);
        let files = recipe.wanted(&ask).into_iter().map(|wanted| {
            let path = wanted.path.clone();
            match plan_file(env, recipe.host, &wanted, installed) {
                Ok((change, ready)) => {
                    let after = FileSnapshot { text: Some(ready.after.clone()), ..ready.found.clone() };
                    let warning = recipe.ignores(ready.record.format, after.body());
                    FilePlan { path, change, warning, ready: Some(ready) }
                }
                Err(reason) => FilePlan {
                    path,
                    change: Change::Refused { reason: reason.to_string() },
                    warning: None,
                    ready: None,
                },
            }
        });
        HostPlan { host: recipe.host, name: recipe.name, files: files.collect(), next_step: recipe.next_step }
    });
    Ok(Plan { hosts: hosts.collect(), project: project.map(Path::to_owned), allow })
}

/// Why a file is not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    File(#[from] Refused),
    #[error(transparent)]
    Text(#[from] Unfit),
    #[error("there is a file of another program")]
    Foreign,
}

fn plan_file(
    env: &InstallEnv,
    host: Host,
    wanted: &Wanted,
    installed: Option<&Installed>,
) -> Result<(Change, Ready), Problem> {
    let found = FileSnapshot::read(&wanted.path)?;
    let known = installed.and_then(|installed| installed.file(&wanted.path));
    let base = base(env, host, &found, &wanted.content, known)?;
    let (format, after, entries, created) = match &wanted.content {
        Content::Whole(text) => (Format::Whole, text.clone(), Vec::new(), Vec::new()),
        Content::Entries(format, entries) => {
            let is_there = found.text.is_some() && entry::has(found.body(), *format, host, entries)?;
            let merged = entry::merge(base.body(), *format, entries)?;
            // Others may have added entries after ours. Ours are not moved then.
            let after = match &found.text {
                Some(text) if is_there => text.clone(),
                _ => base.with_mark(&merged.text),
            };
            (*format, after, merged.added, merged.created)
        }
    };
    let before = base.text.clone();
    let record = ChangedFile {
        path: wanted.path.clone(),
        format,
        before: before.as_deref().map(Hash::of),
        after: Hash::of(&after),
        entries,
        created,
        folders: known.map_or_else(|| missing_folders(&wanted.path), |known| known.folders.clone()),
    };
    let change = match found.text.as_deref() {
        Some(text) if text == after => Change::None,
        Some(text) => Change::Edit { diff: diff::unified(text, &after) },
        None => Change::Create { diff: diff::unified("", &after) },
    };
    Ok((change, Ready { found, after, before, record }))
}

/// The file as it would be without Remora.
fn base(
    env: &InstallEnv,
    host: Host,
    found: &FileSnapshot,
    content: &Content,
    known: Option<&ChangedFile>,
) -> Result<FileSnapshot, Problem> {
    let without = |text: Option<String>| FileSnapshot { text, ..found.clone() };
    let Some(text) = &found.text else { return Ok(without(None)) };
    if let Some(known) = known
        && Hash::of(text) == known.after
    {
        match &known.before {
            None => return Ok(without(None)),
            Some(hash) => {
                if let Some(before) = receipt::kept(&env.data_dir, hash) {
                    return Ok(without(Some(before)));
                }
            }
        }
    }
    match content {
        Content::Whole(_) if known.is_some() || words::is_file(text, host) => Ok(without(None)),
        Content::Whole(_) if found.body().trim().is_empty() => Ok(found.clone()),
        Content::Whole(_) => Err(Problem::Foreign),
        Content::Entries(format, entries) => {
            let mut body = found.body().to_owned();
            if let Some(known) = known {
                body = entry::strip(&body, *format, host, &known.entries, Some(&known.created))?;
            }
            body = entry::strip(&body, *format, host, entries, None)?;
            let was_absent = known.is_some_and(|known| known.before.is_none());
            if was_absent && matches!(body.trim(), "" | "{}") {
                return Ok(without(None));
            }
            Ok(without(Some(found.with_mark(&body))))
        }
    }
}

/// The installations in the receipt: each host with its project, and whether reading memory was allowed.
pub fn installed(env: &InstallEnv) -> io::Result<Vec<(Host, Option<PathBuf>, bool)>> {
    let receipt = Receipt::read(&env.data_dir)?;
    Ok(receipt.installed.into_iter().map(|one| (one.host, one.project, one.allow)).collect())
}

/// Result for one host.
#[derive(Debug, Serialize)]
pub struct Done {
    pub host: Host,
    /// Why it was left unchanged.
    pub refused: Option<String>,
}

/// Applies a plan. Each host is changed completely or not at all.
pub fn apply(env: &InstallEnv, plan: Plan, _lock: &Lock) -> io::Result<Vec<Done>> {
    let mut receipt = Receipt::read(&env.data_dir)?;
    let mut done = Vec::new();
    for host in plan.hosts {
        let refused = match host.files.iter().find_map(FilePlan::refused) {
            None => {
                write_host(env, &mut receipt, host.host, host.files, plan.project.as_deref(), plan.allow)?
            }
            refused => refused,
        };
        done.push(Done { host: host.host, refused });
    }
    Ok(done)
}

/// Writes the files of a host and their receipt. Returns the reason if the host was left unchanged.
fn write_host(
    env: &InstallEnv,
    receipt: &mut Receipt,
    host: Host,
    files: Vec<FilePlan>,
    project: Option<&Path>,
    allow: bool,
) -> io::Result<Option<String>> {
    let ready: Vec<Ready> = files.into_iter().filter_map(|file| file.ready).collect();
    let old = receipt.clone();
    let files = ready.iter().map(|ready| ready.record.clone()).collect();
    receipt.remove(host, project);
    receipt.installed.push(Installed {
        host,
        project: project.map(Path::to_owned),
        format: FORMAT,
        allow,
        files,
    });
    // The copies and the receipt are written before the change, so that it can always be undone.
    for before in ready.iter().filter_map(|ready| ready.before.as_deref()) {
        receipt::keep(&env.data_dir, before)?;
    }
    receipt.write(&env.data_dir, env.version)?;
    let refused = write(&ready).err().map(|(path, reason)| format!("{}: {reason}", path.display()));
    if refused.is_some() {
        *receipt = old;
        receipt.write(&env.data_dir, env.version)?;
    }
    receipt::forget_others(&env.data_dir, receipt);
    Ok(refused)
}

impl FilePlan {
    fn refused(&self) -> Option<String> {
        match &self.change {
            Change::Refused { reason } => Some(format!("{}: {reason}", self.path.display())),
            _ => None,
        }
    }
}

/// Writes all files. If one fails, restores those already written.
fn write(files: &[Ready]) -> Result<(), (PathBuf, Refused)> {
    for (number, file) in files.iter().enumerate() {
        if file.found.text.as_ref() == Some(&file.after) {
            continue;
        }
        if let Err(reason) = file.found.replace(Some(&file.after)) {
            for written in files[..number].iter().rev() {
                let now = FileSnapshot { text: Some(written.after.clone()), ..written.found.clone() };
                // Only the first error is reported.
                let _ = now.replace(written.found.text.as_deref());
                remove_folders(&written.record.folders);
            }
            remove_folders(&file.record.folders);
            return Err((file.record.path.clone(), reason));
        }
    }
    Ok(())
}

/// Removes folders that were created for a file, if they are empty.
pub(crate) fn remove_folders(folders: &[PathBuf]) {
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
