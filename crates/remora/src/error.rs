//! Errors as people meet them: what failed, why, and what to do next.

use std::process::ExitCode;

use remora_store::config_file::ConfigError;
use remora_store::{SchemaAge, StoreError};

#[derive(Debug)]
pub(crate) struct CliError {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

/// Exit codes are stable for scripts.
#[derive(Debug, Clone, Copy)]
enum Kind {
    NotFound = 1,
    Usage = 2,
    Internal = 3,
}

pub(crate) type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { kind: Kind::NotFound, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, message: message.into(), hint: None }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { kind: Kind::Internal, message: message.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let hint = match error {
            StoreError::DataDir { .. } => {
                "give a directory you can write to: `REMORA_DATA_DIR=/path/to/dir remora status`".to_owned()
            }
            StoreError::NetworkFileSystem { .. } => {
                "give a directory on a local disk: `REMORA_DATA_DIR=/local/dir remora status`".to_owned()
            }
            StoreError::Busy => "see who holds it and try again: `remora doctor`".to_owned(),
            StoreError::Damaged { path, .. } => format!(
                "nothing captured since is lost (it waits in the spool); move the file away and go on with a new one: `mv {0} {0}.damaged`",
                path.display()
            ),
            StoreError::TooOld { path, .. } => {
                format!("move the file away and go on with a new one: `mv {0} {0}.old`", path.display())
            }
            StoreError::DiskFull => "free some space; hooks go on by themselves".to_owned(),
            StoreError::Schema { age: SchemaAge::Newer, .. } => {
                "a newer Remora made this database; this one can read it: update `remora` to write".to_owned()
            }
            _ => "look for what is wrong: `remora doctor`".to_owned(),
        };
        Self::internal(message).hint(hint)
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let message = format!("{error}; nothing was changed");
        match error {
            ConfigError::Syntax { path, line, .. } => Self::usage(message)
                .hint(format!("put line {line} right first: `${{EDITOR:-vi}} +{line} {}`", path.display())),
            ConfigError::NotASection { path, section } => Self::usage(message).hint(format!(
                "make it a section, `[{section}]`, with its settings below: `${{EDITOR:-vi}} {}`",
                path.display()
            )),
            ConfigError::Busy { .. } => Self::internal(message).hint("try again: `remora config list`"),
            ConfigError::Store(error) => error.into(),
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error.to_string())
    }
}
