//! The table of all settings, in the order in which they are resolved and listed.
//!
//! A setting is one entry: `key: type = default, reader, "meaning";`. The reader is a method of `RawValue`. The macro
//! in `setting.rs` makes the structs, their defaults and `SETTINGS` from the entries.

use std::time::Duration;

use super::setting::{Setting, settings, text, upper_case};
use super::value::Shown;
use super::{Embedder, IdleExit, OverBudget, Provider, Secret, Service, Sync};
use crate::host::Host;
use crate::time::HOOK_LIMIT_MS;

const MAX_TOKENS: u64 = 1_000_000_000_000;
const MAX_DAYS: u32 = 36_500;
/// A week in minutes.
const MAX_UNDO: u32 = 7 * 24 * 60;

/// The default of `capture.skip_tools`: search, to-do and plan tools, and Remora's own.
const SKIPPED_TOOLS: [&str; 16] = [
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

settings! {
    observer: Observer {
        provider: Provider = Provider::Builtin, one_of,
            "the observer that turns events into observations: `builtin` (free, offline), `claude-cli`, `anthropic`, `gemini`, `openrouter` or `openai`";
        model: String = String::new(), line,
            "the model that the provider runs; empty means the provider's default";
        mode: String = "code".to_owned(), mode,
            "the mode of the observer: which kinds of observations a model writes";
        language: String = "English".to_owned(), words,
            "the language a model writes observations in";
        timeout: Duration = Duration::from_mins(1), timeout,
            "timeout for one answer of a model";
        parallel_sessions: u8 = 2, whole(1, 8),
            "number of sessions observed at the same time, 1 to 8";
        history_tokens: u32 = 2000, whole(0, 100_000),
            "token limit for a session's earlier observations in the prompt of a model";
        over_budget: OverBudget = OverBudget::Builtin, one_of,
            "what happens to a turn that a used-up budget keeps from the model: `builtin` leaves its built-in memory as it is, `wait` asks the model once the budget allows it";
        input_price: f64 = 0.0, dollars,
            "US dollars for a million input tokens, for models whose price Remora does not know; 0 means unknown";
        output_price: f64 = 0.0, dollars,
            "US dollars for a million output tokens; 0 means unknown";
        turn_silence: Duration = Duration::from_mins(5), duration,
            "a turn without a closing message ends after this much silence";
    }

    /// Spending limits; 0 means no limit.
    budget: Budget {
        daily_tokens: u64 = 500_000, whole(0, MAX_TOKENS),
            "limit for tokens a day, input and output; 0 means no limit";
        session_tokens: u64 = 0, whole(0, MAX_TOKENS),
            "limit for tokens of one session; 0 means no limit";
        daily_usd: f64 = 0.0, dollars,
            "limit for US dollars a day; 0 means no limit";
        session_usd: f64 = 0.0, dollars,
            "limit for US dollars of one session; 0 means no limit";
    }

    /// Prices outside of the observer.
    costs: Costs {
        host_input_price: f64 = 0.0, dollars,
            "US dollars for a million input tokens of your agent's own model, to show what injected memory costs; 0 means unknown";
    }

    anthropic: Service {
        api_key: Secret, key,
            "API key for `anthropic`; if not set, `ANTHROPIC_API_KEY`", or ["ANTHROPIC_API_KEY"];
        base_url: String, address,
            "base URL of `anthropic`; empty means the default";
    }

    gemini: Service {
        api_key: Secret, key,
            "API key for `gemini`; if not set, `GEMINI_API_KEY` or `GOOGLE_API_KEY`",
            or ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
        base_url: String, address,
            "base URL of `gemini`; empty means the default";
    }

    openrouter: Service {
        api_key: Secret, key,
            "API key for `openrouter`; if not set, `OPENROUTER_API_KEY`", or ["OPENROUTER_API_KEY"];
        base_url: String, address,
            "base URL of `openrouter`; empty means the default";
    }

    openai: Service {
        api_key: Secret, key,
            "API key for `openai`; if not set, `OPENAI_API_KEY`; your own server may need none",
            or ["OPENAI_API_KEY"];
        base_url: String, address,
            "base URL of `openai` or a compatible server (Ollama, LM Studio, vLLM); empty means the default";
    }

    claude_cli: ClaudeCli {
        program: String = "claude".to_owned(), words,
            "the program that `claude-cli` runs: a name on the PATH, or a path";
    }

    capture: Capture {
        skip_tools: Vec<String> = SKIPPED_TOOLS.map(str::to_owned).into(), strings,
            "tools whose successful calls are not captured; a trailing `*` matches any ending";
        exclude_projects: Vec<String> = Vec::new(), globs,
            "globs of directories in which nothing is captured; `~` is the home directory";
        /// There is an exclusion list, but it cannot be read. Nothing is captured then, because the excluded
        /// projects are unknown.
        exclusions_unknown: bool = false;
        sync: Sync = Sync::Normal, one_of,
            "`full` waits for the disk at every event, so that events also survive a power cut";
    }

    /// Injection at the start of a session.
    context: Context {
        /// Tokens are estimated.
        tokens: u32 = 2_000, whole(0, 100_000),
            "token limit for the context injected at the start of a session; the host's own limit applies too; 0 injects nothing";
        summaries: u32 = 10, whole(0, 100),
            "limit for summaries of earlier sessions in that context";
        mcp_hosts: Vec<Host> = Vec::new(), hosts,
            "hosts in which `remora mcp` is registered, such as `claude-code`: text injected there names its tools, elsewhere the commands";
    }

    daemon: Daemon {
        autostart: bool = true, boolean,
            "whether a hook starts the daemon if none is running";
        idle_exit: IdleExit = IdleExit::After(Duration::from_mins(30)), idle_exit,
            "idle time after which the daemon exits; `\"never\"` is allowed";
        port: u16 = 37777, whole(0, u16::MAX),
            "port of the daemon on the loopback address; 0 means any free port";
    }

    /// What an agent may reach with tools and commands.
    mcp: Mcp {
        projects: Vec<String> = Vec::new(), strings,
            "projects whose memory an agent may reach with tools and commands, besides its own, by name or id; `all` means every project. Only a person changes it, and no environment variable does";
    }

    /// Injection with a prompt, before a file is opened, and of the user's own notes.
    memory: Memory {
        auto_retrieve_enabled: bool = true, boolean,
            "whether passages that answer a prompt are injected with it";
        auto_retrieve_max_results: u8 = 8, whole(1, 20),
            "limit for passages injected with a prompt";
        auto_retrieve_ms: u16 = 80, whole(10, HOOK_LIMIT_MS),
            "timeout in milliseconds for recall with a prompt or before a file, at most 200; after it, nothing is injected";
        auto_retrieve_min_score: f64 = 0.5, share,
            "threshold for the best record's score, from 0 to 1; below it, nothing is injected with a prompt";
        file_context_enabled: bool = true, boolean,
            "whether observations about a file are injected before the agent reads or changes it, once a session";
        obsidian_context_enabled: bool = true, boolean,
            "whether your own notes are indexed and injected; needs a vault or Obsidian's API";
        obsidian_context_notes: Vec<String> = Vec::new(), strings,
            "notes injected into every session, by path in the vault or by name";
        /// Stored without `#`.
        obsidian_context_tag: String = "remora".to_owned(), tag,
            "notes with this tag are injected into every session, too; empty means no tag";
        obsidian_vault: String = String::new(), folder,
            "folder of your notes: an Obsidian vault or any folder of Markdown; `~` is the home directory, empty means no vault";
        obsidian_api_url: String = String::new(), private_address,
            "base URL of Obsidian's Local REST API, such as `https://127.0.0.1:27124`; used if no vault is set";
        obsidian_api_key: Secret = Secret::default(), key,
            "API key of Obsidian's Local REST API";
    }

    search: Search {
        embedder: Embedder = Embedder::Builtin, one_of,
            "the embedder for search by meaning: `builtin` (the model in the program), `off` (search by words only), or over the network `openai-compatible`, `voyage` or `ollama`, which receive redacted text";
        embedder_url: String = String::new(), address,
            "base URL of an embedder over the network; empty means the provider's default, which for `ollama` is this machine";
        embedder_model: String = String::new(), line,
            "model of an embedder over the network; empty means `text-embedding-3-small`, `voyage-4-lite` or `nomic-embed-text`";
        embedder_api_key: Secret = Secret::default(), key,
            "API key for `openai-compatible` or `voyage`; your own server may need none";
        max_age_days: u32 = 0, whole(0, MAX_DAYS),
            "age limit in days for search results if the query names no date; 0 means any age";
        index_turns: bool = true, boolean,
            "whether turns (a prompt with the agent's closing message) are embedded and found by search, beside the observations made of them";
        idle_seconds: u32 = 300, whole(1, 86_400),
            "seconds after the last query for which the daemon keeps the model and the vectors in memory";
    }

    /// Limits for data that would otherwise grow without end.
    retention: Retention {
        usage_days: u32 = 365, whole(1, MAX_DAYS),
            "days for which model usage with its cost, and the log of injections, are kept";
        failed_days: u32 = 90, whole(1, MAX_DAYS),
            "days for which failed events are kept for `remora queue retry`, and observed events for a model that cannot be asked";
        log_mb: u32 = 5, whole(1, 100),
            "size limit of the log in megabytes, its older file included; the debug lines of the daemon have the same limit for themselves";
    }

    /// What happens to memory that the user deletes.
    forget: Forget {
        undo_minutes: u32 = 10, whole(0, MAX_UNDO),
            "minutes for which `remora forget undo` restores what was forgotten; 0 deletes at once";
    }

    /// Copies of the database that the daemon makes.
    backup: Backup {
        enabled: bool = true, boolean,
            "whether the daemon makes a backup of the database every day";
        most_mb: u32 = 500, whole(1, 1_000_000),
            "size limit of all backups in megabytes; above it the oldest go, the newest always stays";
    }
}
