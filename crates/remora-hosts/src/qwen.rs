//! Qwen Code, as recorded from version 0.24. It uses Claude Code's events and Gemini's tools. After each tool result it
//! submits the same prompt again.

use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::dialect::Dialect;
use crate::gemini;
use crate::tools::Tools;
use crate::wire::Wire;

const TOOLS: Tools = Tools { own: "mcp__remora__", ..gemini::TOOLS };

const DIALECT: Dialect = Dialect {
    host: Host::Qwen,
    tools: &TOOLS,
    synthetic: &[],
    turn: "prompt_id",
    event: |name| name,
    prepare,
};

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}

fn prepare(name: &str, wire: &mut Wire) {
    if name == "UserPromptSubmit" {
        // Without its timestamp, a repeated prompt equals the one before it, until the turn has ended.
        wire.value("timestamp");
    }
    if let Some(message) = wire.text_at("tool_response", "/error/message") {
        wire.set("error", message);
    }
}
