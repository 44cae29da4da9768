//! The JSON of injections.

use remora_core::time::Time;
use remora_store::injections::{Item, Moment, Retrieval, RetrievalRow};
use schemars::JsonSchema;
use serde::Serialize;

/// The moment of an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Moment")]
pub enum MomentJson {
    Start,
    Prompt,
    /// Before a file was read or changed.
    File,
}

impl From<Moment> for MomentJson {
    fn from(moment: Moment) -> Self {
        match moment {
            Moment::Start => Self::Start,
            Moment::Prompt => Self::Prompt,
            Moment::File => Self::File,
        }
    }
}

/// One record of an injection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Item")]
pub struct ItemJson {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Version of a note that is always injected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Hashes of the injected passages, for the ledger; empty if only a title was injected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<u64>,
}

impl From<Item> for ItemJson {
    fn from(item: Item) -> Self {
        let Item { id, score, why, version, passages } = item;
        Self { id, score, why, version, passages }
    }
}

/// An injection as stored.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RetrievalRow")]
pub struct RetrievalJson {
    pub id: i64,
    pub host: String,
    pub session: String,
    pub project: String,
    /// The host's name of the subagent; empty for the main agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    pub moment: MomentJson,
    /// The beginning of the prompt, as captured; for a file, its path in the project; for a start, the host's name
    /// for how the session started.
    pub prompt: String,
    pub tokens: u64,
    pub ms: u64,
    /// The part of recall that was not available.
    pub degraded: Option<String>,
    pub items: Vec<ItemJson>,
    pub at: Time,
}

impl From<RetrievalRow> for RetrievalJson {
    fn from(row: RetrievalRow) -> Self {
        let RetrievalRow { id, host, session, project, retrieval } = row;
        let Retrieval { session: _, agent, moment, prompt, tokens, ms, degraded, items, at } = retrieval;
        let items = items.into_iter().map(ItemJson::from).collect();
        let moment = moment.into();
        Self { id, host, session, project, agent, moment, prompt, tokens, ms, degraded, items, at }
    }
}
