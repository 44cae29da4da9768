//! Copilot CLI's sessions, as version 1.0 writes them: `~/.copilot/session-state/ID/events.jsonl`. Its hooks do not
//! report the agent's closing message, so it is only available here.

use remora_core::intake::Document;
use remora_core::time::Time;

use super::{Calls, Line, asked, said, timestamp};

pub(super) fn read(document: &Document) -> Option<(Line, Option<Time>)> {
    let line = &document.value;
    let data = &line["data"];
    // A message of a subagent names the call that started it.
    if !data["parentToolCallId"].is_null() {
        return None;
    }
    let text = data["content"].as_str().unwrap_or_default().to_owned();
    let read = match line["type"].as_str()? {
        "user.message" => Some(asked(document, "data", text)),
        "assistant.message" => said(text),
        _ => None,
    };
    Some((read?, timestamp(line)))
}

/// The calls of the main agent.
pub(super) fn calls(document: &Document) -> Calls {
    let line = &document.value;
    let data = &line["data"];
    let mut calls = Calls::default();
    if let (true, Some(id)) = (data["parentToolCallId"].is_null(), data["toolCallId"].as_str()) {
        match line["type"].as_str() {
            Some("tool.execution_start") => calls.made.push(id.to_owned()),
            Some("tool.execution_complete") => calls.returned.push(id.to_owned()),
            _ => {}
        }
    }
    calls
}
