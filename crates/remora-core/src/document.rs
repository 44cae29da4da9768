//! Search results: records, and the parts of them that are indexed separately.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{EventId, FactId, NoteId, ObservationId, ProjectId, PromptId, SummaryId};

/// The memory to search. There is no default, so a search cannot forget to state its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectScope {
    /// One project, plus the facts that apply to all projects.
    One(ProjectId),
    /// All projects, only on request.
    All,
}

/// Kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordKind {
    Observation,
    Summary,
    /// A prompt with the agent's closing message.
    Turn,
    Fact,
    /// A note of the user, from a folder of Markdown files.
    Note,
    /// An event that has not been turned into memory yet.
    Event,
}

impl RecordKind {
    pub const ALL: [Self; 6] =
        [Self::Observation, Self::Summary, Self::Turn, Self::Fact, Self::Note, Self::Event];

    pub fn name(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::Summary => "summary",
            Self::Turn => "turn",
            Self::Fact => "fact",
            Self::Note => "note",
            Self::Event => "event",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Observation => "",
            Self::Summary => "s",
            Self::Turn => "t",
            Self::Fact => "f",
            Self::Note => "n",
            Self::Event => "e",
        }
    }
}

/// A record's id as people type it: `123` is an observation, `s12` a summary, `t34` a turn, `f5` a fact, `n7` a note,
/// `e6` an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    pub kind: RecordKind,
    pub number: i64,
}

macro_rules! record_id_of {
    ($($id:ident $kind:ident)*) => {$(
        impl From<$id> for RecordId {
            fn from(id: $id) -> Self {
                Self { kind: RecordKind::$kind, number: id.0 }
            }
        }
    )*};
}

record_id_of! {
    ObservationId Observation
    SummaryId Summary
    PromptId Turn
    FactId Fact
    NoteId Note
    EventId Event
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.letter(), self.number)
    }
}

impl FromStr for RecordId {
    type Err = NotARecordId;

    fn from_str(text: &str) -> Result<Self, NotARecordId> {
        let digits = text.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let letter = &text[..text.len() - digits.len()];
        let kind = RecordKind::ALL.into_iter().find(|kind| kind.letter() == letter).ok_or(NotARecordId)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| is_number).ok_or(NotARecordId)?;
        Ok(Self { kind, number })
    }
}

impl Serialize for RecordId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for RecordId {
    fn schema_name() -> Cow<'static, str> {
        "RecordId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[a-z]?[0-9]+$" })
    }
}

/// The text is not a record id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotARecordId;

impl fmt::Display for NotARecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a record's id")
    }
}

impl std::error::Error for NotARecordId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_id_parses_as_it_is_printed() {
        for kind in RecordKind::ALL {
            let id = RecordId { kind, number: 42 };
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(RecordKind::from_name(kind.name()), Some(kind));
        }
        for wrong in ["", "s", "x1", "t-1", "1s", "t+1", "é1"] {
            assert_eq!(wrong.parse::<RecordId>(), Err(NotARecordId), "{wrong}");
        }
    }
}
