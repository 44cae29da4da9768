//! Qwen Code, as of version 0.24.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::json;

use super::{
    Ask, Content, Event, READING_COMMANDS, READING_TOOLS, Recipe, SERVER, Switch, Wanted, allow,
    command_line, event, groups, server_arguments,
};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Qwen,
    name: "Qwen Code",
    programs: &["qwen"],
    folder,
    files,
    strict: false,
    switches: &[Switch { at: &["disableAllHooks"], off: true }],
    next_step: None,
    leftovers: |_| Vec::new(),
};

const EVENTS: &[Event] = &[
    event("SessionStart", 5),
    event("UserPromptSubmit", 5),
    Event { name: "PreToolUse", matcher: Some("read_file|edit|write_file"), timeout: 5 },
    event("PostToolUse", 5),
    event("PostToolUseFailure", 5),
    event("SubagentStop", 5),
    event("Stop", 5),
    event("SessionEnd", 5),
];

fn folder(env: &InstallEnv) -> PathBuf {
    env.home.join(".qwen")
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let place = ask.project.map_or_else(|| folder(ask.env), |project| project.join(".qwen"));
    let command = command_line(ask, Host::Qwen);
    let mut entries =
        groups(EVENTS, |event| json!({ "type": "command", "command": command, "timeout": event.timeout }));
    let server = json!({ "command": ask.env.program.to_string_lossy(), "args": server_arguments(ask) });
    entries.push(Entry::new(&["mcpServers", SERVER], EntryKind::Server(server)));
    if ask.allow {
        let tools = READING_TOOLS.iter().map(|tool| format!("mcp__{SERVER}__{tool}"));
        let commands = READING_COMMANDS.iter().map(|name| format!("Bash({} {name} *)", ask.env.command));
        entries.extend(tools.chain(commands).map(allow));
    }
    vec![Wanted { path: place.join("settings.json"), content: Content::Entries(Format::Json, entries) }]
}
