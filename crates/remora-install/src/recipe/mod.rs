//! One module per host: its events, the files that configure them, and their format.
//!
//! A recipe only describes the wanted state. Merging it into a file and removing it work the same way for every host.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod qwen;
mod windsurf;

use std::path::{Path, PathBuf};

use remora_core::host::Host;
use remora_sys::process::{find_program, quoted};
use serde_json::{Value, json};

use crate::InstallEnv;
use crate::entry::{self, Entry, EntryKind, Format};

/// How Remora is installed in one host.
#[expect(missing_debug_implementations, reason = "functions have none that says anything")]
pub struct Recipe {
    pub host: Host,
    /// Its official name.
    pub name: &'static str,
    /// Names of its programs.
    programs: &'static [&'static str],
    /// The directory of its configuration.
    folder: fn(&InstallEnv) -> PathBuf,
    files: fn(&Ask) -> Vec<Wanted>,
    /// Whether it ignores a JSON file with comments or a trailing comma.
    pub(crate) strict: bool,
    /// Members of its files that switch all hooks off.
    pub(crate) switches: &'static [Switch],
    /// The remaining step for the user.
    pub(crate) next_step: Option<&'static str>,
    /// Tables in the host's files about our hooks, which are removed with them.
    pub(crate) leftovers: fn(&Ask) -> Vec<Leftover>,
}

/// Every host that `remora install` knows.
pub const RECIPES: &[Recipe] = &[
    claude_code::RECIPE,
    codex::RECIPE,
    gemini::RECIPE,
    qwen::RECIPE,
    copilot::RECIPE,
    opencode::RECIPE,
    cursor::RECIPE,
    windsurf::RECIPE,
];

/// The recipe of a host.
pub fn recipe(host: Host) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.host == host)
}

/// Input of a recipe.
pub(crate) struct Ask<'a> {
    pub(crate) env: &'a InstallEnv<'a>,
    /// The project, if Remora is installed only there.
    pub(crate) project: Option<&'a Path>,
    /// Whether the agent may read memory without approval.
    pub(crate) allow: bool,
}

/// A member of a host's file that switches all hooks off.
pub(crate) struct Switch {
    pub(crate) at: &'static [&'static str],
    /// The value that switches them off.
    pub(crate) off: bool,
}

/// A table in a file of the host.
pub(crate) struct Leftover {
    pub(crate) path: PathBuf,
    pub(crate) at: Vec<String>,
}

/// The wanted state of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Entries(Format, Vec<Entry>),
    Whole(String),
}

impl Recipe {
    /// Whether the host is on this machine: its program or its configuration exists.
    pub fn is_here(&self, env: &InstallEnv) -> bool {
        let path = (env.variable)("PATH").unwrap_or_default();
        (self.folder)(env).is_dir() || self.programs.iter().any(|name| find_program(&path, name).is_some())
    }

    /// The directory of the host's configuration.
    pub(crate) fn folder_of(&self, env: &InstallEnv) -> PathBuf {
        (self.folder)(env)
    }

    pub(crate) fn wanted(&self, ask: &Ask) -> Vec<Wanted> {
        (self.files)(ask)
    }

    /// Why the host ignores hooks in a file with this text, if it does.
    pub(crate) fn ignores(&self, format: Format, body: &str) -> Option<String> {
        if self.strict && format == Format::Json && serde_json::from_str::<Value>(body).is_err() {
            return Some(
                "this agent ignores a file with comments or a trailing comma, hooks included; remove them"
                    .to_owned(),
            );
        }
        let switch = self.switches.iter().find(|switch| {
            let at: Vec<String> = switch.at.iter().map(ToString::to_string).collect();
            entry::find(body, format, &at).is_ok_and(|value| value == Some(Value::Bool(switch.off)))
        })?;
        Some(format!("`{}` is {}, so this agent runs no hooks", switch.at.join("."), switch.off))
    }
}

/// An event that a host reports.
struct Event {
    name: &'static str,
    /// Which tools it applies to; all if `None`.
    matcher: Option<&'static str>,
    /// In the unit of the host. Remora ends within 250 ms, so this only matters on an overloaded machine.
    timeout: u32,
}

const fn event(name: &'static str, timeout: u32) -> Event {
    Event { name, matcher: None, timeout }
}

/// Entries for hosts that list groups of handlers with a matcher, as Claude Code does.
fn groups(events: &[Event], handler: impl Fn(&Event) -> Value) -> Vec<Entry> {
    let mut groups = Vec::new();
    for event in events {
        let mut group = json!({ "hooks": [handler(event)] });
        if let Some(matcher) = event.matcher {
            group["matcher"] = matcher.into();
        }
        groups.push(Entry::new(&["hooks", event.name], EntryKind::Hook(group)));
    }
    groups
}

/// The permission for an agent to use a tool or a command without asking.
fn allow(rule: String) -> Entry {
    Entry::new(&["permissions", "allow"], EntryKind::Element(rule))
}

/// The command of a hook, for hosts that run it in a shell.
fn command_line(ask: &Ask, host: Host) -> String {
    let arguments = ask.env.arguments(&["hook", host.name()]);
    let words = [ask.env.program.to_string_lossy().into_owned()].into_iter().chain(arguments);
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// The arguments of our MCP server.
fn server_arguments(ask: &Ask) -> Vec<String> {
    ask.env.arguments(&["mcp"])
}

/// MCP tools that only read, which hosts may call without a question.
pub const READING_TOOLS: &[&str] =
    &["search", "timeline", "get_observations", "get_session_summary", "get_project_context"];
/// Commands that only read.
const READING_COMMANDS: &[&str] = &["show", "search", "timeline"];
/// The name of our MCP server, which is also in `capture.skip_tools`.
const SERVER: &str = "remora";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::merge;

    #[test]
    fn each_recipe_lists_its_events_matcher_and_timeout() {
        let env = InstallEnv {
            home: "/home/me".into(),
            data_dir: "/home/me/.remora".into(),
            program: "/home/me/my bin/remora".into(),
            command: "remora".into(),
            variable: &|_| None,
            version: "0.1.0",
        };
        for recipe in RECIPES {
            let mut shown = String::new();
            for Wanted { path, content } in recipe.wanted(&Ask { env: &env, project: None, allow: true }) {
                let text = match content {
                    Content::Whole(text) => text,
                    Content::Entries(format, entries) => merge("", format, &entries).unwrap().text,
                };
                shown.extend([path.to_str().unwrap(), "\n", &text, "\n"]);
            }
            insta::assert_snapshot!(recipe.host.name(), shown);
        }
    }

    #[test]
    fn every_command_of_a_host_names_another_data_directory() {
        let env = InstallEnv {
            home: "/home/me".into(),
            data_dir: "/data/my memory".into(),
            program: "/bin/remora".into(),
            command: "remora".into(),
            variable: &|_| None,
            version: "0.1.0",
        };
        for recipe in RECIPES {
            let files = recipe.wanted(&Ask { env: &env, project: None, allow: false });
            let texts = files.into_iter().map(|wanted| match wanted.content {
                Content::Whole(text) => text,
                Content::Entries(format, entries) => merge("", format, &entries).unwrap().text,
            });
            for text in texts {
                let calls = text.matches("/bin/remora").count();
                let named = text.matches("--data-dir").count();
                assert!(calls > 0 && calls == named, "{}: {text}", recipe.name);
                assert_eq!(text.matches("/data/my memory").count(), named, "{}: {text}", recipe.name);
            }
        }
    }
}
