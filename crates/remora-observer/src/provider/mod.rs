//! Calls to a language model: one request in, one text and its cost out.
//!
//! A provider is opt-in and may cost money, so nothing here repeats a request: no retry, no redirect, no second
//! model. The caller decides when to retry and whether the budget allows it, based on a typed [`ProviderError`].

mod anthropic;
mod claude_cli;
mod error;
mod gemini;
mod openai;
mod raw_reply;

use std::path::{Path, PathBuf};
use std::time::Duration;

use claude_cli::ClaudeCli;
pub use error::ProviderError;
use remora_core::settings::Settings;
pub use remora_core::settings::{Provider as ProviderKind, Secret};
use remora_net::{CallError, Http};
use serde_json::Value;

/// Default timeout for an answer.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// One request: the system prompt and one user message. The history is already part of `prompt`.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub system: &'a str,
    pub prompt: &'a str,
    pub max_output_tokens: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub text: String,
    /// The model that answered, as named by the provider.
    pub model: String,
    pub usage: Usage,
    /// The provider's session, if it has one: `claude-cli` only.
    pub session_id: Option<String>,
}

/// The cost of a request, in tokens and, if the provider reports it, in dollars.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Usage {
    /// All input tokens, including those read from a cache.
    pub input: u64,
    pub output: u64,
    /// Input tokens that were read from a cache.
    pub cached: u64,
    pub cost_usd: Option<f64>,
    /// Whether the figures are estimated, because the provider reported none.
    pub estimated: bool,
}

impl Usage {
    /// An estimate from the length of the texts: four bytes per token.
    pub fn estimate(request: &Request<'_>, answer: &str) -> Self {
        let input = tokens(request.system.len() + request.prompt.len());
        Self { input, output: tokens(answer.len()), estimated: true, ..Self::default() }
    }
}

/// A count in the usage that a provider reports; 0 if it is missing.
fn count(usage: &Value, name: &str) -> u64 {
    usage[name].as_u64().unwrap_or_default()
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

/// A cheap, current model, used if the settings name none.
fn default_model(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Builtin => "",
        ProviderKind::ClaudeCli => claude_cli::DEFAULT_MODEL,
        ProviderKind::Anthropic => anthropic::DEFAULT_MODEL,
        ProviderKind::Gemini => gemini::DEFAULT_MODEL,
        ProviderKind::OpenRouter => openai::OPENROUTER_DEFAULT_MODEL,
        ProviderKind::OpenAi => openai::DEFAULT_MODEL,
    }
}

/// The provider's default address; empty if it has none.
fn default_base_url(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Builtin | ProviderKind::ClaudeCli => "",
        ProviderKind::Anthropic => anthropic::DEFAULT_BASE_URL,
        ProviderKind::Gemini => gemini::DEFAULT_BASE_URL,
        ProviderKind::OpenRouter => openai::OPENROUTER_DEFAULT_BASE_URL,
        ProviderKind::OpenAi => openai::DEFAULT_BASE_URL,
    }
}

/// The address of the provider in these settings; `None` if it is not called over the network.
pub fn base_url(settings: &Settings) -> Option<String> {
    let kind = settings.observer.provider;
    let service = settings.service(kind)?;
    Some(given(Some(&service.base_url)).unwrap_or(default_base_url(kind)).to_owned())
}

/// Everything a provider needs, as plain values.
#[derive(Debug, Clone)]
pub struct Config {
    pub kind: ProviderKind,
    /// `None` for a cheap default.
    pub model: Option<String>,
    /// `None` for the provider's default.
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    /// For the whole exchange, from the connection to the last byte.
    pub timeout: Duration,
    /// The Claude Code program: a path, or a name that is looked up in `PATH`.
    pub claude_program: PathBuf,
    /// Contains the working directory for `claude-cli`.
    pub data_dir: PathBuf,
}

impl Config {
    /// Reads the settings; `None` if no model is configured.
    pub fn from_settings(settings: &Settings, data_dir: &Path) -> Option<Self> {
        let kind = settings.observer.provider;
        if kind == ProviderKind::Builtin {
            return None;
        }
        let service = settings.service(kind).cloned().unwrap_or_default();
        Some(Self {
            model: Some(settings.observer.model.clone()),
            base_url: Some(service.base_url),
            key: Some(service.api_key),
            timeout: settings.observer.timeout,
            claude_program: PathBuf::from(&settings.claude_cli.program),
            ..Self::new(kind, data_dir)
        })
    }

    pub fn new(kind: ProviderKind, data_dir: impl Into<PathBuf>) -> Self {
        Self {
            kind,
            model: None,
            base_url: None,
            key: None,
            timeout: DEFAULT_TIMEOUT,
            claude_program: PathBuf::from("claude"),
            data_dir: data_dir.into(),
        }
    }
}

/// A configured provider. Nothing is opened or started before the first request.
#[derive(Debug)]
pub struct Provider {
    kind: ProviderKind,
    model: String,
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    Http(Http),
    ClaudeCli(ClaudeCli),
}

impl Provider {
    pub fn new(config: Config) -> Result<Self, ProviderError> {
        let kind = config.kind;
        let model = given(config.model.as_deref()).unwrap_or(default_model(kind)).to_owned();
        let backend = match kind {
            ProviderKind::Builtin => {
                return Err(CallError::misconfigured("`builtin` asks no language model").into());
            }
            ProviderKind::ClaudeCli => Backend::ClaudeCli(ClaudeCli::new(config)),
            _ => {
                let custom = given(config.base_url.as_deref());
                let key = config.key.filter(|key| !key.expose().trim().is_empty());
                if key.is_none() && !(kind == ProviderKind::OpenAi && custom.is_some()) {
                    let reason = format!("`{}` needs an API key", kind.as_str());
                    return Err(CallError::misconfigured(reason).into());
                }
                let base_url = custom.unwrap_or(default_base_url(kind));
                Backend::Http(Http::new(base_url, key, config.timeout)?)
            }
        };
        Ok(Self { kind, model, backend })
    }

    /// Sends one request. Dropping the future ends the exchange, and with `claude-cli` also the child.
    pub async fn ask(&self, request: &Request<'_>) -> Result<Reply, ProviderError> {
        match &self.backend {
            Backend::ClaudeCli(claude) => claude.ask(&self.model, request).await,
            Backend::Http(http) => match self.kind {
                ProviderKind::Anthropic => anthropic::ask(http, &self.model, request).await,
                ProviderKind::Gemini => gemini::ask(http, &self.model, request).await,
                _ => openai::ask(http, &self.model, request).await,
            },
        }
    }

    /// Whether it reports the cost of an answer.
    pub fn reports_cost(&self) -> bool {
        matches!(self.kind, ProviderKind::ClaudeCli | ProviderKind::OpenRouter)
    }

    pub fn name(&self) -> &str {
        self.kind.as_str()
    }

    /// The requested model; [`Reply::model`] is the one that answered.
    pub fn model(&self) -> &str {
        &self.model
    }
}

/// An empty setting counts as not given.
fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
