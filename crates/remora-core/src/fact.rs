//! Facts: preferences, conventions, corrections and plain statements, for one project or for all.

use std::fmt;
use std::ops::Deref;

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

/// The subject of a fact. Keys that differ only in case or spaces are the same, so every key is in lower case, with
/// single spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct FactKey(String);

impl FactKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text has all words of the key, so that the key adds nothing to it. The observer's keys are made of
    /// words of their values, in the singular.
    pub fn is_in(&self, text: &str) -> bool {
        let text = text.replace('’', "'").to_lowercase();
        let words: Vec<&str> = words(&text).collect();
        self::words(&self.0).all(|own| {
            words.iter().any(|word| *word == own || word.strip_suffix('s').is_some_and(|word| word == own))
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    parts.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty())
}

impl From<&str> for FactKey {
    fn from(text: &str) -> Self {
        Self(text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase())
    }
}

impl From<String> for FactKey {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<FactKey> for String {
    fn from(key: FactKey) -> Self {
        key.0
    }
}

impl Deref for FactKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A fact, before it has an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    pub kind: FactKind,
    /// A later fact with the same key replaces this one.
    pub key: FactKey,
    pub value: String,
    pub source: FactSource,
    /// From 0 to 1.
    pub trust: f64,
}

impl Fact {
    /// The fact as one text: the value, after the key unless the value has its words.
    pub fn statement(&self) -> String {
        if self.key.is_in(&self.value) { self.value.clone() } else { format!("{}: {}", self.key, self.value) }
    }
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

    #[test]
    fn keys_that_differ_in_case_or_spaces_are_the_same() {
        for key in ["package manager", " Package  Manager ", "PACKAGE\nmanager"] {
            assert_eq!(FactKey::from(key).to_string(), "package manager");
        }
    }

    #[test]
    fn a_statement_has_the_key_unless_the_value_has_its_words() {
        let statement = |key: &str, value: &str| {
            let (kind, source) = (FactKind::Fact, FactSource::User);
            Fact { kind, key: key.into(), value: value.to_owned(), source, trust: 1.0 }.statement()
        };
        assert_eq!(statement("package manager", "pnpm"), "package manager: pnpm");
        assert_eq!(statement("a", "banana"), "a: banana", "a part of a word is not the word");
        assert_eq!(statement("lint test", "Don’t lint the Tests."), "Don’t lint the Tests.");
    }
}
