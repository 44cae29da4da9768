//! Codex's rollouts, as version 0.166 writes them: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`. A subagent has a
//! rollout of its own. `event_msg` lines repeat what `response_item` lines say and are left out.

use remora_core::intake::Document;
use remora_core::time::Time;

use super::{Line, asked, digest, said, texts, timestamp};

/// How messages begin that Codex writes in the user's name.
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
            let begins = |beginning: &&str| text.trim_start().starts_with(*beginning);
            if NOT_ASKED.iter().any(begins) {
                return None;
            }
            Some(asked(document, "payload", text))
        }
        _ => None,
    };
    Some((read?, timestamp(line)))
}

/// A digest without the line before it, which introduces it to the agent.
fn without_frame(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("Another language model started to solve this problem") => {
            rest
        }
        _ => text,
    }
}
