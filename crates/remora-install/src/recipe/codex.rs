//! Codex, as of version 0.166.

use std::path::{Path, PathBuf};

use remora_core::host::Host;
use serde_json::{Value, json};

use super::{
    Ask, Content, Event, Leftover, READING_COMMANDS, READING_TOOLS, Recipe, SERVER, Switch, Wanted,
    command_line, event, groups, server_arguments,
};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};
use crate::file::FileSnapshot;
use crate::json;
use crate::words::is_hook;

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Codex,
    name: "Codex",
    programs: &["codex"],
    folder,
    files,
    strict: true,
    switches: &[
        Switch { at: &["features", "hooks"], off: false },
        // Its name in older versions, which is still accepted.
        Switch { at: &["features", "codex_hooks"], off: false },
    ],
    next_step: Some(
        "Codex runs new hooks only after you have reviewed them: start `codex` and trust them when it asks, or type `/hooks`",
    ),
    leftovers: trust,
};

const EVENTS: &[Event] = &[
    event("SessionStart", 5),
    event("UserPromptSubmit", 5),
    Event { name: "PreToolUse", matcher: Some("apply_patch|Edit|Write"), timeout: 5 },
    event("PostToolUse", 5),
    event("SubagentStop", 5),
    event("Stop", 5),
    // This is Codex's own limit. With a longer timeout, every session starts with a warning.
    event("SessionEnd", 3),
];

fn folder(env: &InstallEnv) -> PathBuf {
    env.folder("CODEX_HOME").unwrap_or_else(|| env.home.join(".codex"))
}

fn place(ask: &Ask) -> PathBuf {
    ask.project.map_or_else(|| folder(ask.env), |project| project.join(".codex"))
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let place = place(ask);
    let command = command_line(ask, Host::Codex);
    let hooks =
        groups(EVENTS, |event| json!({ "type": "command", "command": command, "timeout": event.timeout }));
    let mut server = json!({ "command": ask.env.program.to_string_lossy(), "args": server_arguments(ask) });
    if ask.allow {
        for tool in READING_TOOLS {
            server["tools"][tool] = json!({ "approval_mode": "approve" });
        }
    }
    let server = Entry::new(&["mcp_servers", SERVER], EntryKind::Server(server));
    let mut files = vec![
        Wanted { path: place.join("hooks.json"), content: Content::Entries(Format::Json, hooks) },
        Wanted { path: place.join("config.toml"), content: Content::Entries(Format::Toml, vec![server]) },
    ];
    if ask.allow {
        files
            .push(Wanted { path: place.join("rules/remora.rules"), content: Content::Whole(rules(ask.env)) });
    }
    files
}

/// Rules that let read-only commands run without approval.
fn rules(env: &InstallEnv) -> String {
    // Codex compares words and not a line, so nothing is quoted.
    let is_on_path = env.command == SERVER;
    let command = if is_on_path { SERVER.into() } else { env.program.to_string_lossy() };
    let names: Vec<String> = READING_COMMANDS.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        "# Written by `remora install`; `remora uninstall` removes it. Reading memory needs no approval.\n\
         prefix_rule(\n    pattern = [{}, [{}]],\n    decision = \"allow\",\n)\n",
        Value::from(&*command),
        names.join(", ")
    )
}

/// Where Codex records that the user trusts our hooks: one table per hook, named by file, event and position.
fn trust(ask: &Ask) -> Vec<Leftover> {
    let hooks = place(ask).join("hooks.json");
    let config = folder(ask.env).join("config.toml");
    let table = |key| Leftover { path: config.clone(), at: vec!["hooks".into(), "state".into(), key] };
    keys(&hooks).into_iter().map(table).collect()
}

/// Codex's names of our handlers in a file of hooks.
fn keys(path: &Path) -> Vec<String> {
    let Some(Value::Object(events)) = FileSnapshot::look(path)
        .ok()
        .and_then(|found| json::value(found.body()).ok().flatten())
        .and_then(|value| value.get("hooks").cloned())
    else {
        return Vec::new();
    };
    let mut keys = Vec::new();
    for (event, groups) in &events {
        for (group, value) in groups.as_array().into_iter().flatten().enumerate() {
            let handlers = value.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate();
            for (handler, _) in handlers.filter(|(_, handler)| is_hook(handler, Host::Codex)) {
                keys.push(format!("{}:{}:{group}:{handler}", path.display(), snake(event)));
            }
        }
    }
    keys
}

/// Converts `PreToolUse` to `pre_tool_use`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
