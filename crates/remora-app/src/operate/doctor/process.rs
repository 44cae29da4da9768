//! Checks of the program, its daemon and their log.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use remora_core::settings::Source;
use remora_store::log::{Level, Reader};
use remora_store::problems;
use remora_sys::process::find_program;

use super::finding::grouped;
use super::{Examination, Finding, Group, Opened, count};
use crate::settings;

/// Timeout for a connection to the daemon. On the same machine it answers at once.
const ANSWER: Duration = Duration::from_millis(500);
/// Older errors in the log are ignored.
const RECENT: Duration = Duration::from_hours(24);

pub(super) fn checks(opened: &Opened<'_>) -> Vec<Finding> {
    let about = opened.about;
    let findings = [program(about), daemon(about), port(about), token(about), log(about), bugs(about)];
    grouped(Group::Daemon, findings)
}

/// Whether hooks and the user run the same program.
fn program(about: &Examination<'_>) -> Finding {
    let name = "program";
    let version = env!("CARGO_PKG_VERSION");
    let Some(machine) = about.machine else {
        return Finding::wrong(name, "there is no home directory")
            .hint("name it: `HOME=/home/me remora doctor`");
    };
    let own = &machine.program;
    if !own.is_file() {
        let message = format!("{} is gone, and hooks call it", own.display());
        return Finding::wrong(name, message).hint("install Remora again, then: `remora doctor --fix`");
    }
    let on_path = (about.variable)("PATH").and_then(|path| find_program(path, "remora"));
    match on_path.filter(|other| !is_same(other, own) && !is_starter(other, own)) {
        None => Finding::good(name, format!("{} {version}", own.display())),
        Some(other) => {
            let message =
                format!("this is {}, and `remora` on the PATH is {}", own.display(), other.display());
            Finding::note(name, message).hint("keep one of them, then: `remora install`")
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Whether `other` is the script of the npm package `remora`, which starts the program of the platform's package:
/// `remora/bin/remora.js` and, beside or below that package, `remora-linux-x64/bin/remora`.
fn is_starter(other: &Path, own: &Path) -> bool {
    let (Ok(script), Ok(own)) = (other.canonicalize(), own.canonicalize()) else { return false };
    let package = |file: &Path| file.parent().and_then(Path::parent).map(Path::to_owned);
    let (Some(starter), Some(platform)) = (package(&script), package(&own)) else { return false };
    let is_named = |folder: &Path, start: &str| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    let modules = platform.parent();
    script.ends_with("remora/bin/remora.js")
        && is_named(&platform, "remora-")
        && (modules == starter.parent() || modules == Some(&starter.join("node_modules")))
}

fn daemon(about: &Examination<'_>) -> Finding {
    let name = "daemon";
    let daemon = about.daemon;
    if !daemon.running {
        return if about.settings.daemon.autostart {
            Finding::good(name, "not running; the next hook starts it")
        } else {
            let (_, listed) = settings::list(about.dir, about.variable);
            let source = listed.iter().find(|listed| listed.setting.name == "daemon.autostart");
            // The environment overrides the file, so only there it can be changed.
            let let_hooks = match source.map(|listed| listed.source) {
                Some(Source::Variable(variable)) => format!("unset {variable}"),
                _ => "remora config unset daemon.autostart".to_owned(),
            };
            Finding::note(name, "not running, and no hook starts it: daemon.autostart is false")
                .hint(format!("start it: `remora daemon start`; or let hooks do it: `{let_hooks}`"))
        };
    }
    let version = daemon.version.as_deref().unwrap_or_default();
    // A daemon that has just started has not reported its version yet.
    if !version.is_empty() && version != env!("CARGO_PKG_VERSION") {
        let message = format!("it runs version {version}, and this is {}", env!("CARGO_PKG_VERSION"));
        return Finding::wrong(name, message).hint("restart it: `remora daemon restart`");
    }
    Finding::good(name, format!("running, process {}", daemon.pid.unwrap_or_default()))
}

fn port(about: &Examination<'_>) -> Finding {
    let name = "port";
    let wanted = about.settings.daemon.port;
    if !about.daemon.running {
        return if wanted != 0 && answers(wanted) {
            Finding::note(
                name,
                format!("another program listens on {wanted}; the daemon takes the next free port"),
            )
            .hint("choose another: `remora config set daemon.port 0` takes any free one")
        } else {
            Finding::good(
                name,
                if wanted == 0 { "any free one".to_owned() } else { format!("{wanted} is free") },
            )
        };
    }
    match about.daemon.port {
        None => {
            Finding::wrong(name, "the daemon listens on no port: search by meaning and `remora ui` need it")
                .hint("see why: `remora logs`; restart it: `remora daemon restart`")
        }
        Some(port) if !answers(port) => {
            Finding::wrong(name, format!("the daemon does not answer on its port, {port}"))
                .hint("restart it: `remora daemon restart`")
        }
        Some(port) if wanted != 0 && port != wanted => {
            Finding::note(name, format!("{port}; another program holds {wanted}"))
                .hint("choose another: `remora config set daemon.port 0` takes any free one")
        }
        Some(port) => Finding::good(name, format!("{port} answers")),
    }
}

fn answers(port: u16) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ANSWER).is_ok()
}

/// Commands and hosts need the token to call the daemon.
fn token(about: &Examination<'_>) -> Finding {
    let name = "token";
    let path = about.dir.token();
    match fs::metadata(&path) {
        Ok(file) if file.len() > 0 => Finding::good(name, "there"),
        _ if !about.daemon.running => Finding::good(name, "the daemon makes one when it starts"),
        _ => {
            Finding::wrong(name, format!("{} is missing, so no client can reach the daemon", path.display()))
                .hint("the daemon makes a new one: `remora daemon restart`")
        }
    }
}

fn log(about: &Examination<'_>) -> Finding {
    let name = "log";
    let entries = match Reader::open(about.dir) {
        Ok((entries, _)) => entries,
        Err(error) => {
            return Finding::wrong(name, format!("it cannot be read: {error}"))
                .hint(format!("see the file: `ls -l {}`", about.dir.log().display()));
        }
    };
    let is_recent = |at: remora_core::time::Time| about.dir.now().since(at) < RECENT;
    let errors: Vec<_> = entries
        .iter()
        .filter(|entry| entry.level == Level::Error && entry.at_epoch.is_some_and(is_recent))
        .collect();
    match errors.last() {
        None => Finding::good(name, "no errors since yesterday"),
        Some(last) => {
            let number = count(errors.len(), "error");
            Finding::note(name, format!("{number} since yesterday, the last one: {}", last.message))
                .hint("see all: `remora logs`")
        }
    }
}

/// Panics of this version in the log.
fn bugs(about: &Examination<'_>) -> Finding {
    let name = "bugs";
    let lines = problems::recent(about.dir, usize::MAX);
    let found: Vec<&String> = lines.iter().filter(|line| problems::is_bug_of_this_version(line)).collect();
    match found.last() {
        None => Finding::good(name, "none seen"),
        Some(last) => {
            let number = count(found.len(), "panic");
            Finding::wrong(name, format!("{number} in the log, the last one: {last}"))
                .hint("please report the lines of `remora logs` that say `bug`; an update may have fixed it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_the_npm_package_counts_as_its_program() {
        let temp = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let script = make("lib/node_modules/remora/bin/remora.js");
        let link = temp.path().join("remora");
        std::os::unix::fs::symlink(&script, &link).unwrap();
        let beside = make("lib/node_modules/remora-linux-x64/bin/remora");
        let below = make("lib/node_modules/remora/node_modules/remora-linux-x64/bin/remora");
        assert!(is_starter(&link, &beside) && is_starter(&link, &below));
        let elsewhere = make("other/node_modules/remora-linux-x64/bin/remora");
        let plain = make("usr/bin/remora");
        assert!(!is_starter(&link, &elsewhere) && !is_starter(&link, &plain) && !is_starter(&plain, &beside));
    }
}
