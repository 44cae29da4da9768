//! Reads every line that was recorded from a real host.

use remora_core::host::Host;
use remora_core::intake::{Document, Intake};
use remora_hosts::{Reading, read};
use serde_json::{Value, json};

const RECORDINGS: &[(Host, &str)] = &[
    (Host::Codex, include_str!("../fixtures/codex-0.166.0.jsonl")),
    (Host::Gemini, include_str!("../fixtures/gemini-cli-0.61.0.jsonl")),
    (Host::Qwen, include_str!("../fixtures/qwen-code-0.24.4.jsonl")),
    (Host::Copilot, include_str!("../fixtures/copilot-cli-1.0.102.jsonl")),
    (Host::Opencode, include_str!("../fixtures/opencode-1.18.33.jsonl")),
];

fn document(value: &Value) -> Document {
    let mut intake = Intake::default();
    intake.push(value.to_string().as_bytes()).unwrap();
    intake.finish().unwrap()
}

fn meaning(reading: Reading) -> Value {
    match reading {
        Reading::Event(event) => serde_json::to_value(event).unwrap(),
        Reading::Synthetic { .. } => json!("synthetic"),
        Reading::FileAhead(ahead) => json!({ "file_ahead": ahead.path }),
        Reading::Nothing => json!("nothing"),
        Reading::Malformed(reason) => json!({ "malformed": reason }),
    }
}

/// The meaning of a message, read like `remora hook HOST --event NAME`.
fn named(host: Host, event: &str, message: &Value) -> Value {
    meaning(read(host, Some(event), document(message)))
}

#[test]
fn every_recorded_line_of_every_host_is_read() {
    for (host, lines) in RECORDINGS {
        let readings: Vec<Value> = lines
            .lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line).unwrap();
                let meaning = named(*host, line["event"].as_str().unwrap(), &line["stdin"]);
                assert_eq!(meaning.get("malformed"), None, "{line}");
                json!([line["event"], meaning])
            })
            .collect();
        insta::assert_json_snapshot!(host.name(), readings);
    }
}

#[test]
fn a_patch_of_codex_names_every_file() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-two\n+2\n*** Add File: /p/new.rs\n+fn main() {}\n*** End Patch\n";
    let message = json!({"session_id": "s", "turn_id": "t", "cwd": "/p", "tool_name": "apply_patch", "tool_use_id": "c",
        "tool_input": {"command": patch}, "tool_response": "Success. Updated the following files:\nM src/a.rs\n"});
    let changes = &named(Host::Codex, "PostToolUse", &message)["body"]["call"]["changes"];
    assert_eq!(
        *changes,
        json!([{"path": "/p/src/a.rs", "how": "edited", "patch": "@@\n-two\n+2\n"},
            {"path": "/p/new.rs", "how": "created", "patch": "fn main() {}\n"}])
    );
    assert_eq!(named(Host::Codex, "PreToolUse", &message), json!({"file_ahead": "/p/src/a.rs"}));
    let shell = json!({"session_id": "s", "cwd": "/p", "tool_name": "Bash", "tool_response": "Success.",
        "tool_input": {"command": format!("apply_patch <<'EOF'\n{patch}EOF\n")}});
    assert_eq!(named(Host::Codex, "PostToolUse", &shell)["body"]["call"]["changes"], *changes);
}

#[test]
fn cursor_and_windsurf_are_read_by_their_documentation() {
    let cursor = |event: &str, more: Value| {
        let mut message = json!({"conversation_id": "c", "generation_id": "g", "hook_event_name": event, "workspace_roots": ["/p"]});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        meaning(read(Host::Cursor, None, document(&message)))
    };
    let windsurf = |event: &str, about: Value| {
        let message = json!({"agent_action_name": event, "trajectory_id": "t", "execution_id": "e", "tool_info": about});
        meaning(read(Host::Windsurf, None, document(&message)))
    };
    insta::assert_json_snapshot!(json!({
        "cursor": [
            cursor("beforeSubmitPrompt", json!({"prompt": "mend it", "attachments": []})),
            cursor("afterShellExecution", json!({"command": "make", "output": "done", "duration": 12})),
            cursor("afterMCPExecution", json!({"tool_name": "search", "tool_input": "{\"q\": 1}", "result_json": "{\"hits\": []}"})),
            cursor("afterFileEdit", json!({"file_path": "/p/a.rs", "edits": [{"old_string": "two", "new_string": "2"}]})),
            cursor("stop", json!({"status": "completed"})),
            cursor("beforeReadFile", json!({"file_path": "/p/a.rs"})),
        ],
        "windsurf": [
            windsurf("pre_user_prompt", json!({"user_prompt": "mend it"})),
            windsurf("post_run_command", json!({"command_line": "make", "cwd": "/p"})),
            windsurf("post_write_code", json!({"file_path": "/p/a.rs", "edits": [{"old_string": "two", "new_string": "2"}]})),
            windsurf("post_mcp_tool_use", json!({"mcp_server_name": "remora", "mcp_tool_name": "search", "mcp_tool_arguments": {}, "mcp_result": "x"})),
            windsurf("post_cascade_response", json!({"response": "mended"})),
            windsurf("pre_read_code", json!({})),
        ],
    }));
}

#[test]
fn private_text_is_withheld_in_every_host() {
    let prompt = "<private>all of it</private>";
    for (host, event, message) in [
        (Host::Codex, "UserPromptSubmit", json!({"session_id": "s", "prompt": prompt})),
        (Host::Gemini, "BeforeAgent", json!({"session_id": "s", "prompt": prompt})),
        (Host::Qwen, "UserPromptSubmit", json!({"session_id": "s", "prompt": prompt})),
        (Host::Copilot, "userPromptSubmitted", json!({"sessionId": "s", "prompt": prompt})),
        (
            Host::Opencode,
            "chat.message",
            json!({"input": {"sessionID": "s"}, "output": {"message": {"id": "m"}, "parts": [{"type": "text", "text": prompt}]}}),
        ),
        (Host::Cursor, "beforeSubmitPrompt", json!({"conversation_id": "s", "prompt": prompt})),
        (
            Host::Windsurf,
            "pre_user_prompt",
            json!({"trajectory_id": "s", "tool_info": {"user_prompt": prompt}}),
        ),
    ] {
        assert_eq!(named(host, event, &message)["body"]["kind"], "prompt_withheld", "{host}");
    }
}

#[test]
fn the_setup_of_claude_code_is_not_an_event() {
    let setup = json!({"session_id": "s", "hook_event_name": "Setup", "trigger": "init"});
    assert_eq!(meaning(read(Host::ClaudeCode, None, document(&setup))), "nothing");
}

#[test]
fn the_closing_message_is_read_from_the_transcript_of_copilot() {
    use remora_hosts::transcript::{self, Line};
    let said = |line: Value| transcript::read(Host::Copilot, &document(&line)).map(|entry| entry.line);
    let asked = said(
        json!({"type": "user.message", "data": {"content": "mend it"}, "timestamp": "2026-11-17T05:31:36.935Z"}),
    );
    assert_eq!(asked, Some(Line::Asked { text: "mend it".into(), withheld: false }));
    let last = said(json!({"type": "assistant.message", "data": {"content": "Mended.", "toolRequests": []}}));
    assert_eq!(last, Some(Line::Said("Mended.".into())));
    assert_eq!(
        said(json!({"type": "assistant.message", "data": {"content": "x", "parentToolCallId": "c"}})),
        None
    );
    assert_eq!(said(json!({"type": "hook.start", "data": {"hookType": "agentStop"}})), None);
}
