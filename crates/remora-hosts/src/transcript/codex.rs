//! Codex's rollouts, as version 0.166 writes them: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`. A subagent has
//! its own rollout. `event_msg` lines repeat `response_item` lines and are skipped.

use remora_core::intake::Document;
use remora_core::time::Time;

use serde_json::{Value, json};

use super::replay::{Call, Returned, Work};
use super::{Line, asked, digest, said, texts, timestamp};

/// Beginnings of messages that Codex writes as the user.
const NOT_ASKED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "# AGENTS.md instructions",
];

pub(super) fn read(document: &Document) -> Option<(Line, Option<Time>)> {
    let line = &document.value;
    let payload = &line["payload"];
    if line["type"] == "compacted" {
        let text = payload["message"].as_str().unwrap_or_default();
        return Some((digest(without_frame(text))?, timestamp(line)));
    }
    if line["type"] != "response_item" || payload["type"] != "message" {
        return None;
    }
    let read = match payload["role"].as_str()? {
        "assistant" => said(texts(&payload["content"], &["output_text"])),
        "user" => {
            let text = texts(&payload["content"], &["input_text"]);
            if NOT_ASKED.iter().any(|beginning| text.trim_start().starts_with(beginning)) {
                return None;
            }
            Some(asked(document, "payload", text))
        }
        _ => None,
    };
    Some((read?, timestamp(line)))
}

/// A compaction summary without the line that introduces it to the agent.
fn without_frame(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("Another language model started to solve this problem") => {
            rest
        }
        _ => text,
    }
}

/// Names of the shell tool, by version and platform.
const SHELLS: &[&str] = &["shell", "shell_command", "exec_command", "local_shell", "container.exec"];

/// The session, and the tool calls and results in a line.
pub(super) fn work(document: &Document) -> Work {
    let line = &document.value;
    let payload = &line["payload"];
    let mut work = Work::default();
    let private = document.private_in.iter().any(|name| name == "payload");
    let id = payload["call_id"].as_str().or(payload["id"].as_str()).map(str::to_owned);
    match (line["type"].as_str(), payload["type"].as_str()) {
        (Some("session_meta"), _) => {
            work.session = payload["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
            let source = &payload["source"];
            work.of_subagent = source == "subagent" || !source["subagent"].is_null();
        }
        (Some("response_item"), Some("function_call" | "custom_tool_call")) => {
            if let (Some(id), Some(name)) = (id, payload["name"].as_str()) {
                work.calls.push((id, call(name, payload, private)));
            }
        }
        (Some("response_item"), Some("local_shell_call")) => {
            if let Some(id) = id {
                let input = json!({ "command": command(&payload["action"]["command"]) });
                work.calls.push((id, Call { tool: "Bash".to_owned(), input, private }));
            }
        }
        (
            Some("response_item"),
            Some("function_call_output" | "custom_tool_call_output" | "local_shell_call_output"),
        ) => {
            if let Some(id) = id {
                let output = output(&payload["output"]);
                work.results.push((id, Returned { output, error: String::new(), private }));
            }
        }
        _ => {}
    }
    work
}

/// A call, with the tool name that hooks use.
fn call(name: &str, payload: &Value, private: bool) -> Call {
    let arguments = payload["arguments"].as_str().or(payload["input"].as_str()).unwrap_or_default();
    let parsed: Value = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
    if !SHELLS.contains(&name) {
        // Tools of a server carry its name in `namespace`.
        let tool = match payload["namespace"].as_str() {
            Some(server) if !server.is_empty() => format!("{server}__{name}"),
            _ => name.to_owned(),
        };
        return Call { tool, input: parsed, private };
    }
    let given = if parsed["command"].is_null() { &parsed["cmd"] } else { &parsed["command"] };
    Call { tool: "Bash".to_owned(), input: json!({ "command": command(given) }), private }
}

/// The command line, or the script passed to a shell.
fn command(given: &Value) -> String {
    let Some(words) = given.as_array() else { return given.as_str().unwrap_or_default().to_owned() };
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [_, "-c" | "-lc", script] => (*script).to_owned(),
        words => words.join(" "),
    }
}

/// The output and exit code of a command. Versions write them as JSON, or with labels before the output.
fn output(given: &Value) -> Value {
    let text = given.as_str().or(given["content"].as_str()).unwrap_or_default();
    if let Ok(Value::Object(parsed)) = serde_json::from_str(text)
        && let Some(printed) = parsed.get("output").and_then(Value::as_str)
    {
        let exit = parsed.get("metadata").map_or(&Value::Null, |metadata| &metadata["exit_code"]);
        return json!({ "stdout": printed, "exitCode": exit });
    }
    match unlabelled(text) {
        (Some(code), printed) => json!({ "stdout": printed, "exitCode": code }),
        (None, printed) => Value::from(printed),
    }
}

/// The text after the labels, and the exit code in them. Some versions write labels twice: a patch applied through a
/// shell has the shell's labels and its own.
fn unlabelled(text: &str) -> (Option<i64>, &str) {
    const LABELS: &[&str] = &[
        "Chunk ID:",
        "Exit code:",
        "Original token count:",
        "Process exited with code",
        "Process running with session ID",
        "Total output lines:",
        "Wall time:",
    ];
    const CODES: &[&str] = &["Exit code:", "Process exited with code"];
    let Some((labels, printed)) = text.split_once("Output:\n") else { return (None, text) };
    let is_label = |line: &str| LABELS.iter().any(|label| line.starts_with(label));
    if labels.is_empty() || !labels.lines().all(|line| line.is_empty() || is_label(line)) {
        return (None, text);
    }
    let code = labels.lines().find_map(|line| {
        let code = CODES.iter().find_map(|label| line.strip_prefix(label))?;
        code.trim().parse().ok()
    });
    let (inner, printed) = unlabelled(printed);
    (inner.or(code), printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_separated_from_the_output() {
        let shell =
            "Chunk ID: 8d04\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno such file\n";
        assert_eq!(output(&json!(shell)), json!({ "stdout": "no such file\n", "exitCode": 1 }));
        let patch =
            "Wall time: 0.1 seconds\nOutput:\nExit code: 2\nWall time: 0 seconds\nOutput:\nbad patch\n";
        assert_eq!(output(&json!(patch)), json!({ "stdout": "bad patch\n", "exitCode": 2 }));
        assert_eq!(output(&json!("Wall time: 0.1 seconds\nOutput:\n{\"hits\":[]}")), json!("{\"hits\":[]}"));
        let plain = "Ran 3 tests\nOutput:\nfine\n";
        assert_eq!(output(&json!(plain)), json!(plain));
    }
}
