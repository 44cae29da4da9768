//! Windsurf, based on its documentation. It does not accept context from hooks.

use remora_core::host::Host;
use remora_core::intake::Document;
use serde_json::{Value, json};

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
    Dialect { host: Host::Windsurf, tools: &TOOLS, synthetic: &[], turn: "execution_id", event, prepare };

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    let named = match &document.value["agent_action_name"] {
        Value::String(name) => Some(name.clone()),
        _ => None,
    };
    DIALECT.read(event.or(named.as_deref()), document)
}

fn event(name: &str) -> &str {
    match name {
        "pre_user_prompt" => "UserPromptSubmit",
        "post_write_code" | "post_run_command" | "post_mcp_tool_use" => "PostToolUse",
        "post_cascade_response" => "Stop",
        _ => "",
    }
}

fn prepare(name: &str, wire: &mut Wire) {
    for from in ["trajectory_id", "execution_id"] {
        if let (false, Some(id)) = (wire.has("session_id"), wire.id(from)) {
            wire.set("session_id", id);
        }
    }
    let mut about = wire.value("tool_info");
    wire.put("cwd", about["cwd"].take());
    match name {
        "pre_user_prompt" => {
            wire.put("prompt", about["user_prompt"].take());
            wire.carry_private("tool_info", "prompt");
        }
        "post_cascade_response" => wire.put("last_assistant_message", about["response"].take()),
        "post_run_command" => {
            wire.set("tool_name", "Shell".to_owned());
            wire.put("tool_input", json!({ "command": about["command_line"].take() }));
            wire.put("tool_response", about["output"].take());
        }
        "post_write_code" => {
            wire.set("tool_name", "Edit".to_owned());
            wire.put(
                "tool_input",
                json!({ "file_path": about["file_path"].take(), "edits": about["edits"].take() }),
            );
        }
        "post_mcp_tool_use" => {
            let (server, tool) = (about["mcp_server_name"].take(), about["mcp_tool_name"].take());
            let (server, tool) = (server.as_str().unwrap_or_default(), tool.as_str().unwrap_or_default());
            // Named as in other hosts, so that all tools of one server can be skipped.
            let named = if server.is_empty() { tool.to_owned() } else { format!("mcp__{server}__{tool}") };
            wire.set("tool_name", named);
            wire.put("tool_input", about["mcp_tool_arguments"].take());
            wire.put("tool_response", about["mcp_result"].take());
        }
        _ => {}
    }
    wire.carry_private("tool_info", "tool_input");
}
