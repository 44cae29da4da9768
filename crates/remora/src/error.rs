//! Errors for users: what failed, why, and what to do next.

use std::process::ExitCode;

use remora_app::caller::REACH_HINT;
use remora_app::context_files::ContextFilesError;
use remora_app::export::ExportError;
use remora_app::import::ImportError;
use remora_app::install::InstallError;
use remora_app::{AppError, remedy};
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
        match error {
            AppError::Store(error) => error.into(),
            AppError::Config(error) => error.into(),
            AppError::UnknownSession(_) => {
                Self::not_found(message).hint("see which there are: `remora sessions`")
            }
            AppError::AmbiguousProject { projects, .. } => {
                let ids: Vec<String> = projects.iter().map(|(id, root)| format!("{id} ({root})")).collect();
                Self::usage(message).hint(format!("name one by its id: {}", ids.join(", ")))
            }
            AppError::AmbiguousSession { sessions, .. } => {
                Self::usage(message).hint(format!("give more of it: {}", sessions.join(", ")))
            }
            AppError::UnknownDirectory(_) => Self::not_found(message).hint(
                "name another project: `--project NAME` (`remora project list` has them), or search all: `remora search --all TEXT`",
            ),
            AppError::HasDirectory { .. } => {
                Self::usage(message).hint("see which projects have none: `remora project list`")
            }
            AppError::UnknownProject(_) | AppError::NotShared(_) => {
                Self::not_found(message).hint("see which projects there are: `remora project list`")
            }
            AppError::NoBackup(_) => Self::not_found(message).hint(
                "name a backup that you keep elsewhere: `remora restore FILE`; make one of a sound database: `remora backup`",
            ),
            AppError::NeedsOneProject => Self::usage(message).hint("name one: `--project NAME`"),
            AppError::UnknownRecord(_) => {
                Self::not_found(message).hint("ids are in `remora search`, `remora sessions` and `remora queue`")
            }
            AppError::NotAnObservation(_) => {
                Self::usage(message).hint("find one: `remora search WORDS --kind observation`")
            }
            AppError::NotAnEvent(_) => {
                Self::usage(message).hint("events are called e1, e2 and so on: `remora queue`")
            }
            AppError::NotInTime(record) => Self::not_found(message)
                .hint(format!("look for the text instead: `remora search {record}`")),
            AppError::NothingFound(_) => {
                Self::not_found(message).hint("look in every project: `remora search --all TEXT`")
            }
            AppError::NotADate { option, .. } => {
                let option = if option == "from" { "--from" } else { "--to" };
                Self::usage(format!("{option}: {message}")).hint(format!(
                    "such as `{option} 2026-03-01`, `{option} yesterday`, `{option} \"2 weeks ago\"`"
                ))
            }
            AppError::NothingToSave => Self::usage(message)
                .hint("say what to remember: `remora save \"the tests need a running database\"`"),
            AppError::AllPrivate => {
                Self::usage(message).hint("leave what may be kept outside of `<private>` and `</private>`")
            }
            AppError::Forgotten => {
                Self::usage(message).hint("to bring it back, save it yourself, at a terminal: `remora save TEXT`")
            }
            AppError::UnknownFact(_) => Self::not_found(message).hint("see what holds: `remora facts`"),
            AppError::NeedsPerson { command, .. } => Self::usage(message).hint(format!(
                "run `{command}` in a terminal of your own, outside of any agent, or use the pages: `remora ui`"
            )),
            AppError::OutOfReach(_) => Self::not_found(message).hint(REACH_HINT),
            AppError::EmptyFact => {
                Self::usage(message).hint("such as `remora facts set \"package manager\" pnpm`; to end one: `remora facts rm KEY`")
            }
            AppError::FactConflict(_) => Self::usage(message).hint(
                "a person sets it at a terminal; a script replaces what a program said with `--replace`",
            ),
            AppError::FactTooLong => Self::usage(message).hint("save it as a text: `remora save TEXT`"),
            AppError::SaysTheSame(other) => {
                Self::usage(message).hint(format!("see it: `remora show {other}`; to merge two: `remora edit ID --merge ID`"))
            }
            AppError::ReplacesItself(_) => Self::usage(message)
                .hint("name another one: `remora edit 12 --superseded-by 20`, `remora edit 12 --merge 15`"),
            AppError::OtherProjects(..) => Self::usage(message).hint("merge observations of one project"),
            AppError::OtherProject { project_id, .. } => {
                Self::usage(message).hint(format!("name its project: `--project {project_id}`"))
            }
            AppError::NeverEdited(id) => {
                Self::not_found(message).hint(format!("see what it says: `remora show {id}`"))
            }
            AppError::NothingToForget => Self::usage(message).hint(
                "name ids, a topic, `--file`, `--session`, `--from` or `--to`; all of a project: `--everything`",
            ),
            AppError::IdsWithConditions => Self::usage(message)
                .hint("name ids alone: `remora forget 12 s4`; a topic that looks like an id: `--topic 12`"),
            AppError::TopicTooShort => {
                Self::usage(message).hint("give more of it, or ids: `remora forget 12 s4`")
            }
            AppError::NotPaused(_) => Self::not_found(message).hint("see what is: `remora status`"),
            AppError::NotTheWord => Self::usage(message).hint("erase everything on the page: `remora ui`, Privacy"),
            AppError::NothingToUndo => {
                Self::not_found(message).hint("see what can be restored: `remora forget list`")
            }
            AppError::UnknownSetting { nearest, .. } => Self::usage(message).hint(match nearest {
                Some(name) => format!("did you mean `{name}`?"),
                None => "see what there is: `remora config list`".to_owned(),
            }),
            AppError::BadSetting { name, meaning, .. } => {
                Self::usage(format!("{message}; nothing was changed")).hint(format!("{name}: {meaning}"))
            }
        }
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
