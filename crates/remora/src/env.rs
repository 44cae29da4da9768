//! Every environment variable Remora reads, except those that override a setting (`REMORA_SECTION_KEY`, see
//! `remora_core::settings`).

use std::path::PathBuf;

use remora_data::{CLOCK_FILE, Clock, DataDir};

/// The data directory; default `~/.remora`.
pub(crate) const DATA_DIR: &str = "REMORA_DATA_DIR";
/// If set to anything but `0` or `false`, hooks do nothing.
pub(crate) const DISABLED: &str = "REMORA_DISABLED";

/// Set by Claude Code for the MCP servers it starts: the directory of the project.
pub(crate) const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";

/// The project directory that this process was started for, if its host states one.
pub(crate) fn project_dir() -> Option<PathBuf> {
    std::env::var_os(PROJECT_DIR).map(PathBuf::from).filter(|path| path.is_absolute())
}

pub(crate) fn data_dir() -> Option<PathBuf> {
    match std::env::var_os(DATA_DIR) {
        Some(path) if !path.is_empty() => Some(std::path::absolute(&path).unwrap_or_else(|_| path.into())),
        _ => home().map(|home| home.join(".remora")),
    }
}

/// The data directory at `path`, with the system's clock or one that a file shifts.
pub(crate) fn data_at(path: impl Into<PathBuf>) -> DataDir {
    let clock = match std::env::var_os(CLOCK_FILE) {
        Some(path) if !path.is_empty() => Clock::Shifted(path.into()),
        _ => Clock::System,
    };
    DataDir::new(path).with_clock(clock)
}

/// The home directory; without `HOME`, the one in the system's user database.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

pub(crate) fn disabled() -> bool {
    std::env::var_os(DISABLED).is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

/// Variables that agents set for the commands they run, to show that no person typed them. A terminal alone
/// proves nothing, because some agents give their commands one.
const AGENTS: &[&str] = &[
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "QWEN_CODE",
    "COPILOT_CLI",
];
/// Prefixes of further variables that agents set.
const AGENT_PREFIXES: &[&str] = &["CODEX_SANDBOX", "CODEX_THREAD", "CLINE_"];

/// Whether an agent runs this command.
pub(crate) fn is_agent() -> bool {
    std::env::vars_os().any(|(name, value)| {
        let name = name.to_string_lossy();
        let is_known =
            AGENTS.contains(&&*name) || AGENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        is_known && !matches!(value.to_str(), Some("" | "0" | "false"))
    })
}

/// The command that an agent in the same environment can call Remora with.
pub(crate) fn command() -> String {
    remora_sys::process::command("remora")
}

pub(crate) fn variable(name: &str) -> Option<String> {
    // A value that is not UTF-8 must not count as no value.
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
