//! Copilot CLI, as recorded from version 1.0. Messages do not name their event, so `--event` does. A failed command is
//! reported as a success, with its exit code in the last line of the output.

use remora_core::host::Host;
use remora_core::intake::Document;
use serde_json::Value;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Shell, ToolKind, Tools};
use crate::wire::Wire;

const TOOLS: Tools = Tools {
    table: &[
        ("bash", ToolKind::Run),
        ("powershell", ToolKind::Run),
        ("view", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("str_replace_editor", ToolKind::Edit),
        ("create", ToolKind::Edit),
        ("apply_patch", ToolKind::Patch),
        ("grep", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("web_search", ToolKind::Search),
        ("web_fetch", ToolKind::Fetch),
        ("task", ToolKind::Delegate),
    ],
    otherwise: None,
    reports_failures: false,
    shell: Shell::Marked,
    own: "remora-",
};

const DIALECT: Dialect =
    Dialect { host: Host::Copilot, tools: &TOOLS, synthetic: &[], turn: "prompt_id", event, prepare };

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}

fn event(name: &str) -> &str {
    match name {
        "sessionStart" => "SessionStart",
        "userPromptSubmitted" => "UserPromptSubmit",
        "preToolUse" => "PreToolUse",
        "postToolUse" => "PostToolUse",
        "agentStop" => "Stop",
        "sessionEnd" => "SessionEnd",
        _ => "",
    }
}

fn prepare(_: &str, wire: &mut Wire) {
    for (from, to) in [
        ("sessionId", "session_id"),
        ("toolName", "tool_name"),
        ("toolArgs", "tool_input"),
        ("toolResult", "tool_response"),
        ("transcriptPath", "transcript_path"),
    ] {
        wire.rename(from, to);
    }
    // Arguments are an object, or an object serialized as text.
    wire.parse_text("tool_input");
    if let Some(Value::Number(number)) = wire.peek("timestamp") {
        let number = number.to_string();
        wire.set("timestamp", number);
    }
    if wire.text_at("tool_response", "/resultType").is_some_and(|kind| kind == "failure") {
        let message = wire.text_at("tool_response", "/textResultForLlm").unwrap_or_default();
        wire.set("error", message);
    }
}
