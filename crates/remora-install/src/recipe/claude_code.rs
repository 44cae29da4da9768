//! Claude Code, as of version 2.1.325.

use std::path::PathBuf;

use remora_core::host::Host;
use serde_json::json;

use super::{
    Ask, Content, Event, READING_COMMANDS, READING_TOOLS, Recipe, SERVER, Switch, Wanted, allow, event,
    groups, server_arguments,
};
use crate::InstallEnv;
use crate::entry::{Entry, EntryKind, Format};

pub(super) const RECIPE: Recipe = Recipe {
    host: Host::ClaudeCode,
    name: "Claude Code",
    programs: &["claude"],
    folder,
    files,
    strict: true,
    switches: &[Switch { at: &["disableAllHooks"], off: true }],
    next_step: None,
    leftovers: |_| Vec::new(),
};

const EVENTS: &[Event] = &[
    event("SessionStart", 5),
    event("UserPromptSubmit", 5),
    Event { name: "PreToolUse", matcher: Some("Read|Edit|MultiEdit|Write|NotebookEdit"), timeout: 5 },
    event("PostToolUse", 5),
    event("PostToolUseFailure", 5),
    event("SubagentStop", 5),
    event("Stop", 5),
    // Without a timeout, it would be cancelled after 1.5 s.
    event("SessionEnd", 5),
];

const FOLDER: &str = "CLAUDE_CONFIG_DIR";

fn folder(env: &InstallEnv) -> PathBuf {
    env.folder(FOLDER).unwrap_or_else(|| env.home.join(".claude"))
}

/// The state file, which also contains the user's servers.
fn state(env: &InstallEnv) -> PathBuf {
    env.folder(FOLDER).unwrap_or_else(|| env.home.clone()).join(".claude.json")
}

fn files(ask: &Ask) -> Vec<Wanted> {
    let program = ask.env.program.to_string_lossy();
    // With separate arguments, there is no shell and nothing to quote.
    let arguments = ask.env.arguments(&["hook", Host::ClaudeCode.name()]);
    let mut entries = groups(
        EVENTS,
        |event| json!({ "type": "command", "command": program, "args": arguments, "timeout": event.timeout }),
    );
    if ask.allow {
        let tools = READING_TOOLS.iter().map(|tool| format!("mcp__{SERVER}__{tool}"));
        let command = &ask.env.command;
        let commands = READING_COMMANDS.iter().map(|name| format!("Bash({command} {name}:*)"));
        entries.extend(tools.chain(commands).map(allow));
    }
    // Loaded at once, because a model does not use a tool that it has to search for.
    let server =
        json!({ "type": "stdio", "command": program, "args": server_arguments(ask), "alwaysLoad": true });
    // The path of this program is only valid here, so files that a project shares are not changed.
    let (settings, at) = match ask.project {
        None => (folder(ask.env).join("settings.json"), vec!["mcpServers".to_owned(), SERVER.to_owned()]),
        Some(project) => {
            let directory = project.to_string_lossy().into_owned();
            let at = vec!["projects".to_owned(), directory, "mcpServers".to_owned(), SERVER.to_owned()];
            (project.join(".claude/settings.local.json"), at)
        }
    };
    vec![
        Wanted { path: settings, content: Content::Entries(Format::Json, entries) },
        Wanted {
            path: state(ask.env),
            content: Content::Entries(Format::Json, vec![Entry { at, what: EntryKind::Server(server) }]),
        },
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::entry::merge;

    fn plugin(file: &str) -> Value {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        serde_json::from_str(&fs::read_to_string(root.join(file)).unwrap()).unwrap()
    }

    /// A plugin does not know the path of the program, so its own script finds it.
    const FIND: &str = "${CLAUDE_PLUGIN_ROOT}/scripts/find-remora";

    #[test]
    fn the_plugin_has_the_hooks_that_are_installed() {
        let entries = groups(
            EVENTS,
            |event| json!({ "type": "command", "command": FIND, "args": ["hook", "claude-code"], "timeout": event.timeout }),
        );
        let expected: Value = serde_json::from_str(&merge("", Format::Json, &entries).unwrap().text).unwrap();
        assert_eq!(plugin("plugin/hooks/hooks.json")["hooks"], expected["hooks"]);
        let server = &plugin("plugin/.mcp.json")["mcpServers"][SERVER];
        assert_eq!(*server, json!({ "command": FIND, "args": ["mcp"], "alwaysLoad": true }));
    }

    #[test]
    fn the_plugin_is_in_the_marketplace_with_this_version() {
        let market = plugin(".claude-plugin/marketplace.json");
        let about = plugin("plugin/.claude-plugin/plugin.json");
        assert_eq!(market["plugins"][0]["source"], "./plugin");
        assert_eq!(market["plugins"][0]["name"], about["name"]);
        assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    }
}
