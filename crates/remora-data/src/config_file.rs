//! Changes one setting in `config.toml` and leaves everything else as the user wrote it.
//!
//! The file is replaced atomically: a reader sees the old file or the new one. `config.lock` serializes changes; the
//! kernel releases it even if its holder is killed.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use remora_core::settings::{Setting, Value};
use remora_sys::file::{is_absent, read_small, replace};
use remora_sys::lock;
use toml_edit::{Document, DocumentMut, Item, TableLike};

use crate::DataError;
use crate::data_dir::DataDir;

/// How long to wait for the lock. A change takes some milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The line itself is not quoted, because it may hold a key.
    #[error("{} cannot be read, line {line}: {reason}", path.display())]
    Syntax { path: PathBuf, line: usize, reason: String },
    #[error("`{section}` in {} is not a section", path.display())]
    NotASection { path: PathBuf, section: &'static str },
    #[error("another process is changing {}", path.display())]
    Busy { path: PathBuf },
    #[error(transparent)]
    Data(#[from] DataError),
}

/// Writes a value, which must come from [`Setting::parse`].
pub fn set(dir: &DataDir, setting: &'static Setting, value: &Value) -> Result<(), ConfigError> {
    edit(dir, |text| with(text, setting, value).map(Some))
}

/// Removes a setting. `false` if it was not in the file.
pub fn unset(dir: &DataDir, setting: &'static Setting) -> Result<bool, ConfigError> {
    let mut found = false;
    edit(dir, |text| {
        let changed = without(text, setting)?;
        found = changed.is_some();
        Ok(changed)
    })?;
    Ok(found)
}

/// An error in the file, before its path is added.
enum EditError {
    Syntax { line: usize, reason: String },
    NotASection(&'static str),
}

fn edit(
    dir: &DataDir,
    change: impl FnOnce(&str) -> Result<Option<String>, EditError>,
) -> Result<(), ConfigError> {
    dir.create()?;
    // If the file is a link, its target is changed and the link stays.
    let path = fs::canonicalize(dir.config()).unwrap_or_else(|_| dir.config());
    let _lock = take_lock(dir, &path)?;
    let text = match read_small(&path) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => String::new(),
        Err(error) => return Err(DataError::file(&path)(error).into()),
    };
    let changed = change(&text).map_err(|wrong| match wrong {
        EditError::Syntax { line, reason } => ConfigError::Syntax { path: path.clone(), line, reason },
        EditError::NotASection(section) => ConfigError::NotASection { path: path.clone(), section },
    })?;
    match changed {
        Some(changed) if changed != text => {
            Ok(replace(&path, changed.as_bytes()).map_err(DataError::file(&path))?)
        }
        _ => Ok(()),
    }
}

fn take_lock(dir: &DataDir, path: &Path) -> Result<File, ConfigError> {
    let place = dir.config_lock();
    lock::take(&place, LOCK_TIMEOUT).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => ConfigError::Busy { path: path.to_owned() },
        _ => DataError::file(&place)(error).into(),
    })
}

fn with(text: &str, setting: &'static Setting, value: &Value) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse().map_err(|error| syntax(text, &error))?;
    let section = document.entry(setting.section()).or_insert_with(toml_edit::table);
    let section = section.as_table_like_mut().ok_or(EditError::NotASection(setting.section()))?;
    let mut new = edited(value);
    match section.get_mut(setting.key()) {
        Some(Item::Value(old)) => {
            // Keeps the whitespace and comments around the old value.
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(item) => *item = Item::Value(new),
        None => {
            section.insert(setting.key(), Item::Value(new));
        }
    }
    Ok(document.to_string())
}

/// The text without the setting, or `None` if it does not have it.
fn without(text: &str, setting: &'static Setting) -> Result<Option<String>, EditError> {
    let document = Document::parse(text).map_err(|error| syntax(text, &error))?;
    let Some(section) = document.get(setting.section()) else { return Ok(None) };
    let section = section.as_table_like().ok_or(EditError::NotASection(setting.section()))?;
    if !section.contains_key(setting.key()) {
        return Ok(None);
    }
    // Removes only its own lines: a comment above them may be about more than this setting.
    if let Some(lines) = own_lines(text, section, setting) {
        let rest = format!("{}{}", &text[..lines.start], &text[lines.end..]);
        if Document::parse(&*rest).is_ok() {
            return Ok(Some(rest));
        }
    }
    let mut document: DocumentMut = text.parse().map_err(|error| syntax(text, &error))?;
    if let Some(section) = document.get_mut(setting.section()).and_then(Item::as_table_like_mut) {
        section.remove(setting.key());
    }
    Ok(Some(document.to_string()))
}

/// The lines that hold this setting and nothing else.
fn own_lines(text: &str, section: &dyn TableLike, setting: &Setting) -> Option<Range<usize>> {
    let (key, item) = section.get_key_value(setting.key())?;
    let (key, value) = (key.span()?, item.span()?);
    let start = text[..key.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[value.end..].find('\n').map_or(text.len(), |newline| value.end + newline + 1);
    let before: String = text[start..key.start].chars().filter(|c| !c.is_whitespace()).collect();
    let after = text[value.end..end].trim_start();
    let alone = before.is_empty() || before == format!("{}.", setting.section());
    (alone && (after.is_empty() || after.starts_with('#'))).then_some(start..end)
}

fn edited(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(truth) => (*truth).into(),
        Value::Array(items) => items.iter().map(edited).collect::<toml_edit::Array>().into(),
        // No setting has these types.
        Value::Datetime(_) | Value::Table(_) => value.to_string().into(),
    }
}

fn syntax(text: &str, error: &toml_edit::TomlError) -> EditError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    EditError::Syntax { line: before.matches('\n').count() + 1, reason: error.message().replace('\n', ", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remora_core::settings::find;

    fn set(text: &str, name: &str, typed: &str) -> String {
        let setting = find(name).unwrap();
        with(text, setting, &setting.parse(typed).unwrap()).ok().unwrap()
    }

    fn unset(text: &str, name: &str) -> Option<String> {
        without(text, find(name).unwrap()).ok().unwrap()
    }

    #[test]
    fn everything_else_stays_as_it_was_written() {
        let text = "# mine\n\n[daemon]   # the daemon\n# why\nport   = 1 # here\n\n[capture]\nsync='full'\n";
        assert_eq!(
            set(text, "daemon.port", "2"),
            "# mine\n\n[daemon]   # the daemon\n# why\nport   = 2 # here\n\n[capture]\nsync='full'\n"
        );
        assert_eq!(
            set(text, "daemon.autostart", "false"),
            "# mine\n\n[daemon]   # the daemon\n# why\nport   = 1 # here\nautostart = false\n\n[capture]\nsync='full'\n"
        );
        assert_eq!(set("", "capture.skip_tools", "A, B"), "[capture]\nskip_tools = [\"A\", \"B\"]\n");
        assert_eq!(set("daemon = { port = 1 }\n", "daemon.port", "2"), "daemon = { port = 2 }\n");
        assert_eq!(set("daemon.port = 1\n", "daemon.port", "2"), "daemon.port = 2\n");
    }

    #[test]
    fn unset_removes_the_setting_and_keeps_comments() {
        let text = "[daemon]\n# why\nport = 1 # here\n# also\nautostart = true\n";
        let rest = unset(text, "daemon.port").unwrap();
        assert_eq!(rest, "[daemon]\n# why\n# also\nautostart = true\n");
        assert_eq!(unset(&rest, "daemon.port"), None);
        assert_eq!(unset("[daemon]\nport = 1", "daemon.port").unwrap(), "[daemon]\n");
        assert_eq!(unset("daemon.port = 1\n", "daemon.port").unwrap(), "");
        let lists = "[capture]\nskip_tools = [\n  \"A\", # a\n]\nsync = \"full\"\n";
        assert_eq!(unset(lists, "capture.skip_tools").unwrap(), "[capture]\nsync = \"full\"\n");
        assert_eq!(
            unset("daemon = { port = 1, autostart = true }\n", "daemon.port").unwrap().replace("{  ", "{ "),
            "daemon = { autostart = true }\n"
        );
        assert_eq!(unset("", "daemon.port"), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_touched() {
        let setting = find("daemon.port").unwrap();
        let wrong = with("[openai]\napi_key = sk-secret\n", setting, &Value::Integer(1));
        assert!(
            matches!(&wrong, Err(EditError::Syntax { line: 2, reason }) if !reason.contains("sk-")),
            "the reason must not quote the file"
        );
        assert!(matches!(
            with("daemon = 1\n", setting, &Value::Integer(1)),
            Err(EditError::NotASection("daemon"))
        ));
    }
}
