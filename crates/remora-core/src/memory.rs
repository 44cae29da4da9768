//! What was learned: the records that outlive the conversation.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fact::LearnedFact;
use crate::ids::ObservationId;

/// What kind of knowledge an observation is. An unknown word becomes a discovery.
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

/// A type as people see it, and what it is worth.
struct Face {
    kind: ObservationType,
    name: &'static str,
    emoji: &'static str,
    /// Its weight where not everything fits, from 0 to 1: what settles or explains something is worth most.
    worth: f64,
}

/// One entry a type.
const FACES: [Face; 6] = [
    Face { kind: ObservationType::Bugfix, name: "bugfix", emoji: "🐛", worth: 0.8 },
    Face { kind: ObservationType::Feature, name: "feature", emoji: "✨", worth: 0.6 },
    Face { kind: ObservationType::Refactor, name: "refactor", emoji: "🔄", worth: 0.4 },
    Face { kind: ObservationType::Change, name: "change", emoji: "📝", worth: 0.3 },
    Face { kind: ObservationType::Discovery, name: "discovery", emoji: "🔍", worth: 0.5 },
    Face { kind: ObservationType::Decision, name: "decision", emoji: "⚖️", worth: 1.0 },
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

    /// What it is worth where not everything fits, from 0 to 1.
    pub fn worth(self) -> f64 {
        self.face().worth
    }

    /// The type of this name. A mistyped word is no type, where a tolerant reader takes it for a discovery.
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

/// One piece of knowledge, before it has an id.
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
    /// Words of the observer's choice; those we do not know are kept as they are.
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

/// What a stretch of a session was about.
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

/// Everything one batch of events was turned into. Empty is a valid outcome: nothing was worth keeping.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub observations: Vec<Observation>,
    pub summary: Option<Summary>,
    #[serde(default)]
    pub facts: Vec<LearnedFact>,
    /// Observations of earlier turns of the session that the user called wrong in this one. What this memory says
    /// supersedes them.
    #[serde(default)]
    pub refutes: Vec<ObservationId>,
    /// Who made it: `builtin`, or a provider and its model.
    pub provider: String,
    #[serde(default)]
    pub model: String,
    /// The provider's own name for its session, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_face_of_its_own() {
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
