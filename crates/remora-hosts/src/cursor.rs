//! Cursor, based on its documentation (hooks version 1). It does not accept context from hooks; a rule file provides
//! it.

use remora_core::host::Host;
use remora_core::intake::Document;
use serde_json::json;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Shell, ToolKind, Tools};
use crate::wire::Wire;

const TOOLS: Tools = Tools {
    table: &[("Shell", ToolKind::Run), ("Edit", ToolKind::Edit)],
    otherwise: None,
    reports_failures: false,
    shell: Shell::Plain,
    own: "mcp__remora__",
};

const DIALECT: Dialect =
    Dialect { host: Host::Cursor, tools: &TOOLS, synthetic: &[], turn: "generation_id", event, prepare };

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}

fn event(name: &str) -> &str {
    match name {
        "beforeSubmitPrompt" => "UserPromptSubmit",
        "afterShellExecution" | "afterMCPExecution" | "afterFileEdit" => "PostToolUse",
        "stop" => "Stop",
        "sessionEnd" => "SessionEnd",
        _ => "",
    }
}

fn prepare(name: &str, wire: &mut Wire) {
    for (from, to) in [("conversation_id", "session_id"), ("generation_id", "session_id")] {
        if let (false, Some(id)) = (wire.has(to), wire.id(from)) {
            wire.set(to, id);
        }
    }
    if let Some(root) = wire.peek("workspace_roots").and_then(|roots| roots[0].as_str()) {
        let root = root.to_owned();
        wire.set("cwd", root);
    }
    for other in ["query", "input", "message"] {
        if name == "beforeSubmitPrompt" && !wire.has("prompt") {
            wire.rename(other, "prompt");
        }
    }
    match name {
        "afterShellExecution" => {
            let command = wire.text("command");
            wire.set("tool_name", "Shell".to_owned());
            wire.put("tool_input", json!({ "command": command }));
            wire.rename("output", "tool_response");
        }
        "afterFileEdit" => {
            let input = json!({ "file_path": wire.text("file_path"), "edits": wire.value("edits") });
            wire.set("tool_name", "Edit".to_owned());
            wire.put("tool_input", input);
            wire.carry_private("edits", "tool_input");
        }
        "afterMCPExecution" => {
            wire.rename("result_json", "tool_response");
            for member in ["tool_input", "tool_response"] {
                wire.parse_text(member);
            }
        }
        _ => {}
    }
}
