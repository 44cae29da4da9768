//! Gemini CLI, as recorded from version 0.61. It prepends the context injected at the start of a session to the first
//! prompt, so prompts may begin with our own text.

use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Does, Shell, Tools};
use crate::wire::Wire;

pub(crate) const TOOLS: Tools = Tools {
    table: &[
        ("run_shell_command", Does::Run),
        ("replace", Does::Edit),
        ("edit", Does::Edit),
        ("write_file", Does::Edit),
        ("read_file", Does::Read),
        ("glob", Does::Search),
        ("grep_search", Does::Search),
        ("search_file_content", Does::Search),
        ("google_web_search", Does::Search),
        ("web_search", Does::Search),
        ("web_fetch", Does::Fetch),
        ("ask_user", Does::Ask),
        ("task", Does::Delegate),
        ("agent", Does::Delegate),
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
