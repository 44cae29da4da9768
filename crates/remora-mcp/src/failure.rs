//! Errors of tool calls: a result that the model can read, with the next step. The connection stays open.

use remora_app::AppError;
use remora_core::context::safe_text;
use remora_store::{DataError, SchemaAge, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// Names and paths in the message are untrusted text.
    pub(crate) fn text(&self) -> String {
        safe_text(&format!("{}\nhint: {}", self.message, self.hint))
    }
}

/// Hint that lists the ways to name a project.
pub(crate) const PROJECTS: &str =
    "name a project by its name, its id or an absolute directory; `all` means every project";

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        let message = error.to_string();
        let hint = match &error {
            AppError::AmbiguousProject { .. }
            | AppError::AmbiguousSession { .. }
            | AppError::OutOfReach(_) => error.hint(),
            AppError::UnknownProject(_) | AppError::UnknownDirectory(_) | AppError::NotShared(_) => {
                PROJECTS.to_owned()
            }
            AppError::NeedsOneProject => {
                "pass `project`: its name, its id or an absolute directory".to_owned()
            }
            AppError::UnknownSession(_) => {
                "leave `session` out for the latest one, or pass an id that search or timeline gave"
                    .to_owned()
            }
            AppError::UnknownRecord(_)
            | AppError::NotAnObservation(_)
            | AppError::NotAnEvent(_)
            | AppError::OtherProject { .. }
            | AppError::NothingFound(_) => {
                "find ids with search; try other words, or fewer filters".to_owned()
            }
            AppError::NotInTime(_) => {
                "only observations, summaries (s12) and turns (t34) are on the timeline".to_owned()
            }
            AppError::NotADate { option, .. } => {
                let option = if *option == "from" { "since" } else { option };
                format!("`{option}` takes a date such as 2026-03-01, yesterday or `2 weeks ago`")
            }
            AppError::NothingToSave => "pass what to remember as `text`".to_owned(),
            AppError::AllPrivate => "leave what may be kept outside of <private> and </private>".to_owned(),
            AppError::Forgotten => "the user had it forgotten; do not save it again".to_owned(),
            AppError::NeedsPerson { command, .. } => {
                format!("ask the user to run `{command}` in a terminal of their own")
            }
            AppError::UnknownFact(_)
            | AppError::FactConflict(_)
            | AppError::EmptyFact
            | AppError::FactTooLong => "ask the user to see `remora facts`".to_owned(),
            AppError::SaysTheSame(_)
            | AppError::ReplacesItself(_)
            | AppError::OtherProjects(..)
            | AppError::NeverEdited(_) => "ask the user to see `remora edit --help`".to_owned(),
            AppError::NothingToForget | AppError::IdsWithConditions => {
                "pass either `ids` or `topic`".to_owned()
            }
            AppError::TopicTooShort => "pass more words as `topic`, or ids".to_owned(),
            AppError::NothingToUndo => "ask the user to see `remora forget list`".to_owned(),
            AppError::Store(error) => of_store(error).to_owned(),
            _ => DOCTOR.to_owned(),
        };
        Self { message, hint }
    }
}

const DOCTOR: &str = "ask the user to run `remora doctor`";

fn of_store(error: &StoreError) -> &'static str {
    match error {
        StoreError::Busy => "the database is busy; try again in a moment",
        StoreError::Data(DataError::DiskFull) => "ask the user to free some space on the disk",
        StoreError::Schema { age: SchemaAge::Newer, .. } => {
            "a newer Remora made this database; ask the user to restart this MCP server"
        }
        _ => DOCTOR,
    }
}
