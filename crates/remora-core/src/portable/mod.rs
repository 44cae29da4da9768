//! Memory as lines of JSON: what `remora export` writes and `remora import FILE` reads. `docs/import.md` describes the lines
//! for those who write their own.
//!
//! A line refers to its project by the uuid of an earlier line, by an absolute path, or by a name; to its session by the uuid
//! of an earlier line, or by any name. An unknown member is an error: a typing mistake must not lose a text in silence.

pub mod markdown;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::fact::{FactKind, FactSource};
use crate::host::Host;
use crate::memory::ObservationType;
use crate::time::Time;

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    Project(ProjectLine),
    Session(SessionLine),
    Message(MessageLine),
    Observation(ObservationLine),
    Summary(SummaryLine),
    Fact(FactLine),
}

/// Where a record belongs. What is missing is nobody's in particular.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Belongs {
    pub project: Option<String>,
    pub channel: Option<Host>,
    pub session: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
    pub name: String,
    /// Its directory; without one it is a project by name alone.
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
    /// As its program calls it.
    pub id: String,
    #[serde(skip_serializing_if = "SessionStatus::is_completed")]
    pub status: SessionStatus,
    /// Of turns, those that left nothing but their number included.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub private_turns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// The last sign of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Date>,
}

/// A turn: what was asked, and what the agent said in the end.
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
    /// Its place in the session; without one it is the next.
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
    /// The turn it was made of.
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
    /// Estimated tokens of what it was made of.
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
    /// How often somebody called it useful, and wrong.
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
    /// Without one it holds everywhere.
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
    pub key: String,
    pub value: String,
    pub source: FactSource,
    pub trust: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// When it ceased to hold.
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
            key: String::new(),
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
    /// Of a fact that does not say how sure it is: enough to be shown, less than anybody's own word.
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
    fn is_completed(&self) -> bool {
        *self == Self::Completed
    }

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

impl Line {
    /// Reads one line; an error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            let error = error.to_string();
            // The place within a line says little, and the line is one of many.
            error.split(" at line ").next().unwrap_or(&error).to_owned()
        })
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Project(_) => "project",
            Self::Session(_) => "session",
            Self::Message(_) => "message",
            Self::Observation(_) => "observation",
            Self::Summary(_) => "summary",
            Self::Fact(_) => "fact",
        }
    }

    pub fn uuid(&self) -> Option<Uuid> {
        match self {
            Self::Project(line) => line.uuid,
            Self::Session(line) => line.uuid,
            Self::Message(line) => line.uuid,
            Self::Observation(line) => line.uuid,
            Self::Summary(line) => line.uuid,
            Self::Fact(line) => line.uuid,
        }
    }

    pub fn date(&self) -> Option<Time> {
        let date = match self {
            Self::Project(line) => line.date,
            Self::Session(line) => line.date,
            Self::Message(line) => line.date,
            Self::Observation(line) => line.date,
            Self::Summary(line) => line.date,
            Self::Fact(line) => line.date,
        };
        date.map(|date| date.0)
    }

    /// Takes out where it belongs.
    pub fn take_belongs(&mut self) -> Belongs {
        let (project, channel, session) = match self {
            Self::Project(_) => return Belongs::default(),
            Self::Session(line) => {
                return Belongs { project: line.project.take(), channel: line.channel, session: None };
            }
            Self::Message(line) => (&mut line.project, line.channel, &mut line.session),
            Self::Observation(line) => (&mut line.project, line.channel, &mut line.session),
            Self::Summary(line) => (&mut line.project, line.channel, &mut line.session),
            Self::Fact(line) => (&mut line.project, line.channel, &mut line.session),
        };
        Belongs { project: project.take(), channel, session: session.take() }
    }
}

/// A time as people write it: `2026-03-10T09:12:00Z`, `2026-03-10`, or seconds or milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(pub Time);

impl Date {
    fn parse(text: &str) -> Option<Self> {
        let midnight = || Time::from_iso(&format!("{text}T00:00:00Z"));
        Time::from_iso(text).or_else(midnight).map(Self)
    }

    /// Numbers below this are seconds: as milliseconds they would all lie in 1970.
    const SECONDS: i64 = 20_000_000_000;

    fn of_number(number: i64) -> Self {
        Self(Time(if number.abs() < Self::SECONDS { number * 1000 } else { number }))
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iso())
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Number(i64),
        }
        match Written::deserialize(deserializer).map_err(|_| D::Error::custom(NOT_A_DATE))? {
            Written::Text(text) => Self::parse(text.trim()).ok_or_else(|| D::Error::custom(NOT_A_DATE)),
            Written::Number(number) => Ok(Self::of_number(number)),
        }
    }
}

const NOT_A_DATE: &str =
    "a date is written as 2026-03-10T09:12:00Z or 2026-03-10, or as milliseconds since 1970";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_enough() {
        let line = r#"{"kind":"fact","key":"deploys","value":"on Tuesdays","date":"2026-03-10"}"#;
        let Line::Fact(fact) = Line::parse(line).unwrap() else { panic!() };
        assert_eq!((fact.key.as_str(), fact.source), ("deploys", FactSource::Import));
        assert_eq!(fact.date.unwrap().0.iso(), "2026-03-10T00:00:00Z");
        let line = r#"{"kind":"message","channel":"whatsapp","text":"hi","date":1773134520}"#;
        let Line::Message(message) = Line::parse(line).unwrap() else { panic!() };
        assert_eq!(message.channel.unwrap().name(), "whatsapp");
        assert_eq!(message.date.unwrap().0.iso(), "2026-03-10T09:22:00Z");
    }

    #[test]
    fn a_mistake_is_named() {
        for (line, says) in [
            (r#"{"kind":"fact","kee":"deploys"}"#, "unknown field `kee`"),
            (r#"{"kind":"poem"}"#, "unknown variant `poem`"),
            (r#"{"text":"hi"}"#, "missing field `kind`"),
            (r#"{"kind":"message","date":"soon"}"#, "a date is written as"),
            ("hello", "expected value"),
        ] {
            let error = Line::parse(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
