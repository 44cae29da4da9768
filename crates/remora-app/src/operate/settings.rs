//! Reads the effective settings with their sources, and changes them.

use std::io;

use remora_core::settings::{self, Listed, Problem, Setting, Settings, Value};
use remora_store::{DataDir, config_file, log};
use remora_sys::file::read_small;

use crate::AppError;

/// The effective settings, and the problems with those that could not be used.
pub fn load(dir: &DataDir, environment: impl Fn(&str) -> Option<String>) -> (Settings, Vec<Problem>) {
    let (settings, problems) = match text(dir) {
        Ok(text) => Settings::resolve(text.as_deref(), environment),
        Err(error) => Settings::resolve_unreadable(&error.to_string(), environment),
    };
    log::set_limit(settings.retention.log_mb);
    (settings, problems)
}

/// Every setting with its value and the source of that value.
pub fn list(dir: &DataDir, environment: impl Fn(&str) -> Option<String>) -> (Settings, Vec<Listed>) {
    // `load` reports a file that cannot be read; no setting from it is used.
    let text = text(dir).unwrap_or_default();
    let (settings, listed, _) = Settings::list(text.as_deref(), environment);
    (settings, listed)
}

pub fn find(name: &str) -> Result<&'static Setting, AppError> {
    settings::find(name).ok_or_else(|| AppError::UnknownSetting {
        name: name.to_owned(),
        nearest: settings::nearest(name).map(|setting| setting.name),
    })
}

pub fn parse(setting: &'static Setting, text: &str) -> Result<Value, AppError> {
    setting.parse(text).map_err(|reason| AppError::BadSetting {
        name: setting.name,
        meaning: setting.meaning,
        // The value of a secret is not repeated in errors.
        reason: if setting.secret { reason } else { format!("{reason}, not `{text}`") },
    })
}

/// Changes settings in `config.toml`; `None` restores the default. Returns for each whether the file changed.
pub fn change(dir: &DataDir, changes: &[(&'static Setting, Option<Value>)]) -> Result<Vec<bool>, AppError> {
    let change = |(setting, value): &(&'static Setting, Option<Value>)| match value {
        Some(value) => config_file::set(dir, setting, value).map(|()| true),
        None => config_file::unset(dir, setting),
    };
    Ok(changes.iter().map(change).collect::<Result<_, _>>()?)
}

/// The text of `config.toml`, if there is one.
fn text(dir: &DataDir) -> io::Result<Option<String>> {
    match read_small(&dir.config()) {
        Ok(text) => Ok(Some(text)),
        // A link without a target is a file on a disk that is missing.
        Err(error) if error.kind() == io::ErrorKind::NotFound && dir.config().is_symlink() => Err(error),
        // A data directory that is not a directory is reported where it is used.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
