//! Recognises our commands in a host's configuration.

use std::path::Path;

use remora_core::host::Host;
use serde_json::Value;

/// Splits a command line into words. Variables and operators are not expanded, because only our own words matter.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut began) = (Vec::new(), String::new(), None, false);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '\'' | '"') => (quote, began) = (Some(c), true),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.extend(characters.next()),
            (None, c) if c.is_whitespace() => {
                if began || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                began = false;
            }
            (_, c) => word.push(c),
        }
    }
    if began || !word.is_empty() {
        words.push(word);
    }
    words
}

/// All words of a command line, or of a program with its arguments, in the order a shell sees them.
fn words(value: &Value, into: &mut Vec<String>) {
    match value {
        // A program given separately from its arguments is one word, including spaces.
        Value::String(text) if Path::new(text).is_absolute() && is_program(text) => into.push(text.clone()),
        Value::String(text) => into.extend(split(text)),
        Value::Array(items) => items.iter().for_each(|item| words(item, into)),
        Value::Object(members) => {
            for name in ["command", "bash", "args"] {
                if let Some(member) = members.get(name) {
                    words(member, into);
                }
            }
        }
        _ => {}
    }
}

fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name) == "remora"
}

/// The program that runs with these arguments, if it is ours.
fn program(value: &Value, arguments: &[&str]) -> Option<String> {
    let mut all = Vec::new();
    words(value, &mut all);
    let mut calls = all.windows(arguments.len() + 1).filter(|window| is_program(&window[0]));
    let call = calls.find(|window| window[1..].iter().zip(arguments).all(|(word, wanted)| word == wanted))?;
    Some(call[0].clone())
}

/// Whether a handler runs `remora hook HOST`, regardless of version and path.
pub(crate) fn is_hook(handler: &Value, host: Host) -> bool {
    hook_program(handler, host).is_some()
}

/// The program of a handler that runs `remora hook HOST`.
pub(crate) fn hook_program(handler: &Value, host: Host) -> Option<String> {
    program(handler, &["hook", host.name()])
}

/// Whether a server in a host's configuration is `remora mcp`.
pub(crate) fn is_mcp_server(server: &Value) -> bool {
    program(server, &["mcp"]).is_some()
}

/// The first line of a file of ours in a format with comments.
const HEADER: &str = "Written by `remora install`";

/// Whether a whole file is ours, regardless of version and path: it says so, or it runs our hooks and nothing else.
pub(crate) fn is_file(text: &str, host: Host) -> bool {
    if text.lines().next().is_some_and(|line| line.trim_start_matches(['/', '#', ' ']).starts_with(HEADER)) {
        return true;
    }
    let handlers = handlers(text);
    !handlers.is_empty() && handlers.iter().all(|handler| is_hook(handler, host))
}

/// The programs that a whole file of ours runs.
pub(crate) fn file_programs(text: &str, host: Host) -> Vec<String> {
    let in_handlers = handlers(text).into_iter().filter_map(|handler| hook_program(&handler, host));
    // The plugin of OpenCode names it in a constant.
    let constants = text.lines().filter_map(|line| line.strip_prefix("const PROGRAM = "));
    let in_plugin = constants.filter_map(|value| serde_json::from_str(value).ok());
    in_handlers.chain(in_plugin).collect()
}

/// The handlers in a JSON file that lists them by event.
fn handlers(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let events = file["hooks"].as_object().into_iter().flat_map(|events| events.values());
    events.filter_map(Value::as_array).flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use remora_sys::process::quoted;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quoted_word_is_read_back_as_it_was() {
        for word in ["/usr/bin/remora", "/home/a b/remora", "it's", "$HOME/`x`"] {
            assert_eq!(split(&quoted(word)), [word]);
        }
        assert_eq!(quoted("/home/a b/remora"), "'/home/a b/remora'");
        assert_eq!(split(r#"a "b c" d\ e ''"#), ["a", "b c", "d e", ""]);
    }

    #[test]
    fn ours_are_recognised_in_every_form_and_others_never() {
        let host = Host::ClaudeCode;
        for handler in [
            json!({"type": "command", "command": "remora hook claude-code"}),
            json!({"type": "command", "command": "/old/remora hook claude-code", "timeout": 60}),
            json!({"command": "'/home/a b/remora' hook claude-code --event Stop"}),
            json!({"command": "/home/a b/remora", "args": ["hook", "claude-code"]}),
            json!({"bash": "env X=1 ~/.cargo/bin/remora hook claude-code"}),
        ] {
            assert!(is_hook(&handler, host), "{handler}");
        }
        for handler in [
            json!({"command": "remora hook codex"}),
            json!({"command": "remora-helper hook claude-code"}),
            json!({"command": "echo remora"}),
            json!({"type": "http", "url": "http://localhost/remora hook claude-code"}),
            json!("remora"),
        ] {
            assert!(!is_hook(&handler, host), "{handler}");
        }
        let hooks = |command: &str| json!({"hooks": {"agentStop": [{"bash": command}]}}).to_string();
        assert!(is_file(&hooks("/old/remora hook copilot --event agentStop"), Host::Copilot));
        assert!(is_file("// Written by `remora install`; since then changed by hand.\n", Host::Opencode));
        assert!(!is_file(&hooks("say done"), Host::Copilot) && !is_file("{\"hooks\": {}}", Host::Copilot));
        assert!(!is_file("// See `remora install`\n", Host::Opencode) && !is_file("", Host::Opencode));
        assert!(is_mcp_server(&json!({"command": "/x/remora", "args": ["mcp"]})));
        assert!(is_mcp_server(&json!({"type": "local", "command": ["remora", "mcp"]})));
        assert!(!is_mcp_server(&json!({"command": "npx", "args": ["remora-mcp"]})));
    }
}
