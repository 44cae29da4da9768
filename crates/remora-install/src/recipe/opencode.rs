//! `OpenCode`, as of version 1.18. It has plugins instead of hooks; our plugin calls this program.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::{Value, json};

use super::{Ask, Content, Recipe, SERVER, Wanted, server_arguments};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::Opencode,
    name: "OpenCode",
    programs: &["opencode"],
    folder,
    files,
    strict: false,
    switches: &[],
    next_step: None,
    leftovers: |_| Vec::new(),
};

const PLUGIN: &str = include_str!("opencode.js");

fn folder(env: &InstallEnv) -> PathBuf {
    let configuration = env.folder("XDG_CONFIG_HOME").unwrap_or_else(|| env.home.join(".config"));
    configuration.join("opencode")
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let (place, configuration) = match ask.project {
        None => (folder(ask.env), folder(ask.env).join("opencode.json")),
        Some(project) => (project.join(".opencode"), project.join("opencode.json")),
    };
    let program = ask.env.program.to_string_lossy();
    let mut plugin = PLUGIN.replace("\"REMORA\"", &Value::from(&*program).to_string());
    for argument in ask.env.arguments(&[]) {
        plugin = plugin.replacen("], { input", &format!(", {}], {{ input", Value::from(argument)), 1);
    }
    let command: Vec<String> = [program.into_owned()].into_iter().chain(server_arguments(ask)).collect();
    let server = json!({ "type": "local", "command": command, "enabled": true });
    let server = Entry::new(&["mcp", SERVER], EntryKind::Server(server));
    vec![
        Wanted { path: place.join("plugin/remora.js"), content: Content::Whole(plugin) },
        Wanted { path: configuration, content: Content::Entries(Format::Json, vec![server]) },
    ]
}
