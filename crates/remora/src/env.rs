//! Every environment variable Remora reads, apart from those that stand for a setting
//! (`REMORA_SECTION_KEY`, see `remora_core::settings`).

use std::path::PathBuf;

/// Where everything is kept; default `~/.remora`.
pub(crate) const DATA_DIR: &str = "REMORA_DATA_DIR";
/// Set to anything but `0` or `false`: hooks do nothing.
pub(crate) const DISABLED: &str = "REMORA_DISABLED";

pub(crate) fn data_dir() -> Option<PathBuf> {
    match std::env::var_os(DATA_DIR) {
        Some(path) if !path.is_empty() => Some(std::path::absolute(&path).unwrap_or_else(|_| path.into())),
        _ => home().map(|home| home.join(".remora")),
    }
}

/// The home directory; without `HOME`, what the system's user database says.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

pub(crate) fn disabled() -> bool {
    std::env::var_os(DISABLED).is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

/// How an agent that runs where this process runs calls Remora.
pub(crate) fn command() -> String {
    remora_sys::process::command("remora")
}

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
