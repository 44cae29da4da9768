//! Gemini CLI, as of version 0.61. Timeouts are in milliseconds.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::{Value, json};

use super::{
    Ask, Content, Event, READING_COMMANDS, READING_TOOLS, Recipe, SERVER, Switch, Wanted, command_line,
    event, groups, server_arguments,
};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Gemini,
    name: "Gemini CLI",
    programs: &["gemini"],
    folder,
    files,
    strict: false,
    switches: &[Switch { at: &["hooksConfig", "enabled"], off: false }],
    next_step: None,
    leftovers: |_| Vec::new(),
};

/// `BeforeTool` is left out, because it accepts no context.
const EVENTS: &[Event] = &[
    event("SessionStart", 5000),
    event("BeforeAgent", 5000),
    event("AfterTool", 5000),
    event("AfterAgent", 5000),
    event("SessionEnd", 5000),
];

fn folder(env: &InstallEnv) -> PathBuf {
    env.home.join(".gemini")
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let place = ask.project.map_or_else(|| folder(ask.env), |project| project.join(".gemini"));
    let command = command_line(ask, Host::Gemini);
    let mut entries = groups(
        EVENTS,
        |event| json!({ "name": "remora", "type": "command", "command": command, "timeout": event.timeout }),
    );
    let server = json!({ "command": ask.env.program.to_string_lossy(), "args": server_arguments(ask) });
    entries.push(Entry::new(&["mcpServers", SERVER], EntryKind::Server(server)));
    let mut files =
        vec![Wanted { path: place.join("settings.json"), content: Content::Entries(Format::Json, entries) }];
    // Gemini ignores policies of a workspace.
    if ask.allow && ask.project.is_none() {
        files.push(Wanted {
            path: place.join("policies/remora.toml"),
            content: Content::Whole(policy(ask.env)),
        });
    }
    files
}

/// A policy that lets the agent read memory without approval.
fn policy(env: &InstallEnv) -> String {
    let tools: Value = READING_TOOLS.iter().copied().collect();
    let commands: Value = READING_COMMANDS.iter().map(|name| format!("{} {name}", env.command)).collect();
    format!(
        "# Written by `remora install`; `remora uninstall` removes it. Reading memory needs no approval.\n\
         [[rule]]\nmcpName = \"{SERVER}\"\ntoolName = {tools}\ndecision = \"allow\"\npriority = 100\n\n\
         [[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = {commands}\ndecision = \"allow\"\npriority = 100\n"
    )
}
