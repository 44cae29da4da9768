//! Starts the daemon in the background.

use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, SystemTime};

use remora_core::{environment, settings};
use remora_store::DataDir;
use remora_sys::process::start_detached;

use crate::presence;

/// Minimum pause between two attempts. Without it, a daemon that fails to start would be started by every hook.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(10);

/// How long [`start`] waits for processes that only look whether a daemon runs. They lock for microseconds.
const LOCK_TIMEOUT: Duration = Duration::from_millis(5);

/// Starts a daemon that outlives this process and inherits only a reduced environment, unless one runs or is starting.
///
/// The daemon also inherits its lock. So a second one never waits for the first to end, and a command that stops the
/// daemon also finds one that has only just been started.
pub fn start(dir: &DataDir) -> io::Result<()> {
    let Some(lock) = presence::take_lock(dir, LOCK_TIMEOUT)? else { return Ok(()) };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["daemon", "run", "--detached"]).current_dir(dir.path()).env_clear();
    for (name, value) in std::env::vars_os() {
        if name.to_str().is_some_and(is_passed_on) {
            command.env(name, value);
        }
    }
    command.env("REMORA_DATA_DIR", dir.path());
    start_detached(&mut command, lock)
}

/// Besides harmless variables, the daemon needs our own, and those that settings read keys from.
fn is_passed_on(name: &str) -> bool {
    environment::is_harmless(name)
        || name.starts_with("REMORA_")
        || settings::all().iter().any(|setting| setting.usual_variables.contains(&name))
}

/// Starts a daemon unless that was tried a moment ago.
pub fn start_if_due(dir: &DataDir) -> io::Result<()> {
    let marker = dir.path().join("daemon.start");
    let age = fs::metadata(&marker).and_then(|marker| marker.modified()).ok();
    let recent = age
        .and_then(|at| SystemTime::now().duration_since(at).ok())
        .is_some_and(|age| age < BETWEEN_ATTEMPTS);
    if recent {
        return Ok(());
    }
    fs::write(&marker, b"")?;
    start(dir)
}

#[cfg(test)]
mod tests {
    use super::is_passed_on;

    #[test]
    fn the_daemon_gets_what_it_needs_and_nothing_else() {
        for name in [
            "HOME",
            "TMPDIR",
            "REMORA_OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "GOOGLE_API_KEY",
            "XDG_RUNTIME_DIR",
            "https_proxy",
            "NO_PROXY",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ] {
            assert!(is_passed_on(name), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "CLAUDECODE", "path", "LD_PRELOAD"] {
            assert!(!is_passed_on(name), "{name}");
        }
    }
}
