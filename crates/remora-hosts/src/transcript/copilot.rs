//! Copilot CLI's sessions, as version 1.0 writes them: `~/.copilot/session-state/ID/events.jsonl`. Its hooks do not
//! report the agent's closing message, so it is only available here.

use remora_core::intake::Document;
use remora_core::time::Time;

use super::{Line, asked, said, timestamp};

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
