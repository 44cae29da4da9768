//! The agents on this machine: whether their hooks are installed, and whether they fire.

use remora_store::HostSeen;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use remora_core::host::Host;
use remora_core::time::Time;
use remora_install::state::{self, Hooks, HostState};
use remora_install::{InstallEnv, receipt_path};

use super::finding::grouped;
use super::{Examination, Finding, Fix, Group, Opened, State, local};

/// A host writes its own files a little before or after its hooks run.
const TOLERANCE: Duration = Duration::from_hours(1);

pub(super) fn checks(opened: &Opened<'_>) -> Vec<Finding> {
    let Some(machine) = opened.about.machine else {
        let finding =
            Finding::wrong("hooks", "there is no home directory, and agents keep their configuration there")
                .hint("name it: `HOME=/home/me remora doctor`");
        return grouped(Group::Agents, [finding]);
    };
    let hosts = state::hosts(machine);
    let mut findings: Vec<Finding> = hosts.iter().map(|host| hooks(host, &hosts)).collect();
    if findings.is_empty() {
        findings.push(
            Finding::note("hooks", "hooks not installed: no agent program was found")
                .hint("name the one you use: `remora install --host claude-code`"),
        );
    }
    findings.push(receipt(machine));
    findings.push(plugin(machine, &hosts));
    findings.push(firing(opened, machine, &hosts));
    grouped(Group::Agents, findings)
}

/// The configuration of one host.
fn hooks(host: &HostState, all: &[HostState]) -> Finding {
    let name = host.name;
    let place = host.place();
    match &host.hooks {
        Hooks::Installed => Finding::good(name, format!("hooks installed in {place}")),
        Hooks::Plugin => Finding::good(name, format!("{place} has the hooks of its plugin")),
        Hooks::Untrusted => {
            Finding::note(name, format!("{place} runs the hooks only after you have reviewed them there"))
                .hint("start it and trust the hooks when it asks, or type `/hooks`")
        }
        Hooks::Gone => {
            let project = host.project.as_deref().unwrap_or(Path::new("")).display();
            let message = format!("hooks were installed in {project}, which is not there");
            Finding::note(name, message).hint(format!(
                "if it was moved, install there anew: `remora install --project`; forget the old place: `remora uninstall --project={project}`"
            ))
        }
        Hooks::Outdated { reason } => Finding::wrong(name, reason.clone())
            .hint("bring it up to date: `remora doctor --fix`")
            .fixed_by(Fix::RefreshHooks),
        Hooks::Broken { reason } => Finding::wrong(name, reason.clone())
            .hint(format!("install them anew: `remora install --host {}`", host.host)),
        Hooks::Ignored { reason } => {
            Finding::wrong(name, reason.clone()).hint("change that, then look again: `remora doctor`")
        }
        Hooks::Unreadable { reason } => {
            Finding::wrong(name, reason.clone()).hint("fix that file, then: `remora install`")
        }
        Hooks::Missing => {
            // A user with hooks in one agent may leave out another on purpose.
            let is_elsewhere = all.iter().any(is_installed);
            let state = if is_elsewhere { State::Note } else { State::Wrong };
            Finding::new(name, state, format!("hooks not installed in {place}"))
                .hint(format!("install them: `remora install --host {}`", host.host))
        }
    }
}

fn is_installed(host: &HostState) -> bool {
    host.hooks != Hooks::Missing
}

/// The receipt, which `uninstall` uses to restore every file.
fn receipt(machine: &InstallEnv<'_>) -> Finding {
    let name = "receipt";
    match remora_install::install::installed(machine) {
        Ok(installed) if installed.is_empty() => Finding::good(name, "nothing is installed"),
        Ok(_) => Finding::good(name, "`remora uninstall` takes everything back"),
        Err(error) => {
            let path = receipt_path(&machine.data_dir);
            let finding = Finding::wrong(name, format!("{} cannot be used: {error}", path.display()));
            if error.kind() == ErrorKind::Unsupported {
                return finding.hint("update this program: `remora update` says how");
            }
            finding.hint(format!(
                "move it away; hooks are recognised without it: `mv {0} {0}.old`",
                path.display()
            ))
        }
    }
}

/// Whether Claude Code runs our hooks twice: from its plugin, and from its settings.
fn plugin(machine: &InstallEnv<'_>, hosts: &[HostState]) -> Finding {
    let name = "plugin";
    let runs = |hooks: &Hooks| !matches!(hooks, Hooks::Missing | Hooks::Plugin | Hooks::Ignored { .. });
    let is_in_settings = hosts.iter().any(|host| host.host == Host::ClaudeCode && runs(&host.hooks));
    match (state::has_plugin(machine), is_in_settings) {
        (false, _) => Finding::good(name, "not used"),
        (true, false) => Finding::good(name, "Claude Code uses the plugin"),
        (true, true) => {
            let message = "Claude Code has both the plugin and the hooks of `remora install`: every event is stored once, \
                           and memory is injected once, but each hook runs twice";
            Finding::note(name, message)
                .hint("keep one: `remora uninstall --host claude-code`, or `claude plugin uninstall remora`")
        }
    }
}

/// Whether installed hooks deliver events.
fn firing(opened: &Opened<'_>, machine: &InstallEnv<'_>, hosts: &[HostState]) -> Finding {
    let name = "hooks firing";
    let installed_at = std::fs::metadata(receipt_path(&machine.data_dir))
        .and_then(|file| file.modified())
        .ok()
        .and_then(Time::from_system);
    opened.with_store(name, |store| {
        let seen = store.sessions().hosts()?;
        for host in hosts.iter().filter(|host| matches!(host.hooks, Hooks::Installed | Hooks::Plugin)) {
            let used = state::last_used(machine, host.host).and_then(Time::from_system);
            let Some(used) = used.filter(|used| installed_at.is_none_or(|installed| *used > installed))
            else {
                continue;
            };
            let own = seen.iter().find(|seen| seen.host == host.host.name());
            if let Some(finding) = silent(name, host, used, own.map(|seen| seen.last_activity_at)) {
                return Ok(if is_capturing(opened.about) {
                    finding
                } else {
                    Finding { state: State::Note, ..finding }
                });
            }
        }
        Ok(latest(name, &seen))
    })
}

/// The finding about a host that was used while its hooks delivered nothing.
fn silent(name: &'static str, host: &HostState, used: Time, last_event: Option<Time>) -> Option<Finding> {
    let hint = format!(
        "restart {0}, then look again; see what its hooks reported: `remora logs`; install them again: `remora install --host {1}`",
        host.name, host.host
    );
    match last_event {
        None => {
            let message = format!("{} was used {}, and its hooks brought no event", host.name, local(used));
            Some(Finding::wrong(name, message).hint(hint))
        }
        // An excluded project or a long private turn looks the same.
        Some(last) if used.since(last) > TOLERANCE => {
            let message =
                format!("{} was used {}, and its last event is from {}", host.name, local(used), local(last));
            Some(Finding::note(name, message).hint(hint))
        }
        Some(_) => None,
    }
}

fn is_capturing(about: &Examination<'_>) -> bool {
    let paused = remora_store::pause::read(about.dir).unwrap_or_default();
    !about.is_disabled && paused.everywhere_since.is_none() && paused.projects.is_empty()
}

fn latest(name: &'static str, seen: &[HostSeen]) -> Finding {
    match seen.iter().max_by_key(|host| host.last_activity_at) {
        None => Finding::good(name, "no session yet"),
        Some(HostSeen { host, last_activity_at, .. }) => {
            Finding::good(name, format!("last event {}, from {host}", local(*last_activity_at)))
        }
    }
}
