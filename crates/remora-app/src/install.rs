//! Putting Remora into hosts, and taking it out. What is changed in which file is `remora-install`; this is what follows
//! from it in Remora's own settings.

use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use remora_core::settings::{Provider, Value};
use remora_core::time::Time;
use remora_install::install::{Done, Plan};
use remora_install::uninstall::{Removal, Undone};
use remora_install::{RECIPES, Recipe, Surroundings, install, recipe, uninstall};
use remora_store::{DataDir, Store};
use remora_sys::process;

use crate::{AppError, backup, settings};

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("there is no home directory, and agents keep their configuration there")]
    NoHome,
    #[error("the path of this program is not known: {0}")]
    NoProgram(String),
    #[error("no recipe for {0}")]
    NoRecipe(Host),
    #[error("no agent program was found on this machine")]
    NoHost,
    #[error("the receipt of what is installed, {}, cannot be used: {reason}", path.display())]
    Receipt { path: PathBuf, reason: String },
    #[error(transparent)]
    App(#[from] AppError),
}

/// The machine this process runs on, as recipes see it.
pub fn surroundings<'a>(
    dir: &DataDir,
    variable: &'a dyn Fn(&str) -> Option<String>,
) -> Result<Surroundings<'a>, InstallError> {
    let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or(InstallError::NoHome)?;
    Ok(Surroundings {
        home,
        data_dir: dir.path().to_owned(),
        program: process::path_of_this("remora")
            .map_err(|error| InstallError::NoProgram(error.to_string()))?,
        command: process::command("remora"),
        variable,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// The recipes of these hosts or, if none is named, of those on this machine.
fn chosen(around: &Surroundings, hosts: &[Host]) -> Result<Vec<&'static Recipe>, InstallError> {
    if hosts.is_empty() {
        let here: Vec<&Recipe> = RECIPES.iter().filter(|recipe| recipe.is_here(around)).collect();
        return if here.is_empty() { Err(InstallError::NoHost) } else { Ok(here) };
    }
    hosts.iter().map(|host| recipe(*host).ok_or(InstallError::NoRecipe(*host))).collect()
}

/// What installing would change. Nothing is written.
pub fn plan(
    around: &Surroundings,
    hosts: &[Host],
    project: Option<&Path>,
    allow: bool,
) -> Result<Plan, InstallError> {
    let recipes = chosen(around, hosts)?;
    install::plan(around, &recipes, project, allow).map_err(|error| receipt(around, &error))
}

/// Installs what the plan shows. In hosts with tools, injected text then names the tools.
pub fn apply(around: &Surroundings, dir: &DataDir, plan: Plan) -> Result<Vec<Done>, InstallError> {
    dir.create().map_err(AppError::from)?;
    let done = install::apply(around, plan).map_err(|error| receipt(around, &error))?;
    let is_done = |host: Host| done.iter().any(|done| done.host == host && done.refused.is_none());
    change_tool_hosts(dir, |host, is_set| is_set || is_done(host))?;
    Ok(done)
}

/// What uninstalling would change: in the hosts named, or in all.
pub fn plan_removal(
    around: &Surroundings,
    hosts: &[Host],
    project: Option<&Path>,
) -> Result<Removal, InstallError> {
    let recipes = if hosts.is_empty() { RECIPES.iter().collect() } else { chosen(around, hosts)? };
    uninstall::plan(around, &recipes, project).map_err(|error| receipt(around, &error))
}

/// Takes out what the plan shows.
pub fn remove(around: &Surroundings, dir: &DataDir, removal: &Removal) -> Result<Vec<Undone>, InstallError> {
    let undone = uninstall::apply(around, removal).map_err(|error| receipt(around, &error))?;
    let left = installed(around)?;
    let is_gone = |host: Host| {
        let is_left = left.iter().any(|(installed, ..)| *installed == host);
        removal.hosts.iter().any(|removed| removed.host == host) && !is_left
    };
    if dir.config().exists() {
        change_tool_hosts(dir, |host, is_set| is_set && !is_gone(host))?;
    }
    Ok(undone)
}

/// Installs again what is installed and not as this program would install it.
pub fn refresh(around: &Surroundings, dir: &DataDir) -> Result<Vec<Done>, InstallError> {
    let mut done = Vec::new();
    for (host, project, allow) in installed(around)? {
        if project.as_ref().is_some_and(|project| !project.is_dir()) {
            continue;
        }
        let plan = plan(around, &[host], project.as_deref(), allow)?;
        if !plan.is_empty() || remora_install::is_stale(dir.path(), host) {
            done.extend(apply(around, dir, plan)?);
        }
    }
    Ok(done)
}

/// Lets this observer write the memory from now on.
pub fn use_provider(dir: &DataDir, provider: Provider) -> Result<(), InstallError> {
    dir.create().map_err(AppError::from)?;
    let value = Value::from(provider.as_str());
    settings::change(dir, &[(settings::find("observer.provider")?, Some(value))])?;
    Ok(())
}

/// Before a memory is changed at large or deleted: a backup of it, if there is anything in it and none is fresh. With `to`, one
/// is made there in any case.
pub fn back_up(dir: &DataDir, to: Option<&Path>, now: Time) -> Result<Option<PathBuf>, InstallError> {
    if !dir.database().exists() {
        return Ok(None);
    }
    let store = Store::open(dir).map_err(AppError::from)?;
    let counts = store.counts().map_err(AppError::from)?;
    drop(store);
    if counts.sessions + counts.observations + counts.facts == 0 {
        return Ok(None);
    }
    if let Some(to) = to {
        remora_store::backup::make_to(dir, to).map_err(AppError::from)?;
        return Ok(Some(to.to_owned()));
    }
    let (settings, _) = settings::load(dir, |_| None);
    if !backup::is_due(dir, now).map_err(AppError::from)? {
        return Ok(None);
    }
    Ok(Some(backup::make(dir, &settings.backup, now).map_err(AppError::from)?.backup.path))
}

fn installed(around: &Surroundings) -> Result<Vec<(Host, Option<PathBuf>, bool)>, InstallError> {
    install::installed(around).map_err(|error| receipt(around, &error))
}

fn receipt(around: &Surroundings, error: &io::Error) -> InstallError {
    InstallError::Receipt { path: remora_install::receipt_path(&around.data_dir), reason: error.to_string() }
}

/// Changes `context.mcp_hosts` in `config.toml`: `is_wanted` gets a host and whether it is there.
fn change_tool_hosts(dir: &DataDir, is_wanted: impl Fn(Host, bool) -> bool) -> Result<(), InstallError> {
    // Only what the file says: a variable of this shell is not to become a setting.
    let there = settings::load(dir, |_| None).0.context.mcp_hosts;
    let wanted: Vec<Host> =
        Host::ALL.iter().copied().filter(|host| is_wanted(*host, there.contains(host))).collect();
    let mut sorted = there.clone();
    sorted.sort_unstable();
    if sorted == wanted {
        return Ok(());
    }
    let names = wanted.iter().map(|host| Value::from(host.name())).collect();
    let value = (!wanted.is_empty()).then_some(Value::Array(names));
    settings::change(dir, &[(settings::find("context.mcp_hosts")?, value)])?;
    Ok(())
}
