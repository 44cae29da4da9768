//! Errors of use cases. Doors add the next step in their own terms: a command or a request.

use std::path::PathBuf;

use remora_core::document::RecordId;
use remora_core::ids::{ObservationId, ProjectId};
use remora_store::config_file::ConfigError;
use remora_store::{DataError, FactRow, StoreError};

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
