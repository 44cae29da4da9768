//! Claude Code, as recorded from version 2.1.325.

use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Does, Shell, Tools};

pub(crate) const TOOLS: Tools = Tools {
    table: &[
        ("Bash", Does::Run),
        ("BashOutput", Does::Run),
        ("Edit", Does::Edit),
        ("MultiEdit", Does::Edit),
        ("Write", Does::Edit),
        ("NotebookEdit", Does::Edit),
        ("Read", Does::Read),
        ("Grep", Does::Search),
        ("Glob", Does::Search),
        ("WebSearch", Does::Search),
        ("ToolSearch", Does::Search),
        ("WebFetch", Does::Fetch),
        ("AskUserQuestion", Does::Ask),
        ("Agent", Does::Delegate),
        ("Task", Does::Delegate),
        ("TaskOutput", Does::Delegate),
    ],
    otherwise: None,
    reports_failures: true,
    shell: Shell::Plain,
    own: "mcp__remora__",
};

/// Beginnings of prompts that Claude Code submits itself.
pub(crate) const SYNTHETIC: &[&str] =
    &["<task-notification>", "<local-command-stdout>", "<local-command-stderr>"];

const DIALECT: Dialect = Dialect {
    host: Host::ClaudeCode,
    tools: &TOOLS,
    synthetic: SYNTHETIC,
    turn: "prompt_id",
    event: |name| name,
    prepare: |_, _| {},
};

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}
