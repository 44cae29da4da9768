//! Learned knowledge: the records that outlive a conversation.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fact::LearnedFact;
use crate::ids::ObservationId;

/// Kinds of observations. An unknown word becomes a discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", from = "String")]
pub enum ObservationType {
    Bugfix,
    Feature,
    Refactor,
    Change,
    Discovery,
    Decision,
}

/// How a type is displayed, and its weight.
struct Face {
    kind: ObservationType,
    name: &'static str,
    emoji: &'static str,
    /// Weight from 0 to 1 for ranking if not everything fits. Types that settle or explain something weigh most.
    worth: f64,
    /// Whether it reports work. The first sentence of such a report is usually its main point.
    is_report: bool,
    /// Whether it is useful for longer than the rest.
    lasts: bool,
}

/// One entry per type.
const FACES: [Face; 6] = [
    Face {
        kind: ObservationType::Bugfix,
        name: "bugfix",
        emoji: "🐛",
        worth: 0.8,
        is_report: false,
        lasts: true,
    },
    Face {
        kind: ObservationType::Feature,
        name: "feature",
        emoji: "✨",
        worth: 0.6,
        is_report: true,
        lasts: false,
    },
    Face {
        kind: ObservationType::Refactor,
        name: "refactor",
        emoji: "🔄",
        worth: 0.4,
        is_report: true,
        lasts: false,
    },
    Face {
        kind: ObservationType::Change,
        name: "change",
        emoji: "📝",
        worth: 0.3,
        is_report: true,
        lasts: false,
    },
    Face {
        kind: ObservationType::Discovery,
        name: "discovery",
        emoji: "🔍",
        worth: 0.5,
        is_report: false,
        lasts: false,
    },
    Face {
        kind: ObservationType::Decision,
        name: "decision",
        emoji: "⚖️",
        worth: 1.0,
        is_report: false,
        lasts: true,
    },
];

impl ObservationType {
    pub const ALL: [Self; FACES.len()] = {
        let mut all = [Self::Discovery; FACES.len()];
        let mut place = 0;
        while place < FACES.len() {
            all[place] = FACES[place].kind;
            place += 1;
        }
        all
    };

    fn face(self) -> &'static Face {
        FACES.iter().find(|face| face.kind == self).unwrap_or(&FACES[0])
    }

    pub fn name(self) -> &'static str {
        self.face().name
    }

    pub fn emoji(self) -> &'static str {
        self.face().emoji
    }

    /// Weight from 0 to 1 for ranking if not everything fits.
    pub fn worth(self) -> f64 {
        self.face().worth
    }

    /// Whether it reports work, whose first sentence is usually the main point.
    pub fn is_report(self) -> bool {
        self.face().is_report
    }

    /// Whether it is useful for longer than the rest.
    pub fn lasts(self) -> bool {
        self.face().lasts
    }

    /// The type with this name. Strict: a mistyped word is `None`, while `From` turns it into a discovery.
    pub fn named(word: &str) -> Option<Self> {
        FACES.iter().find(|face| face.name.eq_ignore_ascii_case(word.trim())).map(|face| face.kind)
    }
}

impl From<&str> for ObservationType {
    fn from(word: &str) -> Self {
        Self::named(word).unwrap_or(Self::Discovery)
    }
}

impl From<String> for ObservationType {
    fn from(word: String) -> Self {
        word.as_str().into()
    }
}

impl fmt::Display for ObservationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An observation, before it has an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    #[serde(rename = "type")]
    pub kind: ObservationType,
    pub title: String,
    #[serde(default)]
    pub subtitle: String,
    #[serde(default)]
    pub narrative: String,
    #[serde(default)]
    pub facts: Vec<String>,
    /// Keywords chosen by the observer; unknown ones are kept unchanged.
    #[serde(default)]
    pub concepts: Vec<String>,
    #[serde(default)]
    pub files_read: Vec<String>,
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// Estimated tokens of the tool inputs and outputs behind it.
    #[serde(default)]
    pub discovery_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
}

/// The summary of a part of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub request: String,
    #[serde(default)]
    pub investigated: String,
    #[serde(default)]
    pub learned: String,
    #[serde(default)]
    pub completed: String,
    #[serde(default)]
    pub next_steps: String,
    #[serde(default)]
    pub notes: String,
    #[serde(default)]
    pub files_read: Vec<String>,
    #[serde(default)]
    pub files_edited: Vec<String>,
}

/// The result of one batch of events. An empty result is valid: nothing was worth keeping.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub observations: Vec<Observation>,
    pub summary: Option<Summary>,
    #[serde(default)]
    pub facts: Vec<LearnedFact>,
    /// Observations from earlier turns of the session that the user called wrong in this one. This memory supersedes
    /// them.
    #[serde(default)]
    pub refutes: Vec<ObservationId>,
    /// The observer that made it: `builtin`, or the name of a provider.
    pub provider: String,
    #[serde(default)]
    pub model: String,
    /// The provider's own id for its session, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_face() {
        for kind in ObservationType::ALL {
            assert_eq!(ObservationType::named(&kind.name().to_uppercase()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(ObservationType::named("desision"), None);
    }

    #[test]
    fn an_unknown_type_is_a_discovery_and_unknown_concepts_stay() {
        let text = r#"{"type":"Epiphany","title":"t","concepts":["gotcha","zeitgeist"]}"#;
        let observation: Observation = serde_json::from_str(text).unwrap();
        assert_eq!(observation.kind, ObservationType::Discovery);
        assert_eq!(observation.concepts, ["gotcha", "zeitgeist"]);
    }
}
