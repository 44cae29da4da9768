//! Copilot CLI, as of version 1.0. Its messages do not name their event, so the command does. It has no file for rules
//! about single commands, so the user approves them.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::{Map, Value, json};

use super::{Ask, Content, Recipe, SERVER, Wanted, command_line, server_arguments};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Copilot,
    name: "Copilot CLI",
    programs: &["copilot"],
    folder,
    files,
    strict: false,
    switches: &[],
    next_step: None,
    leftovers: |_| Vec::new(),
};

const EVENTS: &[&str] = &["sessionStart", "userPromptSubmitted", "postToolUse", "agentStop", "sessionEnd"];
/// In seconds.
const TIMEOUT: u32 = 5;

fn folder(env: &InstallEnv) -> PathBuf {
    env.folder("COPILOT_HOME").unwrap_or_else(|| env.home.join(".copilot"))
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let hooks = match ask.project {
        None => folder(ask.env).join("hooks/remora.json"),
        Some(project) => project.join(".github/hooks/remora.json"),
    };
    let command = command_line(ask, Host::Copilot);
    let handler = |event: &&str| {
        let command = format!("{command} --event {event}");
        ((*event).to_owned(), json!([{ "type": "command", "bash": command, "timeoutSec": TIMEOUT }]))
    };
    let events: Map<String, Value> = EVENTS.iter().map(handler).collect();
    let text = format!("{:#}\n", json!({ "version": 1, "hooks": events }));
    let server = json!({ "type": "local", "command": ask.env.program.to_string_lossy(), "args": server_arguments(ask), "tools": ["*"] });
    let server = Entry::new(&["mcpServers", SERVER], EntryKind::Server(server));
    vec![
        Wanted { path: hooks, content: Content::Whole(text) },
        Wanted {
            path: folder(ask.env).join("mcp-config.json"),
            content: Content::Entries(Format::Json, vec![server]),
        },
    ]
}
