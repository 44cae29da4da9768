//! Errors for users: what failed, why, and what to do next.

use std::process::ExitCode;

use remora_app::context_files::ContextFilesError;
use remora_app::export::ExportError;
use remora_app::import::ImportError;
use remora_app::install::InstallError;
use remora_app::{AppError, ErrorKind, remedy};
use remora_store::config_file::ConfigError;
use remora_store::{DataError, StoreError};

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
        if let StoreError::NotClaudeMem { .. } = error {
            return Self::usage(message).hint("name its database: `remora import claude-mem PATH`");
        }
        let hint = remedy::of(&error);
        Self::internal(message).hint(hint)
    }
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        let message = error.to_string();
        let (hint, kind) = (error.hint(), error.kind());
        let message = match error {
            AppError::Store(error) => return error.into(),
            AppError::Config(error) => return error.into(),
            AppError::NotADate { option: "from", .. } => format!("--from: {message}"),
            AppError::NotADate { .. } => format!("--to: {message}"),
            AppError::BadSetting { .. } => format!("{message}; nothing was changed"),
            _ => message,
        };
        let error = match kind {
            ErrorKind::NotFound => Self::not_found(message),
            ErrorKind::Usage | ErrorKind::Conflict => Self::usage(message),
            ErrorKind::Internal => Self::internal(message),
        };
        error.hint(hint)
    }
}

impl From<ContextFilesError> for CliError {
    fn from(error: ContextFilesError) -> Self {
        let message = error.to_string();
        match error {
            ContextFilesError::App(error) => error.into(),
            ContextFilesError::BadRoot { .. } => Self::usage(message)
                .hint("name the directory of a project: `remora context-files enable --project PATH`"),
            ContextFilesError::NotUtf8(_) => Self::usage(message).hint("rename the directory"),
            ContextFilesError::Missing(_) => {
                Self::not_found(message).hint("name the project's directory: `--project PATH`")
            }
            ContextFilesError::Off(_) => Self::not_found(message)
                .hint("write some: `remora context-files enable [--claude-md] [--folders] [--cursor]`"),
        }
    }
}

impl From<ExportError> for CliError {
    fn from(error: ExportError) -> Self {
        let message = error.to_string();
        match error {
            ExportError::App(error) => error.into(),
            ExportError::Write(_) => {
                Self::internal(message).hint("write it to a disk with room: `remora export --out FILE`")
            }
        }
    }
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> Self {
        let message = error.to_string();
        match error {
            ImportError::App(error) => error.into(),
            ImportError::Running => Self::usage(message).hint("wait for it, then look: `remora status`"),
            ImportError::NotLines { .. } => Self::usage(message)
                .hint("write such a file: `remora export --out FILE`; docs/import.md describes its lines"),
            ImportError::Unreadable { path, .. } => Self::usage(message)
                .hint(format!("see whether it exists, and who owns it: `ls -ld {}`", path.display())),
        }
    }
}

impl From<InstallError> for CliError {
    fn from(error: InstallError) -> Self {
        let message = error.to_string();
        match error {
            InstallError::App(error) => error.into(),
            InstallError::NoHome => Self::internal(message).hint("name it: `HOME=/home/me remora install`"),
            InstallError::NoProgram(_) => {
                Self::internal(message).hint("call it by its full path: `/path/to/remora install`")
            }
            InstallError::NoRecipe(_) => {
                Self::usage(message).hint("see which there are: `remora install --help`")
            }
            InstallError::Program { .. } => {
                Self::internal(message).hint("see whether there is room: `remora doctor`")
            }
            InstallError::NoLastBackup(_) => Self::internal(message).hint(
                "see what is wrong: `remora doctor`; delete it without a backup: `remora uninstall --purge --no-backup`",
            ),
            InstallError::Busy => Self::internal(message).hint("wait for it, then repeat this command"),
            InstallError::Lock { path, .. } | InstallError::Purge { path, .. } => {
                Self::internal(message).hint(format!("see its owner and mode: `ls -ld {}`", path.display()))
            }
            InstallError::NoHost => {
                Self::not_found(message).hint("name the one you use: `remora install --host claude-code`")
            }
            InstallError::NewerReceipt { .. } => {
                Self::internal(message).hint("update this program: `remora update` says how")
            }
            InstallError::Receipt { path, .. } => Self::internal(message).hint(format!(
                "move it away; hooks are recognised without it: `mv {0} {0}.old`",
                path.display()
            )),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let message = format!("{error}; nothing was changed");
        match error {
            ConfigError::Syntax { path, line, .. } => Self::usage(message)
                .hint(format!("fix line {line} first: `${{EDITOR:-vi}} +{line} {}`", path.display())),
            ConfigError::NotASection { path, section } => Self::usage(message).hint(format!(
                "make it a section, `[{section}]`, with its settings below: `${{EDITOR:-vi}} {}`",
                path.display()
            )),
            ConfigError::Busy { .. } => Self::internal(message).hint("try again: `remora config list`"),
            ConfigError::Data(error) => AppError::from(error).into(),
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

impl From<DataError> for CliError {
    fn from(error: DataError) -> Self {
        AppError::from(error).into()
    }
}
