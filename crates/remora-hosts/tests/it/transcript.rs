//! Lines of transcripts, in the shape in which the hosts write them.

use remora_core::host::Host;
use remora_core::intake::Intake;
use remora_core::time::Time;
use remora_hosts::transcript::{Entry, Line, read};
use serde_json::{Value, json};

fn entry(host: Host, line: &Value) -> Option<Entry> {
    let mut intake = Intake::default();
    intake.push(line.to_string().as_bytes()).unwrap();
    read(host, &intake.finish().unwrap())
}

fn claude(kind: &str, content: &Value, more: &Value) -> Option<Line> {
    let mut line = json!({
        "parentUuid": "p", "isSidechain": false, "type": kind, "uuid": "u", "cwd": "/home/dev/shop",
        "message": { "role": kind, "content": content }, "timestamp": "2026-03-10T09:22:00.000Z",
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry(Host::ClaudeCode, &line).map(|entry| entry.line)
}

fn codex(kind: &str, payload: &Value) -> Option<Line> {
    let line =
        json!({ "timestamp": "2026-03-10T09:22:00.000Z", "ordinal": 7, "type": kind, "payload": payload });
    entry(Host::Codex, &line).map(|entry| entry.line)
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

fn said(text: &str) -> Line {
    Line::Said(text.to_owned())
}

fn asked(text: &str) -> Line {
    Line::Asked { text: text.to_owned(), withheld: false }
}

fn withheld() -> Line {
    Line::Asked { text: String::new(), withheld: true }
}

#[test]
fn claude_code_says_what_was_asked_and_said_and_where_and_when() {
    let text = json!([{ "type": "text", "text": "The offsets are dropped." }]);
    let line = json!({
        "isSidechain": false, "type": "assistant", "message": { "role": "assistant", "content": text },
        "cwd": "/home/dev/shop", "timestamp": "2026-03-10T09:22:00.000Z",
    });
    assert_eq!(
        entry(Host::ClaudeCode, &line),
        Some(Entry {
            line: Line::Said("The offsets are dropped.".into()),
            cwd: Some("/home/dev/shop".into()),
            at: Time::from_iso("2026-03-10T09:22:00Z"),
        })
    );
    assert_eq!(claude("user", &json!("Why is it early?"), &json!({})), Some(asked("Why is it early?")));
    let blocks = json!([{ "type": "text", "text": "Look" }, { "type": "image", "source": {} }]);
    assert_eq!(claude("user", &blocks, &json!({})), Some(asked("Look")));
    let two = json!([{ "type": "text", "text": "One." }, { "type": "thinking", "thinking": "Hm" },
        { "type": "text", "text": "Two." }]);
    assert_eq!(claude("assistant", &two, &json!({})), Some(said("One.\n\nTwo.")));
}

#[test]
fn thinking_tools_subagents_and_the_hosts_own_lines_are_nothing_that_was_said() {
    let text = json!([{ "type": "text", "text": "x" }]);
    let block = |block: Value| json!([block]);
    for (kind, content, more) in [
        ("assistant", block(json!({ "type": "thinking", "thinking": "Hm" })), json!({})),
        (
            "assistant",
            block(json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} })),
            json!({}),
        ),
        ("assistant", text.clone(), json!({ "isSidechain": true })),
        ("assistant", text.clone(), json!({ "isApiErrorMessage": true })),
        ("assistant", json!(null), json!({})),
        ("user", text.clone(), json!({ "isSidechain": true })),
        ("user", text.clone(), json!({ "isMeta": true })),
        ("user", json!("<task-notification>done</task-notification>"), json!({})),
        ("user", json!("<local-command-stdout>ok</local-command-stdout>"), json!({})),
        ("user", json!("<bash-input>ls</bash-input>"), json!({})),
        ("user", json!([{ "type": "text", "text": "[Request interrupted by user]" }]), json!({})),
        ("attachment", text, json!({})),
    ] {
        assert_eq!(claude(kind, &content, &more), None, "{kind} {content}");
    }
    assert_eq!(entry(Host::ClaudeCode, &json!([1])), None);
    assert_eq!(entry(Host::ClaudeCode, &json!({ "type": 7 })), None);
}

#[test]
fn a_command_reads_as_it_was_typed() {
    let line = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>12 now</command-args>";
    assert_eq!(claude("user", &json!(line), &json!({})), Some(asked("/review 12 now")));
    let line = "<command-name>/compact</command-name>\n            <command-args></command-args>";
    assert_eq!(claude("user", &json!(line), &json!({})), Some(asked("/compact")));
}

#[test]
fn a_private_prompt_is_known_as_one_and_private_text_never_arrives() {
    for content in [json!("<private>the merger</private>"), json!([{ "type": "text", "text": "<private>x" }])]
    {
        assert_eq!(claude("user", &content, &json!({})), Some(withheld()));
    }
    assert_eq!(claude("user", &json!("Fix <private>x</private>it"), &json!({})), Some(asked("Fix it")));
    let text = json!([{ "type": "text", "text": "Because <private>x</private>of it" }]);
    assert_eq!(claude("assistant", &text, &json!({})), Some(said("Because of it")));
    assert_eq!(
        codex("response_item", &message("user", "input_text", "<private>x</private>")),
        Some(withheld())
    );
}

#[test]
fn codex_says_what_was_asked_and_said() {
    assert_eq!(
        codex("response_item", &message("assistant", "output_text", "The cache is stale.")),
        Some(said("The cache is stale."))
    );
    assert_eq!(codex("response_item", &message("user", "input_text", "Why?")), Some(asked("Why?")));
    for (kind, payload) in [
        ("response_item", message("developer", "input_text", "Be brief")),
        ("response_item", message("user", "input_text", "<environment_context>\n</environment_context>")),
        ("response_item", message("user", "input_text", "# AGENTS.md instructions for /p")),
        (
            "response_item",
            json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm" }] }),
        ),
        ("response_item", json!({ "type": "function_call_output", "call_id": "c", "output": "x" })),
        ("event_msg", json!({ "type": "agent_message", "message": "The cache is stale." })),
        ("session_meta", json!({ "id": "s" })),
    ] {
        assert_eq!(codex(kind, &payload), None, "{kind} {payload}");
    }
}

#[test]
fn transcripts_of_other_hosts_are_not_read() {
    let line = json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "x" }] } });
    for host in Host::ALL {
        let known = remora_hosts::transcript::is_known(*host);
        assert_eq!(known, matches!(host, Host::ClaudeCode | Host::Codex | Host::Copilot));
        assert_eq!(entry(*host, &line).is_some(), *host == Host::ClaudeCode);
    }
}

#[test]
fn a_digest_comes_without_what_the_host_says_around_it() {
    let digest = |text: &str| Some(Line::Digest(text.to_owned()));
    let compacted = json!({ "isCompactSummary": true, "isVisibleInTranscriptOnly": true });
    let framed = "This session is being continued from a previous conversation that ran out of context. The summary \
        below covers the earlier portion.\n\n1. Request: fix it\n\n2. Pending: nothing\n\nIf you need specific details from \
        before compaction (like snippets), read the full transcript at: /home/dev/x.jsonl\nContinue the conversation from \
        where it left off without asking.";
    assert_eq!(
        claude("user", &json!(framed), &compacted),
        digest("1. Request: fix it\n\n2. Pending: nothing")
    );
    assert_eq!(claude("user", &json!("1. Request: fix it"), &compacted), digest("1. Request: fix it"));
    assert_eq!(claude("user", &json!(" "), &compacted), None);
    let framed = "Another language model started to solve this problem and produced a summary:\n- Done: half";
    for text in [framed, "- Done: half"] {
        assert_eq!(
            codex("compacted", &json!({ "message": text, "replacement_history": [] })),
            digest("- Done: half")
        );
    }
    assert_eq!(codex("compacted", &json!({ "message": "" })), None);
}

#[test]
fn a_command_is_known_from_its_call_to_its_return() {
    let call =
        json!([{ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "make test" } }]);
    let called = Line::Called { id: "t".into(), command: "make test".into() };
    assert_eq!(claude("assistant", &call, &json!({})), Some(called));
    let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "x" }]);
    assert_eq!(claude("user", &result, &json!({})), Some(Line::Returned(vec!["t".into()])));
}
