//! Cursor, based on its documentation (hooks version 1). It does not accept context from hooks; `remora context-files
//! enable --cursor` provides it.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::json;

use super::{Ask, Content, Recipe, SERVER, Wanted, command_line, server_arguments};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Cursor,
    name: "Cursor",
    programs: &["cursor", "cursor-agent"],
    folder,
    files,
    strict: false,
    switches: &[],
    next_step: Some(
        "Cursor reads memory from a rule file, in each project: `remora context-files enable --cursor`",
    ),
    leftovers: |_| Vec::new(),
};

const EVENTS: &[&str] =
    &["beforeSubmitPrompt", "afterShellExecution", "afterMCPExecution", "afterFileEdit", "stop"];
/// In seconds.
const TIMEOUT: u32 = 5;

fn folder(env: &InstallEnv) -> PathBuf {
    env.home.join(".cursor")
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let place = ask.project.map_or_else(|| folder(ask.env), |project| project.join(".cursor"));
    let command = command_line(ask, Host::Cursor);
    let mut hooks = vec![Entry::new(&["version"], EntryKind::Needed(json!(1)))];
    hooks.extend(EVENTS.iter().map(|event| {
        Entry::new(&["hooks", event], EntryKind::Hook(json!({ "command": command, "timeout": TIMEOUT })))
    }));
    let server = json!({ "command": ask.env.program.to_string_lossy(), "args": server_arguments(ask) });
    let server = Entry::new(&["mcpServers", SERVER], EntryKind::Server(server));
    vec![
        Wanted { path: place.join("hooks.json"), content: Content::Entries(Format::Json, hooks) },
        Wanted { path: place.join("mcp.json"), content: Content::Entries(Format::Json, vec![server]) },
    ]
}
