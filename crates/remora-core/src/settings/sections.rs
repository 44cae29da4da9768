//! The sections of the settings, with their defaults. `table.rs` says how each field is written.

use std::time::Duration;

use super::{Secret, Settings};
use crate::context::More;
use crate::host::Host;

#[derive(Debug, Clone, PartialEq)]
pub struct Observer {
    pub provider: Provider,
    /// Empty for the provider's default.
    pub model: String,
    /// The kinds of observations to make.
    pub mode: String,
    /// The language a model writes in.
    pub language: String,
    /// Time limit for one answer.
    pub timeout: Duration,
    /// From 1 to 8.
    pub parallel_sessions: u8,
    /// Token limit for a session's earlier observations in the prompt of a model.
    pub history_tokens: u32,
    pub over_budget: OverBudget,
    /// US dollars per million tokens sent; 0 if unknown.
    pub input_price: f64,
    /// US dollars per million tokens received; 0 if unknown.
    pub output_price: f64,
    /// A turn that nothing else ended ends after this much silence.
    pub turn_silence: Duration,
}

/// The observer that turns events into knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Provider {
    /// The built-in observer: no model, no network, no cost.
    #[default]
    Builtin,
    ClaudeCli,
    Anthropic,
    Gemini,
    OpenRouter,
    OpenAi,
}

impl Provider {
    pub const ALL: [Self; 6] =
        [Self::Builtin, Self::ClaudeCli, Self::Anthropic, Self::Gemini, Self::OpenRouter, Self::OpenAi];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::ClaudeCli => "claude-cli",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenRouter => "openrouter",
            Self::OpenAi => "openai",
        }
    }
}

/// What happens to events once a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverBudget {
    /// The built-in observer handles them.
    Builtin,
    /// They wait until a model may be called again.
    Wait,
}

/// Spending limits; 0 means no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub daily_tokens: u64,
    pub session_tokens: u64,
    pub daily_usd: f64,
    pub session_usd: f64,
}

/// Prices outside of the observer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Costs {
    /// US dollars per million input tokens of the agents' own model; 0 if unknown.
    pub host_input_price: f64,
}

/// A model provider's service on the network.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeCli {
    /// A name on the PATH, or a path.
    pub program: String,
}

/// Injection at the start of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Token limit, estimated; 0 injects nothing.
    pub tokens: u32,
    /// Limit for summaries of earlier sessions.
    pub summaries: u32,
    /// Hosts whose agents have Remora's tools.
    pub mcp_hosts: Vec<Host>,
}

impl Context {
    /// How an agent of this host requests more; `command` is how it runs Remora.
    pub fn more<'a>(&self, host: Host, command: &'a str) -> More<'a> {
        if self.mcp_hosts.contains(&host) { More::Tools } else { More::Commands(command) }
    }
}

impl Default for Context {
    fn default() -> Self {
        Self { tokens: 2_000, summaries: 10, mcp_hosts: Vec::new() }
    }
}

/// Injection with a prompt, before a file is opened, and of the user's own notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub auto_retrieve_enabled: bool,
    pub auto_retrieve_max_results: u8,
    pub auto_retrieve_ms: u16,
    /// From 0 to 1.
    pub auto_retrieve_min_score: f64,
    pub file_context_enabled: bool,
    pub obsidian_context_enabled: bool,
    /// Notes that are always injected: by path in the vault, or by name.
    pub obsidian_context_notes: Vec<String>,
    /// Without `#`; empty for none.
    pub obsidian_context_tag: String,
    /// A folder of Markdown files; `~` is the home directory. Empty for none.
    pub obsidian_vault: String,
    /// Address of Obsidian's Local REST API, for users without a folder. Empty for none.
    pub obsidian_api_url: String,
    pub obsidian_api_key: Secret,
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

impl Default for Memory {
    fn default() -> Self {
        Self {
            auto_retrieve_enabled: true,
            auto_retrieve_max_results: 8,
            auto_retrieve_ms: 80,
            auto_retrieve_min_score: 0.5,
            file_context_enabled: true,
            obsidian_context_enabled: true,
            obsidian_context_notes: Vec::new(),
            obsidian_context_tag: "remora".to_owned(),
            obsidian_vault: String::new(),
            obsidian_api_url: String::new(),
            obsidian_api_key: Secret::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub embedder: Embedder,
    /// Address of an embedder on the network. Empty for its default.
    pub embedder_url: String,
    /// Empty for the embedder's default.
    pub embedder_model: String,
    pub embedder_api_key: Secret,
    /// 0 for no age limit.
    pub max_age_days: u32,
    /// Whether turns are searchable, in addition to what was learned from them.
    pub index_turns: bool,
    /// How long the model and the vectors stay in memory after the last search.
    pub idle_seconds: u32,
}

/// The source of the vectors for semantic search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedder {
    /// The model inside the program.
    Builtin,
    /// No embedder: keyword search only.
    Off,
    /// OpenAI, or a service with the same API.
    OpenAiCompatible,
    Voyage,
    Ollama,
}

impl Embedder {
    pub const ALL: [Self; 5] = [Self::Builtin, Self::Off, Self::OpenAiCompatible, Self::Voyage, Self::Ollama];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Off => "off",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Voyage => "voyage",
            Self::Ollama => "ollama",
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

impl Default for Search {
    fn default() -> Self {
        Self {
            embedder: Embedder::Builtin,
            embedder_url: String::new(),
            embedder_model: String::new(),
            embedder_api_key: Secret::default(),
            max_age_days: 0,
            index_turns: true,
            idle_seconds: 300,
        }
    }
}

/// Limits for data that would otherwise grow without end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub usage_days: u32,
    pub failed_days: u32,
    /// Megabytes, for all log files together.
    pub log_mb: u32,
}

/// What happens to memory that the user deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    /// 0 deletes at once.
    pub undo_minutes: u32,
}

impl Forget {
    pub fn undo(&self) -> Duration {
        Duration::from_mins(self.undo_minutes.into())
    }
}

/// Copies of the database that the daemon makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub enabled: bool,
    /// Megabytes, for all backups together.
    pub most_mb: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// Whether a hook starts the daemon if none is running.
    pub autostart: bool,
    pub idle_exit: IdleExit,
    /// 0 for any free port.
    pub port: u16,
}

/// When an idle daemon exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleExit {
    After(Duration),
    Never,
}

impl Default for Daemon {
    fn default() -> Self {
        Self { autostart: true, idle_exit: IdleExit::After(Duration::from_mins(30)), port: 37777 }
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            provider: Provider::Builtin,
            model: String::new(),
            mode: "code".to_owned(),
            language: "English".to_owned(),
            timeout: Duration::from_mins(1),
            parallel_sessions: 2,
            history_tokens: 2000,
            over_budget: OverBudget::Builtin,
            input_price: 0.0,
            output_price: 0.0,
            turn_silence: Duration::from_mins(5),
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { daily_tokens: 500_000, session_tokens: 0, daily_usd: 0.0, session_usd: 0.0 }
    }
}

impl Default for ClaudeCli {
    fn default() -> Self {
        Self { program: "claude".to_owned() }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { usage_days: 365, failed_days: 90, log_mb: 5 }
    }
}

impl Default for Forget {
    fn default() -> Self {
        Self { undo_minutes: 10 }
    }
}

impl Default for Backup {
    fn default() -> Self {
        Self { enabled: true, most_mb: 500 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Tools whose successful calls are not captured; a trailing `*` matches any ending.
    pub skip_tools: Vec<String>,
    /// Globs of directories where nothing is captured; `~` is the home directory.
    pub exclude_projects: Vec<String>,
    /// There is an exclusion list, but it cannot be read. Nothing is captured then, because the excluded projects are
    /// unknown.
    pub exclusions_unknown: bool,
    pub sync: Sync,
}

/// How well a captured event survives a power cut. With both values it survives the death of any process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    Normal,
    Full,
}

impl Default for Capture {
    fn default() -> Self {
        let skip = [
            "Glob",
            "Grep",
            "ListMcpResourcesTool",
            "TodoRead",
            "TodoWrite",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskUpdate",
            "EnterPlanMode",
            "ExitPlanMode",
            "exit_plan_mode",
            "update_plan",
            "write_todos",
            "mcp__remora__*",
            "mcp__plugin_remora_*",
        ];
        Self {
            skip_tools: skip.map(str::to_owned).into(),
            exclude_projects: Vec::new(),
            exclusions_unknown: false,
            sync: Sync::Normal,
        }
    }
}
