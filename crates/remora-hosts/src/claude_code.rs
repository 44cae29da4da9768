//! Claude Code, as recorded from version 2.1.325.

use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Shell, ToolKind, Tools};

pub(crate) const TOOLS: Tools = Tools {
    table: &[
        ("Bash", ToolKind::Run),
        ("BashOutput", ToolKind::Run),
        ("Edit", ToolKind::Edit),
        ("MultiEdit", ToolKind::Edit),
        ("Write", ToolKind::Edit),
        ("NotebookEdit", ToolKind::Edit),
        ("Read", ToolKind::Read),
        ("Grep", ToolKind::Search),
        ("Glob", ToolKind::Search),
        ("WebSearch", ToolKind::Search),
        ("ToolSearch", ToolKind::Search),
        ("WebFetch", ToolKind::Fetch),
        ("AskUserQuestion", ToolKind::Ask),
        ("Agent", ToolKind::Delegate),
        ("Task", ToolKind::Delegate),
        ("TaskOutput", ToolKind::Delegate),
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
