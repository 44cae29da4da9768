//! The search query.

use remora_core::document::ProjectScope;
use remora_core::time::Time;
use remora_store::search::Filters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By words and meaning; by words alone if there are no vectors; by date if there is no text.
    #[default]
    Auto,
    Hybrid,
    /// By meaning alone.
    Semantic,
    /// By words alone; needs no model.
    Text,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Auto, Self::Hybrid, Self::Semantic, Self::Text];

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hybrid => "hybrid",
            Self::Semantic => "semantic",
            Self::Text => "text",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    #[default]
    Relevance,
    /// Newest first.
    Date,
}

impl Sort {
    pub const ALL: [Self; 2] = [Self::Relevance, Self::Date];

    pub fn name(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Date => "date",
        }
    }
}

/// Which hits get a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Snippets {
    All,
    /// Only facts and notes, which recall injects by their snippet. Of other records it injects sentences.
    Injected,
}

/// A search query.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    pub text: String,
    pub filters: Filters,
    pub mode: Mode,
    pub sort: Sort,
    pub limit: usize,
    pub offset: usize,
    /// Whether the text is a prompt: prose without operators, searched in observed memory only, not in the queue.
    pub is_prompt: bool,
    /// Whether a turn, its summary and its observation are merged into one hit. They say the same, so a person wants
    /// one of them; recall chooses among their sentences and wants all.
    pub one_a_turn: bool,
    /// Whether filters only choose among the results of the text, so that a facet shows exactly as many as it counted.
    /// Otherwise they are searched in full, deeper than the best results without them.
    pub narrows: bool,
    pub snippets: Snippets,
    /// The current time.
    pub now: Time,
}

impl SearchQuery {
    pub fn new(scope: ProjectScope, text: impl Into<String>, now: Time) -> Self {
        Self {
            text: text.into(),
            filters: Filters::new(scope),
            mode: Mode::Auto,
            sort: Sort::Relevance,
            limit: 20,
            offset: 0,
            is_prompt: false,
            one_a_turn: false,
            narrows: false,
            snippets: Snippets::All,
            now,
        }
    }
}
