//! The members of each kind of line, in the order they are written.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Date;
use crate::fact::{FactKey, FactKind, FactSource};
use crate::host::Host;
use crate::memory::ObservationType;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    pub name: String,
    /// The project's directory. A project without one is identified by name only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Host>,
    /// The host's own id for it.
    pub id: String,
    #[serde(skip_serializing_if = "is_completed")]
    pub status: SessionStatus,
    /// Number of turns, including those of which only the number was kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub private_turns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// Time of the last activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Date>,
}

/// A turn: the prompt and the agent's closing message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MessageLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Position in the session; `None` appends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObservationLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn it was made from.
    #[serde(skip_serializing_if = "is_zero")]
    pub number: i64,
    #[serde(rename = "type")]
    pub kind: ObservationType,
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subtitle: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concepts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Estimated tokens of the events it was made from.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Date>,
    /// Number of verdicts of each kind.
    #[serde(skip_serializing_if = "is_zero")]
    pub useful: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub wrong: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SummaryLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub number: i64,
    /// An earlier version, kept as history.
    #[serde(skip_serializing_if = "is_false")]
    pub earlier: bool,
    pub request: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub investigated: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub learned: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub completed: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_steps: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_edited: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FactLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    /// `None` if it applies to all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Host>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    #[serde(rename = "type")]
    pub kind: FactKind,
    pub key: FactKey,
    pub value: String,
    pub source: FactSource,
    pub trust: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// When it stopped being valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Date>,
}

impl Default for ObservationLine {
    fn default() -> Self {
        Self {
            uuid: None,
            project: None,
            channel: None,
            session: None,
            number: 0,
            kind: ObservationType::Discovery,
            title: String::new(),
            subtitle: String::new(),
            text: String::new(),
            facts: Vec::new(),
            concepts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
            tool: None,
            tokens: 0,
            provider: String::new(),
            model: String::new(),
            superseded_by: None,
            pinned: None,
            useful: 0,
            wrong: 0,
            date: None,
        }
    }
}

impl Default for FactLine {
    fn default() -> Self {
        Self {
            uuid: None,
            project: None,
            channel: None,
            session: None,
            number: None,
            kind: FactKind::Fact,
            key: FactKey::default(),
            value: String::new(),
            source: FactSource::Import,
            trust: FactLine::TRUST,
            date: None,
            until: None,
            confirmed: None,
        }
    }
}

impl FactLine {
    /// Default trust for a fact that does not state it: enough to be shown, less than anything the user said.
    pub const TRUST: f64 = 0.5;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    Active,
    #[default]
    Completed,
    Interrupted,
}

impl SessionStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
        }
    }

    pub fn named(name: &str) -> Self {
        [Self::Active, Self::Interrupted].into_iter().find(|status| status.name() == name).unwrap_or_default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_completed(status: &SessionStatus) -> bool {
    *status == SessionStatus::Completed
}
