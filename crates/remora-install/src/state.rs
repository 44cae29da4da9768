//! The state of the installation in each host.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use remora_core::host::Host;
use serde::Serialize;

use crate::entry;
use crate::file::FileSnapshot;
use crate::receipt::{FORMAT, Hash, Installed, Receipt};
use crate::recipe::{Ask, Content, RECIPES, Recipe, recipe};
use crate::{InstallEnv, toml, words};

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
    /// The host's plugin brings them, and its settings have none.
    Plugin,
    /// The user has to confirm them in the host first.
    Untrusted,
    /// The directory of the project is not there.
    Gone,
    /// Part of the installation is missing, was changed, or has an older version.
    Outdated {
        reason: String,
    },
    /// They are set up by hand and cannot work.
    Broken {
        reason: String,
    },
    /// They are there, and the host does not run them.
    Ignored {
        reason: String,
    },
    /// A file of the host cannot be read.
    Unreadable {
        reason: String,
    },
}

/// Every host that is on this machine or has hooks of ours, and every project in the receipt.
pub fn hosts(env: &InstallEnv) -> Vec<HostState> {
    // An unreadable receipt is ignored; the files themselves are checked.
    let receipt = Receipt::read(&env.data_dir).ok();
    RECIPES.iter().flat_map(|recipe| places(env, recipe, receipt.as_ref())).collect()
}

/// The states of one host: for the user, then in each project.
fn places(env: &InstallEnv, recipe: &'static Recipe, receipt: Option<&Receipt>) -> Vec<HostState> {
    let installed = receipt.into_iter().flat_map(|receipt| &receipt.installed);
    let projects = installed.filter(|one| one.host == recipe.host).filter_map(|one| one.project.as_deref());
    let state = |project: Option<&Path>| HostState {
        host: recipe.host,
        name: recipe.name,
        project: project.map(Path::to_owned),
        hooks: look(env, recipe, project, receipt.and_then(|receipt| receipt.of(recipe.host, project))),
    };
    let mut states: Vec<HostState> = projects.map(|project| state(Some(project))).collect();
    let user = state(None);
    // A user who installs in a project may leave out all others on purpose.
    if user.hooks != Hooks::Missing || states.is_empty() && recipe.is_here(env) {
        states.insert(0, user);
    }
    states
}

fn look(
    env: &InstallEnv,
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
    let ask = Ask { env, project, allow: known.is_none_or(|known| known.allow) };
    let mut programs = Vec::new();
    let (mut changed, mut ignored) = (None, None);
    for wanted in recipe.wanted(&ask) {
        let path = wanted.path.display();
        let unreadable = |reason: String| Hooks::Unreadable { reason: format!("{path}: {reason}") };
        let found = match FileSnapshot::look(&wanted.path) {
            Ok(found) => found,
            Err(reason) => return unreadable(reason.to_string()),
        };
        let Some(text) = &found.text else {
            changed.get_or_insert_with(|| format!("{path} is missing"));
            continue;
        };
        let is_whole = match &wanted.content {
            Content::Whole(ours) => {
                programs.extend(words::file_programs(text, recipe.host));
                Ok(text == ours)
            }
            Content::Entries(format, entries) => {
                programs.extend(entry::hook_programs(found.body(), *format, recipe.host, entries));
                let reason = recipe.ignores(*format, found.body());
                ignored = ignored.or(reason.map(|reason| format!("{path}: {reason}")));
                entry::has(found.body(), *format, recipe.host, entries)
            }
        };
        match is_whole {
            Err(reason) => return unreadable(reason.to_string()),
            Ok(true) => {}
            Ok(false) => {
                let is_as_written = known
                    .and_then(|known| known.file(&wanted.path))
                    .is_some_and(|file| file.after == Hash::of(text));
                let what =
                    if is_as_written { "is not as this program would write it" } else { "was changed since" };
                changed.get_or_insert_with(|| format!("{path} {what}"));
            }
        }
    }
    let is_untrusted = is_untrusted(recipe, &ask);
    let gone =
        programs.iter().find(|program| Path::new(program).is_absolute() && !Path::new(program).is_file());
    let other = programs.iter().find(|program| Path::new(program) != env.program);
    match (changed, known) {
        (Some(_), None) if programs.is_empty() => {
            match (recipe.host == Host::ClaudeCode && project.is_none() && has_plugin(env), ignored) {
                (false, _) => Hooks::Missing,
                (true, Some(reason)) => Hooks::Ignored { reason },
                (true, None) => Hooks::Plugin,
            }
        }
        // Set up by hand, so it may differ from the recipe.
        (Some(_), None) if let Some(gone) = gone => {
            Hooks::Broken { reason: format!("hooks call {gone}, which is gone") }
        }
        (Some(reason), Some(_)) => Hooks::Outdated {
            reason: match (gone, other) {
                (Some(gone), _) => format!("hooks call {gone}, which is gone"),
                (None, Some(other)) => {
                    format!("hooks call {other}, and this program is {}", env.program.display())
                }
                (None, None) => reason,
            },
        },
        _ if let Some(reason) = ignored => Hooks::Ignored { reason },
        (None, _) if is_untrusted => Hooks::Untrusted,
        _ => Hooks::Installed,
    }
}

/// Whether Claude Code has our plugin enabled.
pub fn has_plugin(env: &InstallEnv) -> bool {
    let Some(recipe) = recipe(Host::ClaudeCode) else { return false };
    let Ok(found) = FileSnapshot::look(&recipe.folder_of(env).join("settings.json")) else { return false };
    let Ok(settings) = serde_json::from_str::<serde_json::Value>(found.body()) else { return false };
    let plugins = settings["enabledPlugins"].as_object();
    plugins.is_some_and(|plugins| {
        plugins.iter().any(|(name, is_on)| name.split('@').next() == Some("remora") && is_on != false)
    })
}

/// Limit for the files that [`last_used`] examines per host.
const MAX_FILES: usize = 20_000;

/// When the host last wrote to one of its own session records, if their location is known.
pub fn last_used(env: &InstallEnv, host: Host) -> Option<SystemTime> {
    let (folder, depth) = match host {
        Host::ClaudeCode => ("projects", 1),
        Host::Codex => ("sessions", 3),
        Host::Gemini => ("tmp", 2),
        _ => return None,
    };
    newest(&recipe(host)?.folder_of(env).join(folder), depth, &mut 0)
}

/// The time of the newest record in a folder and `depth` levels below it.
fn newest(folder: &Path, depth: usize, seen: &mut usize) -> Option<SystemTime> {
    let mut latest = None;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        *seen += 1;
        if *seen > MAX_FILES {
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
    (recipe.leftovers)(ask).iter().any(|table| {
        let value = FileSnapshot::look(&table.path).ok().map(|found| toml::value(found.body(), &table.at));
        !matches!(value, Some(Ok(Some(_))))
    })
}
