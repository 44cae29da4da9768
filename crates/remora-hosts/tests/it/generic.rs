use remora_core::event::{Body, Outcome, ToolCall};
use remora_core::host::Host;
use remora_core::intake::{Document, Intake};
use remora_hosts::{Reading, read};
use serde_json::{Value, json};

fn document(value: &Value) -> Document {
    let mut intake = Intake::default();
    intake.push(value.to_string().as_bytes()).unwrap();
    intake.finish().unwrap()
}

fn reading(event: &str, value: &Value) -> Reading {
    read(Host::Generic, Some(event), document(value))
}

fn event(event: &str, value: &Value) -> Value {
    match reading(event, value) {
        Reading::Event(event) => serde_json::to_value(event).unwrap(),
        other => panic!("expected an event, got {other:?}"),
    }
}

#[test]
fn every_kind_of_message_is_read() {
    let with = |more: Value| {
        let mut message = json!({"contentSessionId": "c-1", "cwd": "/home/dev/app"});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let edit = json!({"host": "cursor", "tool_name": "Edit", "tool_use_id": "t1", "prompt_id": "p1",
        "tool_input": {"file_path": "/home/dev/app/a.rs", "old_string": "one", "new_string": "two"}, "tool_response": {}});
    let own = json!({"host": "windsurf", "tool_name": "deploy", "timestamp": 1_773_134_520_000_i64,
        "tool_input": {"to": "staging"}, "tool_response": "done", "error": "exit code 3"});
    let read: Vec<Value> = [
        ("init", with(json!({}))),
        ("init", with(json!({"prompt": "Fix the clock", "prompt_id": "p1", "host": "codex"}))),
        ("init", with(json!({"prompt": "<private>the merger</private>"}))),
        ("observations", with(edit)),
        ("observations", with(own)),
        ("summarize", with(json!({"last_assistant_message": "Fixed.", "timestamp": "2026-03-10T09:22:00Z"}))),
        ("complete", json!({"session_id": "c-1"})),
    ]
    .iter()
    .map(|(name, message)| json!([name, event(name, message)]))
    .collect();
    insta::assert_json_snapshot!(read);
}

#[test]
fn the_message_may_name_its_event() {
    let message = json!({"event": "summarize", "session_id": "s", "last_assistant_message": "Done."});
    let Reading::Event(event) = read(Host::Generic, None, document(&message)) else { panic!() };
    assert_eq!(event.body.kind(), "turn_ended");
    let Reading::Event(event) = reading("complete", &message) else { panic!() };
    assert_eq!(event.body.kind(), "session_ended");
}

#[test]
fn a_malformed_message_names_the_invalid_member() {
    let reason = |event: &str, message: Value| match reading(event, &message) {
        Reading::Malformed(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason("init", json!({"cwd": "/p"})), "contentSessionId is missing");
    assert_eq!(reason("observations", json!({"session_id": "s"})), "tool_name is missing");
    assert_eq!(
        reason("init", json!({"session_id": "s", "host": "two words"})),
        "host is not a short name, such as whatsapp"
    );
    assert_eq!(reason("init", json!({"session_id": "s", "prompt": ["x"]})), "prompt has the wrong type");
    assert_eq!(reason("init", json!({"session_id": "s", "timestamp": {}})), "timestamp has the wrong type");
    assert_eq!(reason("init", json!({"contentSessionId": ""})), "contentSessionId is missing");
    assert_eq!(reason("observations", json!({"session_id": "s", "tool_name": ""})), "tool_name is missing");
    assert_eq!(reason("init", json!([])), "the message is not a JSON object");
    assert_eq!(reading("party", &json!({"session_id": "s"})), Reading::Nothing);
}

#[test]
fn null_and_unknown_members_are_ignored() {
    let message = json!({"contentSessionId": 7, "session_id": "s", "prompt": null, "host": null, "duration_ms": 1.5, "more": [1]});
    assert_eq!(event("init", &message)["body"]["kind"], "session_started");
}

#[test]
fn tools_of_claude_code_are_recognised() {
    let read = json!({"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "/p/a.rs"},
        "tool_response": {"file": {"filePath": "/p/a.rs", "content": "fn main() {}"}}});
    let Reading::Event(event) = reading("observations", &read) else { panic!() };
    let Body::ToolUsed(tool) = event.body else { panic!() };
    assert_eq!(tool.call, ToolCall::Read { file: "/p/a.rs".into(), text: "fn main() {}".into() });
    assert_eq!((tool.files_read(), tool.outcome.clone()), (vec!["/p/a.rs"], Outcome::Ok));
}
