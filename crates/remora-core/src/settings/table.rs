//! The table of all settings. Each entry holds the name, the meaning, and how the value is read and shown.

use std::time::Duration;

use toml::Value;

use super::given::Given;
use super::{Embedder, IdleExit, OverBudget, Provider, Secret, Settings, Sync};
use crate::host::Host;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// `section.key`, as in `config.toml`.
    pub name: &'static str,
    /// Its environment variable.
    pub variable: &'static str,
    /// Its purpose, in one line.
    pub meaning: &'static str,
    /// Whether its value is never shown.
    pub secret: bool,
    /// The accepted words, if only some are.
    pub choices: &'static [&'static str],
    /// Variables of other programs that apply if neither the file nor our own variable sets a value.
    pub usual_variables: &'static [&'static str],
    pub(super) apply: fn(&mut Settings, &Given<'_>) -> Result<(), String>,
    pub(super) show: fn(&Settings) -> Value,
}

impl Setting {
    /// `observer`
    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// `provider`
    pub fn key(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, key)| key)
    }

    /// Whether it names a program to run. Only a person at a terminal may change such a setting.
    pub fn names_a_program(&self) -> bool {
        self.key() == "program"
    }

    const fn one_of(self, choices: &'static [&'static str]) -> Self {
        Self { choices, ..self }
    }

    /// Its value in `settings`; for a secret, only `set` or `not set`.
    pub fn show(&self, settings: &Settings) -> Value {
        (self.show)(settings)
    }

    /// The value for `config.toml` from typed text, or a message about what was expected.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let mut scratch = Settings::default();
        let given = Given::Text(text);
        (self.apply)(&mut scratch, &given)?;
        match ((self.show)(&scratch), given.text()) {
            // Keeps the text as typed: "90s" is not converted to an equal value, and a key is not masked.
            (Value::String(_), Some(text)) => Ok(Value::String(text.trim().to_owned())),
            (value, _) => Ok(value),
        }
    }
}

type Apply = fn(&mut Settings, &Given<'_>) -> Result<(), String>;
type Show = fn(&Settings) -> Value;

const fn setting(
    name: &'static str,
    variable: &'static str,
    meaning: &'static str,
    apply: Apply,
    show: Show,
) -> Setting {
    Setting { name, variable, meaning, secret: false, choices: &[], usual_variables: &[], apply, show }
}

const fn secret(
    name: &'static str,
    variable: &'static str,
    meaning: &'static str,
    usual_variables: &'static [&'static str],
    apply: Apply,
    show: Show,
) -> Setting {
    Setting { name, variable, meaning, secret: true, choices: &[], usual_variables, apply, show }
}

const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_DAYS: u32 = 36_500;
/// A week in minutes.
const MOST_UNDO: u32 = 7 * 24 * 60;

/// The order in which settings are resolved and listed.
pub(super) const SETTINGS: &[Setting] = &[
    setting(
        "observer.provider",
        "REMORA_OBSERVER_PROVIDER",
        "the observer that turns events into observations: `builtin` (free, offline), `claude-cli`, `anthropic`, `gemini`, `openrouter` or `openai`",
        |settings, given| {
            let words = Provider::ALL.map(|provider| (provider.as_str(), provider));
            given.one_of(&words).map(|provider| settings.observer.provider = provider)
        },
        |settings| settings.observer.provider.as_str().into(),
    )
    .one_of(&["builtin", "claude-cli", "anthropic", "gemini", "openrouter", "openai"]),
    setting(
        "observer.model",
        "REMORA_OBSERVER_MODEL",
        "the model that the provider runs; empty means the provider's default",
        |settings, given| given.line().map(|model| settings.observer.model = model),
        |settings| settings.observer.model.as_str().into(),
    ),
    setting(
        "observer.mode",
        "REMORA_OBSERVER_MODE",
        "the mode of the observer: which kinds of observations a model writes",
        |settings, given| {
            let simple =
                |mode: &String| mode.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
            let mode = given.words().ok().filter(simple).ok_or(r#"expected a mode's name such as "code""#)?;
            settings.observer.mode = mode;
            Ok(())
        },
        |settings| settings.observer.mode.as_str().into(),
    ),
    setting(
        "observer.language",
        "REMORA_OBSERVER_LANGUAGE",
        "the language a model writes observations in",
        |settings, given| given.words().map(|language| settings.observer.language = language),
        |settings| settings.observer.language.as_str().into(),
    ),
    setting(
        "observer.timeout",
        "REMORA_OBSERVER_TIMEOUT",
        "timeout for one answer of a model",
        |settings, given| {
            let timeout = given.duration()?;
            if timeout.is_zero() {
                return Err(r#"expected a time of at least "1s""#.to_owned());
            }
            settings.observer.timeout = timeout;
            Ok(())
        },
        |settings| duration(settings.observer.timeout),
    ),
    setting(
        "observer.parallel_sessions",
        "REMORA_OBSERVER_PARALLEL_SESSIONS",
        "number of sessions observed at the same time, 1 to 8",
        |settings, given| given.whole(1, 8).map(|count| settings.observer.parallel_sessions = count),
        |settings| i64::from(settings.observer.parallel_sessions).into(),
    ),
    setting(
        "observer.history_tokens",
        "REMORA_OBSERVER_HISTORY_TOKENS",
        "token limit for a session's earlier observations in the prompt of a model",
        |settings, given| given.whole(0, 100_000).map(|tokens| settings.observer.history_tokens = tokens),
        |settings| i64::from(settings.observer.history_tokens).into(),
    ),
    setting(
        "observer.over_budget",
        "REMORA_OBSERVER_OVER_BUDGET",
        "what happens to a turn that a used-up budget keeps from the model: `builtin` leaves its built-in memory as it is, `wait` asks the model once the budget allows it",
        |settings, given| {
            let words = [("builtin", OverBudget::Builtin), ("wait", OverBudget::Wait)];
            given.one_of(&words).map(|choice| settings.observer.over_budget = choice)
        },
        |settings| {
            let word = match settings.observer.over_budget {
                OverBudget::Builtin => "builtin",
                OverBudget::Wait => "wait",
            };
            word.into()
        },
    )
    .one_of(&["builtin", "wait"]),
    setting(
        "observer.input_price",
        "REMORA_OBSERVER_INPUT_PRICE",
        "US dollars for a million input tokens, for models whose price Remora does not know; 0 means unknown",
        |settings, given| given.dollars().map(|price| settings.observer.input_price = price),
        |settings| settings.observer.input_price.into(),
    ),
    setting(
        "observer.output_price",
        "REMORA_OBSERVER_OUTPUT_PRICE",
        "US dollars for a million output tokens; 0 means unknown",
        |settings, given| given.dollars().map(|price| settings.observer.output_price = price),
        |settings| settings.observer.output_price.into(),
    ),
    setting(
        "observer.turn_silence",
        "REMORA_OBSERVER_TURN_SILENCE",
        "a turn without a closing message ends after this much silence",
        |settings, given| given.duration().map(|silence| settings.observer.turn_silence = silence),
        |settings| duration(settings.observer.turn_silence),
    ),
    setting(
        "budget.daily_tokens",
        "REMORA_BUDGET_DAILY_TOKENS",
        "limit for tokens a day, input and output; 0 means no limit",
        |settings, given| given.whole(0, MOST_TOKENS).map(|tokens| settings.budget.daily_tokens = tokens),
        |settings| count(settings.budget.daily_tokens),
    ),
    setting(
        "budget.session_tokens",
        "REMORA_BUDGET_SESSION_TOKENS",
        "limit for tokens of one session; 0 means no limit",
        |settings, given| given.whole(0, MOST_TOKENS).map(|tokens| settings.budget.session_tokens = tokens),
        |settings| count(settings.budget.session_tokens),
    ),
    setting(
        "budget.daily_usd",
        "REMORA_BUDGET_DAILY_USD",
        "limit for US dollars a day; 0 means no limit",
        |settings, given| given.dollars().map(|amount| settings.budget.daily_usd = amount),
        |settings| settings.budget.daily_usd.into(),
    ),
    setting(
        "budget.session_usd",
        "REMORA_BUDGET_SESSION_USD",
        "limit for US dollars of one session; 0 means no limit",
        |settings, given| given.dollars().map(|amount| settings.budget.session_usd = amount),
        |settings| settings.budget.session_usd.into(),
    ),
    setting(
        "costs.host_input_price",
        "REMORA_COSTS_HOST_INPUT_PRICE",
        "US dollars for a million input tokens of your agent's own model, to show what injected memory costs; 0 means unknown",
        |settings, given| given.dollars().map(|price| settings.costs.host_input_price = price),
        |settings| settings.costs.host_input_price.into(),
    ),
    secret(
        "anthropic.api_key",
        "REMORA_ANTHROPIC_API_KEY",
        "API key for `anthropic`; if not set, `ANTHROPIC_API_KEY`",
        &["ANTHROPIC_API_KEY"],
        |settings, given| given.key().map(|key| settings.anthropic.api_key = Secret::new(key)),
        |settings| set_or_not(&settings.anthropic.api_key),
    ),
    setting(
        "anthropic.base_url",
        "REMORA_ANTHROPIC_BASE_URL",
        "base URL of `anthropic`; empty means the default",
        |settings, given| given.address().map(|url| settings.anthropic.base_url = url),
        |settings| settings.anthropic.base_url.as_str().into(),
    ),
    secret(
        "gemini.api_key",
        "REMORA_GEMINI_API_KEY",
        "API key for `gemini`; if not set, `GEMINI_API_KEY` or `GOOGLE_API_KEY`",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        |settings, given| given.key().map(|key| settings.gemini.api_key = Secret::new(key)),
        |settings| set_or_not(&settings.gemini.api_key),
    ),
    setting(
        "gemini.base_url",
        "REMORA_GEMINI_BASE_URL",
        "base URL of `gemini`; empty means the default",
        |settings, given| given.address().map(|url| settings.gemini.base_url = url),
        |settings| settings.gemini.base_url.as_str().into(),
    ),
    secret(
        "openrouter.api_key",
        "REMORA_OPENROUTER_API_KEY",
        "API key for `openrouter`; if not set, `OPENROUTER_API_KEY`",
        &["OPENROUTER_API_KEY"],
        |settings, given| given.key().map(|key| settings.openrouter.api_key = Secret::new(key)),
        |settings| set_or_not(&settings.openrouter.api_key),
    ),
    setting(
        "openrouter.base_url",
        "REMORA_OPENROUTER_BASE_URL",
        "base URL of `openrouter`; empty means the default",
        |settings, given| given.address().map(|url| settings.openrouter.base_url = url),
        |settings| settings.openrouter.base_url.as_str().into(),
    ),
    secret(
        "openai.api_key",
        "REMORA_OPENAI_API_KEY",
        "API key for `openai`; if not set, `OPENAI_API_KEY`; your own server may need none",
        &["OPENAI_API_KEY"],
        |settings, given| given.key().map(|key| settings.openai.api_key = Secret::new(key)),
        |settings| set_or_not(&settings.openai.api_key),
    ),
    setting(
        "openai.base_url",
        "REMORA_OPENAI_BASE_URL",
        "base URL of `openai` or a compatible server (Ollama, LM Studio, vLLM); empty means the default",
        |settings, given| given.address().map(|url| settings.openai.base_url = url),
        |settings| settings.openai.base_url.as_str().into(),
    ),
    setting(
        "claude_cli.program",
        "REMORA_CLAUDE_CLI_PROGRAM",
        "the program that `claude-cli` runs: a name on the PATH, or a path",
        |settings, given| given.words().map(|program| settings.claude_cli.program = program),
        |settings| settings.claude_cli.program.as_str().into(),
    ),
    setting(
        "capture.skip_tools",
        "REMORA_CAPTURE_SKIP_TOOLS",
        "tools whose successful calls are not captured; a trailing `*` matches any ending",
        |settings, given| given.strings().map(|list| settings.capture.skip_tools = list),
        |settings| list(&settings.capture.skip_tools),
    ),
    setting(
        "capture.exclude_projects",
        "REMORA_CAPTURE_EXCLUDE_PROJECTS",
        "globs of directories in which nothing is captured; `~` is the home directory",
        |settings, given| {
            let globs = given.strings()?;
            crate::capture::check_globs(&globs)?;
            settings.capture.exclude_projects = globs;
            Ok(())
        },
        |settings| list(&settings.capture.exclude_projects),
    ),
    setting(
        "capture.sync",
        "REMORA_CAPTURE_SYNC",
        "`full` waits for the disk at every event, so that events also survive a power cut",
        |settings, given| {
            let words = [("normal", Sync::Normal), ("full", Sync::Full)];
            given.one_of(&words).map(|sync| settings.capture.sync = sync)
        },
        |settings| {
            let word = match settings.capture.sync {
                Sync::Normal => "normal",
                Sync::Full => "full",
            };
            word.into()
        },
    )
    .one_of(&["normal", "full"]),
    setting(
        "context.tokens",
        "REMORA_CONTEXT_TOKENS",
        "token limit for the context injected at the start of a session; the host's own limit applies too; 0 injects nothing",
        |settings, given| given.whole(0, 100_000).map(|tokens| settings.context.tokens = tokens),
        |settings| i64::from(settings.context.tokens).into(),
    ),
    setting(
        "context.summaries",
        "REMORA_CONTEXT_SUMMARIES",
        "limit for summaries of earlier sessions in that context",
        |settings, given| given.whole(0, 100).map(|count| settings.context.summaries = count),
        |settings| i64::from(settings.context.summaries).into(),
    ),
    setting(
        "context.mcp_hosts",
        "REMORA_CONTEXT_MCP_HOSTS",
        "hosts in which `remora mcp` is registered, such as `claude-code`: text injected there names its tools, elsewhere the commands",
        |settings, given| {
            let named = |name: String| {
                let names = || Host::ALL.iter().map(Host::name).collect::<Vec<_>>().join(", ");
                name.parse().map_err(|_| format!("`{name}` is not a host; use {}", names()))
            };
            let hosts: Result<Vec<Host>, String> = given.strings()?.into_iter().map(named).collect();
            hosts.map(|hosts| settings.context.mcp_hosts = hosts)
        },
        |settings| {
            let names: Vec<String> =
                settings.context.mcp_hosts.iter().map(|host| host.name().to_owned()).collect();
            list(&names)
        },
    ),
    setting(
        "daemon.autostart",
        "REMORA_DAEMON_AUTOSTART",
        "whether a hook starts the daemon if none is running",
        |settings, given| given.boolean().map(|autostart| settings.daemon.autostart = autostart),
        |settings| settings.daemon.autostart.into(),
    ),
    setting(
        "daemon.idle_exit",
        "REMORA_DAEMON_IDLE_EXIT",
        "idle time after which the daemon exits; `\"never\"` is allowed",
        |settings, given| {
            settings.daemon.idle_exit = match given.text().as_deref() {
                Some("never") => IdleExit::Never,
                _ => IdleExit::After(given.duration()?),
            };
            Ok(())
        },
        |settings| match settings.daemon.idle_exit {
            IdleExit::Never => "never".into(),
            IdleExit::After(limit) => duration(limit),
        },
    ),
    setting(
        "daemon.port",
        "REMORA_DAEMON_PORT",
        "port of the daemon on the loopback address; 0 means any free port",
        |settings, given| given.whole(0, u16::MAX).map(|port| settings.daemon.port = port),
        |settings| i64::from(settings.daemon.port).into(),
    ),
    setting(
        "memory.auto_retrieve_enabled",
        "REMORA_MEMORY_AUTO_RETRIEVE_ENABLED",
        "whether passages that answer a prompt are injected with it",
        |settings, given| given.boolean().map(|yes| settings.memory.auto_retrieve_enabled = yes),
        |settings| settings.memory.auto_retrieve_enabled.into(),
    ),
    setting(
        "memory.auto_retrieve_max_results",
        "REMORA_MEMORY_AUTO_RETRIEVE_MAX_RESULTS",
        "limit for passages injected with a prompt",
        |settings, given| given.whole(1, 20).map(|most| settings.memory.auto_retrieve_max_results = most),
        |settings| i64::from(settings.memory.auto_retrieve_max_results).into(),
    ),
    setting(
        "memory.auto_retrieve_ms",
        "REMORA_MEMORY_AUTO_RETRIEVE_MS",
        "timeout in milliseconds for recall with a prompt or before a file, at most 200; after it, nothing is injected",
        |settings, given| given.whole(10, 1_000).map(|ms| settings.memory.auto_retrieve_ms = ms),
        |settings| i64::from(settings.memory.auto_retrieve_ms).into(),
    ),
    setting(
        "memory.auto_retrieve_min_score",
        "REMORA_MEMORY_AUTO_RETRIEVE_MIN_SCORE",
        "threshold for the best record's score, from 0 to 1; below it, nothing is injected with a prompt",
        |settings, given| given.share().map(|score| settings.memory.auto_retrieve_min_score = score),
        |settings| settings.memory.auto_retrieve_min_score.into(),
    ),
    setting(
        "memory.file_context_enabled",
        "REMORA_MEMORY_FILE_CONTEXT_ENABLED",
        "whether observations about a file are injected before the agent reads or changes it, once a session",
        |settings, given| given.boolean().map(|yes| settings.memory.file_context_enabled = yes),
        |settings| settings.memory.file_context_enabled.into(),
    ),
    setting(
        "memory.obsidian_context_enabled",
        "REMORA_MEMORY_OBSIDIAN_CONTEXT_ENABLED",
        "whether your own notes are indexed and injected; needs a vault or Obsidian's API",
        |settings, given| given.boolean().map(|yes| settings.memory.obsidian_context_enabled = yes),
        |settings| settings.memory.obsidian_context_enabled.into(),
    ),
    setting(
        "memory.obsidian_context_notes",
        "REMORA_MEMORY_OBSIDIAN_CONTEXT_NOTES",
        "notes injected into every session, by path in the vault or by name",
        |settings, given| given.strings().map(|list| settings.memory.obsidian_context_notes = list),
        |settings| list(&settings.memory.obsidian_context_notes),
    ),
    setting(
        "memory.obsidian_context_tag",
        "REMORA_MEMORY_OBSIDIAN_CONTEXT_TAG",
        "notes with this tag are injected into every session, too; empty means no tag",
        |settings, given| given.tag().map(|tag| settings.memory.obsidian_context_tag = tag),
        |settings| settings.memory.obsidian_context_tag.as_str().into(),
    ),
    setting(
        "memory.obsidian_vault",
        "REMORA_MEMORY_OBSIDIAN_VAULT",
        "folder of your notes: an Obsidian vault or any folder of Markdown; `~` is the home directory, empty means no vault",
        |settings, given| given.folder().map(|folder| settings.memory.obsidian_vault = folder),
        |settings| settings.memory.obsidian_vault.as_str().into(),
    ),
    setting(
        "memory.obsidian_api_url",
        "REMORA_MEMORY_OBSIDIAN_API_URL",
        "base URL of Obsidian's Local REST API, such as `https://127.0.0.1:27124`; used if no vault is set",
        |settings, given| given.private_address().map(|url| settings.memory.obsidian_api_url = url),
        |settings| settings.memory.obsidian_api_url.as_str().into(),
    ),
    secret(
        "memory.obsidian_api_key",
        "REMORA_MEMORY_OBSIDIAN_API_KEY",
        "API key of Obsidian's Local REST API",
        &[],
        |settings, given| given.key().map(|key| settings.memory.obsidian_api_key = Secret::new(key)),
        |settings| set_or_not(&settings.memory.obsidian_api_key),
    ),
    setting(
        "search.embedder",
        "REMORA_SEARCH_EMBEDDER",
        "the embedder for search by meaning: `builtin` (the model in the program), `off` (search by words only), or over the network `openai-compatible`, `voyage` or `ollama`, which receive redacted text",
        |settings, given| {
            let words = Embedder::ALL.map(|embedder| (embedder.as_str(), embedder));
            given.one_of(&words).map(|embedder| settings.search.embedder = embedder)
        },
        |settings| settings.search.embedder.as_str().into(),
    )
    .one_of(&["builtin", "off", "openai-compatible", "voyage", "ollama"]),
    setting(
        "search.embedder_url",
        "REMORA_SEARCH_EMBEDDER_URL",
        "base URL of an embedder over the network; empty means the provider's default, which for `ollama` is this machine",
        |settings, given| given.address().map(|url| settings.search.embedder_url = url),
        |settings| settings.search.embedder_url.as_str().into(),
    ),
    setting(
        "search.embedder_model",
        "REMORA_SEARCH_EMBEDDER_MODEL",
        "model of an embedder over the network; empty means `text-embedding-3-small`, `voyage-4-lite` or `nomic-embed-text`",
        |settings, given| given.line().map(|model| settings.search.embedder_model = model),
        |settings| settings.search.embedder_model.as_str().into(),
    ),
    secret(
        "search.embedder_api_key",
        "REMORA_SEARCH_EMBEDDER_API_KEY",
        "API key for `openai-compatible` or `voyage`; your own server may need none",
        &[],
        |settings, given| given.key().map(|key| settings.search.embedder_api_key = Secret::new(key)),
        |settings| set_or_not(&settings.search.embedder_api_key),
    ),
    setting(
        "search.max_age_days",
        "REMORA_SEARCH_MAX_AGE_DAYS",
        "age limit in days for search results if the query names no date; 0 means any age",
        |settings, given| given.whole(0, MOST_DAYS).map(|days| settings.search.max_age_days = days),
        |settings| i64::from(settings.search.max_age_days).into(),
    ),
    setting(
        "search.index_turns",
        "REMORA_SEARCH_INDEX_TURNS",
        "whether turns (a prompt with the agent's closing message) are embedded and found by search, beside the observations made of them",
        |settings, given| given.boolean().map(|index| settings.search.index_turns = index),
        |settings| settings.search.index_turns.into(),
    ),
    setting(
        "search.idle_seconds",
        "REMORA_SEARCH_IDLE_SECONDS",
        "seconds after the last query for which the daemon keeps the model and the vectors in memory",
        |settings, given| given.whole(1, 86_400).map(|seconds| settings.search.idle_seconds = seconds),
        |settings| i64::from(settings.search.idle_seconds).into(),
    ),
    setting(
        "retention.usage_days",
        "REMORA_RETENTION_USAGE_DAYS",
        "days for which model usage with its cost, and the log of injections, are kept",
        |settings, given| given.whole(1, MOST_DAYS).map(|days| settings.retention.usage_days = days),
        |settings| i64::from(settings.retention.usage_days).into(),
    ),
    setting(
        "retention.failed_days",
        "REMORA_RETENTION_FAILED_DAYS",
        "days for which failed events are kept for `remora queue retry`, and observed events for a model that cannot be asked",
        |settings, given| given.whole(1, MOST_DAYS).map(|days| settings.retention.failed_days = days),
        |settings| i64::from(settings.retention.failed_days).into(),
    ),
    setting(
        "retention.log_mb",
        "REMORA_RETENTION_LOG_MB",
        "size limit of the log in megabytes, its older file included",
        |settings, given| given.whole(1, 100).map(|size| settings.retention.log_mb = size),
        |settings| i64::from(settings.retention.log_mb).into(),
    ),
    setting(
        "forget.undo_minutes",
        "REMORA_FORGET_UNDO_MINUTES",
        "minutes for which `remora forget undo` restores what was forgotten; 0 deletes at once",
        |settings, given| given.whole(0, MOST_UNDO).map(|minutes| settings.forget.undo_minutes = minutes),
        |settings| i64::from(settings.forget.undo_minutes).into(),
    ),
    setting(
        "backup.enabled",
        "REMORA_BACKUP_ENABLED",
        "whether the daemon makes a backup of the database every day",
        |settings, given| given.boolean().map(|enabled| settings.backup.enabled = enabled),
        |settings| settings.backup.enabled.into(),
    ),
    setting(
        "backup.most_mb",
        "REMORA_BACKUP_MOST_MB",
        "size limit of all backups in megabytes; above it the oldest go, the newest always stays",
        |settings, given| given.whole(1, 1_000_000).map(|size| settings.backup.most_mb = size),
        |settings| i64::from(settings.backup.most_mb).into(),
    ),
];

fn count(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

fn list(texts: &[String]) -> Value {
    Value::Array(texts.iter().map(|text| text.as_str().into()).collect())
}

fn set_or_not(secret: &Secret) -> Value {
    if secret.is_set() { "set".into() } else { "not set".into() }
}

/// In the customary unit: `60s` and `90s`, but `5m` and `2h`.
fn duration(duration: Duration) -> Value {
    let seconds = duration.as_secs();
    Value::String(match seconds {
        3600.. if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        120.. if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    })
}
