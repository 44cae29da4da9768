//! Facts: preferences, conventions, corrections and plain statements, for one project or for all.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kinds of facts. An unknown word becomes a plain fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", from = "String")]
pub enum FactKind {
    /// A statement about how something is.
    Fact,
    /// How the user wants things done.
    Preference,
    /// A correction by the user.
    Correction,
    /// How things are done in a project.
    Convention,
}

impl FactKind {
    pub const ALL: [Self; 4] = [Self::Fact, Self::Preference, Self::Correction, Self::Convention];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Preference => "preference",
            Self::Correction => "correction",
            Self::Convention => "convention",
        }
    }
}

impl From<&str> for FactKind {
    fn from(word: &str) -> Self {
        let word = word.trim();
        Self::ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.name())).unwrap_or(Self::Fact)
    }
}

impl From<String> for FactKind {
    fn from(word: String) -> Self {
        word.as_str().into()
    }
}

/// The source of a fact: `user`, `agent`, `tool:NAME` or `import`. An unknown word becomes an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
pub enum FactSource {
    User,
    Agent,
    Tool(String),
    Import,
}

impl fmt::Display for FactSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::Agent => f.write_str("agent"),
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Import => f.write_str("import"),
        }
    }
}

impl From<&str> for FactSource {
    fn from(text: &str) -> Self {
        match (text, text.strip_prefix("tool:")) {
            ("user", _) => Self::User,
            ("agent", _) => Self::Agent,
            (_, Some(tool)) => Self::Tool(tool.to_owned()),
            _ => Self::Import,
        }
    }
}

impl From<String> for FactSource {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<FactSource> for String {
    fn from(source: FactSource) -> Self {
        source.to_string()
    }
}

/// A fact, before it has an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    pub kind: FactKind,
    /// The subject. A later fact with the same key replaces this one.
    pub key: String,
    pub value: String,
    pub source: FactSource,
    /// From 0 to 1.
    pub trust: f64,
}

/// Where a fact applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FactScope {
    /// In the project it was stated in.
    #[default]
    Project,
    /// In every project.
    Global,
}

/// A fact that an observer found in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedFact {
    #[serde(default)]
    pub scope: FactScope,
    #[serde(flatten)]
    pub fact: Fact,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_sources_are_read_as_they_are_written() {
        for kind in FactKind::ALL {
            assert_eq!(FactKind::from(kind.name()), kind);
        }
        assert_eq!(FactKind::from("rumour"), FactKind::Fact);
        let tool = FactSource::Tool("cargo".to_owned());
        for source in [FactSource::User, FactSource::Agent, tool, FactSource::Import] {
            assert_eq!(FactSource::from(source.to_string()), source);
        }
        assert_eq!(FactSource::from("hearsay"), FactSource::Import);
    }
}
