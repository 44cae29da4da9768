//! Errors of use cases. Doors add the next step in their own terms: a command or a request.

use std::path::PathBuf;

use remora_core::document::RecordId;
use remora_core::ids::{ObservationId, ProjectId};
use remora_store::config_file::ConfigError;
use remora_store::{DataError, FactRow, StoreError};

use crate::caller::REACH_HINT;
use crate::remedy;

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("no project is known as `{0}`")]
    UnknownProject(String),
    #[error("{} projects are called `{name}`", projects.len())]
    AmbiguousProject { name: String, projects: Vec<(ProjectId, String)> },
    #[error("there is no memory of {} yet", .0.display())]
    UnknownDirectory(PathBuf),
    #[error("{} shares its memory with no other directory", .0.display())]
    NotShared(PathBuf),
    #[error("`{name}` has a directory: {root}")]
    HasDirectory { name: String, root: String },
    /// A use case for one project was called for all of them.
    #[error("this needs one project")]
    NeedsOneProject,
    #[error("there is no sound backup in {}", .0.display())]
    NoBackup(PathBuf),
    #[error("no session is known as `{0}`")]
    UnknownSession(String),
    /// Only the first of the `number` sessions are listed.
    #[error("`{beginning}` is the beginning of {number} sessions")]
    AmbiguousSession { beginning: String, number: i64, sessions: Vec<String> },
    #[error("nothing is known as `{0}`")]
    UnknownRecord(String),
    #[error("`{0}` is not an observation")]
    NotAnObservation(RecordId),
    #[error("`{0}` is not an event")]
    NotAnEvent(String),
    #[error("`{0}` is not on the timeline")]
    NotInTime(RecordId),
    #[error("nothing found for `{0}`")]
    NothingFound(String),
    #[error("`{text}` is not a date")]
    NotADate { option: &'static str, text: String },
    #[error("there is nothing to save: the text is empty")]
    NothingToSave,
    #[error("all of the text is private, so nothing was saved")]
    AllPrivate,
    #[error("it was forgotten, and only a person can bring it back")]
    Forgotten,
    #[error("there is no fact `{0}` here")]
    UnknownFact(String),
    #[error("`{}` is `{}` already, as said by {}; nothing was changed", .0.fact.key, .0.fact.value, .0.fact.source)]
    FactConflict(Box<FactRow>),
    #[error("{} {record} belongs to another project: {project}", record.kind.name())]
    OtherProject { record: RecordId, project: String, project_id: ProjectId },
    /// Neither an agent nor a program with the token can act for the user, who can run `command`.
    #[error("only a person can {what}; nothing was changed")]
    NeedsPerson { what: String, command: String },
    /// An agent asked for memory beyond its own project. The message does not say whether it exists.
    #[error("{0}")]
    OutOfReach(String),
    #[error("a fact needs a key and a value; one of them is empty")]
    EmptyFact,
    #[error("a fact is a short key with a value of at most 4,000 bytes")]
    FactTooLong,
    #[error("observation {0} says the same already")]
    SaysTheSame(ObservationId),
    #[error("observation {0} cannot replace itself")]
    ReplacesItself(ObservationId),
    #[error("observations {0} and {1} are of different projects")]
    OtherProjects(ObservationId, ObservationId),
    #[error("`{0}` was never changed by hand")]
    NeverEdited(RecordId),
    #[error("the request does not say what to forget")]
    NothingToForget,
    #[error("ids and other conditions exclude each other; nothing was forgotten")]
    IdsWithConditions,
    #[error("a topic of one or two letters matches everything")]
    TopicTooShort,
    #[error("nothing that was forgotten can still be restored")]
    NothingToUndo,
    #[error("{0} is not paused")]
    NotPaused(String),
    #[error("the confirmation word is missing")]
    NotTheWord,
    #[error("there is no setting `{name}`")]
    UnknownSetting { name: String, nearest: Option<&'static str> },
    #[error("{name}: {reason}")]
    BadSetting { name: &'static str, meaning: &'static str, reason: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(StoreError),
}

/// What kind of failure an error is. It decides the exit code and the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    NotFound,
    /// The request is wrong, or its caller may not make it.
    Usage,
    /// The request contradicts what memory holds.
    Conflict,
    Internal,
}

impl AppError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownProject(_)
            | Self::UnknownDirectory(_)
            | Self::NotShared(_)
            | Self::NoBackup(_)
            | Self::UnknownSession(_)
            | Self::UnknownRecord(_)
            | Self::NotInTime(_)
            | Self::NothingFound(_)
            | Self::UnknownFact(_)
            | Self::OutOfReach(_)
            | Self::NeverEdited(_)
            | Self::NothingToUndo
            | Self::NotPaused(_) => ErrorKind::NotFound,
            Self::FactConflict(_) => ErrorKind::Conflict,
            Self::Config(_) | Self::Store(_) => ErrorKind::Internal,
            _ => ErrorKind::Usage,
        }
    }

    /// The next step for a person, as a command. Doors that are not a terminal replace it where they have a request for it.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownSession(_) => "see which there are: `remora sessions`".to_owned(),
            Self::AmbiguousProject { .. } => format!("name one by its id: {}", self.choices().join(", ")),
            Self::AmbiguousSession { .. } => format!("give more of it: {}", self.choices().join(", ")),
            Self::UnknownDirectory(_) => "name another project: `--project NAME` (`remora project list` has them), or search all: `remora search --all TEXT`".to_owned(),
            Self::HasDirectory { .. } => "see which projects have none: `remora project list`".to_owned(),
            Self::UnknownProject(_) | Self::NotShared(_) => {
                "see which projects there are: `remora project list`".to_owned()
            }
            Self::NoBackup(_) => "name a backup that you keep elsewhere: `remora restore FILE`; make one of a sound database: `remora backup`".to_owned(),
            Self::NeedsOneProject => "name one: `--project NAME`".to_owned(),
            Self::UnknownRecord(_) => {
                "ids are in `remora search`, `remora sessions` and `remora queue`".to_owned()
            }
            Self::NotAnObservation(_) => "find one: `remora search WORDS --kind observation`".to_owned(),
            Self::NotAnEvent(_) => "events are called e1, e2 and so on: `remora queue`".to_owned(),
            Self::NotInTime(record) => format!("look for the text instead: `remora search {record}`"),
            Self::NothingFound(_) => "look in every project: `remora search --all TEXT`".to_owned(),
            Self::NotADate { option, .. } => {
                let option = if *option == "from" { "--from" } else { "--to" };
                format!("such as `{option} 2026-03-01`, `{option} yesterday`, `{option} \"2 weeks ago\"`")
            }
            Self::NothingToSave => {
                "say what to remember: `remora save \"the tests need a running database\"`".to_owned()
            }
            Self::AllPrivate => "leave what may be kept outside of `<private>` and `</private>`".to_owned(),
            Self::Forgotten => "to bring it back, save it yourself, at a terminal: `remora save TEXT`".to_owned(),
            Self::UnknownFact(_) => "see what holds: `remora facts`".to_owned(),
            Self::NeedsPerson { command, .. } => format!(
                "run `{command}` in a terminal of your own, outside of any agent, or use the pages: `remora ui`"
            ),
            Self::OutOfReach(_) => REACH_HINT.to_owned(),
            Self::EmptyFact => {
                "such as `remora facts set \"package manager\" pnpm`; to end one: `remora facts rm KEY`".to_owned()
            }
            Self::FactConflict(_) => {
                "a person sets it at a terminal; a script replaces what a program said with `--replace`".to_owned()
            }
            Self::FactTooLong => "save it as a text: `remora save TEXT`".to_owned(),
            Self::SaysTheSame(other) => {
                format!("see it: `remora show {other}`; to merge two: `remora edit ID --merge ID`")
            }
            Self::ReplacesItself(_) => {
                "name another one: `remora edit 12 --superseded-by 20`, `remora edit 12 --merge 15`".to_owned()
            }
            Self::OtherProjects(..) => "merge observations of one project".to_owned(),
            Self::OtherProject { project_id, .. } => format!("name its project: `--project {project_id}`"),
            Self::NeverEdited(id) => format!("see what it says: `remora show {id}`"),
            Self::NothingToForget => {
                "name ids, a topic, `--file`, `--session`, `--from` or `--to`; all of a project: `--everything`".to_owned()
            }
            Self::IdsWithConditions => {
                "name ids alone: `remora forget 12 s4`; a topic that looks like an id: `--topic 12`".to_owned()
            }
            Self::TopicTooShort => "give more of it, or ids: `remora forget 12 s4`".to_owned(),
            Self::NotPaused(_) => "see what is: `remora status`".to_owned(),
            Self::NotTheWord => "erase everything on the page: `remora ui`, Privacy".to_owned(),
            Self::NothingToUndo => "see what can be restored: `remora forget list`".to_owned(),
            Self::UnknownSetting { nearest: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::UnknownSetting { nearest: None, .. } => "see what there is: `remora config list`".to_owned(),
            Self::BadSetting { name, meaning, .. } => format!("{name}: {meaning}"),
            Self::Config(_) => "see which settings count: `remora config list`".to_owned(),
            Self::Store(error) => remedy::of(error),
        }
    }

    /// What an ambiguous name may mean, as the caller can name it.
    pub fn choices(&self) -> Vec<String> {
        match self {
            Self::AmbiguousProject { projects, .. } => {
                projects.iter().map(|(id, root)| format!("{id} ({root})")).collect()
            }
            Self::AmbiguousSession { sessions, .. } => sessions.clone(),
            _ => Vec::new(),
        }
    }
}

impl From<DataError> for AppError {
    fn from(error: DataError) -> Self {
        Self::Store(error.into())
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Forgotten => Self::Forgotten,
            other => Self::Store(other),
        }
    }
}
