//! Lines of transcripts in the formats of their hosts.

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
fn prompts_and_messages_of_claude_code_are_read_with_directory_and_time() {
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
fn thinking_tools_subagents_and_lines_of_the_host_are_skipped() {
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
fn a_slash_command_is_read_as_typed() {
    let line = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>12 now</command-args>";
    assert_eq!(claude("user", &json!(line), &json!({})), Some(asked("/review 12 now")));
    let line = "<command-name>/compact</command-name>\n            <command-args></command-args>";
    assert_eq!(claude("user", &json!(line), &json!({})), Some(asked("/compact")));
}

#[test]
fn a_private_prompt_is_withheld_and_private_text_is_removed() {
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
fn prompts_and_messages_of_codex_are_read() {
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
fn a_digest_is_read_without_the_frame_of_the_host() {
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
fn the_call_and_the_return_of_a_command_are_read() {
    let call =
        json!([{ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "make test" } }]);
    let called = Line::Called { id: "t".into(), command: "make test".into() };
    assert_eq!(claude("assistant", &call, &json!({})), Some(called));
    let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "x" }]);
    assert_eq!(claude("user", &result, &json!({})), Some(Line::Returned(vec!["t".into()])));
}

mod replay {
    use remora_core::event::{Body, Outcome, ToolCall};
    use remora_core::intake::Intake;
    use remora_hosts::transcript::{Past, Replay};

    use super::*;

    fn replay(host: Host, lines: &[Value]) -> Vec<Past> {
        let mut replay = Replay::new(host, "file", "/transcripts/file.jsonl");
        let mut past = Vec::new();
        for line in lines {
            let mut intake = Intake::default();
            intake.push(line.to_string().as_bytes()).unwrap();
            replay.push(&intake.finish().unwrap(), &mut past);
        }
        replay.finish(&mut past);
        past
    }

    fn kinds(past: &[Past]) -> Vec<&'static str> {
        past.iter().map(|past| past.event.body.kind()).collect()
    }

    #[test]
    fn a_transcript_of_claude_code_replays_the_events_of_its_hooks() {
        let at = |minute: u8| format!("2026-03-10T09:{minute:02}:00Z");
        let line = |minute: u8, kind: &str, content: Value| {
            json!({ "type": kind, "cwd": "/home/dev/shop", "timestamp": at(minute),
                "message": { "role": kind, "content": content } })
        };
        let call = |id: &str, tool: &str, input: Value| {
            json!([{ "type": "text", "text": "Let me look." },
                { "type": "tool_use", "id": id, "name": tool, "input": input }])
        };
        let failed = json!([{ "type": "tool_result", "tool_use_id": "t1", "is_error": true,
            "content": "Exit code 2\nno rule" }]);
        let read = json!([{ "type": "tool_result", "tool_use_id": "t2", "content": "1\tfn main() {}" }]);
        let mut read = line(5, "user", read);
        read["toolUseResult"] =
            json!({ "type": "text", "file": { "filePath": "src/a.rs", "content": "fn main() {}" } });
        let past = replay(
            Host::ClaudeCode,
            &[
                json!({ "type": "summary", "summary": "x" }),
                line(1, "user", json!("Build it")),
                line(2, "assistant", call("t1", "Bash", json!({ "command": "make" }))),
                line(3, "user", failed),
                line(4, "assistant", call("t2", "Read", json!({ "file_path": "src/a.rs" }))),
                read,
                line(6, "assistant", json!([{ "type": "text", "text": "There is no Makefile." }])),
                line(7, "user", json!("Then stop")),
                line(8, "assistant", call("t3", "Bash", json!({ "command": "true" }))),
            ],
        );
        let expected = [
            "prompt_submitted",
            "tool_used",
            "tool_used",
            "turn_ended",
            "prompt_submitted",
            "turn_ended",
            "session_ended",
        ];
        assert_eq!(kinds(&past), expected, "a call that never returned is not an event");
        let Body::ToolUsed(run) = &past[1].event.body else { panic!() };
        let printed = ToolCall::Run { command: "make".into(), output: "no rule".into(), exit: Some(2) };
        assert_eq!((&run.call, &run.outcome), (&printed, &Outcome::Failed { error: "Exit code 2".into() }));
        let Body::ToolUsed(read) = &past[2].event.body else { panic!() };
        let file = ToolCall::Read { file: "/home/dev/shop/src/a.rs".into(), text: "fn main() {}".into() };
        assert_eq!(read.call, file);
        let closing = Body::TurnEnded { message: "There is no Makefile.".into(), error: None };
        assert_eq!(past[3].event.body, closing);
        assert_eq!(past[5].event.body, Body::TurnEnded { message: String::new(), error: None });
        assert_eq!((past[1].at.iso(), past[3].at.iso()), (at(3), at(6)));
        assert_eq!(past[1].event.origin.call.as_deref(), Some("t1"));
        assert_eq!(
            (past[0].event.session.id.as_str(), past[0].event.cwd.as_str()),
            ("file", "/home/dev/shop")
        );
    }

    #[test]
    fn codex_writes_commands_and_results_in_several_forms() {
        let line = |payload: Value| json!({ "timestamp": "2026-03-10T09:12:00Z", "type": "response_item", "payload": payload });
        let user =
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Go" }] });
        let call = |id: &str, name: &str, arguments: Value| {
            line(
                json!({ "type": "function_call", "name": name, "call_id": id, "arguments": arguments.to_string() }),
            )
        };
        let result = |id: &str, output: Value| {
            line(json!({ "type": "function_call_output", "call_id": id, "output": output }))
        };
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-1\n+2\n*** End Patch";
        let past = replay(
            Host::Codex,
            &[
                json!({ "type": "session_meta", "payload": { "id": "r1", "cwd": "/home/dev/shop", "source": "cli" } }),
                line(user),
                call("c1", "exec_command", json!({ "cmd": "make" })),
                result("c1", json!("Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno rule")),
                call("c2", "shell_command", json!({ "command": "true" })),
                result("c2", json!("plain")),
                line(
                    json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c3", "input": patch }),
                ),
                line(json!({ "type": "custom_tool_call_output", "call_id": "c3", "output": "Success" })),
            ],
        );
        let calls: Vec<ToolCall> =
            past.iter().filter_map(|past| past.event.body.tool().map(|tool| tool.call.clone())).collect();
        let run = |command: &str, output: &str, exit| ToolCall::Run {
            command: command.into(),
            output: output.into(),
            exit,
        };
        assert_eq!(calls[0], run("make", "no rule", Some(2)));
        assert_eq!(calls[1], run("true", "plain", None));
        let ToolCall::Edit { changes } = &calls[2] else { panic!("{calls:?}") };
        assert_eq!(changes[0].path, "/home/dev/shop/src/a.rs");
        assert_eq!(past[0].event.session.id, "r1");
    }
}
