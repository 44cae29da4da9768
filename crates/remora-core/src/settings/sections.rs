//! Types of single settings, and methods of the sections.

use std::time::Duration;

use toml::Value;

use super::value::{Shown, Word, words};
use super::{Context, Forget, Memory, Search, Secret, Settings};
use crate::context::More;
use crate::host::Host;

words! {
    /// The observer that turns events into knowledge.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Provider {
        /// The built-in observer: no model, no network, no cost.
        #[default]
        Builtin = "builtin",
        ClaudeCli = "claude-cli",
        Anthropic = "anthropic",
        Gemini = "gemini",
        OpenRouter = "openrouter",
        OpenAi = "openai",
    }

    /// What happens to events once a budget is used up.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum OverBudget {
        /// The built-in observer handles them.
        Builtin = "builtin",
        /// They wait until a model may be called again.
        Wait = "wait",
    }

    /// How well a captured event survives a power cut. With both values it survives the death of any process.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Sync {
        Normal = "normal",
        Full = "full",
    }

    /// The source of the vectors for semantic search.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Embedder {
        /// The model inside the program.
        Builtin = "builtin",
        /// No embedder: keyword search only.
        Off = "off",
        /// OpenAI, or a service with the same API.
        OpenAiCompatible = "openai-compatible",
        Voyage = "voyage",
        Ollama = "ollama",
    }
}

/// When an idle daemon exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleExit {
    After(Duration),
    Never,
}

/// A model provider's service on the network. Several sections have these fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Service {
    pub api_key: Secret,
    /// Empty for the provider's own address.
    pub base_url: String,
}

impl Settings {
    /// The network service of a provider, if it has one.
    pub fn service(&self, provider: Provider) -> Option<&Service> {
        match provider {
            Provider::Builtin | Provider::ClaudeCli => None,
            Provider::Anthropic => Some(&self.anthropic),
            Provider::Gemini => Some(&self.gemini),
            Provider::OpenRouter => Some(&self.openrouter),
            Provider::OpenAi => Some(&self.openai),
        }
    }
}

impl Context {
    /// How an agent of this host requests more; `command` is how it runs Remora.
    pub fn more<'a>(&self, host: Host, command: &'a str) -> More<'a> {
        if self.mcp_hosts.contains(&host) { More::Tools } else { More::Commands(command) }
    }
}

/// The source of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotesSource<'a> {
    Folder(&'a str),
    Api(&'a str),
}

impl Memory {
    /// Prefers the folder, because it needs no running program.
    pub fn notes_source(&self) -> Option<NotesSource<'_>> {
        if !self.obsidian_context_enabled {
            return None;
        }
        match (self.obsidian_vault.as_str(), self.obsidian_api_url.as_str()) {
            ("", "") => None,
            ("", url) => Some(NotesSource::Api(url)),
            (folder, _) => Some(NotesSource::Folder(folder)),
        }
    }
}

impl Search {
    /// Whether the chosen embedder needs a key and has none. A self-hosted server may need none.
    pub fn misses_key(&self) -> bool {
        let wants_key = match self.embedder {
            Embedder::Builtin | Embedder::Off | Embedder::Ollama => false,
            Embedder::OpenAiCompatible | Embedder::Voyage => self.embedder_url.is_empty(),
        };
        wants_key && !self.embedder_api_key.is_set()
    }
}

impl Forget {
    pub fn undo(&self) -> Duration {
        Duration::from_mins(self.undo_minutes.into())
    }
}
