//! Search results, with the reasons for them.

use std::collections::BTreeMap;

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Feedback;
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::query::Mode;
use crate::terms::Terms;

/// One page of search results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    pub hits: Vec<Hit>,
    /// The number of records found.
    pub total: usize,
    /// Whether there may be more than `total`: the number of candidates is limited.
    pub more: bool,
    pub facets: Facets,
    pub plan: Plan,
    /// The terms of the query, for callers that examine the hits further.
    #[serde(skip)]
    pub terms: Terms,
}

/// A record that was found, with its best matching part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    pub id: RecordId,
    pub kind: RecordKind,
    /// `narrative`, `fact_2`, `learned`, `turn`, …
    pub part: String,
    pub title: String,
    #[serde(flatten)]
    pub snippet: Snippet,
    /// How well it fits, from 0 to 1, independent of other hits.
    pub score: f64,
    pub why: Why,
    pub project: Option<String>,
    pub project_id: Option<ProjectId>,
    pub session_id: Option<SessionId>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub observation_type: Option<ObservationType>,
    #[serde(serialize_with = "iso", deserialize_with = "from_iso")]
    #[schemars(with = "String")]
    pub created_at: Time,
    /// Whether another observation replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
    /// That observation, if it is known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<ObservationId>,
    /// How it was used so far. Omitted if empty.
    #[serde(default, skip_serializing_if = "Feedback::is_none")]
    pub feedback: Feedback,
    /// Records that say the same and were folded into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<RecordId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
fn iso<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn from_iso<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    let text = String::deserialize(deserializer)?;
    Time::from_iso(&text).ok_or_else(|| D::Error::custom("not a time"))
}

/// An excerpt around the words of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snippet {
    #[serde(rename = "snippet")]
    pub text: String,
    /// Byte ranges of matching words in `text`.
    pub highlights: Vec<(usize, usize)>,
}

/// The reasons for a hit's place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Its rank among the documents found by words, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical_score: Option<f64>,
    /// Its rank among the documents found by meaning, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// Closeness on the model's scale, from 0 to 1. `None` if the model does not know the language.
    #[serde(skip)]
    pub meaning: Option<f64>,
    /// The words of the query that it contains.
    pub matched: Vec<String>,
    /// Their share of the query, from 0 to 1. Rare words count more.
    pub coverage: f64,
    /// Bonuses for recency and for past use. `used` is negative after unused injections, and strongly so for records
    /// marked wrong.
    pub recency: f64,
    pub used: f64,
    /// The score that decided its place.
    pub rank_score: f64,
    /// Found in the queue: not observed yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
}

/// Counts of the hits, by type, kind, project, concept, file, host and date.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Facets {
    pub types: BTreeMap<String, usize>,
    pub kinds: BTreeMap<String, usize>,
    pub projects: BTreeMap<String, usize>,
    pub concepts: BTreeMap<String, usize>,
    /// The most frequent files that hits read or changed.
    pub files: BTreeMap<String, usize>,
    pub hosts: BTreeMap<String, usize>,
    /// Hits since `7 days ago`, `30 days ago` and `365 days ago`.
    pub dates: BTreeMap<String, usize>,
}

/// How the query was understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The mode that was used; never `auto`.
    pub mode: Mode,
    /// The query has no text, so records are sorted by date.
    pub strict: bool,
    /// Whether operators in the text were applied.
    pub syntax: bool,
    pub words: Vec<PlannedWord>,
    /// The weight of words against meaning, from 0 to 1.
    pub lexical_weight: f64,
    /// Why there was no search by meaning although the mode includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_vectors: Option<String>,
}

impl Plan {
    /// How records were found, in words for a sentence: `words and meaning`.
    pub fn way(&self) -> &'static str {
        match self.mode {
            _ if self.strict => "date",
            Mode::Semantic => "meaning",
            Mode::Text => "words",
            Mode::Auto | Mode::Hybrid if self.no_vectors.is_some() => "words",
            Mode::Auto | Mode::Hybrid => "words and meaning",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedWord {
    pub word: String,
    /// Its rarity: higher is rarer.
    pub weight: f64,
}
