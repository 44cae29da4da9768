//! Installing Remora in hosts, and removing it. `remora-install` changes the hosts' files; this module changes Remora's
//! own settings accordingly.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use remora_core::settings::{Provider, Value};
use remora_core::time::Time;
use remora_install::install::{Done, Plan};
pub use remora_install::state::Hooks;
use remora_install::state::{self, HostState};
use remora_install::uninstall::{Removal, Undone};
use remora_install::{InstallEnv, Lock, RECIPES, Recipe, install, recipe, uninstall};
use remora_store::{DataDir, Store};
use remora_sys::file::{create_private_dir, replace_with_copy};
use remora_sys::process::{command, path_of_this, quoted};

use crate::{AppError, Runtime, backup, settings};

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
    #[error("the receipt of what is installed, {}, cannot be used: {reason}", path.display())]
    NewerReceipt { path: PathBuf, reason: String },
    #[error("another `remora install` or `remora uninstall` is under way")]
    Busy,
    #[error("{} cannot be locked: {error}", path.display())]
    Lock { path: PathBuf, error: io::Error },
    #[error("this program cannot be copied to {}: {error}", path.display())]
    Program { path: PathBuf, error: io::Error },
    #[error("the memory was not deleted, because it cannot be backed up: {0}")]
    NoLastBackup(Box<InstallError>),
    #[error("{} cannot be deleted: {error}", path.display())]
    Purge { path: PathBuf, error: io::Error },
    #[error(transparent)]
    App(#[from] AppError),
}

/// A host with what is installed in it and its last activity.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReport {
    /// The official name of the host, or the name that a channel gives itself.
    pub name: String,
    /// `None` for a host that needs no hooks.
    pub hooks: Option<Hooks>,
    pub sessions: i64,
    pub last_event_at: Option<Time>,
}

/// The machine this process runs on, as recipes see it.
pub fn surroundings<'a>(
    dir: &DataDir,
    variable: &'a dyn Fn(&str) -> Option<String>,
) -> Result<InstallEnv<'a>, InstallError> {
    let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or(InstallError::NoHome)?;
    let Program { path, command } =
        program(dir).map_err(|error| InstallError::NoProgram(error.to_string()))?;
    Ok(InstallEnv {
        home,
        data_dir: dir.path().to_owned(),
        program: path,
        command,
        variable,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Every host that is on this machine or has sent events. Without `around`, only the latter.
pub fn hosts(rt: &dyn Runtime, around: Option<&InstallEnv>) -> Result<Vec<HostReport>, AppError> {
    let mut seen = rt.store().sessions().hosts()?;
    seen.retain(|host| host.sessions > 0);
    let known = around.map(state::hosts).unwrap_or_default();
    let mut reports: Vec<HostReport> = Vec::new();
    // One report per host, with the first problem among its installations.
    for places in known.chunk_by(|one, next| one.host == next.host) {
        let host = &places[0];
        let is_troubled = |place: &&HostState| !matches!(place.hooks, Hooks::Installed | Hooks::Plugin);
        let place = seen.iter().position(|seen| seen.host == host.host.name());
        let seen = place.map(|place| seen.remove(place));
        reports.push(HostReport {
            name: host.name.to_owned(),
            hooks: Some(places.iter().find(is_troubled).unwrap_or(host).hooks.clone()),
            sessions: seen.as_ref().map_or(0, |seen| seen.sessions),
            last_event_at: seen.and_then(|seen| seen.last_event_at),
        });
    }
    reports.extend(seen.into_iter().map(|seen| HostReport {
        name: recipe_named(&seen.host).map_or(seen.host, |recipe| recipe.name.to_owned()),
        hooks: None,
        sessions: seen.sessions,
        last_event_at: seen.last_event_at,
    }));
    reports.sort_by_key(|report| std::cmp::Reverse(report.last_event_at));
    Ok(reports)
}

fn recipe_named(host: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.host.name() == host)
}

/// The recipes of these hosts or, if `hosts` is empty, of all hosts on this machine.
fn chosen(around: &InstallEnv, hosts: &[Host]) -> Result<Vec<&'static Recipe>, InstallError> {
    if hosts.is_empty() {
        let here: Vec<&Recipe> = RECIPES.iter().filter(|recipe| recipe.is_here(around)).collect();
        return if here.is_empty() { Err(InstallError::NoHost) } else { Ok(here) };
    }
    hosts.iter().map(|host| recipe(*host).ok_or(InstallError::NoRecipe(*host))).collect()
}

/// The path by which hosts call this program. A program in the cache of `npx` or `uvx`, which may be emptied at any
/// time, is kept in the data directory: [`apply`] copies it. So is a program with another name, for example a download,
/// because hooks are recognised by the program's name.
fn program(dir: &DataDir) -> io::Result<Program> {
    let path = path_of_this("remora")?;
    if is_cached(&path) || path.file_stem().is_none_or(|name| name != "remora") {
        // The PATH of this process may come from the package manager, and an agent's shell does not have it.
        return Ok(Program { command: quoted(&kept(dir).to_string_lossy()), path: kept(dir) });
    }
    Ok(Program { path, command: command("remora") })
}

/// How hosts call this program.
struct Program {
    path: PathBuf,
    /// For a shell.
    command: String,
}

fn kept(dir: &DataDir) -> PathBuf {
    dir.path().join("bin").join("remora")
}

/// Whether a package manager runs the program from its cache.
fn is_cached(program: &Path) -> bool {
    let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
    has("_npx") || (has("uv") && (has("archive-v0") || has("builds-v0")))
}

/// Copies this program to where hosts will call it. A hook that runs the old copy meanwhile is not affected.
fn keep(dir: &DataDir, wanted: &Path) -> io::Result<()> {
    if wanted != kept(dir) {
        return Ok(());
    }
    let this = std::env::current_exe()?;
    if this == wanted {
        return Ok(());
    }
    create_private_dir(&dir.path().join("bin"))?;
    replace_with_copy(wanted, &this)
}

/// Keeps other processes from installing. A plan that nobody is asked about is made after this. While a user is asked,
/// others may install; files that they change are then refused.
pub fn lock(dir: &DataDir) -> Result<Lock, InstallError> {
    dir.create().map_err(AppError::from)?;
    take_lock(dir)
}

/// Like [`lock`], but creates nothing.
pub fn lock_to_remove(dir: &DataDir) -> Result<Lock, InstallError> {
    take_lock(dir)
}

fn take_lock(dir: &DataDir) -> Result<Lock, InstallError> {
    Lock::take(dir.path()).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => InstallError::Busy,
        _ => InstallError::Lock { path: dir.path().to_owned(), error },
    })
}

/// What an installation would change. Nothing is written.
pub fn plan(
    around: &InstallEnv,
    hosts: &[Host],
    project: Option<&Path>,
    allow: bool,
) -> Result<Plan, InstallError> {
    let recipes = chosen(around, hosts)?;
    install::plan(around, &recipes, project, allow).map_err(|error| receipt(around, &error))
}

/// Installs what the plan shows. In hosts with MCP tools, injected text then mentions the tools.
pub fn apply(around: &InstallEnv, dir: &DataDir, plan: Plan, lock: &Lock) -> Result<Vec<Done>, InstallError> {
    keep(dir, &around.program).map_err(|error| InstallError::Program { path: kept(dir), error })?;
    let done = install::apply(around, plan, lock).map_err(|error| receipt(around, &error))?;
    let is_done = |host: Host| done.iter().any(|done| done.host == host && done.refused.is_none());
    change_tool_hosts(dir, |host, is_set| is_set || is_done(host))?;
    Ok(done)
}

/// What uninstalling would change, in the given hosts or in all.
pub fn plan_removal(
    around: &InstallEnv,
    hosts: &[Host],
    project: Option<&Path>,
) -> Result<Removal, InstallError> {
    let recipes = if hosts.is_empty() { RECIPES.iter().collect() } else { chosen(around, hosts)? };
    uninstall::plan(around, &recipes, project).map_err(|error| receipt(around, &error))
}

/// Removes what the plan shows.
pub fn remove(
    around: &InstallEnv,
    dir: &DataDir,
    removal: &Removal,
    lock: &Lock,
) -> Result<Vec<Undone>, InstallError> {
    let undone = uninstall::apply(around, removal, lock).map_err(|error| receipt(around, &error))?;
    let left = installed(around)?;
    if left.is_empty() {
        // The copy serves hosts only. If it cannot be removed, it stays.
        let _ = fs::remove_dir_all(dir.path().join("bin"));
    }
    let is_gone = |host: Host| {
        let is_left = left.iter().any(|(installed, ..)| *installed == host);
        removal.hosts.iter().any(|removed| removed.host == host) && !is_left
    };
    if dir.config().exists() {
        change_tool_hosts(dir, |host, is_set| is_set && !is_gone(host))?;
    }
    Ok(undone)
}

/// Reinstalls where the installed configuration differs from what this program would install.
pub fn refresh(around: &InstallEnv, dir: &DataDir) -> Result<Vec<Done>, InstallError> {
    let lock = lock(dir)?;
    let mut done = Vec::new();
    for (host, project, allow) in installed(around)? {
        if project.as_ref().is_some_and(|project| !project.is_dir()) {
            continue;
        }
        let plan = plan(around, &[host], project.as_deref(), allow)?;
        if !plan.is_empty() || remora_install::is_stale(dir.path(), host) {
            done.extend(apply(around, dir, plan, &lock)?);
        }
    }
    Ok(done)
}

/// What uninstalling could not remove from files outside of the data directory.
#[derive(Debug, Default)]
pub struct Left {
    pub refused: Vec<Undone>,
    /// Context files that still have a section of Remora.
    pub context_files: Vec<PathBuf>,
}

impl Left {
    pub fn is_empty(&self) -> bool {
        self.refused.is_empty() && self.context_files.is_empty()
    }
}

/// What a purge leaves of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastBackup {
    BesideDirectory,
    None,
}

/// A data directory that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    /// `None` if there was nothing to back up, or no backup was wanted.
    pub backup: Option<PathBuf>,
}

/// Deletes the data directory with everything in it. Returns `None` if it does not exist, or if something was left: the
/// list of context files is in the database, so a purge would make those that are left unknown.
pub fn purge(dir: &DataDir, left: &Left, backup: LastBackup) -> Result<Option<Purged>, InstallError> {
    let now = dir.now();
    if !left.is_empty() || !dir.path().exists() {
        return Ok(None);
    }
    let backup = match backup {
        LastBackup::None => None,
        LastBackup::BesideDirectory => {
            let mut path = dir.path().as_os_str().to_owned();
            path.push(format!("-{}.db", now.format_utc("%Y%m%dT%H%M%SZ")));
            last_backup(dir, Path::new(&path)).map_err(|error| InstallError::NoLastBackup(Box::new(error)))?
        }
    };
    fs::remove_dir_all(dir.path())
        .map_err(|error| InstallError::Purge { path: dir.path().to_owned(), error })?;
    Ok(Some(Purged { backup }))
}

/// Sets the observer's provider.
pub fn use_provider(dir: &DataDir, provider: Provider) -> Result<(), InstallError> {
    dir.create().map_err(AppError::from)?;
    let value = Value::from(provider.as_str());
    settings::change(dir, &[(settings::find("observer.provider")?, Some(value))])?;
    Ok(())
}

/// Makes a backup before a memory is changed on a large scale, if the memory is not empty and no backup is fresh.
pub fn back_up(dir: &DataDir) -> Result<Option<backup::Made>, InstallError> {
    let _now = dir.now();
    if !has_memory(dir)? || !backup::is_due(dir).map_err(AppError::from)? {
        return Ok(None);
    }
    let (settings, _) = settings::load(dir, |_| None);
    Ok(Some(backup::make(dir, &settings.backup).map_err(AppError::from)?))
}

/// Makes a backup outside of the data directory, unless the memory is empty.
fn last_backup(dir: &DataDir, to: &Path) -> Result<Option<PathBuf>, InstallError> {
    if !has_memory(dir)? {
        return Ok(None);
    }
    remora_store::backup::make_to(dir, to).map_err(AppError::from)?;
    Ok(Some(to.to_owned()))
}

fn has_memory(dir: &DataDir) -> Result<bool, AppError> {
    if !dir.database().exists() {
        return Ok(false);
    }
    // Events in the spool are memory, too.
    let counts = Store::open_caught_up(dir)?.counts()?;
    Ok(counts.sessions + counts.observations + counts.facts > 0)
}

fn installed(around: &InstallEnv) -> Result<Vec<(Host, Option<PathBuf>, bool)>, InstallError> {
    install::installed(around).map_err(|error| receipt(around, &error))
}

fn receipt(around: &InstallEnv, error: &io::Error) -> InstallError {
    let (path, reason) = (remora_install::receipt_path(&around.data_dir), error.to_string());
    match error.kind() {
        io::ErrorKind::Unsupported => InstallError::NewerReceipt { path, reason },
        _ => InstallError::Receipt { path, reason },
    }
}

/// Changes `context.mcp_hosts` in `config.toml`. `is_wanted` gets each host and whether it is listed now.
fn change_tool_hosts(dir: &DataDir, is_wanted: impl Fn(Host, bool) -> bool) -> Result<(), InstallError> {
    // Reads only the file: an environment variable of this shell must not become a setting.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_package_caches_are_recognised() {
        for (program, cached) in [
            ("/home/me/.npm/_npx/0a1b/node_modules/remora-linux-x64/bin/remora", true),
            ("/home/me/.cache/uv/archive-v0/xyz/bin/remora", true),
            ("/home/me/.local/share/uv/tools/remora/bin/remora", false),
            ("/usr/lib/node_modules/remora/node_modules/remora-linux-x64/bin/remora", false),
            ("/home/me/.cargo/bin/remora", false),
        ] {
            assert_eq!(is_cached(Path::new(program)), cached, "{program}");
        }
    }
}
