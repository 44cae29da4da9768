//! The state of the installation in each host.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use remora_core::host::Host;
use serde::Serialize;

use crate::entry;
use crate::file::Found;
use crate::receipt::{FORMAT, Installed, Receipt};
use crate::recipe::{Ask, Content, RECIPES, Recipe, recipe};
use crate::{Surroundings, toml, words};

/// A host on this machine, for the user or in one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostState {
    pub host: Host,
    pub name: &'static str,
    /// The directory, if it is installed in that project only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    pub hooks: Hooks,
}

impl HostState {
    /// The host's name, with the project if there is one.
    pub fn place(&self) -> String {
        match &self.project {
            None => self.name.to_owned(),
            Some(project) => format!("{} in {}", self.name, project.display()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Hooks {
    Missing,
    Installed,
    /// The user has to confirm them in the host first.
    Untrusted,
    /// The directory of the project is not there.
    Gone,
    /// Part of the installation is missing, was changed, or has an older version.
    Outdated {
        reason: String,
    },
    /// A file of the host cannot be read.
    Unreadable {
        reason: String,
    },
}

/// Every host that is on this machine or has hooks of ours, and every project in the receipt.
pub fn hosts(around: &Surroundings) -> Vec<HostState> {
    // An unreadable receipt is ignored; the files themselves are checked.
    let receipt = Receipt::read(&around.data_dir).ok();
    RECIPES.iter().flat_map(|recipe| places(around, recipe, receipt.as_ref())).collect()
}

/// The states of one host: for the user, then in each project.
fn places(around: &Surroundings, recipe: &'static Recipe, receipt: Option<&Receipt>) -> Vec<HostState> {
    let installed = receipt.into_iter().flat_map(|receipt| &receipt.installed);
    let projects = installed.filter(|one| one.host == recipe.host).filter_map(|one| one.project.as_deref());
    let state = |project: Option<&Path>| HostState {
        host: recipe.host,
        name: recipe.name,
        project: project.map(Path::to_owned),
        hooks: look(around, recipe, project, receipt.and_then(|receipt| receipt.of(recipe.host, project))),
    };
    let mut states: Vec<HostState> = projects.map(|project| state(Some(project))).collect();
    let user = state(None);
    // A user who installs in a project may leave out all others on purpose.
    if user.hooks != Hooks::Missing || states.is_empty() && recipe.is_here(around) {
        states.insert(0, user);
    }
    states
}

fn look(
    around: &Surroundings,
    recipe: &'static Recipe,
    project: Option<&Path>,
    known: Option<&Installed>,
) -> Hooks {
    if project.is_some_and(|project| !project.is_dir()) {
        return Hooks::Gone;
    }
    if let Some(known) = known
        && known.format < FORMAT
    {
        return Hooks::Outdated { reason: "it was installed by an older Remora".to_owned() };
    }
    let ask = Ask { around, project, allow: known.is_none_or(|known| known.allow) };
    let mut number = 0;
    let mut changed = None;
    for wanted in recipe.wanted(&ask) {
        let path = wanted.path.display().to_string();
        let found = match Found::read(&wanted.path) {
            Ok(found) => found,
            Err(reason) => return Hooks::Unreadable { reason: format!("{path}: {reason}") },
        };
        let is_whole = match &wanted.content {
            Content::Whole(text) => {
                let is_ours = |text: &String| words::is_file(text, recipe.host);
                number += usize::from(found.text.as_ref().is_some_and(is_ours));
                Ok(found.text.as_ref() == Some(text))
            }
            Content::Entries(format, entries) if found.text.is_some() => {
                number += entry::count_hooks(found.body(), *format, recipe.host, entries).unwrap_or_default();
                entry::has(found.body(), *format, recipe.host, entries)
            }
            Content::Entries(..) => Ok(false),
        };
        match is_whole {
            Err(reason) => return Hooks::Unreadable { reason: format!("{path}: {reason}") },
            Ok(false) if changed.is_none() => {
                let what = if found.text.is_some() { "was changed since" } else { "is missing" };
                changed = Some(format!("{path} {what}"));
            }
            Ok(_) => {}
        }
    }
    match changed {
        None if is_untrusted(recipe, &ask) => Hooks::Untrusted,
        None => Hooks::Installed,
        Some(_) if known.is_none() && number == 0 => Hooks::Missing,
        // Set up by hand, so it may differ from the recipe.
        Some(_) if known.is_none() => Hooks::Installed,
        Some(reason) => Hooks::Outdated { reason },
    }
}

/// Whether Claude Code has our plugin enabled.
pub fn has_plugin(around: &Surroundings) -> bool {
    let Some(recipe) = recipe(Host::ClaudeCode) else { return false };
    let Ok(found) = Found::read(&recipe.folder_of(around).join("settings.json")) else { return false };
    let Ok(settings) = serde_json::from_str::<serde_json::Value>(found.body()) else { return false };
    let plugins = settings["enabledPlugins"].as_object();
    plugins.is_some_and(|plugins| {
        plugins.iter().any(|(name, is_on)| name.split('@').next() == Some("remora") && is_on != false)
    })
}

/// Limit for the files that [`last_used`] examines per host.
const MOST_FILES: usize = 20_000;

/// When the host last wrote to one of its own session records, if their location is known.
pub fn last_used(around: &Surroundings, host: Host) -> Option<SystemTime> {
    let (folder, depth) = match host {
        Host::ClaudeCode => ("projects", 1),
        Host::Codex => ("sessions", 3),
        Host::Gemini => ("tmp", 2),
        _ => return None,
    };
    newest(&recipe(host)?.folder_of(around).join(folder), depth, &mut 0)
}

/// The time of the newest record in a folder and `depth` levels below it.
fn newest(folder: &Path, depth: usize, seen: &mut usize) -> Option<SystemTime> {
    let mut latest = None;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        *seen += 1;
        if *seen > MOST_FILES {
            break;
        }
        let Ok(kind) = entry.file_type() else { continue };
        let time = if kind.is_dir() && depth > 0 {
            newest(&entry.path(), depth - 1, seen)
        } else if kind.is_file() && is_record(&entry.path()) {
            entry.metadata().and_then(|file| file.modified()).ok()
        } else {
            None
        };
        latest = latest.max(time);
    }
    latest
}

fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.starts_with("session-") && name.ends_with(".json")
}

/// Whether the host requires the user to confirm hooks and has no record of that.
fn is_untrusted(recipe: &Recipe, ask: &Ask) -> bool {
    let is_recorded = |path: &Path, at: &[String]| {
        Found::read(path).is_ok_and(|found| toml::value(found.body(), at).is_ok_and(|value| value.is_some()))
    };
    (recipe.leftovers)(ask).iter().any(|table| !is_recorded(&table.path, &table.at))
}
