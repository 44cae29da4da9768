use remora_core::event::{Body, How, Outcome};
use remora_core::host::Host;
use remora_core::intake::{Document, Intake};
use remora_hosts::{Reading, read};
use serde_json::{Value, json};

const RECORDED: &str = include_str!("../fixtures/claude-code-2.1.325.jsonl");

fn document(value: &Value) -> Document {
    let mut intake = Intake::default();
    intake.push(value.to_string().as_bytes()).unwrap();
    intake.finish().unwrap()
}

fn reading(value: &Value) -> Reading {
    read(Host::ClaudeCode, None, document(value))
}

fn body(value: &Value) -> Body {
    match reading(value) {
        Reading::Event(event) => event.body,
        other => panic!("expected an event, got {other:?}"),
    }
}

#[test]
fn every_recorded_line_is_read() {
    let readings: Vec<Value> = RECORDED
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let meaning = match reading(&line["stdin"]) {
                Reading::Event(event) => serde_json::to_value(event).unwrap(),
                Reading::Synthetic { .. } => json!("synthetic"),
                Reading::FileAhead(ahead) => json!({"file_ahead": ahead.path}),
                Reading::Nothing => json!("nothing"),
                Reading::Malformed(reason) => panic!("{reason}: {line}"),
            };
            json!([line["event"], meaning])
        })
        .collect();
    insta::assert_json_snapshot!(readings);
}

#[test]
fn the_event_given_on_the_command_line_wins() {
    let stop = json!({"session_id": "s", "hook_event_name": "PreToolUse", "last_assistant_message": "done"});
    let Reading::Event(event) = read(Host::ClaudeCode, Some("Stop"), document(&stop)) else { panic!() };
    assert_eq!(event.body, Body::TurnEnded { message: "done".into(), error: None });
}

#[test]
fn unknown_events_and_changed_fields_are_not_errors() {
    assert_eq!(
        reading(&json!({"session_id": "s", "hook_event_name": "Telepathy", "x": [1]})),
        Reading::Nothing
    );
    let odd =
        json!({"session_id": "s", "hook_event_name": "Stop", "cwd": 7, "last_assistant_message": {"a": 1}});
    assert_eq!(body(&odd), Body::TurnEnded { message: String::new(), error: None });
    assert_eq!(
        reading(&json!({"hook_event_name": "Stop"})),
        Reading::Malformed("an event without session_id".into())
    );
    assert!(matches!(reading(&json!([1])), Reading::Malformed(_)));
}

#[test]
fn synthetic_prompts_are_recognised() {
    let prompt = "\n<task-notification>\n<task-id>1</task-id></task-notification>";
    let value = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": prompt});
    assert!(matches!(reading(&value), Reading::Synthetic { .. }));
}

#[test]
fn a_prompt_that_is_entirely_private_is_withheld() {
    let prompt =
        |text: &str| body(&json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": text}));
    assert_eq!(prompt(" <private>all of it</private>\n"), Body::PromptWithheld);
    assert_eq!(prompt("do <private>x</private>it"), Body::PromptSubmitted { text: "do it".into() });
}

fn edit(original: &str) -> Value {
    json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": "/p/a.rs", "old_string": "two", "new_string": "2"},
        "tool_response": {"filePath": "/p/a.rs", "originalFile": original, "structuredPatch": [
            {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}]}})
}

#[test]
fn an_edit_keeps_its_patch_and_not_the_original_file() {
    let Body::ToolUsed(tool) = body(&edit("one\ntwo\nELSEWHERE\n")) else { panic!() };
    assert_eq!(tool.changes()[0].patch, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert_eq!(tool.changes()[0].how, How::Edited);
    assert!(!serde_json::to_string(&tool).unwrap().contains("ELSEWHERE"));
}

#[test]
fn the_patch_of_a_file_with_private_parts_is_not_kept() {
    let Body::ToolUsed(tool) = body(&edit("<private>\none\n</private>\ntwo\n")) else { panic!() };
    assert_eq!((tool.changes()[0].path.as_str(), tool.changes()[0].patch.as_str()), ("/p/a.rs", ""));
}

#[test]
fn images_are_dropped_and_interrupts_are_seen() {
    let read = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Read",
        "tool_input": {"file_path": "/p/a.png"},
        "tool_response": {"type": "image", "file": {"base64": "PICTURE", "type": "image/png"}}});
    let mcp = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "mcp__x__shot",
        "tool_input": {}, "tool_response": [{"type": "image", "data": "PICTURE", "mimeType": "image/png"},
            {"type": "text", "text": "data:image/png;base64,PICTURE"}]});
    for value in [read, mcp] {
        let Body::ToolUsed(tool) = body(&value) else { panic!() };
        assert!(!serde_json::to_string(&tool).unwrap().contains("PICTURE"));
    }
    let stopped = json!({"session_id": "s", "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": {"command": "sleep 9"}, "error": "", "is_interrupt": true});
    let Body::ToolUsed(tool) = body(&stopped) else { panic!() };
    assert_eq!(tool.outcome, Outcome::Interrupted { error: String::new() });
}
