//! What is answered, and why.

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

/// One page of what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    pub hits: Vec<Hit>,
    /// How many records were found in all.
    pub total: usize,
    /// Whether there may be more than `total`: the search looks at so many candidates and no further.
    pub more: bool,
    pub facets: Facets,
    pub plan: Plan,
    /// What was asked, for those who look into the hits.
    #[serde(skip)]
    pub terms: Terms,
}

/// A record that was found, at the part of it that fits best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    pub id: RecordId,
    pub kind: RecordKind,
    /// `narrative`, `fact_2`, `learned`, `turn`, …
    pub part: String,
    pub title: String,
    #[serde(flatten)]
    pub snippet: Snippet,
    /// How well it fits, from 0 to 1, whatever else there is.
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
    /// That observation, where it is known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<ObservationId>,
    /// Of what use it has been; left out where nothing became of it.
    #[serde(default, skip_serializing_if = "Feedback::is_none")]
    pub feedback: Feedback,
    /// Records that say the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<RecordId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn iso<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn from_iso<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    let text = String::deserialize(deserializer)?;
    Time::from_iso(&text).ok_or_else(|| D::Error::custom("not a time"))
}

/// A piece of the text around what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snippet {
    #[serde(rename = "snippet")]
    pub text: String,
    /// Where the words stand that were asked for, in bytes of `text`.
    pub highlights: Vec<(usize, usize)>,
}

/// What brought a hit where it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Its place among those found by words, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical_score: Option<f64>,
    /// Its place among those found by meaning, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// How near that is on the scale of its model, from 0 to 1. `None` where the model does not know the language.
    #[serde(skip)]
    pub meaning: Option<f64>,
    /// The words of the question it contains.
    pub matched: Vec<String>,
    /// How much of the question those are, rare words counting more, from 0 to 1.
    pub coverage: f64,
    /// What being recent or of use before added to its rank; the last is below 0 for what was told
    /// in vain, and far below for what is wrong.
    pub recency: f64,
    pub used: f64,
    /// What decided its place.
    pub rank_score: f64,
    /// Found where it waits to become memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
}

/// How many of the hits are of which kind.
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

/// How the question was understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What was asked for, settled: `auto` is never here.
    pub mode: Mode,
    /// No text was given, so records come by date.
    pub strict: bool,
    /// Whether operators in the text were followed.
    pub syntax: bool,
    pub words: Vec<PlannedWord>,
    /// How much words counted against meaning, from 0 to 1.
    pub lexical_weight: f64,
    /// Why there was no search by meaning, where it was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_vectors: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedWord {
    pub word: String,
    /// How rare it is: more is rarer.
    pub weight: f64,
}
