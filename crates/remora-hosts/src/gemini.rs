//! Gemini CLI, as recorded from version 0.61. It prepends the context injected at the start of a session to the first
//! prompt, so prompts may begin with our own text.

use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Shell, ToolKind, Tools};
use crate::wire::Wire;

pub(crate) const TOOLS: Tools = Tools {
    table: &[
        ("run_shell_command", ToolKind::Run),
        ("replace", ToolKind::Edit),
        ("edit", ToolKind::Edit),
        ("write_file", ToolKind::Edit),
        ("read_file", ToolKind::Read),
        ("glob", ToolKind::Search),
        ("grep_search", ToolKind::Search),
        ("search_file_content", ToolKind::Search),
        ("google_web_search", ToolKind::Search),
        ("web_search", ToolKind::Search),
        ("web_fetch", ToolKind::Fetch),
        ("ask_user", ToolKind::Ask),
        ("task", ToolKind::Delegate),
        ("agent", ToolKind::Delegate),
    ],
    otherwise: None,
    reports_failures: false,
    shell: Shell::Labelled,
    own: "mcp_remora_",
};

const DIALECT: Dialect =
    Dialect { host: Host::Gemini, tools: &TOOLS, synthetic: &[], turn: "prompt_id", event, prepare };

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}

/// `PreCompress` is ignored: it comes with every turn, whether anything is compressed or not.
fn event(name: &str) -> &str {
    match name {
        "BeforeAgent" => "UserPromptSubmit",
        "BeforeTool" => "PreToolUse",
        "AfterTool" => "PostToolUse",
        "AfterAgent" => "Stop",
        "SessionStart" | "SessionEnd" => name,
        _ => "",
    }
}

fn prepare(name: &str, wire: &mut Wire) {
    match name {
        "BeforeAgent" => wire.change_text("prompt", without_context),
        "AfterAgent" => wire.rename("prompt_response", "last_assistant_message"),
        "AfterTool" => {
            // An error of a tool is an object beside its output.
            if let Some(message) = wire.text_at("tool_response", "/error/message") {
                wire.set("error", message);
            }
        }
        _ => {}
    }
}

/// The prompt without injected context.
fn without_context(prompt: &str) -> &str {
    let mut rest = prompt;
    while let Some(injected) = rest.trim_start().strip_prefix("<hook_context>") {
        match injected.split_once("</hook_context>") {
            Some((_, after)) => rest = after.trim_start_matches(['\n', '\r']),
            None => return rest,
        }
    }
    rest
}
