//! Windsurf, based on its documentation. It does not accept context from hooks, and hooks have no timeout.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::json;

use super::{Ask, Content, Recipe, SERVER, Wanted, command_line, server_arguments};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Windsurf,
    name: "Windsurf",
    programs: &["windsurf"],
    folder,
    files,
    strict: false,
    switches: &[],
    next_step: None,
    leftovers: |_| Vec::new(),
};

const EVENTS: &[&str] =
    &["pre_user_prompt", "post_write_code", "post_run_command", "post_mcp_tool_use", "post_cascade_response"];

fn folder(env: &InstallEnv) -> PathBuf {
    env.home.join(".codeium/windsurf")
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let hooks = match ask.project {
        None => folder(ask.env).join("hooks.json"),
        Some(project) => project.join(".windsurf/hooks.json"),
    };
    let command = command_line(ask, Host::Windsurf);
    let hook = |event: &&str| {
        Entry::new(&["hooks", event], EntryKind::Hook(json!({ "command": command, "show_output": false })))
    };
    let server = json!({ "command": ask.env.program.to_string_lossy(), "args": server_arguments(ask) });
    let server = Entry::new(&["mcpServers", SERVER], EntryKind::Server(server));
    vec![
        Wanted { path: hooks, content: Content::Entries(Format::Json, EVENTS.iter().map(hook).collect()) },
        Wanted {
            path: folder(ask.env).join("mcp_config.json"),
            content: Content::Entries(Format::Json, vec![server]),
        },
    ]
}
