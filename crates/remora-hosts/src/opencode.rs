//! `OpenCode`, as recorded from version 1.18. The plugin that `remora install` writes sends the events of its own hooks
//! under their names, and adds the directory and the agent's closing message.

use remora_core::host::Host;
use remora_core::intake::Document;
use serde_json::{Value, json};

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Shell, ToolKind, Tools};
use crate::wire::Wire;

const TOOLS: Tools = Tools {
    table: &[
        ("bash", ToolKind::Run),
        ("read", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("multiedit", ToolKind::Edit),
        ("write", ToolKind::Edit),
        ("patch", ToolKind::Patch),
        ("apply_patch", ToolKind::Patch),
        ("grep", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("websearch", ToolKind::Search),
        ("webfetch", ToolKind::Fetch),
        ("task", ToolKind::Delegate),
    ],
    otherwise: None,
    reports_failures: false,
    shell: Shell::Plain,
    own: "remora_",
};

const DIALECT: Dialect =
    Dialect { host: Host::Opencode, tools: &TOOLS, synthetic: &[], turn: "prompt_id", event, prepare };

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}

fn event(name: &str) -> &str {
    match name {
        "event:session.created" => "SessionStart",
        "chat.message" => "UserPromptSubmit",
        "tool.execute.before" => "PreToolUse",
        "tool.execute.after" => "PostToolUse",
        "event:session.idle" => "Stop",
        "event:session.compacted" => "PostCompact",
        "event:session.deleted" => "SessionEnd",
        _ => "",
    }
}

fn prepare(name: &str, wire: &mut Wire) {
    let (input, output, info) = (wire.value("input"), wire.value("output"), wire.value("info"));
    let session = [&input["sessionID"], &info["id"]].into_iter().find_map(Value::as_str);
    match session {
        Some(session) => wire.set("session_id", session.to_owned()),
        None => wire.rename("sessionID", "session_id"),
    }
    match info["directory"].as_str() {
        Some(directory) => wire.set("cwd", directory.to_owned()),
        None => wire.rename("directory", "cwd"),
    }
    match name {
        "event:session.created" => wire.set("source", "startup".to_owned()),
        "chat.message" => {
            let parts = output["parts"].as_array().into_iter().flatten();
            let typed = parts.filter(|part| part["synthetic"] != json!(true));
            let texts: Vec<&str> = typed.filter_map(|part| part["text"].as_str()).collect();
            wire.set("prompt", texts.join("\n"));
            wire.put("prompt_id", output["message"]["id"].clone());
            wire.carry_private("output", "prompt");
        }
        "tool.execute.before" | "tool.execute.after" => {
            wire.put("tool_name", input["tool"].clone());
            wire.put("tool_use_id", input["callID"].clone());
            let arguments = if input["args"].is_null() { &output["args"] } else { &input["args"] };
            wire.put("tool_input", arguments.clone());
            wire.put("tool_response", output);
            wire.carry_private("output", "tool_response");
            wire.carry_private("input", "tool_input");
        }
        _ => {}
    }
}
